package booth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/booth/marks"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

var someone = marks.Who{By: "worker", Via: "token", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}

func named(t testing.TB, name string) folder.Name {
	t.Helper()
	n, err := folder.ParseName(name)
	check(t, err)
	return n
}

func sure() Question {
	return Question{Question: marks.Question{Title: "sure?", Key: "k", Parts: []marks.Part{{ID: "a", Kind: marks.Confirm}}}}
}

func answerYes(id string, shown int64) Reply {
	yes := true
	first := int64(1)
	return Reply{ID: id, Reply: marks.Reply{Question: &first, Document: &shown, Parts: map[string]marks.Value{"a": {Confirm: &yes}}}}
}

func addNote(s shed, words string) error {
	n, err := folder.ParseName("x")
	if err == nil {
		_, err = Note(context.Background(), s.data, n, Remark{Text: words}, someone)
	}
	return err
}

// content is a file's bytes; "absent" where there is none.
func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "absent"
	}
	check(t, err)
	return string(data)
}

func step(t testing.TB, err error, kind problem.Kind, step string) {
	t.Helper()
	if err == nil {
		t.Fatalf("done, want %s at %s", kind, step)
	}
	if p := problem.From(err, ""); p.Kind != kind || p.Step != step {
		t.Errorf("%s at %s (%v), want %s at %s", p.Kind, p.Step, err, kind, step)
	}
}

// Red when ChangeMarks does not write, or Ask, Answer and Withdraw give another
// question than theirs.
func TestAQuestionHoldsItsBoothUntilItIsAnswered(t *testing.T) {
	s := newShed(t)
	b, _ := s.booth(t, "x")
	ctx := context.Background()
	wantHeld := func(open bool) {
		t.Helper()
		h, ok := look(b).State.(lifetime.Held)
		if ok != open || ok && h.Reason != lifetime.Open {
			t.Errorf("%#v", look(b).State)
		}
	}
	asked, err := Ask(ctx, s.data, named(t, "x"), sure(), someone)
	check(t, err)
	wantHeld(true)
	if asked.State != "open" || asked.Rev != 1 || asked.Question != 1 || asked.Name != "x" || asked.Answer != nil {
		t.Errorf("%+v", asked)
	}
	answered, err := Answer(ctx, s.data, named(t, "x"), answerYes(asked.ID, asked.Rev), someone)
	check(t, err)
	wantHeld(false)
	if answered.State != "answered" || answered.Rev != 2 || answered.Answer == nil {
		t.Errorf("%+v", answered)
	}
	edit := sure()
	edit.Edit, edit.Title = asked.ID, "sure now?"
	edited, err := Ask(ctx, s.data, named(t, "x"), edit, someone)
	check(t, err)
	wantHeld(true)
	if edited.ID != asked.ID || edited.Question != 2 || edited.State != "open" {
		t.Errorf("%+v", edited)
	}
	gone, err := Withdraw(ctx, s.data, named(t, "x"), Withdrawal{ID: asked.ID}, someone)
	check(t, err)
	wantHeld(false)
	if gone.State != "withdrawn" {
		t.Errorf("%+v", gone)
	}
}

// case B23 and B24. Red when ChangeMarks writes what did not change.
func TestAChangeThatChangesNothingWritesNothing(t *testing.T) {
	s := newShed(t)
	_, dir := s.booth(t, "x")
	ctx, x := context.Background(), named(t, "x")
	asked, err := Ask(ctx, s.data, x, sure(), someone)
	check(t, err)
	_, err = Answer(ctx, s.data, x, answerYes(asked.ID, asked.Rev), someone)
	check(t, err)
	there, err := os.Open(dir + "/" + marks.File) // while it is open no other file has its number
	check(t, err)
	defer there.Close()
	before, err := there.Stat()
	check(t, err)
	again, err := Ask(ctx, s.data, x, sure(), someone)
	check(t, err)
	if again.ID != asked.ID || again.State != "answered" {
		t.Errorf("%+v", again)
	}
	_, err = Answer(ctx, s.data, x, answerYes(asked.ID, asked.Rev+1), someone)
	check(t, err)
	after, err := os.Stat(dir + "/" + marks.File)
	check(t, err)
	if !os.SameFile(before, after) {
		t.Error("the marks were written again")
	}
}

