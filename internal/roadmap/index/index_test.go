package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

const (
	ada   = event.Principal("principal:local/studio/ada")
	walls = event.Node("walls")
	roof  = event.Node("roof")
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, plan string) *Index {
	t.Helper()
	x, err := Open(t.Context(), plan)
	check(t, err)
	t.Cleanup(func() { x.Close() })
	return x
}

// log makes the events of a log, one place after the other.
type log struct {
	t   *testing.T
	all []event.Envelope
}

// say adds an event that follows the given ones.
func (l *log) say(n event.Node, body event.Body, parents ...event.Envelope) event.Envelope {
	l.t.Helper()
	d := event.Draft{Node: n, Author: ada, At: noon.Add(time.Duration(len(l.all)) * time.Minute), Body: body}
	for _, p := range parents {
		d.Parents = append(d.Parents, p.Event.ID())
	}
	e, err := d.Seal()
	check(l.t, err)
	seq := int64(len(l.all) + 1)
	env := event.Envelope{Seq: seq, Key: event.Key(fmt.Sprintf("key-%d", seq)), Event: e}
	l.all = append(l.all, env)
	return env
}

func opened(title string) event.Body { return event.Opened{Card: event.Card{Title: title}} }

func comment(id event.Comment, text string) event.Body {
	return event.CommentCreated{Comment: id, Body: text}
}

// to is the position of the n-th reading.
func to(n int, seq int64) Position {
	if n == 0 {
		return Position{}
	}
	at := noon.Add(time.Duration(n) * time.Minute)
	return Position{Commit: fmt.Sprintf("%040d", n), Committed: at, Read: at.Add(time.Second), Seq: seq}
}

// update brings an index from one reading to the next.
func update(n int, events ...event.Envelope) Update {
	u := Update{From: to(n-1, 0).Commit, To: to(n, 0), Events: events}
	for _, e := range events {
		u.To.Seq = e.Seq
	}
	return u
}

// seen is all that an index says.
type seen struct {
	At       Position
	Events   []string
	States   []history.State
	Refusals []Refusal
	Segments []Segment
}

func read(t *testing.T, v *View) seen {
	t.Helper()
	s := seen{At: v.Position()}
	check(t, v.Envelopes(0, func(e event.Envelope) error {
		s.Events = append(s.Events, string(e.Bytes()))
		return nil
	}))
	var err [3]error
	s.States, err[0] = v.States()
	s.Refusals, err[1] = v.Refusals()
	s.Segments, err[2] = v.Segments()
	check(t, errors.Join(err[:]...))
	return s
}

