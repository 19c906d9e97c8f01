package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"holdfast/internal/canon"
)

const (
	ticksFile   = "ticks.json"
	ticksSchema = "holdfast.ticks/v1"
)

// Ticks is what the sweeper knows of its last tick. Monotonic is time since the
// machine's start, which the id in Boot names, and means nothing after another.
// All spans are whole milliseconds on the disk.
type Ticks struct {
	Boot      string
	Wall      time.Time
	Monotonic time.Duration
	// Service is for how long a sweeper has been at work, all its processes
	// together: what the trash is kept by.
	Service time.Duration
	// Nominated is when, in monotonic time, a booth was first seen expired and
	// has been ever since, by [Key].
	Nominated map[string]time.Duration
}

type ticksDoc struct {
	Schema    string           `json:"schema"`
	Boot      string           `json:"boot"`
	Wall      time.Time        `json:"wall"`
	Monotonic int64            `json:"monotonic"`
	Service   int64            `json:"service"`
	Nominated map[string]int64 `json:"nominated"`
}

// Ticks reads what was last written. The zero Ticks is of no boot: there was
// none yet.
func (l *Ledger) Ticks() (Ticks, error) {
	if l.err != nil {
		return Ticks{}, l.err
	}
	data, err := l.dir.ReadFile(ticksFile, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Ticks{}, nil
	}
	if err != nil {
		return Ticks{}, err
	}
	var doc ticksDoc
	if err := canon.Decode(bytes.TrimSpace(data), &doc); err != nil {
		return Ticks{}, err
	}
	if doc.Schema != ticksSchema {
		return Ticks{}, fmt.Errorf("its schema %q is not one that this version reads", doc.Schema)
	}
	return doc.ticks()
}

func (d ticksDoc) ticks() (Ticks, error) {
	t := Ticks{Boot: d.Boot, Wall: d.Wall, Nominated: make(map[string]time.Duration, len(d.Nominated))}
	var err error
	span := func(ms int64) time.Duration {
		if ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
			err = fmt.Errorf("%d is no span of time in milliseconds", ms)
		}
		return time.Duration(ms) * time.Millisecond
	}
	t.Monotonic, t.Service = span(d.Monotonic), span(d.Service)
	for key, ms := range d.Nominated {
		t.Nominated[key] = span(ms)
	}
	if err != nil {
		return Ticks{}, err
	}
	return t, nil
}

// SetTicks replaces it.
func (l *Ledger) SetTicks(t Ticks) error {
	doc := ticksDoc{ticksSchema, t.Boot, t.Wall.UTC(), t.Monotonic.Milliseconds(), t.Service.Milliseconds(), make(map[string]int64, len(t.Nominated))}
	for key, at := range t.Nominated {
		doc.Nominated[key] = at.Milliseconds()
	}
	return l.write(ticksFile, doc)
}