// A refused answer comes with the question as it is, and the rev to answer it
// with. Red when ChangeMarks gives no reading with an error.
func TestARefusedAnswerComesWithTheQuestionAsItIs(t *testing.T) {
	s := newShed(t)
	s.booth(t, "x")
	ctx, x := context.Background(), named(t, "x")
	asked, err := Ask(ctx, s.data, x, sure(), someone)
	check(t, err)
	_, err = Answer(ctx, s.data, x, answerYes(asked.ID, asked.Rev), someone)
	check(t, err)
	late := answerYes(asked.ID, asked.Rev)
	got, err := Answer(ctx, s.data, x, late, someone)
	step(t, err, problem.Refused, marks.StepStale)
	if got.ID != asked.ID || got.Rev != 2 || got.State != "answered" {
		t.Errorf("%+v", got)
	}
}

// Red when editMarks takes what cannot be read for what is not there.
func TestDamagedMarksAreNotWrittenOver(t *testing.T) {
	for what, bad := range map[string]string{"empty": "", "blank": "\n", "cut": doc(note)[:60], "no options": doc(noOptions), "large": strings.Repeat(" ", marks.MaxSize) + doc()} {
		s := newShed(t)
		_, dir := s.booth(t, "x")
		write(t, dir, marks.File, bad)
		t.Log(what)
		step(t, addNote(s, "x"), problem.Refused, marks.StepDamaged)
		if content(t, dir+"/"+marks.File) != bad {
			t.Error("the damaged marks were changed")
		}
	}
	for what, plant := range oddities {
		s := newShed(t)
		_, dir := s.booth(t, "x")
		plant(t, dir+"/"+marks.File)
		before, err := os.Lstat(dir + "/" + marks.File)
		check(t, err)
		t.Log(what)
		step(t, addNote(s, "x"), problem.Refused, marks.StepDamaged)
		if after, err := os.Lstat(dir + "/" + marks.File); err != nil || !os.SameFile(before, after) {
			t.Errorf("%v", err)
		}
	}
}

