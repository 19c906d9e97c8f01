package reach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/booth"
	"holdfast/internal/booth/marks"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/problem"
)

// actors is what the command line acts by, beside what it looks by.
type actors interface {
	Watcher
	Ask(ctx context.Context, name string, q booth.Question) (booth.Asked, error)
	Answer(ctx context.Context, name string, r booth.Reply) (booth.Asked, error)
	Withdraw(ctx context.Context, name string, w booth.Withdrawal) (booth.Asked, error)
	Note(ctx context.Context, name string, r booth.Remark) (booth.Noted, error)
	Flag(ctx context.Context, name string, r booth.Remark) (booth.Noted, error)
	Repair(ctx context.Context, name string) (booth.Repaired, error)
	Keep(ctx context.Context, name string, why booth.Keeping) (booth.Kept, error)
	Unkeep(ctx context.Context, name string) (booth.Kept, error)
	Remove(ctx context.Context, name string) (booth.Trashed, error)
	Restore(ctx context.Context, id string) (booth.Restored, error)
	Trash(ctx context.Context) (booth.Trash, error)
	Sweep(ctx context.Context, dry bool) (sweep.Report, error)
	Census(ctx context.Context) (booth.Census, error)
}

func question(title, key string) booth.Question {
	var q booth.Question
	q.Title, q.Key = title, key
	q.Parts = []marks.Part{{ID: "answer", Kind: marks.Choice, Options: []marks.Option{{ID: "a", Label: "<A & co>"}, {ID: "b"}}}}
	return q
}

func choose(id, option string) booth.Reply {
	var r booth.Reply
	r.ID, r.Parts = id, map[string]marks.Value{"answer": {Choices: []string{option}}}
	return r
}

// shown is a reply to the question as it is now, unless it says otherwise.
func shown(b interface {
	Marks(context.Context, string) (marks.Reading, error)
}, name string, r booth.Reply,
) booth.Reply {
	read, err := b.Marks(context.Background(), name)
	if p, ok := read.Pick(r.ID); err == nil && ok {
		r.Question = new(p.Revision())
	} else {
		r.Question = new(int64(1))
	}
	if r.Document == nil {
		r.Document = &read.Rev
	}
	return r
}

// run is what is another thing in each run.
var run = regexp.MustCompile(`"20[0-9-]+T[0-9:.]+Z"|expires in [^"]*|"purge_in":"[^"]*"|"via":"(cli|token)"`)

// record notes what each call answered, without the times of this run.
type record struct {
	t   *testing.T
	saw []string
}

func (r *record) note(what string, doc any, err error) {
	r.t.Helper()
	if err != nil {
		p := problem.From(err, "no words")
		r.saw = append(r.saw, fmt.Sprintf("%s: %s at %s: %s", what, p.Kind, p.Step, p.Reason))
		return
	}
	if reading, ok := doc.(marks.Reading); ok {
		show, err := reading.Show()
		check(r.t, err)
		doc = map[string]any{"show": show, "damage": reading.Damage}
	}
	switch d := doc.(type) {
	case booth.Asked:
		d.URL = "" // which only a desk knows
		doc = d
	case booth.Trashed:
		d.ID = "ID"
		doc = d
	case booth.Trash:
		for i := range d.Trash {
			d.Trash[i].ID = "ID"
		}
	}
	text, err := json.Marshal(doc)
	check(r.t, err)
	r.saw = append(r.saw, what+": "+run.ReplaceAllString(string(text), "RUN"))
}

