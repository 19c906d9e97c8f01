package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

const ada = event.Principal("principal:local/studio/ada")

// yard is a queue in a folder of its own.
type yard struct {
	*Queue
	t    *testing.T
	plan string
}

func newYard(t *testing.T) *yard {
	t.Helper()
	return yardAt(t, t.TempDir(), nil)
}

func yardAt(t *testing.T, plan string, faults durable.Faults) *yard {
	t.Helper()
	dir, err := durable.OpenDir(plan)
	if err != nil {
		t.Fatal(err)
	}
	q, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	q.waiting.Faults, q.outcomes.Faults = faults, faults
	t.Cleanup(func() { q.Close(); dir.Close() })
	return &yard{q, t, plan}
}

func comment(key, text string) event.Command {
	return event.Command{
		Key: event.Key(key), Node: "fix-login", Author: ada, At: time.Now(),
		Body: event.CommentCreated{Comment: event.Comment("c-" + key), Body: text},
	}
}

func claim(key string) event.Command {
	return event.Command{Key: event.Key(key), Node: "fix-login", Author: ada, At: time.Now(), Body: event.Claimed{Assignee: ada, ReturnTo: ada}}
}

func (y *yard) put(c event.Command) Entry {
	y.t.Helper()
	e, err := y.Put(c)
	if err != nil {
		y.t.Fatal(err)
	}
	return e
}

func (y *yard) settle(e Entry, ended Ended) {
	y.t.Helper()
	if err := y.Settle(e, Outcome{Node: e.Command.Node, Ended: ended}); err != nil {
		y.t.Fatal(err)
	}
}

// waitingKeys is the keys that wait, in order.
func (y *yard) waitingKeys() []event.Key {
	y.t.Helper()
	entries, _, err := y.Entries()
	if err != nil {
		y.t.Fatal(err)
	}
	keys := []event.Key{}
	for _, e := range entries {
		keys = append(keys, e.Command.Key)
	}
	return keys
}

func (y *yard) wantWaiting(keys ...event.Key) {
	y.t.Helper()
	if diff := cmp.Diff(append([]event.Key{}, keys...), y.waitingKeys()); diff != "" {
		y.t.Errorf("what waits (-want +got):\n%s", diff)
	}
}

// bringBack brings back an entry whose removal was cut off.
func (y *yard) bringBack(e Entry, do func()) {
	y.t.Helper()
	path := filepath.Join(y.plan, "queue", string(e.Command.Key)+suffix)
	data, err := os.ReadFile(path)
	if err != nil {
		y.t.Fatal(err)
	}
	do()
	if err := os.WriteFile(path, data, perm); err != nil {
		y.t.Fatal(err)
	}
}

func step(err error) string { return problem.From(err, "").Step }

var refusal = Refused{problem.Refusal("history-claim", "Somebody else has it.")}

func TestOneKeyIsOneCommandThatManyMayAskFor(t *testing.T) {
	y := newYard(t)
	first := y.put(comment("k", "hello"))
	if again := y.put(comment("k", "hello")); again.Ticket != first.Ticket {
		t.Errorf("the second entry has the ticket %s, the first %s", again.Ticket, first.Ticket)
	}
	if _, err := y.Put(comment("k", "goodbye")); step(err) != "operation-conflict" {
		t.Errorf("another command under the key: %v", err)
	}
	y.wantWaiting("k")
}

// Red when: Put takes the time as it is, which is the same within a millisecond.
func TestWhatOneCallerQueuesKeepsItsOrder(t *testing.T) {
	y := newYard(t)
	want := []event.Key{}
	synctest.Test(t, func(*testing.T) { // where no time passes
		for i := range 20 {
			want = append(want, y.put(comment(fmt.Sprintf("k%d", 99-i), "x")).Command.Key)
		}
	})
	y.wantWaiting(want...)
}

// Red when: Answer does not compare with what was there when the entry was joined.
func TestAnOldWordThatWasNotTheLastIsNoAnswer(t *testing.T) {
	y := newYard(t)
	first := y.put(comment("k", "hello"))
	y.settle(first, Queued{"the remote is away"})
	again := y.put(comment("k", "hello"))
	if o, ok := y.Answer(again); ok {
		t.Errorf("joined just now, it was answered by %#v", o)
	}
	y.settle(again, Queued{"it is away still"})
	if o, ok := y.Answer(again); !ok || o.Ended != (Queued{"it is away still"}) {
		t.Errorf("it was answered by %#v, %v", o, ok)
	}
}