// case B20. Red when the marks are truncated before they are written. What comes
// back is the question as it is, not as it was to be: red when ChangeMarks gives
// what it could not write.
func TestMarksStayWhereTheyCannotBeWritten(t *testing.T) {
	for what, c := range map[string]struct {
		fail error
		step string
	}{"full": {unix.ENOSPC, problem.StepNoSpace}, "quota": {unix.EDQUOT, problem.StepNoSpace}, "broken": {unix.EIO, string(durable.StepWrite)}} {
		t.Run(what, func(t *testing.T) {
			s := newShed(t)
			_, dir := s.booth(t, "x")
			write(t, dir, marks.File, doc(openPick))
			failAt(t, func(m durable.Moment) error {
				if m == (durable.Moment{Step: durable.StepWrite}) {
					return c.fail
				}
				return nil
			})
			got, err := Answer(context.Background(), s.data, named(t, "x"), answerYes("p1", 1), someone)
			step(t, err, problem.Failed, c.step)
			if got.State != "open" || got.Rev != 1 || got.Answer != nil {
				t.Errorf("%+v", got)
			}
			if got := content(t, dir+"/"+marks.File); got != doc(openPick) {
				t.Errorf("the marks are %q", got)
			}
			if left, _ := filepath.Glob(dir + "/" + durable.TemporaryPrefix + "*"); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

func failAt(t testing.TB, f durable.Faults) {
	t.Helper()
	faults = f
	t.Cleanup(func() { faults = nil })
}

// Red when lockBooth waits for a lock beyond its context, or locked goes on
// without one.
func TestABoothThatIsInUseIsNotChanged(t *testing.T) {
	s := newShed(t)
	_, dir := s.booth(t, "x")
	write(t, dir, KeepFile, "")
	held, err := durable.OpenDir(dir)
	check(t, err)
	defer held.Close()
	lock, err := held.LockDir()
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x := named(t, "x")
	for what, do := range map[string]func(context.Context) error{
		"note": func(ctx context.Context) error {
			_, err := Note(ctx, s.data, x, Remark{Text: "x"}, someone)
			return err
		},
		"keep":    func(ctx context.Context) error { _, err := Keep(ctx, s.data, x, "why", "me", someone.At); return err },
		"release": func(ctx context.Context) error { _, err := Release(ctx, s.data, x, someone.At); return err },
		"repair":  func(ctx context.Context) error { _, err := Repair(ctx, s.data, x); return err },
	} {
		t.Log(what)
		step(t, do(ctx), problem.Refused, "booth-busy")
	}
	if content(t, dir+"/"+marks.File) != "absent" || content(t, dir+"/"+KeepFile) != "" {
		t.Error("something was written")
	}
	check(t, lock.Release())
	check(t, addNote(s, "x"))
}

// arrived runs f when somebody begins to wait for a lock: the booth was opened by
// then, and is not locked yet.
type arrived struct {
	context.Context

	once sync.Once
	f    func()
}

func (a *arrived) Done() <-chan struct{} { a.once.Do(a.f); return a.Context.Done() }

// Red when locked does not look the name up again.
func TestABoothThatWentAwayMeanwhileIsGoneAndNotWrittenTo(t *testing.T) {
	s := newShed(t)
	_, dir := s.booth(t, "x")
	ctx := &arrived{Context: context.Background(), f: func() { check(t, os.Rename(dir, s.path+"/.sweeping-1")) }}
	_, err := Note(ctx, s.data, named(t, "x"), Remark{Text: "x"}, someone)
	step(t, err, problem.Gone, "booth")
	if content(t, s.path+"/.sweeping-1/"+marks.File) != "absent" {
		t.Error("written where nobody will look")
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the booth came back: %v", err)
	}
}

// Red when locked does not compare what it locked with what has the name now, or
// refuses in place of beginning again.
func TestAChangeGoesToTheBoothThatHasTheNameNow(t *testing.T) {
	s := newShed(t)
	_, dir := s.booth(t, "x")
	_, err := Note(&arrived{Context: context.Background(), f: func() {
		check(t, os.Rename(dir, s.path+"/old"))
		check(t, os.Mkdir(dir, 0o755))
		write(t, dir, marks.File, doc(openPick))
	}}, s.data, named(t, "x"), Remark{Text: "y"}, someone)
	check(t, err)
	if content(t, s.path+"/old/"+marks.File) != "absent" {
		t.Error("written to the booth that was")
	}
	if r := marks.Parse([]byte(content(t, dir+"/"+marks.File))); len(r.Marks) != 2 || r.Open() != 1 {
		t.Errorf("%+v", r)
	}
}

// Red when two changes read the same document: without the lock. What is claimed
// is only what was acknowledged.
func TestNoAcknowledgedNoteIsLost(t *testing.T) {
	s := newShed(t)
	_, dir := s.booth(t, "x")
	var all sync.WaitGroup
	done := make([]error, 50)
	for i := range done {
		all.Go(func() { done[i] = addNote(s, fmt.Sprint("note ", i)) })
	}
	all.Wait()
	var want, got []string
	for i, err := range done {
		if err == nil {
			want = append(want, fmt.Sprint("note ", i))
		}
	}
	r := marks.Parse([]byte(content(t, dir+"/"+marks.File)))
	for _, m := range r.Marks {
		if n, ok := m.(marks.Note); ok {
			got = append(got, n.Text)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !r.Whole() || !slices.Equal(want, got) || len(want) == 0 || r.Rev != int64(len(want)) {
		t.Errorf("acknowledged %v, there are %v (%s), rev %d", want, got, r.Why(), r.Rev)
	}
}

// A test of what a kill leaves starts this binary again, with its part in the
// environment.
const (
	childPart = "HOLDFAST_TEST_CHILD"
	childData = "HOLDFAST_TEST_FOLDER"
	childAt   = "HOLDFAST_TEST_ARG"
)

var (
	fresh  = doc(openPick)
	broken = doc(openPick, noOptions)
)

// killed are the changes that are cut off at each of their moments.
var killed = map[string]struct {
	file, before string
	run          func(s shed) error
	held         func(lifetime.Held) bool // whatever of the two is there
}{
	"note": {marks.File, fresh, func(s shed) error { return addNote(s, "x") }, func(h lifetime.Held) bool { return h.Reason == lifetime.Open }},
	"repair": {marks.File, broken, func(s shed) error {
		n, err := folder.ParseName("x")
		if err == nil {
			_, err = Repair(context.Background(), s.data, n)
		}
		return err
	}, func(h lifetime.Held) bool { return h.Reason == lifetime.Open || h.Reason == lifetime.MarksHold }},
}

func TestMain(m *testing.M) {
	c, ok := killed[os.Getenv(childPart)]
	if !ok {
		os.Exit(m.Run())
	}
	at, _ := strconv.Atoi(os.Getenv(childAt))
	faults = func(durable.Moment) error {
		if at--; at < 0 {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {} // until it arrives
		}
		return nil
	}
	data, err := folder.OpenData(os.Getenv(childData))
	if err == nil {
		err = c.run(shed{data: data})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Nothing of the program runs after a SIGKILL. Red when the marks are written in
// place; for a repair, when the damaged file is moved away before the mended one
// is there.
func TestAKilledChangeLeavesTheOldMarksOrTheNew(t *testing.T) {
	for name, c := range killed {
		s := newShed(t)
		_, dir := s.booth(t, "x")
		write(t, dir, c.file, c.before)
		moments := 0
		faults = func(durable.Moment) error { moments++; return nil }
		check(t, c.run(s))
		faults = nil
		after := content(t, dir+"/"+c.file)
		if moments < 8 || after == c.before {
			t.Fatalf("%s: %d moments", name, moments)
		}
		for at := range moments {
			t.Run(fmt.Sprint(name, "/", at), func(t *testing.T) {
				s := newShed(t)
				b, dir := s.booth(t, "x")
				write(t, dir, c.file, c.before)
				self, err := os.Executable()
				check(t, err)
				child := exec.CommandContext(t.Context(), self)
				child.Env = append(os.Environ(), childPart+"="+name, childData+"="+s.path, childAt+"="+strconv.Itoa(at))
				var exit *exec.ExitError
				if err := child.Run(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the child was not killed: %v", err)
				}
				if got := content(t, dir+"/"+c.file); got != c.before && got != after {
					t.Errorf("left %q", got)
				}
				if h, ok := look(b).State.(lifetime.Held); !ok || !c.held(h) {
					t.Errorf("%#v", look(b).State)
				}
				check(t, c.run(s))
				if l := look(b); !l.Marks.Whole() || l.Marks.Open() != 1 {
					t.Errorf("the next change leaves %+v", l.Marks)
				}
			})
		}
	}
}

// Red when Marks refuses what is damaged, or Flag writes a note.
func TestMarksAreReadAsFarAsTheyCanBe(t *testing.T) {
	s := newShed(t)
	_, dir := s.booth(t, "x")
	ctx, x := context.Background(), named(t, "x")
	if r, err := Marks(s.data, x); err != nil || !r.Whole() || len(r.Marks) != 0 {
		t.Errorf("none: %+v, %v", r, err)
	}
	flagged, err := Flag(ctx, s.data, x, Remark{Target: "a.png"}, someone)
	check(t, err)
	r, err := Marks(s.data, x)
	check(t, err)
	if f, ok := r.Marks[0].(marks.Flag); !ok || f.Target != "a.png" || f.MarkID != flagged.ID || r.Rev != flagged.Rev {
		t.Errorf("%+v, %+v", r, flagged)
	}
	write(t, dir, marks.File, doc(openPick, noOptions))
	if r, err := Marks(s.data, x); err != nil || r.Whole() || r.Open() != 1 {
		t.Errorf("damaged: %+v, %v", r, err)
	}
	_, err = Marks(s.data, named(t, "y"))
	step(t, err, problem.Gone, "booth")
}

// Red when ParseRequest decodes openly: a misspelt member would be left out.
func TestARequestIsReadStrictly(t *testing.T) {
	var r Reply
	check(t, ParseRequest([]byte(`{"id":"p1","document":3,"parts":{"a":{"confirm":true}}}`), &r))
	if r.ID != "p1" || r.Document == nil || *r.Document != 3 || !*r.Parts["a"].Confirm {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{"", "null", "[]", "{}", `{"id":"p1"}`, `{"id":"p1","parts":{},"comments":"x"}`, `{"id":"p1","ID":"p2","parts":{}}`, `{"id":"p1","parts":{"a":{"confirm":"yes"}}}`} {
		step(t, ParseRequest([]byte(bad), &r), problem.Usage, "request")
	}
}
