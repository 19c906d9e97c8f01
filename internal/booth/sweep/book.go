package sweep

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"time"

	"holdfast/internal/booth/folder"
	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// event is what a line of the journal says has happened, or is about to.
type event string

// Each event, and the states of a folder that it follows and leads to.
const (
	evAside     event = "aside"        // nothing → aside: it is about to be put aside
	evBack      event = "back"         // aside, stuck → nothing: it has its name again
	evSettled   event = "settled"      // aside, stuck → nothing: it never lost its name
	evStuck     event = "stuck"        // aside → stuck: its name is taken
	evTrash     event = "trash"        // aside, stuck → trash
	evRestoring event = "restoring"    // trash: it is about to get its name again
	evRestored  event = "restored"     // trash, purging → nothing
	evPurging   event = "purging"      // trash → purging: it is about to be deleted
	evFailed    event = "purge-failed" // purging: part of it could not be deleted
	evPurged    event = "purged"       // purging → nothing
	evLost      event = "lost"         // any → nothing: it is nowhere; somebody else took it
)

// state is where a folder is on its way, as far as the journal knows.
type state uint8

const (
	aside   state = iota + 1 // put aside, or about to be
	stuck                    // put aside, and cannot go back
	inTrash                  // in the trash
	purging                  // being deleted: part of it may be gone
)

// record is one line of sweep.jsonl, canonical JSON. Each has at, booth, event
// and id. Those of "aside" also say what is done, by whom and why; "trash" adds
// the time of service.
//
// Texts that come from a booth (its name, the path of its newest file) are
// escaped for a URL, since they need not be UTF-8. A member is never given
// another meaning: that is a new event. A reader refuses what it does not know.
type record struct {
	At    time.Time `json:"at"`
	Booth string    `json:"booth"`
	Event event     `json:"event"`
	ID    string    `json:"id"`

	By     *string `json:"by,omitempty"`     // who removes it, "" for the timer
	Rule   string  `json:"rule,omitempty"`   // why, in a sentence
	Folder string  `json:"folder,omitempty"` // its device, inode and birth time
	Seal   string  `json:"seal,omitempty"`   // folder.Seal when it was decided
	Bytes  *int64  `json:"bytes,omitempty"`  // of its items
	Newest *newest `json:"newest,omitempty"` // the stamp that the age was counted from

	Service *int64 `json:"service,omitempty"` // milliseconds of service at the move into the trash
	Outcome string `json:"outcome,omitempty"` // what came of it, or why, in words
}

type newest struct {
	Path  string    `json:"path"`
	At    time.Time `json:"at"`
	Clock string    `json:"clock"`
}

// entry is a folder that is on its way.
type entry struct {
	id     folder.ID
	name   folder.Name
	folder folder.FileID
	state  state
	at     time.Time // of the last move that the journal tells of
	by     string
	rule   string
	seal   string
	bytes  int64

	service time.Duration // when it came into the trash
	trouble string        // why it neither goes nor comes back

	// What follows is of this process and not in the journal.
	checked bool // it was looked at once since it came into the trash
	round   int  // the tick in which it came there
}

// book is what the journal's lines add up to.
type book struct {
	entries map[string]*entry
	service time.Duration // the latest of any line
}

func (b *book) sorted() []*entry {
	return slices.SortedFunc(maps.Values(b.entries), newestFirst)
}

// replay takes in a line that was read back.
func (b *book) replay(line durable.Record) error {
	var r record
	if err := canon.Decode(line.Data, &r); err != nil {
		return err
	}
	return b.take(r)
}

// take takes in a line. What it refuses has changed nothing.
func (b *book) take(r record) error {
	if r.Event == evAside {
		return b.begin(r)
	}
	e, ok := b.entries[r.ID]
	if !ok {
		return fmt.Errorf("%q is said of %q, which is not under way", r.Event, r.ID)
	}
	from, to, known := r.Event.way()
	if !known {
		return fmt.Errorf("the event %q is not one that this version knows", r.Event)
	}
	if !slices.Contains(from, e.state) {
		return fmt.Errorf("%q cannot follow what came before it about %q", r.Event, r.ID)
	}
	if r.Event == evTrash {
		const most = int64(math.MaxInt64 / time.Millisecond)
		if r.Service == nil || *r.Service < 0 || *r.Service > most {
			return fmt.Errorf("%q without its time of service", r.Event)
		}
		e.at, e.service = r.At, time.Duration(*r.Service)*time.Millisecond
		b.service = max(b.service, e.service)
	}
	if r.Event == evFailed {
		e.trouble = r.Outcome
	}
	if to == 0 {
		delete(b.entries, r.ID)
	}
	e.state = to
	return nil
}

