// Package ledger is what the desk keeps about booths, outside of them, in its
// own folder of the home: when each was first seen, which of them wait for the
// review of a node, when somebody last waited for an answer in one, and what the
// sweeper's last tick saw.
//
//	seen.json    {"schema":"holdfast.seen/v1","seen":{KEY:TIME,…}}
//	holds.json   {"schema":"holdfast.holds/v1","holds":{NAME:NODE,…}}
//	ticks.json   {"schema":"holdfast.ticks/v1",…}, see [Ticks]
//
// Canonical JSON, each replaced whole. NAME is a booth's exact name, escaped for
// a URL; KEY is NAME, and the device, inode and birth time of the booth's folder
// in decimal, with spaces between them: a folder that took another's name, or
// its inode number, has not been seen.
//
// A file that is absent says nothing yet. One that is there and cannot be read
// whole holds every booth ([Records]): nothing is deleted on a read that failed.
// It is mended by removing it, after which every booth counts from then. Ticks
// alone hold nothing: without them the sweeper counts from the start.
package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"sync"
	"time"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

const (
	seenFile  = "seen.json"
	holdsFile = "holds.json"
	maxFile   = 64 << 20
)

// Ledger is the desk's folder, as far as it is about booths. It is safe for
// concurrent use; one process at a time writes, the one that has the lock of the
// data folder. A nil Ledger has nothing to say: no desk was ever there.
type Ledger struct {
	dir *durable.Dir
	err error // why there is no dir

	mu    sync.Mutex
	seen  cached[map[string]time.Time] // guarded by mu
	holds cached[map[string]string]    // guarded by mu
}

// New is the ledger in the desk's folder.
func New(desk *durable.Dir) *Ledger { return &Ledger{dir: desk} }

// Unreadable is a ledger that is there and cannot be read.
func Unreadable(err error) *Ledger { return &Ledger{err: err} }

// Records is one read of the ledger.
type Records struct {
	seen     map[string]time.Time
	seenErr  error
	holds    map[string]string
	holdsErr error
}

// Records reads what the ledger says now. What cannot be read is in the answers.
func (l *Ledger) Records() Records {
	if l == nil {
		return Records{}
	}
	if l.err != nil {
		return Records{seenErr: l.err, holdsErr: l.err}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var r Records
	r.seen, r.seenErr = l.seen.read(l.dir, seenFile, decodeSeen)
	r.holds, r.holdsErr = l.holds.read(l.dir, holdsFile, decodeHolds)
	return r
}

// Arrival is when the booth's folder was first seen under its name.
func (r Records) Arrival(name folder.Name, id folder.FileID, now time.Time) lifetime.Arrival {
	if r.seenErr != nil {
		return lifetime.ArrivalUnreadable{Detail: problem.Words(r.seenErr)}
	}
	at, ok := r.seen[Key(name, id)]
	switch {
	case !ok:
		return lifetime.ArrivalNew{At: now}
	case at.After(now): // a stamp in the future counts as now
		return lifetime.ArrivalSeen{At: now}
	default:
		return lifetime.ArrivalSeen{At: at}
	}
}

// Seen is the whole record of arrivals, by [Key]. It is not to be changed.
func (r Records) Seen() (map[string]time.Time, error) { return r.seen, r.seenErr }

// Review is whether a node waits for review of the booth.
func (r Records) Review(name folder.Name) lifetime.Review {
	if r.holdsErr != nil {
		return lifetime.ReviewUnreadable{Detail: problem.Words(r.holdsErr)}
	}
	if node, ok := r.holds[url.PathEscape(name.String())]; ok {
		return lifetime.ReviewAwaited{Node: node}
	}
	return lifetime.ReviewNone{}
}

// Key names a booth's folder in the record of arrivals.
func Key(name folder.Name, id folder.FileID) string {
	return fmt.Sprintf("%s %d %d %d", url.PathEscape(name.String()), id.Device, id.Inode, id.Birth)
}

type seenDoc struct {
	Schema string               `json:"schema"`
	Seen   map[string]time.Time `json:"seen"`
}

type holdsDoc struct {
	Schema string            `json:"schema"`
	Holds  map[string]string `json:"holds"`
}

const (
	seenSchema  = "holdfast.seen/v1"
	holdsSchema = "holdfast.holds/v1"
)

func decodeSeen(data []byte) (map[string]time.Time, error) {
	var doc seenDoc
	if err := canon.Decode(data, &doc); err != nil {
		return nil, err
	}
	if doc.Schema != seenSchema {
		return nil, fmt.Errorf("its schema %q is not one that this version reads", doc.Schema)
	}
	return doc.Seen, nil
}

func decodeHolds(data []byte) (map[string]string, error) {
	var doc holdsDoc
	if err := canon.Decode(data, &doc); err != nil {
		return nil, err
	}
	if doc.Schema != holdsSchema {
		return nil, fmt.Errorf("its schema %q is not one that this version reads", doc.Schema)
	}
	return doc.Holds, nil
}

// cached is a file's content as of the last time that the file was another one.
type cached[T any] struct {
	version durable.Version
	value   T
	err     error
}

func (c *cached[T]) read(dir *durable.Dir, name string, decode func([]byte) (T, error)) (T, error) {
	version, err := dir.Version(name)
	if err == nil && version == c.version {
		return c.value, c.err
	}
	var none T
	data, err := dir.ReadFile(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		*c = cached[T]{}
		return none, nil
	}
	value := none
	if err == nil {
		value, err = decode(bytes.TrimSpace(data))
	}
	// The version from before the read: a file replaced meanwhile is read again.
	*c = cached[T]{version, value, err}
	return value, err
}

// SetArrivals replaces the record of arrivals, by [Key].
func (l *Ledger) SetArrivals(seen map[string]time.Time) error {
	return l.write(seenFile, seenDoc{seenSchema, seen})
}

// SetHolds replaces the record of what waits for review: node by booth's name.
func (l *Ledger) SetHolds(holds map[folder.Name]string) error {
	byName := make(map[string]string, len(holds))
	for name, node := range holds {
		byName[url.PathEscape(name.String())] = node
	}
	return l.write(holdsFile, holdsDoc{holdsSchema, byName})
}

func (l *Ledger) write(name string, doc any) error {
	if l.err != nil {
		return l.err
	}
	data, err := canon.Encode(doc)
	if err != nil {
		return err
	}
	return l.dir.WriteFile(name, append(data, '\n'), 0o600)
}
