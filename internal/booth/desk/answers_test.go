package desk

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/booth/sweep"
)

func oneText(members string) string {
	return `{"schema":"holdfast.marks/v1","rev":4,"marks":[{"id":"p1","shape":"pick","title":"Which tests to skip?","rev":1,"parts":[{"id":"a","kind":"text"` + members + `}]}]}`
}

// A word is a word: "none" in a text is what somebody wrote. Red when formValue
// takes it for the option of that name.
func TestNoneInAFieldForWordsIsAWord(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", oneText(`,"exact":true`))
	want(t, "none", s.form(t, s.url("b", "x", "marks", "answer"), s.browser(t), "id=p1", "question=1", "document=4", "part-0=none"), http.StatusSeeOther)
	if p := s.pick(t, "x", "p1"); p.State() != marks.StateAnswered || p.Value("a").Text != "none" {
		t.Errorf("%s %+v", p.State(), p.Answer)
	}
}

const swapped = `{"schema":"holdfast.marks/v1","rev":5,"marks":[{"id":"p1","shape":"pick","title":"Ready?","rev":2,"changed":5,"parts":[` +
	`{"id":"delete","prompt":"Delete the originals?","kind":"confirm"},{"id":"publish","prompt":"Publish?","kind":"confirm"}]}]}`

// What was chosen for one question is not chosen for the next: after an edit the
// form is empty, and says what had been said. Red when pickView fills in a form of
// another revision.
func TestAnEditedQuestionIsNotAnsweredBeforehand(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", swapped)
	res := s.form(t, s.url("b", "x", "marks", "answer"), s.browser(t), "id=p1", "question=1", "document=4", "part-0=yes", "part-1=no", "comment=carefully <now>")
	want(t, "stale", res, http.StatusConflict)
	if strings.Contains(res.body, " checked") || !strings.Contains(res.body, "What you had said") || !strings.Contains(res.body, "<li>yes</li><li>no</li><li>carefully &lt;now&gt;</li>") {
		t.Errorf("%s", res.body)
	}
}

// What was typed comes back also where there is no form for it any more. Red when
// the words are shown in the form alone, or the page is left out for what is no
// refusal.
func TestWhatWasTypedIsNeverLost(t *testing.T) {
	s := serve(t, options{})
	typed := []string{"id=p1", "question=1", "document=4", "part-0=a long text"}
	answer := s.url("b", "x", "marks", "answer")
	for name, doc := range map[string]string{
		"withdrawn": strings.Replace(oneText(""), `"rev":1,`, `"rev":1,"withdrawn":{"by":"w"},`, 1),
		"damaged":   strings.Replace(oneText(""), `"marks":[`, `"marks":[{"id":"bad"},`, 1),
		"gone":      strings.Replace(oneText(""), `"p1"`, `"p2"`, 1),
		"torn":      oneText("")[:60],
	} {
		write(t, s.dir("x")+"/.marks.json", doc)
		res := s.form(t, answer, s.browser(t), typed...)
		if res.StatusCode != http.StatusConflict && res.StatusCode != http.StatusNotFound || !strings.Contains(res.body, "<li>a long text</li>") || !strings.Contains(res.body, `role="alert"`) {
			t.Errorf("%s: %s %s", name, res.Status, res.body)
		}
		if strings.Contains(res.body, "data-live") {
			t.Errorf("%s: the first change would take the words away", name)
		}
	}
	want(t, "no booth", s.form(t, s.url("b", "none", "marks", "answer"), s.browser(t), typed...), http.StatusNotFound)
}