// Red when: Take does not ask what was answered. Then what was refused to somebody
// is published after all.
func TestWhatWasAnsweredIsNotPublishedAgain(t *testing.T) {
	for name, ended := range map[string]Ended{"refused": refusal, "appended": Appended{"a", "c"}} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			e := y.put(comment("k", "hello"))
			y.bringBack(e, func() { y.settle(e, ended) })
			y.wantWaiting()
			again := y.put(comment("k", "hello"))
			if o, ok := y.Answer(again); ok {
				t.Errorf("asked again, it is answered by the old %#v", o)
			}
			got, err := y.Take()
			if err != nil || len(got) != 0 {
				t.Errorf("taken is %v, %v", got, err)
			}
			if waits, err := y.Waits(e); waits || err != nil {
				t.Errorf("it waits: %v, %v", waits, err)
			}
		})
	}
	y := newYard(t)
	claimed := y.put(claim("k"))
	y.bringBack(claimed, func() { y.settle(claimed, Unknown{"cut"}) })
	if got, err := y.Take(); err != nil || len(got) != 0 {
		t.Errorf("a claim that may not wait is taken again: %v, %v", got, err)
	}
}

// case R11. Red when: Put says "nothing was appended" for whatever failed.
func TestAnEntryThatMayBeThereIsNotSaidToBeAbsent(t *testing.T) {
	for _, m := range []durable.Moment{
		{Step: durable.StepCreateTemporary},
		{Step: durable.StepWrite},
		{Step: durable.StepSync},
		{Step: durable.StepLink},
		{Step: durable.StepLink, Done: true},
		{Step: durable.StepSyncDir},
		{Step: durable.StepSyncDir, Done: true},
	} {
		t.Run(fmt.Sprint(m.Step, m.Done), func(t *testing.T) {
			y := yardAt(t, t.TempDir(), func(at durable.Moment) error {
				if at == m {
					return errors.New("no")
				}
				return nil
			})
			e, err := y.Put(comment("k", "hello"))
			if err != nil && step(err) != "queue" {
				t.Error(err)
			}
			if err != nil {
				y.wantWaiting()
			} else if waits, err := y.Waits(e); !waits || err != nil {
				t.Errorf("it waits: %v, %v", waits, err)
			}
		})
	}
}

// case R11. Red when: Settle takes the entry out although the outcome was not put
// down.
func TestAnEntryStaysUntilItsOutcomeIsOnTheDisk(t *testing.T) {
	full := false
	y := yardAt(t, t.TempDir(), func(m durable.Moment) error {
		if full && m == (durable.Moment{Step: durable.StepWrite}) {
			return errors.New("no room")
		}
		return nil
	})
	e := y.put(comment("k", "hello"))
	full = true
	if err := y.Settle(e, Outcome{Ended: refusal}); err == nil {
		t.Error("an outcome was put down on a full disk")
	}
	y.wantWaiting("k")
	if _, err := y.Put(comment("k2", "hello")); step(err) != "queue" {
		t.Errorf("%v", err)
	}
	full = false
	y.settle(e, refusal)
	y.wantWaiting()
}