// act does everything once, and what is refused.
func act(t *testing.T, h home) []string {
	r := &record{t: t}
	ctx, b := context.Background(), h.reach
	h.arrive()
	ask := func(name string, q booth.Question) { doc, err := b.Ask(ctx, name, q); r.note("ask", doc, err) }
	answer := func(name string, a booth.Reply) {
		doc, err := b.Answer(ctx, name, shown(b, name, a))
		r.note("answer", doc, err)
	}
	look := func(name string) { doc, err := b.Marks(ctx, name); r.note("marks", doc, err) }

	look("demo")
	ask("demo", question("Which?", "k"))
	ask("demo", question("Which?", "k"))
	ask("demo", question("Another?", "k"))
	ask("demo", question("", ""))
	ask("none", question("Which?", ""))
	ask("..", question("Which?", ""))
	answer("demo", choose("p1", "c"))
	answer("demo", booth.Reply{ID: "p1"})
	answer("demo", choose("p1", "a"))
	answer("demo", choose("p9", "a"))
	answer("none", choose("p1", "a"))
	stale := choose("p1", "b")
	stale.Document = new(int64(1))
	answer("demo", stale)
	edit := question("Which now?", "")
	edit.Edit = "p1"
	ask("demo", edit)
	for _, w := range []booth.Withdrawal{{ID: "p1", Reason: "moved on"}, {ID: "p1"}, {ID: "p9"}} {
		doc, err := b.Withdraw(ctx, "demo", w)
		r.note("withdraw", doc, err)
	}
	for _, m := range []booth.Remark{{Text: "darker", Target: "a.png"}, {}} {
		doc, err := b.Note(ctx, "demo", m)
		r.note("note", doc, err)
		doc, err = b.Flag(ctx, "demo", m)
		r.note("flag", doc, err)
	}
	look("demo")
	seen, err := b.Watch(ctx, "demo", 1, []string{"p1"})
	r.note("watch", seen, err)
	_, err = b.Watch(ctx, "none", 1, nil)
	r.note("watch none", nil, err)

	for _, why := range []booth.Keeping{{Why: "for the talk"}, {}} {
		doc, err := b.Keep(ctx, "demo", why)
		r.note("keep", doc, err)
	}
	census, err := b.Census(ctx)
	r.note("census", census, err)
	for range 2 {
		doc, err := b.Unkeep(ctx, "demo")
		r.note("unkeep", doc, err)
	}
	_, err = b.Keep(ctx, "none", booth.Keeping{})
	r.note("keep none", nil, err)
	_, err = b.Unkeep(ctx, "a/b")
	r.note("unkeep no name", nil, err)

	// Damage: what hydrates is shown, nothing is written over, and it is mended.
	check(t, os.WriteFile(h.path+"/demo/.marks.json", []byte(`{"schema":"holdfast.marks/v1","rev":7,"marks":[{"id":"n1","shape":"note","text":"kept"},{"id":"p1"}]}`), 0o644))
	look("demo")
	damage, err := b.Watch(ctx, "demo", 7, nil)
	r.note("watch damage", damage, err)
	ask("demo", question("Which?", ""))
	for range 2 {
		doc, err := b.Repair(ctx, "demo")
		r.note("repair", doc, err)
	}
	_, err = b.Repair(ctx, "none")
	r.note("repair none", nil, err)

	// What deletes.
	gone, err := b.Remove(ctx, "demo")
	r.note("remove", gone, err)
	_, err = b.Remove(ctx, "demo")
	r.note("remove again", nil, err)
	_, err = b.Remove(ctx, "..")
	r.note("remove no name", nil, err)
	trash, err := b.Trash(ctx)
	r.note("trash", trash, err)
	for _, id := range []string{"nope", "", "..", gone.ID} {
		doc, err := b.Restore(ctx, id)
		r.note("restore", doc, err)
	}
	trash, err = b.Trash(ctx)
	r.note("trash", trash, err)
	for _, dry := range []bool{true, false} {
		doc, err := b.Sweep(ctx, dry)
		r.note("sweep", doc, err)
	}
	return r.saw
}

// Red when the two ways differ in a document, a kind, a step or words; and when
// a mark, an option or a name is lost on the way.
func TestActsLocalAndRemoteAnswerAlike(t *testing.T) {
	homes := both(t)
	local, far := act(t, homes["local"]), act(t, homes["remote"])
	if d := cmp.Diff(local, far); d != "" {
		t.Error(d)
	}
	if len(local) != 48 {
		t.Errorf("%d answers", len(local))
	}
}

// Red when a local act does not close the sweeper that it opened.
func TestASweeperThatWasOpenedIsClosed(t *testing.T) {
	h := both(t)["local"]
	_, err := h.reach.Remove(context.Background(), "demo")
	check(t, err)
	_, err = h.reach.Remove(context.Background(), "demo")
	if problem.KindOf(err) != problem.Gone || h.bin.closed != 2 {
		t.Errorf("%v, closed %d times", err, h.bin.closed)
	}
}