// What a form shows as cleared is cleared. Red when an empty field keeps what was
// said before.
func TestWhatIsClearedOnTheFormIsCleared(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", twoParts)
	answer, browser := s.url("b", "x", "marks", "answer"), s.browser(t)
	want(t, "answer", s.form(t, answer, browser, "id=p1", "question=1", "document=4", "part-0==r", "part-1=calm", "comment=hm"), http.StatusSeeOther)
	want(t, "clear", s.form(t, answer, browser, "id=p1", "question=1", "document=5", "part-0==r", "part-1=", "comment="), http.StatusSeeOther)
	p := s.pick(t, "x", "p1")
	if _, there := p.Answer.Parts["b"]; there || p.Answer.Comment != "" || p.State() != marks.StateOpen || len(p.Superseded) != 1 {
		t.Errorf("%s %+v", p.State(), p.Answer)
	}
	want(t, "clear all", s.form(t, answer, browser, "id=p1", "question=1", "document=6", "part-1="), http.StatusConflict)
	// The same again is no change, whatever ends the lines of a browser's text.
	want(t, "lines", s.form(t, answer, browser, "id=p1", "question=1", "document=6", "part-0==r", "part-1=a\r\nb", "comment=c\r\nd"), http.StatusSeeOther)
	want(t, "lines again", s.form(t, answer, browser, "id=p1", "question=1", "document=7", "part-0==r", "part-1=a\r\nb", "comment=c\r\nd"), http.StatusSeeOther)
	if rev := s.marks(t, "x").Rev; rev != 7 {
		t.Errorf("rev %d", rev)
	}
}

// A booth may have an item at the address of one of the desk's acts. A page that
// keeps itself up to date fetches the address that the server gave it, which is
// one of the desk's. Red when Here is left empty, or is where the request came to.
func TestALivePageIsFetchedFromTheDesk(t *testing.T) {
	s := serve(t, options{base: "/desk/"})
	write(t, s.dir("x")+"/.marks.json", twoParts)
	write(t, s.dir("x")+"/marks/answer", "<div data-region>mine</div>")
	for target, here := range map[string]string{
		s.base.String() + "?deleted=x":              s.base.String(),
		s.base.String() + "?lane=waiting&page=9":    s.base.String() + "?lane=waiting&amp;page=1",
		s.url("b", "x", "") + "?page=1":             s.url("b", "x", "") + "?page=1",
		s.url("b", "x", "marks"):                    s.url("b", "x", "marks"),
		s.url("b", "x", "marks") + "?x=%22%3E%3Cb>": s.url("b", "x", "marks"),
	} {
		if page := s.do(t, "GET", target, s.browser(t)).body; !strings.Contains(page, ` data-here="`+here+`"`) {
			t.Errorf("%s: %.600s", target, page)
		}
	}
	res := s.form(t, s.url("b", "x", "marks", "answer"), s.browser(t), "id=p1", "question=1", "document=1", "part-0==r")
	want(t, "stale", res, http.StatusConflict)
	if strings.Contains(res.body, "data-live") {
		t.Error("a page at the address of an act is live")
	}
}

// A superseded answer to a question that was edited is told by what was chosen, not
// by what those ids are called now. Red when inWords takes the labels of today.
func TestAnOldAnswerIsNotToldInNewWords(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", `{"schema":"holdfast.marks/v1","rev":5,"marks":[{"id":"p1","shape":"pick","title":"Originals?","rev":2,"parts":[`+
		`{"id":"a","kind":"choice","options":[{"id":"x","label":"Delete them"},{"id":"y","label":"Keep them"}]}],`+
		`"superseded":[{"why":"question-edited","answer":{"by":"o","parts":{"a":{"choices":["x"]}}}}]}]}`)
	page := s.do(t, "GET", s.url("b", "x", "marks"), s.browser(t)).body
	if !strings.Contains(page, "before it was edited: a: x (o)") {
		t.Errorf("%s", page)
	}
}

// A look that comes late does not bring a deleted booth back. Red when viewed does
// not ask what has the name now.
func TestALateLookIsNotRecorded(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "x")
	s.desk.Live = func() string { // which is asked for once the booth is open
		check(t, os.Rename(s.dir("x"), s.dir("y")))
		return ""
	}
	s.do(t, "GET", s.url("b", "x", ""), s.browser(t))
	if _, err := os.Lstat(s.dir("y") + "/.viewed"); err == nil {
		t.Error("recorded")
	}
}

// What is put and renamed over HTTP is in the index at once. Red when servePut or
// servePatch does not say so.
func TestTheIndexKnowsWhatWasPut(t *testing.T) {
	s := serve(t, options{})
	index := func() string { return s.do(t, "GET", s.base.String(), anonymous).body }
	index()
	want(t, "put", s.send(t, "PUT", s.url("b", "fresh", "sub", "a.txt"), strings.NewReader("x"), s.operator()), http.StatusCreated)
	if !strings.Contains(index(), "/b/fresh/") {
		t.Error("put")
	}
	want(t, "patch", s.send(t, "PATCH", s.url("api", "v1", "booths", "fresh"), strings.NewReader(`{"title":"Called so"}`), s.operator()), http.StatusOK)
	if !strings.Contains(index(), "Called so") {
		t.Error("patched")
	}
}

