// Package booth looks at a booth: one strict read of its folder, its marks and
// its keep marker, and what follows from it.
//
// A [Look] is made by [At] and is what every surface shows. Nothing reads a
// booth a second time to add to it: two reads are not one state.
package booth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/booth/marks"
	"holdfast/internal/problem"
)

// Kind is what a booth's page is, decided by the files that are there now.
type Kind uint8

const (
	Gallery Kind = iota + 1 // neither of the two below
	Report                  // index.html is an item
	Board                   // links.md is an item
)

func (k Kind) String() string {
	switch k {
	case Gallery:
		return "gallery"
	case Report:
		return "report"
	case Board:
		return "board"
	default:
		return "invalid"
	}
}

// The items that decide a booth's kind.
const (
	ReportFile = "index.html"
	BoardFile  = "links.md"
)

// Look is what one strict read found, and the lifetime that follows from it.
type Look struct {
	Name     folder.Name
	ID       folder.FileID // of its folder; zero where that could not be opened
	Kind     Kind
	Manifest Manifest
	Items    []folder.Item // in the order in which a page shows them
	Survey   folder.Survey
	Marks    marks.Reading
	State    lifetime.State
	Facts    lifetime.Facts
	At       time.Time     // when it was read
	TTL      time.Duration // what State was decided with
}

// Terms are what a look is decided with, beside the booth's own folder.
type Terms struct {
	Now     time.Time
	TTL     time.Duration
	Records Records
	// Ours says that the caller has the booth's lock, so that it is not asked
	// whether somebody else has.
	Ours bool
}

// Records is what the desk keeps about booths, outside of them. One value is
// one read, and does not change.
type Records interface {
	// Arrival is when the booth's folder was first seen under its name.
	Arrival(name folder.Name, id folder.FileID, now time.Time) lifetime.Arrival
	// Review is whether a node waits for review of the booth.
	Review(name folder.Name) lifetime.Review
}

// At looks at one booth. What cannot be read is in the look, as damage or as a
// hold; it is never an error.
func At(ctx context.Context, b *folder.Booth, t Terms) Look {
	l := Look{Name: b.Name(), ID: b.ID(), At: t.Now, TTL: t.TTL}
	l.Survey = b.Survey(ctx, t.Now)
	l.Marks = readMarks(b)
	l.Manifest = readManifest(b)
	l.Items = l.Manifest.arrange(l.Survey.Items)
	l.Kind = kindOf(l.Survey.Items)
	l.Facts = lifetime.Facts{
		Sentinel: readSentinel(b),
		Marks:    marksFact(l.Marks),
		Tree:     treeFact(l.Survey),
		Mount:    l.Survey.Mount,
		Arrival:  t.Records.Arrival(b.Name(), b.ID(), t.Now),
		Review:   t.Records.Review(b.Name()),
		Busy:     !t.Ours && b.Locked(),
	}
	l.State = lifetime.Decide(l.Facts, t.TTL)
	return l
}

// Newest is the stamp that the age is counted from: the newest in the tree, or
// the booth's arrival where that is later. Its Clock is 0 if neither is known.
func (l Look) Newest() folder.Stamp {
	newest := l.Survey.Newest
	if came, ok := lifetime.Came(l.Facts.Arrival); ok && newest.Clock != 0 && came.After(newest.At) {
		return folder.Stamp{Path: ".", At: came, Clock: folder.FirstSeen}
	}
	return newest
}

// Settled is a booth's lifetime where its keep marker and its marks settle it,
// whatever else a look would find; nil where they do not. It reads nothing else,
// and costs little.
func Settled(b *folder.Booth) lifetime.State {
	s := lifetime.Decide(lifetime.Facts{Sentinel: readSentinel(b), Marks: marksFact(readMarks(b))}, 0)
	switch held := s.(type) {
	case lifetime.Kept:
		return s
	case lifetime.Held:
		if held.Reason == lifetime.Open || held.Reason == lifetime.MarksHold {
			return s
		}
	case lifetime.Counting:
	}
	return nil
}

// Line is the state in words, as of the time of the look.
func (l Look) Line() string { return lifetime.Line(l.State, l.At) }