// Red when a command opens a sweeper beside the desk that has one, or goes past a
// desk that cannot be told.
func TestWhatDeletesGoesThroughTheDeskThatServes(t *testing.T) {
	homes := both(t)
	desk, ok := homes["remote"].reach.(Remote)
	if !ok {
		t.Fatal("no remote")
	}
	local, ok := homes["local"].reach.(Local)
	if !ok {
		t.Fatal("no local")
	}
	local.Acts.Desk = func(context.Context) (*Remote, error) { return &desk, nil }
	ctx := context.Background()
	gone, err := local.Remove(ctx, "demo")
	check(t, err)
	_, err = local.Restore(ctx, gone.ID)
	check(t, err)
	_, err = local.Trash(ctx)
	check(t, err)
	_, err = local.Sweep(ctx, false)
	check(t, err)
	if homes["local"].bin.closed != 0 {
		t.Error("a second sweeper was opened")
	}
	local.Acts.Desk = func(context.Context) (*Remote, error) { return nil, errors.New("cannot be told") }
	if _, err := local.Remove(ctx, "demo"); err == nil || homes["local"].bin.closed != 0 {
		t.Errorf("%v, %d", err, homes["local"].bin.closed)
	}
	local.Acts = Acts{}
	if _, err := local.Remove(ctx, "demo"); problem.KindOf(err) != problem.Refused {
		t.Errorf("without a desk and a sweeper: %v", err)
	}
}

// watching starts a watch on demo, and returns when it has read once and waits.
func watching(t *testing.T, local Local, since int64) (polls chan time.Duration, end chan marks.Reading, failed chan error) {
	t.Helper()
	polls, end, failed = make(chan time.Duration, 100), make(chan marks.Reading, 1), make(chan error, 1)
	local.tick = never(polls)
	go func() {
		r, err := local.Watch(context.Background(), "demo", since, nil)
		end <- r
		failed <- err
	}()
	if d := <-polls; d != checkPause {
		t.Errorf("the folder is not watched: next look after %v", d)
	}
	return polls, end, failed
}

func localHome(t *testing.T) (Local, string) {
	t.Helper()
	h := both(t)["local"]
	l, ok := h.reach.(Local)
	if !ok {
		t.Fatal("no local")
	}
	return l, h.path
}

// The clock of this test never moves, so only a report can end the wait. Red when
// concerns does not know the marks' file, or the watch begins after the read.
func TestAnAnswerIsSeenWithoutAPoll(t *testing.T) {
	local, _ := localHome(t)
	ctx := context.Background()
	asked, err := local.Ask(ctx, "demo", question("Which?", ""))
	check(t, err)
	polls := make(chan time.Duration, 100)
	waiting := local
	waiting.tick = never(polls)
	end, failed := make(chan Waited, 1), make(chan error, 1)
	go func() {
		w, err := Wait(ctx, waiting, "demo", Want{IDs: []string{asked.ID}})
		end <- w
		failed <- err
	}()
	<-polls // it has read the question, and waits
	_, err = local.Note(ctx, "demo", booth.Remark{Text: "a change that is no answer"})
	check(t, err)
	<-polls
	_, err = local.Answer(ctx, "demo", shown(local, "demo", choose(asked.ID, "b")))
	check(t, err)
	w := <-end
	check(t, <-failed)
	if len(w.Picks) != 1 || w.Picks[0].State != "answered" || w.Picks[0].Answer.Parts["answer"].Choices[0] != "b" {
		t.Errorf("%+v", w)
	}
}