// However many names there are, what is remembered of them is bounded, and none of
// the changes is missed. Red without maxRung, or when it forgets that all changed.
func TestWhatChangedIsRememberedWithinBounds(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "x")
	index := func() string { return s.do(t, "GET", s.base.String(), anonymous).body }
	index()
	for i := range 2 * maxRung {
		s.desk.Changed(fmt.Sprintf("n%d", i))
		s.desk.Touched(".not-a-booth")
	}
	if n := len(s.desk.bells.rung.names); n > maxRung {
		t.Errorf("%d names", n)
	}
	write(t, s.dir("y")+"/a.txt", "x")
	if !strings.Contains(index(), "/b/y/") {
		t.Error("a change was missed")
	}
	bell := s.desk.bells.wait("x")
	s.desk.ChangedAll()
	<-bell
}

// Of two looks at one booth the later one stays, whichever was done first. Red when
// with does not compare them.
func TestALaterLookStays(t *testing.T) {
	now := time.Now()
	s := &snapshot{booths: map[string]*entry{"a": {name: "a", read: now.Add(time.Second)}, "b": {name: "b", read: now}}}
	next := s.with(map[string]*entry{"a": nil, "b": nil, "c": {name: "c", read: now}}, now)
	if len(next.booths) != 2 || next.booths["a"] == nil || next.booths["c"] == nil || len(s.booths) != 2 {
		t.Errorf("%v", next.booths)
	}
}

// A walk over all booths that takes longer than a snapshot may be old is late, and
// not for ever. Red when snapshot wants one that is young by the clock.
func TestASlowLookIsLateAndNotForEver(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "x")
	began := time.Now()
	s.desk.Now = func() time.Time { return began.Add(1e6 * time.Since(began)) } // each look takes minutes
	if snap, err := s.desk.snapshot(t.Context()); err != nil || len(snap.booths) != 1 {
		t.Errorf("%v %v", snap, err)
	}
}