// Title is the manifest's title, or the booth's name.
func (l Look) Title() string {
	if l.Manifest.Title != "" {
		return l.Manifest.Title
	}
	return l.Name.String()
}

func kindOf(items []folder.Item) Kind {
	has := func(name string) bool {
		_, ok := find(items, name)
		return ok
	}
	switch {
	case has(ReportFile):
		return Report
	case has(BoardFile):
		return Board
	default:
		return Gallery
	}
}

func readMarks(b *folder.Booth) marks.Reading {
	data, err := b.ReadDot(marks.File, marks.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return marks.Reading{}
	}
	if err != nil {
		return marks.Damaged("%s", problem.Words(err))
	}
	return marks.Parse(data)
}

func marksFact(r marks.Reading) lifetime.Marks {
	if !r.Whole() {
		return lifetime.MarksDamaged{Detail: r.Why()}
	}
	return lifetime.MarksRead{Open: r.Open()}
}

func treeFact(s folder.Survey) lifetime.Tree {
	if s.Failure != nil {
		return lifetime.TreeUnreadable{Path: Where(s.Failure.Path)}
	}
	return lifetime.TreeWalked{Newest: s.Newest.At}
}

// Where names a path of a survey in words: the booth's own folder has none.
func Where(path string) string {
	if path == "." {
		return "the booth's folder"
	}
	return path
}

func readSentinel(b *folder.Booth) lifetime.Sentinel {
	there, err := b.Sentinel()
	switch {
	case err != nil:
		return lifetime.SentinelUnreadable{Detail: problem.Words(err)}
	case !there:
		return lifetime.SentinelAbsent{}
	default:
		return lifetime.SentinelPresent{Why: keptWhy(b)}
	}
}

// List looks at every booth of the data folder, by name. A booth that goes away
// while it is looked at is left out; one that cannot be opened is held, like
// everything that cannot be read.
func List(ctx context.Context, d *folder.Data, t Terms) ([]Look, error) {
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	return Looks(ctx, d, names, t)
}

// Looks looks at the booths of these names, as [List] does.
func Looks(ctx context.Context, d *folder.Data, names []folder.Name, t Terms) ([]Look, error) {
	found := make([]*Look, len(names))
	var next atomic.Int64
	var lookers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxLookers, len(names)) {
		lookers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(names) {
					return
				}
				found[i] = Named(ctx, d, names[i], t)
			}
		})
	}
	lookers.Wait()
	if err := ctx.Err(); err != nil && len(names) > 0 {
		return nil, fmt.Errorf("list booths: %w", err)
	}
	looks := make([]Look, 0, len(found))
	for _, l := range found {
		if l != nil {
			looks = append(looks, *l)
		}
	}
	return looks, nil
}

// maxLookers is how many booths of a list are looked at at once.
const maxLookers = 8

// Named looks at the booth of a name, nil where there is none. One that cannot
// be opened is held, like everything that cannot be read.
func Named(ctx context.Context, d *folder.Data, n folder.Name, t Terms) *Look {
	b, err := d.Booth(n)
	var l Look
	switch {
	case err == nil:
		l = At(ctx, b, t)
		b.Close()
	case problem.KindOf(err) != problem.Gone:
		l = unopened(n, err, t)
	default:
		return nil
	}
	return &l
}

// unopened is the look of a booth of which only the name is known.
func unopened(n folder.Name, err error, t Terms) Look {
	l := Look{Name: n, Kind: Gallery, At: t.Now, TTL: t.TTL}
	l.Survey.Failure = &folder.Failure{Path: ".", Err: err}
	l.Facts = lifetime.Facts{
		Sentinel: lifetime.SentinelUnreadable{Detail: problem.Words(err)},
		Marks:    lifetime.MarksDamaged{Detail: problem.Words(err)},
		Tree:     treeFact(l.Survey),
		Arrival:  lifetime.ArrivalUnreadable{Detail: problem.Words(err)},
		Review:   t.Records.Review(n),
	}
	l.Marks = marks.Damaged("%s", problem.Words(err))
	l.State = lifetime.Decide(l.Facts, t.TTL)
	return l
}