func look(t *testing.T, x *Index) seen {
	t.Helper()
	v, err := x.View(t.Context())
	check(t, err)
	defer v.Close()
	return read(t, v)
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Red when: Apply does not compare where the index stands, or what it did before it
// failed stays.
func TestAnUpdateGoesFromOnePositionToTheNextOrNowhere(t *testing.T) {
	x, l := open(t, t.TempDir()), &log{t: t}
	same(t, "a new index", Position{}, look(t, x).At)
	first := l.say(walls, opened("Walls"))
	check(t, x.Apply(t.Context(), update(1, first)))
	second := l.say(walls, comment("c", "hello"), first)
	before := look(t, x)
	same(t, "the position", to(1, 1), before.At)
	for name, from := range map[string]string{"twice": "", "from elsewhere": to(7, 0).Commit} {
		u := update(2, second)
		u.From = from
		if err := x.Apply(t.Context(), u); !errors.Is(err, ErrMoved) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The last thing that is written fails: the segment is there twice.
	u := update(2, second)
	u.Segments = []Segment{{1, "a"}, {1, "b"}}
	if err := x.Apply(t.Context(), u); err == nil || errors.Is(err, ErrMoved) {
		t.Errorf("a segment twice: %v", err)
	}
	same(t, "after what failed", before, look(t, x))
	check(t, x.Apply(t.Context(), update(2, second)))
	same(t, "the next position", to(2, 2), look(t, x).At)
}

// Red when: Open takes the file for an index, or gives an error after which nobody
// makes it anew; Discard leaves it there.
func TestWhatIsNoIndexIsDamagedAndCanBeMadeAnew(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"of another version": func(t *testing.T, path string) { inside(t, path, `PRAGMA user_version = 99`) },
		"of something else":  func(t *testing.T, path string) { inside(t, path, `CREATE TABLE recipe (name TEXT)`) },
		"no database": func(t *testing.T, path string) {
			check(t, os.WriteFile(path, []byte("This is a letter, and a long one at that.\n"), 0o600))
		},
		"a folder": func(t *testing.T, path string) { check(t, os.MkdirAll(filepath.Join(path, "full"), 0o700)) },
		"a link":   func(t *testing.T, path string) { check(t, os.Symlink("elsewhere", path)) },
	} {
		t.Run(name, func(t *testing.T) {
			plan := t.TempDir()
			spoil(t, filepath.Join(plan, File))
			x, err := Open(t.Context(), plan)
			if err == nil {
				x.Close()
			}
			var damaged *Damaged
			if !errors.As(err, &damaged) || damaged.Reason == "" {
				t.Fatalf("opened with %v", err)
			}
			check(t, Discard(plan))
			same(t, "made anew", Position{}, look(t, open(t, plan)).At)
		})
	}
}

// inside runs a statement in the database at path.
func inside(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	check(t, err)
	_, err = db.Exec(statement)
	check(t, errors.Join(err, db.Close()))
}

// Red when: an event or a state that cannot be read is an error like any other, or
// none.
func TestWhatIsSpoiledInsideIsDamaged(t *testing.T) {
	for _, statement := range []string{
		`UPDATE event SET bytes = '{}'`,
		`UPDATE node SET state = '{"node":1}'`,
		`UPDATE position SET read = 'yesterday'`,
		`DROP TABLE refusal`,
	} {
		plan := t.TempDir()
		x, l := open(t, plan), &log{t: t}
		check(t, x.Apply(t.Context(), update(1, l.say(walls, opened("Walls")))))
		inside(t, filepath.Join(plan, File), statement)
		var damaged *Damaged
		if err := readAll(t.Context(), x); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func readAll(ctx context.Context, x *Index) error {
	v, err := x.View(ctx)
	if err != nil {
		return err
	}
	defer v.Close()
	_, events := v.Events(walls, "")
	_, _, state := v.State(walls)
	_, refusals := v.Refusals()
	return errors.Join(events, state, refusals)
}

// Red when: the text is looked for in every node, or is taken for a pattern.
func TestEventsAreFoundByTheTextInThem(t *testing.T) {
	x, l := open(t, t.TempDir()), &log{t: t}
	first := l.say(walls, opened("Walls"))
	tall := l.say(walls, comment("tall", "100% höher"), first)
	other := l.say(roof, opened("höher"))
	low := l.say(walls, comment("low", "100 and lower"), tall)
	check(t, x.Apply(t.Context(), update(1, l.all...)))
	v, err := x.View(t.Context())
	check(t, err)
	defer v.Close()
	for _, c := range []struct {
		node event.Node
		text string
		want []event.Envelope
	}{
		{walls, "", []event.Envelope{first, tall, low}},
		{walls, "höher", []event.Envelope{tall}},
		{walls, "100%", []event.Envelope{tall}},
		{walls, "100", []event.Envelope{tall, low}},
		{walls, "HÖHER", nil},
		{roof, "höher", []event.Envelope{other}},
		{"cellar", "", nil},
	} {
		got, err := v.Events(c.node, c.text)
		check(t, err)
		var have, want []event.ID
		for _, e := range got {
			have = append(have, e.ID())
		}
		for _, e := range c.want {
			want = append(want, e.Event.ID())
		}
		same(t, fmt.Sprintf("%s with %q", c.node, c.text), want, have)
	}
}

// Red when: Reread leaves what was said of the tail, or takes what was said of
// segments; what is said of a segment again is there twice.
func TestARereadingReplacesRefusalsButNotThoseOfSegments(t *testing.T) {
	x := open(t, t.TempDir())
	sealed := Refusal{Place: "segments/0000000001.jsonl:3", Node: walls, Step: "event-id", Reason: "r"}
	odd := Refusal{Place: "segments/odd", Step: "name", Reason: "r"}
	tail := Refusal{Place: "tail/0000000009-a.json", Node: roof, Step: "event-id", Reason: "r"}
	newer := Refusal{Place: "tail/0000000010-b.json", Node: roof, Step: "canonical", Reason: "r"}
	u := update(1)
	u.Refusals = []Refusal{sealed, odd, tail}
	check(t, x.Apply(t.Context(), u))
	check(t, x.Apply(t.Context(), update(2)))
	same(t, "not read again", []Refusal{sealed, odd, tail}, look(t, x).Refusals)
	u = update(3)
	u.Reread, u.Refusals = true, []Refusal{odd, newer}
	check(t, x.Apply(t.Context(), u))
	same(t, "read again", []Refusal{sealed, odd, newer}, look(t, x).Refusals)
}

// An update of many events and many of one event each come to the same, and to what
// the events alone come to: where they follow each other, and where they do not.
//
// Red when: extend goes on from a state that the event does not follow, or does not
// keep what it made.
func TestAStateExtendedIsOneMadeAnew(t *testing.T) {
	l := &log{t: t}
	first := l.say(walls, opened("Walls"))
	claimed := l.say(walls, event.Claimed{Assignee: ada, ReturnTo: ada}, first)
	l.say(roof, opened("Roof"))
	left := l.say(walls, comment("l", "left"), claimed)
	right := l.say(walls, comment("r", "right"), claimed)
	l.say(walls, event.Reconciled{Keep: right.Event.ID()}, left, right)
	whole, steps := open(t, t.TempDir()), open(t, t.TempDir())
	check(t, whole.Apply(t.Context(), update(1, l.all...)))
	for i, e := range l.all {
		check(t, steps.Apply(t.Context(), update(i+1, e)))
		same(t, fmt.Sprintf("after %d events", i+1), anew(l.all[:i+1]), look(t, steps).States)
	}
	same(t, "at once", anew(l.all), look(t, whole).States)
}

// anew is the states of the nodes that events are about, by name.
func anew(log []event.Envelope) []history.State {
	list := []history.State{}
	for _, n := range []event.Node{roof, walls} {
		var of []event.Event
		for _, e := range log {
			if e.Event.Node() == n {
				of = append(of, e.Event)
			}
		}
		if len(of) > 0 {
			list = append(list, history.StateOf(n, of))
		}
	}
	return list
}

// Red when: an index keeps for itself what it knows.
func TestTwoHandlesOnOneFolderSeeEachOther(t *testing.T) {
	plan := t.TempDir()
	a, b, l := open(t, plan), open(t, plan), &log{t: t}
	check(t, a.Apply(t.Context(), update(1, l.say(walls, opened("Walls")))))
	same(t, "what the other wrote", look(t, a), look(t, b))
	if err := b.Apply(t.Context(), update(1, l.say(roof, opened("Roof")))); !errors.Is(err, ErrMoved) {
		t.Errorf("both brought it to its first position: %v", err)
	}
	check(t, b.Apply(t.Context(), update(2, l.all[1])))
	same(t, "what the other wrote then", look(t, b), look(t, a))
	same(t, "the position", to(2, 2), look(t, a).At)
	check(t, Discard(plan))
	c := open(t, plan)
	if !a.Replaced() || !b.Replaced() || c.Replaced() {
		t.Errorf("replaced: %v, %v, and the new one %v", a.Replaced(), b.Replaced(), c.Replaced())
	}
}

// Red when: a view reads outside of its transaction, or one that begins anew.
func TestAViewIsOneStateWhileAnotherHandleApplies(t *testing.T) {
	plan := t.TempDir()
	a, b, l := open(t, plan), open(t, plan), &log{t: t}
	first := l.say(walls, opened("Walls"))
	check(t, a.Apply(t.Context(), update(1, first)))
	v, err := b.View(t.Context())
	check(t, err)
	defer v.Close()
	before := look(t, b)
	u := update(2, l.say(walls, comment("c", "hello"), first), l.say(roof, opened("Roof")))
	u.Refusals, u.Segments = []Refusal{{Place: "tail/x", Step: "name", Reason: "r"}}, []Segment{{1, "a"}}
	check(t, a.Apply(t.Context(), u))
	same(t, "the view", before, read(t, v))
	if _, ok, err := v.ByKey("key-2"); ok || err != nil {
		t.Errorf("the view has an event of later: %v", err)
	}
	after := look(t, b)
	if after.At != u.To || len(after.Events) != 3 || len(after.States) != 2 || len(after.Refusals) != 1 || len(after.Segments) != 1 {
		t.Errorf("a later view has %+v", after)
	}
}