// Red when concerns does not take a report of the folder itself.
func TestABoothThatGoesAwayEndsItsWatch(t *testing.T) {
	for name, leave := range map[string]func(path string) error{
		"renamed": func(path string) error { return os.Rename(path+"/demo", path+"/.trash-1") },
		"deleted": func(path string) error { return os.RemoveAll(path + "/demo") },
	} {
		local, path := localHome(t)
		_, end, failed := watching(t, local, 0)
		check(t, leave(path))
		<-end
		if err := <-failed; problem.KindOf(err) != problem.Gone {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Red when damage waits for another rev.
func TestDamageEndsAWatch(t *testing.T) {
	local, path := localHome(t)
	_, end, failed := watching(t, local, 0)
	check(t, os.WriteFile(path+"/new", []byte(`{"schema":"holdfast.marks/v1","rev":0,"marks":[{}]}`), 0o644))
	check(t, os.Rename(path+"/new", path+"/demo/"+marks.File))
	r := <-end
	check(t, <-failed)
	if r.Whole() {
		t.Errorf("%+v", r)
	}
}

// A data folder whose path leads nowhere any more cannot be watched, and is
// looked at all the same. Red when next waits for reports that cannot come.
func TestAFolderThatCannotBeWatchedIsPolled(t *testing.T) {
	local, path := localHome(t)
	check(t, os.Rename(path, path+"-moved"))
	defer os.RemoveAll(path + "-moved")
	ticks, asked := make(chan time.Time), make(chan time.Duration, 10)
	local.tick = func(d time.Duration) <-chan time.Time { asked <- d; return ticks }
	end := make(chan marks.Reading, 1)
	go func() {
		r, _ := local.Watch(context.Background(), "demo", 0, nil)
		end <- r
	}()
	if d := <-asked; d != pollPause {
		t.Errorf("next look after %v", d)
	}
	_, err := local.Note(context.Background(), "demo", booth.Remark{Text: "x"})
	check(t, err)
	ticks <- time.Time{}
	if r := <-end; r.Rev != 1 {
		t.Errorf("%+v", r)
	}
}

// Red when Wait makes an error of the end of its time, or does not pass the
// context on.
func TestATimeOutIsNoError(t *testing.T) {
	for name, h := range both(t) {
		ctx := context.Background()
		asked, err := h.reach.Ask(ctx, "demo", question("Which?", ""))
		check(t, err)
		for _, patience := range []time.Duration{0, time.Millisecond} {
			w, err := Wait(ctx, h.reach, "demo", Want{IDs: []string{asked.ID}, Timeout: &patience})
			if err != nil || len(w.Picks) != 1 || w.Picks[0].State != "open" {
				t.Errorf("%s, %v: %+v %v", name, patience, w, err)
			}
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := h.reach.Watch(ended, "demo", asked.Rev, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Red when the query is spelt in another way, or the heartbeat is left out.
func TestAWatchSaysWhatItWaitsFor(t *testing.T) {
	asked := make(chan url.Values, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query()
		fmt.Fprint(w, `{"rev":8,"marks":[]}`)
	}))
	defer server.Close()
	r, err := at(t, server.URL+"/", "").Watch(context.Background(), "demo", 7, []string{"p1", "p2"})
	if err != nil || r.Rev != 8 {
		t.Errorf("%+v %v", r, err)
	}
	want := url.Values{"since": {"7"}, "wait": {"30s"}, "waiting": {"p1,p2"}}
	if d := cmp.Diff(want, <-asked); d != "" {
		t.Error(d)
	}
}

// noticing tells of each request that got no answer.
type noticing struct {
	http.RoundTripper
	missed chan<- error
}

func (n noticing) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := n.RoundTripper.RoundTrip(r)
	if err != nil {
		n.missed <- err
	}
	return res, err
}

// Red when a watch ends with the desk that it asked.
func TestAWatchOutlivesARestartOfTheDesk(t *testing.T) {
	rev := 7
	polled := make(chan struct{}, 10)
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"rev":%d,"marks":[]}`, rev)
		polled <- struct{}{}
	})
	before := httptest.NewServer(answer)
	address := before.Listener.Addr().String()
	end, failed := make(chan marks.Reading, 1), make(chan error, 1)
	missed := make(chan error, 100)
	far := at(t, before.URL+"/", "")
	far.HTTP.Transport = noticing{far.HTTP.Transport, missed}
	go func() {
		r, err := far.Watch(context.Background(), "demo", 7, nil)
		end <- r
		failed <- err
	}()
	<-polled
	before.Close()
	<-missed // it has asked, and nobody was there
	rev = 8
	again, err := net.Listen("tcp", address)
	check(t, err)
	after := &httptest.Server{Listener: again, Config: &http.Server{Handler: answer}}
	after.Start()
	defer after.Close()
	r := <-end
	check(t, <-failed)
	if r.Rev != 8 {
		t.Errorf("%+v", r)
	}
}