// Red when: Entries fails for, or leaves out, what it cannot read.
func TestADamagedFileIsShownAndHoldsUpNothing(t *testing.T) {
	y := newYard(t)
	y.put(comment("good", "hello"))
	for name, text := range map[string]string{
		"torn.json":    `{"schema":"holdfast-queued/1"`,
		"other.json":   `{"at":"2026-01-01T00:00:00Z","command":{},"schema":"holdfast-queued/2","ticket":"x"}`,
		"empty.json":   "",
		"another.json": string(must(os.ReadFile(filepath.Join(y.plan, "queue", "good.json")))),
	} {
		if err := os.WriteFile(filepath.Join(y.plan, "queue", name), []byte(text), perm); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("good.json", filepath.Join(y.plan, "queue", "link.json")); err != nil {
		t.Fatal(err)
	}
	y.wantWaiting("good")
	_, damaged, err := y.Entries()
	names := []string{}
	for _, d := range damaged {
		names = append(names, d.Name)
		if d.Reason == "" {
			t.Errorf("%s is damaged without a reason", d.Name)
		}
	}
	if diff := cmp.Diff([]string{"another.json", "empty.json", "link.json", "other.json", "torn.json"}, names); diff != "" || err != nil {
		t.Errorf("damaged (-want +got):\n%s%v", diff, err)
	}
	if _, err := y.Put(comment("torn", "hello")); step(err) != "operation-read" {
		t.Errorf("queued over a damaged entry: %v", err)
	}
	for _, name := range []string{"torn", "link.json"} {
		if err := y.Withdraw(name); err != nil {
			t.Error(err)
		}
	}
	y.put(comment("torn", "hello"))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Red when: a damaged outcome is taken for an answer, or for an error.
func TestADamagedOutcomeIsNoAnswerAndIsReplaced(t *testing.T) {
	y := newYard(t)
	e := y.put(comment("k", "hello"))
	if err := os.WriteFile(filepath.Join(y.plan, "outcomes", "k.json"), []byte("torn"), perm); err != nil {
		t.Fatal(err)
	}
	if o, ok := y.Answer(e); ok {
		t.Errorf("answered by %#v", o)
	}
	y.settle(e, Appended{"a", "c"})
	if o, ok := y.Answer(e); !ok || o.Ended != (Appended{"a", "c"}) {
		t.Errorf("answered by %#v, %v", o, ok)
	}
}

// Red when: Outcomes leaves out what it cannot read; Withdraw takes the command that
// waits for the outcome of its key, or removes an outcome that can be read.
func TestADamagedOutcomeIsShownAndCanBeRemoved(t *testing.T) {
	y := newYard(t)
	e := y.put(comment("late", "x"))
	y.settle(e, Queued{"away"})
	y.settle(e, refusal)
	y.put(comment("waits", "x"))
	y.settle(y.put(comment("done", "x")), Appended{"a", "c"})
	for _, name := range []string{"late.json", "waits.json"} {
		if err := os.WriteFile(filepath.Join(y.plan, "outcomes", name), []byte(`{"schema":"holdfast-out`), perm); err != nil {
			t.Fatal(err)
		}
	}
	y.wantOutcomes([]string{"done"}, "outcomes/late.json", "outcomes/waits.json")
	for _, name := range []string{"outcomes/late.json", "outcomes/waits.json"} {
		if err := y.Withdraw(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"outcomes/late.json", "outcomes/done.json", "outcomes/", "outcomes/../queue/waits.json"} {
		if err := y.Withdraw(name); problem.KindOf(err) != problem.Gone {
			t.Errorf("withdrew %s: %v", name, err)
		}
	}
	y.wantOutcomes([]string{"done"})
	y.wantWaiting("waits")
}

// wantOutcomes checks which outcomes can be read, and which files cannot.
func (y *yard) wantOutcomes(keys []string, damaged ...string) {
	y.t.Helper()
	list, torn, err := y.Outcomes()
	var got, names []string
	for _, s := range list {
		got = append(got, string(s.Key))
	}
	for _, d := range torn {
		names = append(names, d.Name)
		if d.Reason == "" || !d.IsOutcome() {
			y.t.Errorf("%+v", d)
		}
	}
	if diff := cmp.Diff(keys, got) + cmp.Diff(damaged, names); diff != "" || err != nil {
		y.t.Errorf("outcomes (-want +got):\n%s%v", diff, err)
	}
}

// Red when: Withdraw says nothing to who waits, or "nothing was appended" of what
// may be.
func TestWhoWaitsForAWithdrawnCommandIsTold(t *testing.T) {
	y := newYard(t)
	e := y.put(comment("k", "hello"))
	if err := y.Withdraw("k"); err != nil {
		t.Fatal(err)
	}
	o, ok := y.Answer(e)
	if no, refused := o.Ended.(Refused); !ok || !refused || no.Problem.Step != "withdrawn" {
		t.Errorf("it was told %#v, %v", o, ok)
	}
	if err := y.Withdraw("k"); problem.KindOf(err) != problem.Gone {
		t.Errorf("withdrawn twice: %v", err)
	}
	unsure := y.put(comment("u", "hello"))
	y.settle(unsure, Unknown{"the answer was lost"})
	if err := y.Withdraw("u"); err != nil {
		t.Fatal(err)
	}
	if s, _, err := y.Outcome("u"); err != nil || cmp.Diff(Unknown{"x"}, s.Outcome.Ended) == "" {
		t.Error(s, err)
	} else if _, unknown := s.Outcome.Ended.(Unknown); !unknown {
		t.Errorf("it was told %#v", s.Outcome.Ended)
	}
	y.wantWaiting()
}

// Red when: Forget forgets what waits, or keeps what does not, such as a claim of
// which it is not known what became.
func TestOutcomesAreForgottenAfterThirtyDaysButNotThoseThatWait(t *testing.T) {
	y := newYard(t)
	y.settle(y.put(comment("done", "x")), Appended{"a", "c"})
	y.settle(y.put(comment("refused", "x")), refusal)
	y.settle(y.put(comment("waits", "x")), Queued{"away"})
	y.settle(y.put(claim("claim")), Unknown{"cut"})
	y.put(comment("new", "x"))
	if n, err := y.Forget(time.Now().Add(Keep - time.Minute)); n != 0 || err != nil {
		t.Errorf("forgot %d, %v before their time", n, err)
	}
	if n, err := y.Forget(time.Now().Add(Keep + time.Minute)); n != 3 || err != nil {
		t.Errorf("forgot %d, %v, want 3", n, err)
	}
	left, _, err := y.Outcomes()
	if err != nil || len(left) != 1 || left[0].Key != "waits" {
		t.Errorf("kept are %v, %v", left, err)
	}
	y.wantWaiting("waits", "new")
}

// Late is for whoever was told to wait, and for nobody else.
func TestARefusalOfWhatWasQueuedIsLate(t *testing.T) {
	y := newYard(t)
	e := y.put(comment("late", "x"))
	y.settle(e, Queued{"away"})
	y.settle(e, refusal)
	y.settle(y.put(comment("soon", "x")), refusal)
	for key, want := range map[event.Key]bool{"late": true, "soon": false} {
		if s, ok, err := y.Outcome(key); err != nil || !ok || s.Late != want {
			t.Errorf("%s: %+v, %v, %v", key, s, ok, err)
		}
	}
}