// way is which states an event can follow and which one it leads to, 0 for none.
func (ev event) way() (from []state, to state, known bool) {
	switch ev {
	case evAside:
		return nil, aside, true
	case evBack, evSettled:
		return []state{aside, stuck}, 0, true
	case evStuck:
		return []state{aside}, stuck, true
	case evTrash:
		return []state{aside, stuck}, inTrash, true
	case evRestoring:
		return []state{inTrash}, inTrash, true
	case evRestored:
		return []state{inTrash, purging}, 0, true
	case evPurging:
		return []state{inTrash}, purging, true
	case evFailed:
		return []state{purging}, purging, true
	case evPurged:
		return []state{purging}, 0, true
	case evLost:
		return []state{aside, stuck, inTrash, purging}, 0, true
	}
	return nil, 0, false
}

// begin takes in an "aside".
func (b *book) begin(r record) error {
	id, ok := folder.ParseID(r.ID)
	if !ok {
		return fmt.Errorf("%q is no id", r.ID)
	}
	if b.entries[r.ID] != nil {
		return fmt.Errorf("%q is under way already", r.ID)
	}
	raw, err := url.PathUnescape(r.Booth)
	if err != nil {
		return err
	}
	name, err := folder.ParseName(raw)
	if err != nil {
		return fmt.Errorf("%s", problem.Words(err))
	}
	if r.By == nil || r.Bytes == nil || r.Seal == "" {
		return fmt.Errorf("%q without all that belongs to it", r.Event)
	}
	e := &entry{id: id, name: name, state: aside, at: r.At, by: *r.By, rule: r.Rule, seal: r.Seal, bytes: *r.Bytes}
	if e.folder, err = parseFolder(r.Folder); err != nil {
		return err
	}
	b.entries[r.ID] = e
	return nil
}

func folderText(id folder.FileID) string {
	return fmt.Sprintf("%d %d %d", id.Device, id.Inode, id.Birth)
}

func parseFolder(s string) (id folder.FileID, err error) {
	if _, err := fmt.Sscanf(s, "%d %d %d", &id.Device, &id.Inode, &id.Birth); err != nil || folderText(id) != s {
		return id, fmt.Errorf("%q is no folder's device, inode and birth time", s)
	}
	return id, nil
}

// line is a record about e as of now.
func (s *Sweeper) line(e *entry, ev event, outcome string) record {
	return record{
		At: s.conf.Clock.Now().UTC().Round(0), Booth: url.PathEscape(e.name.String()), Event: ev, ID: e.id.String(), Outcome: outcome,
	}
}

// noteLocked writes a line about e, and then takes it in. After an error the
// journal may or may not have it: it is read again before the next act.
func (s *Sweeper) noteLocked(e *entry, ev event, outcome string) error {
	return s.writeLocked(s.line(e, ev, outcome))
}

func (s *Sweeper) writeLocked(r record) error {
	err := s.do(durable.Step("journal-"+r.Event), func() error {
		if s.journal == nil {
			return notWritten()
		}
		return s.journal.Append(r)
	})
	if err != nil {
		s.stale = true
		s.conf.Log.Error("a line of the sweep journal was not written", "event", r.Event, "id", r.ID, "error", err)
		return err
	}
	return s.book.take(r)
}

func notWritten() error {
	return problem.Refusal("journal", "The record of what is swept cannot be written. Nothing was changed.")
}

// mendLocked opens the journal, again if a line's fate is not known, and takes in
// what it says. Without a journal nothing is moved.
func (s *Sweeper) mendLocked() error {
	if s.journal != nil && !s.stale {
		return nil
	}
	if s.journal != nil {
		_ = s.journal.Close() // what it had acknowledged is there
		s.journal = nil
	}
	b := book{entries: map[string]*entry{}}
	j, err := s.conf.Desk.OpenJournal(journalFile, maxRecord, b.replay)
	if err != nil {
		var damage *durable.Damage
		reason := "The record of what was swept cannot be opened, so nothing is swept."
		if errors.As(err, &damage) {
			reason = fmt.Sprintf("The record of what was swept is damaged in line %d, so nothing is swept: %s.", damage.Line, damage.Reason)
		}
		return problem.New(problem.Failed, "journal", "%s", reason).Because(err)
	}
	if j.Aside() != "" {
		s.conf.Log.Warn("the sweep journal ended in a torn line, which was set aside", "file", j.Aside())
	}
	for id, e := range b.entries { // what only this process knows
		if old := s.book.entries[id]; old != nil {
			e.checked, e.round = old.checked, old.round
		}
	}
	s.journal, s.book, s.stale = j, b, false
	return nil
}
