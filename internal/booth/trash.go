package booth

import (
	"time"

	"holdfast/internal/booth/folder"
)

// Trashed is a booth in the trash, in JSON. PurgeIn is how much longer it is
// kept, in time that a desk is at work.
type Trashed struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	URL     string `json:"url"` // the exact name, escaped
	At      string `json:"at"`
	By      string `json:"by"` // empty for the timer
	Rule    string `json:"rule"`
	Bytes   int64  `json:"bytes"`
	PurgeIn string `json:"purge_in"`
	Trouble string `json:"trouble"` // why it neither went nor came back
}

// Trash is what is in the trash, the last first.
type Trash struct {
	Trash []Trashed `json:"trash"`
}

// Restored is a booth that came back from the trash.
type Restored struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// NewRestored is the document about a booth that came back.
func NewRestored(name folder.Name) Restored {
	return Restored{text(name.String()), Escape(name.String())}
}

// NewTrashed is the document about a booth in the trash.
func NewTrashed(id string, name folder.Name, at time.Time, by, rule string, bytes int64, purge time.Duration, trouble string) Trashed {
	return Trashed{
		ID: id, Name: text(name.String()), URL: Escape(name.String()), At: stamp(at), By: text(by), Rule: text(rule),
		Bytes: bytes, PurgeIn: purge.Truncate(time.Second).String(), Trouble: text(trouble),
	}
}