// Everything that reads a name into an element's id makes it one of its own. Red
// when Anchor takes any id as it is.
func TestNoQuestionTakesAnothersPlaceOnThePage(t *testing.T) {
	for id, want := range map[string]string{"p1": "p1", "p12": "p12", "seed7": "seed7", "open": "pick-6f70656e", "title-p1": "pick-7469746c652d7031", "p1 ": "pick-703120", "main": "pick-6d61696e"} {
		if got := booth.Anchor(id); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}

// A booth that is watched, and of which nothing is reported, is not walked again for
// each index; one that is not watched, has folders or was not yet seen is, and so is
// every other after a while. Red when stands leaves out one of its questions.
func TestWhatIsWatchedIsTakenAtItsWordForAWhile(t *testing.T) {
	s := serve(t, options{})
	arrive := func() {
		sweeper, ok := s.desk.Sweeper.(*sweep.Sweeper)
		if !ok {
			t.Fatal("another sweeper")
		}
		check(t, sweeper.Arrive(t.Context()))
	}
	for _, n := range []string{"flat", "deep", "open", "late"} {
		write(t, s.dir(n)+"/a.txt", "x")
	}
	write(t, s.dir("deep")+"/sub/b.txt", "x")
	arrive()
	check(t, os.RemoveAll(s.dir("late")))
	write(t, s.dir("late")+"/a.txt", "x")
	sizes := func() map[string]string {
		out := map[string]string{}
		for _, m := range regexp.MustCompile(`/b/(\w+)/"><bdi>[^<]*</bdi></a></h3>\s*<p class="meta">[^<]* · ([^<·]*)</p>`).FindAllStringSubmatch(s.do(t, "GET", s.base.String(), anonymous).body, -1) {
			out[m[1]] = m[2]
		}
		return out
	}
	later := func(d time.Duration) { s.ahead.Add(int64(d)) }
	grow := func(content string) { // in place, so that no folder's time moves
		for _, n := range []string{"flat", "deep", "open", "late"} {
			f, err := os.OpenFile(s.dir(n)+"/a.txt", os.O_WRONLY|os.O_TRUNC, 0)
			check(t, err)
			_, err = f.WriteString(content)
			check(t, err)
			check(t, f.Close())
		}
	}
	s.watched = true
	sizes()
	grow("xyz")
	later(maxAge + time.Second)
	if got := sizes(); got["flat"] != "1 B" || got["deep"] != "4 B" || got["late"] != "3 B" {
		t.Errorf("watched: %v", got)
	}
	s.desk.Touched("flat")
	if got := sizes(); got["flat"] != "3 B" || got["open"] != "1 B" {
		t.Errorf("one was reported: %v", got)
	}
	write(t, s.dir("open")+"/new.txt", "x") // which moves its folder's time
	later(maxAge + time.Second)
	if got := sizes(); got["open"] != "4 B" {
		t.Errorf("its folder moved: %v", got)
	}
	grow("xyz12")
	later(2 * trustFor)
	if got := sizes(); got["flat"] != "5 B" {
		t.Errorf("after a while: %v", got)
	}
	grow("x")
	s.watched = false
	later(maxAge + time.Second)
	if got := sizes(); got["flat"] != "1 B" {
		t.Errorf("not watched: %v", got)
	}
	s.watched = true
	sizes()
	check(t, s.desk.Ledger.SetHolds(map[folder.Name]string{name(t, "flat"): "n-1"}))
	later(maxAge + time.Second)
	if page := s.do(t, "GET", s.base.String(), anonymous).body; !strings.Contains(page, "held until n-1 is reviewed") {
		t.Error("the desk's own record is not asked")
	}
}

// A countdown is as of the page, not as of the look. Red when laneView shows the
// line of the look.
func TestACountdownIsAsOfThePage(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "x")
	sweeper, ok := s.desk.Sweeper.(*sweep.Sweeper)
	if !ok {
		t.Fatal("another sweeper")
	}
	check(t, sweeper.Arrive(t.Context()))
	s.watched, s.desk.TTL = true, time.Minute
	s.do(t, "GET", s.base.String(), anonymous)
	s.ahead.Store(int64(trustFor / 2)) // and so the look stands
	before := s.do(t, "GET", s.base.String(), anonymous).body
	if snap := s.desk.snapshots.last; snap.booths["x"].read.After(time.Now()) {
		t.Fatal("it was looked at again")
	}
	if !regexp.MustCompile(`expires in 4\ds`).MatchString(before) {
		t.Errorf("%s", before)
	}
}

// A booth can be full of questions and notes: a page shows some of each, and says how
// many there are. Red when listedOf shows them all.
func TestAPageShowsSomeOfMany(t *testing.T) {
	s := serve(t, options{})
	var all []string
	for i := range 3*maxShown + 1 {
		id, rest := fmt.Sprintf("p%d", i+1), ""
		if i%2 == 1 {
			rest = `,"withdrawn":{"by":"w"}`
		}
		all = append(all, `{"id":"`+id+`","shape":"pick","title":"Q","parts":[{"id":"a","kind":"text"}]`+rest+`}`, fmt.Sprintf(`{"id":"n%d","shape":"note","text":"hm","target":"a.txt"}`, i))
	}
	write(t, s.dir("x")+"/a.txt", "x")
	write(t, s.dir("x")+"/.marks.json", `{"schema":"holdfast.marks/v1","rev":4,"marks":[`+strings.Join(all, ",")+`]}`)
	page := s.do(t, "GET", s.url("b", "x", "marks"), s.browser(t)).body
	for what, n := range map[string]int{`<article class="pick `: 2 * maxShown, `<li class="sheet">`: maxShown, "and 51 more": 1, "and 50 more": 1, "and 201 more": 1} {
		if got := strings.Count(page, what); got != n {
			t.Errorf("%s: %d, want %d", what, got, n)
		}
	}
	if got := strings.Count(s.do(t, "GET", s.view("x", "a.txt"), s.browser(t)).body, `<li class="sheet">`); got != maxShown {
		t.Errorf("the view shows %d", got)
	}
	// What was typed for one that is not shown is shown all the same.
	res := s.form(t, s.url("b", "x", "marks", "answer"), s.browser(t), "id=p301", "question=1", "document=9", "part-0=words of mine")
	want(t, "stale", res, http.StatusConflict)
	if !strings.Contains(res.body, "<li>words of mine</li>") {
		t.Error("what was typed is lost")
	}
}
