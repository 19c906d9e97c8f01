package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
)

const twoParts = `{"schema":"holdfast.marks/v1","rev":4,"marks":[{"id":"p1","shape":"pick","title":"Which?","rev":1,"parts":[` +
	`{"id":"a","prompt":"Colour","kind":"choice","options":[{"id":"r","label":"Red"},{"id":"b","label":"Blue"}]},{"id":"b","prompt":"Why","kind":"text"}]}]}`

// form sends a form as a browser does.
func (s *site) form(t testing.TB, target string, as who, fields ...string) answer {
	t.Helper()
	v := url.Values{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		v.Add(name, value)
	}
	return s.send(t, "POST", target, strings.NewReader(v.Encode()), as,
		"Content-Type: application/x-www-form-urlencoded", "Accept: text/html", "Sec-Fetch-Mode: navigate")
}

func (s *site) json(t testing.TB, target string, as who, body string) answer {
	t.Helper()
	return s.send(t, "POST", target, strings.NewReader(body), as, "Content-Type: application/json", "Accept: application/json")
}

// marks are those of a booth as they lie on the disk.
func (s *site) marks(t testing.TB, name string) marks.Reading {
	t.Helper()
	n, err := folder.ParseName(name)
	check(t, err)
	r, err := booth.Marks(s.desk.Data, n)
	check(t, err)
	return r
}

func (s *site) pick(t testing.TB, name, id string) marks.Pick {
	t.Helper()
	p, ok := s.marks(t, name).Pick(id)
	if !ok {
		t.Fatalf("no pick %s", id)
	}
	return p
}

// A form answers in part, then fully; who, how and the comment are kept. Red when
// readForm numbers the fields another way than the page, or an answer in part
// replaces what it does not name.
func TestAFormAnswersInPartAndThenFully(t *testing.T) {
	s := serve(t, options{base: "/desk/"})
	write(t, s.dir("x")+"/.marks.json", twoParts)
	answer := s.url("b", "x", "marks", "answer")
	res := s.form(t, answer, s.browser(t), "id=p1", "question=1", "document=4", "back=marks", "part-0==b", "part-1=", "comment=so far")
	want(t, "in part", res, http.StatusSeeOther)
	if to := res.Header.Get("Location"); to != s.url("b", "x", "marks") {
		t.Errorf("led to %s", to)
	}
	p := s.pick(t, "x", "p1")
	if p.State() != marks.StateOpen || p.Value("a").Choices[0] != "b" || p.Answer.By != principal || p.Answer.Via != "page" || p.Answer.Comment != "so far" {
		t.Fatalf("%+v", p.Answer)
	}
	page := s.do(t, "GET", s.url("b", "x", "marks"), s.browser(t))
	for _, part := range []string{"answered in part", "held until answered", `value="=b" checked`, `name="document" value="5"`} {
		if !strings.Contains(page.body, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	res = s.form(t, answer, s.browser(t), "id=p1", "question=1", "document=5", "back=booth", "part-0==b", "part-1=it is\r\ncalmer")
	want(t, "fully", res, http.StatusSeeOther)
	if to := res.Header.Get("Location"); to != s.url("b", "x", "") {
		t.Errorf("led to %s", to)
	}
	p = s.pick(t, "x", "p1")
	if p.State() != marks.StateAnswered || p.Value("b").Text != "it is\ncalmer" || len(p.Superseded) != 1 {
		t.Errorf("%s %+v", p.State(), p)
	}
	if page := s.do(t, "GET", s.url("b", "x", ""), s.browser(t)); strings.Contains(page.body, "held until answered") {
		t.Error("still held")
	}
}

// Two tabs that show one question: the second answer is a 409 that shows what the
// first said, and keeps what was typed. Red when the document's rev is not sent
// along, or writeMarks forgets the form.
func TestTheSecondOfTwoTabsIsToldAndKeepsItsWords(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", twoParts)
	answer, browser := s.url("b", "x", "marks", "answer"), s.browser(t)
	want(t, "first", s.form(t, answer, browser, "id=p1", "question=1", "document=4", "part-0==b"), http.StatusSeeOther)
	res := s.form(t, answer, browser, "id=p1", "question=1", "document=4", "part-0==r", "part-1=<typed>", "comment=mine")
	want(t, "second", res, http.StatusConflict)
	for _, part := range []string{"&lt;typed&gt;", ">mine<", `value="=r" checked`, "answered or changed since you saw it", `name="document" value="5"`} {
		if !strings.Contains(res.body, part) {
			t.Errorf("the answer lacks %q", part)
		}
	}
	if got := s.pick(t, "x", "p1").Value("a").Choices; len(got) != 1 || got[0] != "b" {
		t.Errorf("%v", got)
	}
	want(t, "again", s.form(t, answer, browser, "id=p1", "question=1", "document=5", "part-0==r", "part-1=<typed>"), http.StatusSeeOther)
	// A note by somebody else is no reason to refuse.
	want(t, "note", s.json(t, s.url("b", "x", "marks", "note"), s.worker(t, "x"), `{"text":"by the way"}`), http.StatusOK)
	want(t, "after a note", s.form(t, answer, browser, "id=p1", "question=1", "document=6", "part-1=other"), http.StatusSeeOther)
}

// case B25: an empty form is no answer, and the page says so. Red when Answer
// takes values that answer nothing.
func TestAnEmptyFormIsNoAnswer(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", twoParts)
	before := read(t, s.dir("x")+"/.marks.json")
	res := s.form(t, s.url("b", "x", "marks", "answer"), s.browser(t), "id=p1", "question=1", "document=4", "part-1=  ", "comment=")
	want(t, "empty", res, http.StatusConflict)
	if !strings.Contains(res.body, "Nothing is chosen or written") {
		t.Errorf("%s", res.body)
	}
	if after := read(t, s.dir("x")+"/.marks.json"); after != before {
		t.Errorf("%s", after)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	check(t, err)
	return string(data)
}

// What a form cannot say is refused and changes nothing: absent, torn, for
// another question, for an option that is not there. Red when readForm takes a
// missing revision for "whatever there is".
func TestAFormThatSaysNonsenseIsRefused(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", twoParts)
	before := read(t, s.dir("x")+"/.marks.json")
	for fields, status := range map[string]int{
		"":                                                 http.StatusBadRequest,
		"id=p1&part-0==r":                                  http.StatusBadRequest,
		"id=p1&question=1&document=0&part-0==r":            http.StatusConflict,
		"id=p9&question=1&document=4&part-0==r":            http.StatusNotFound,
		"id=p1&question=2&document=4&part-0==r":            http.StatusConflict,
		"id=p1&question=1&document=9&part-0==r":            http.StatusConflict,
		"id=p1&question=1&document=4&part-0==green":        http.StatusConflict,
		"id=p1&question=1&document=4&part-0==r&part-0==b":  http.StatusConflict,
		"id=p1&question=1&document=4&part-7==r":            http.StatusConflict,
		"id=p1&question=1&document=4&part-1=" + "\xff\xfe": http.StatusBadRequest,
	} {
		res := s.form(t, s.url("b", "x", "marks", "answer"), s.browser(t), strings.Split(fields, "&")...)
		if res.StatusCode != status {
			t.Errorf("%q: %s, want %d", fields, res.Status, status)
		}
	}
	if after := read(t, s.dir("x")+"/.marks.json"); after != before {
		t.Errorf("%s", after)
	}
	for _, body := range []string{"", "{", "null", "[]", `{"id":"p1","parts":{"a":{"choices":["r"]}},"idd":1}`, `{"id":"p1"}`, `{"id":"p1","question":1,"parts":{"a":{"choices":["r"]}}}`} {
		if res := s.json(t, s.url("b", "x", "marks", "answer"), s.operator(), body); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %s %s", body, res.Status, res.body)
		}
	}
}

// A worker asks, notes, flags, withdraws and repairs in its own booth, and its
// token answers nothing. Red when the route of one of them has another action.
func TestAWorkerAsksAndOnlyTheOperatorAnswers(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.png", "x")
	worker := s.worker(t, "x")
	at := func(op string) string { return s.url("b", "x", "marks", op) }
	res := s.json(t, at("ask"), worker, `{"title":"Go on?","key":"k","parts":[{"id":"a","kind":"confirm"}]}`)
	want(t, "ask", res, http.StatusOK)
	var asked booth.Asked
	check(t, json.Unmarshal([]byte(res.body), &asked))
	if asked.ID != "p1" || asked.State != "open" || asked.URL != s.url("b", "x", "marks")+"#p1" || asked.Rev != 1 {
		t.Errorf("%+v", asked)
	}
	want(t, "ask again", s.json(t, at("ask"), worker, `{"title":"Go on?","key":"k","parts":[{"id":"a","kind":"confirm"}]}`), http.StatusOK)
	want(t, "note", s.json(t, at("note"), worker, `{"text":"look","target":"a.png"}`), http.StatusOK)
	want(t, "flag", s.json(t, at("flag"), worker, `{"target":"a.png"}`), http.StatusOK)
	yes := `{"id":"p1","question":1,"document":1,"parts":{"a":{"confirm":true}}}`
	want(t, "answer by the worker", s.json(t, at("answer"), worker, yes), http.StatusForbidden)
	want(t, "answer by nobody", s.json(t, at("answer"), anonymous, yes), http.StatusUnauthorized)
	want(t, "ask elsewhere", s.json(t, s.url("b", "y", "marks", "ask"), worker, "{}"), http.StatusForbidden)
	if n := len(s.marks(t, "x").Marks); n != 3 {
		t.Errorf("%d marks", n)
	}
	want(t, "answer", s.json(t, at("answer"), s.operator(), yes), http.StatusOK)
	if a := s.pick(t, "x", "p1").Answer; a == nil || a.Via != "token" || a.By != principal {
		t.Errorf("%+v", a)
	}
	want(t, "withdraw", s.json(t, at("withdraw"), worker, `{"id":"p1","reason":"moved on"}`), http.StatusOK)
	if st := s.pick(t, "x", "p1").State(); st != marks.StateWithdrawn {
		t.Errorf("%s", st)
	}
}

// A question that is damaged is said, salvaged and repaired, from the page too.
// Red when damage is an empty success.
func TestDamagedMarksAreSaidAndRepairedFromThePage(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", strings.Replace(twoParts, `"marks":[`, `"marks":[{"id":"bad"},`, 1))
	res := s.do(t, "GET", s.url("b", "x", "marks.json"), anonymous)
	want(t, "marks.json", res, http.StatusConflict)
	var doc struct {
		Kind, Step, Error string
		Salvaged          []struct{ ID, Shape, State string }
	}
	check(t, json.Unmarshal([]byte(res.body), &doc))
	if doc.Kind != "refused" || doc.Step != "marks-damaged" || !strings.Contains(doc.Error, "mark 1 cannot be read") || len(doc.Salvaged) != 1 || doc.Salvaged[0].State != "open" {
		t.Errorf("%+v", doc)
	}
	page := s.do(t, "GET", s.url("b", "x", "marks"), s.browser(t))
	if !strings.Contains(page.body, "held · marks unreadable") || !strings.Contains(page.body, "Repair the marks") || strings.Contains(page.body, `name="part-0"`) {
		t.Errorf("%s", page.body)
	}
	want(t, "an answer", s.json(t, s.url("b", "x", "marks", "answer"), s.operator(), `{"id":"p1","question":1,"document":4,"parts":{"a":{"choices":["r"]}}}`), http.StatusConflict)
	want(t, "repair", s.form(t, s.url("b", "x", "repair"), s.browser(t), "back=marks"), http.StatusSeeOther)
	want(t, "afterwards", s.do(t, "GET", s.url("b", "x", "marks.json"), anonymous), http.StatusOK)
	if page := s.do(t, "GET", s.url("b", "x", ""), s.browser(t)); !strings.Contains(page.body, "held until answered") {
		t.Error("what was salvaged does not hold")
	}
}

// A long poll answers when the rev differs, and at once where it does already, a
// lower one included. Red when it compares with "greater", or reads before it has
// hung its bell.
func TestALongPollAnswersWhenTheRevDiffers(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", twoParts)
	at := s.url("b", "x", "marks.json")
	rev := func(a answer) int64 {
		t.Helper()
		want(t, "poll", a, http.StatusOK)
		var doc marks.Show
		check(t, json.Unmarshal([]byte(a.body), &doc))
		return doc.Rev
	}
	for query, want := range map[string]int64{"": 4, "?since=3&wait=1m": 4, "?since=9&wait=1m": 4, "?since=4": 4, "?since=4&wait=1ms": 4} {
		if got := rev(s.do(t, "GET", at+query, anonymous)); got != want {
			t.Errorf("%q: rev %d", query, got)
		}
	}
	came := make(chan answer)
	go func() { came <- s.do(t, "GET", at+"?since=4&wait=1m&waiting=p1,p9", s.worker(t, "x")) }()
	for s.desk.Ledger.Asked(name(t, "x"))["p1"].IsZero() { // it has come
	}
	want(t, "answer", s.json(t, s.url("b", "x", "marks", "answer"), s.operator(), `{"id":"p1","question":1,"document":4,"parts":{"a":{"choices":["r"]}}}`), http.StatusOK)
	if got := rev(<-came); got != 5 {
		t.Errorf("rev %d", got)
	}
	if heard := s.desk.Ledger.Asked(name(t, "x")); len(heard) != 1 {
		t.Errorf("a heartbeat for a question that is not there: %v", heard)
	}
	if page := s.do(t, "GET", s.url("b", "x", "marks"), anonymous); !strings.Contains(page.body, "last asked for just now") {
		t.Error("the page does not say that somebody waits")
	}
	for query, status := range map[string]int{"?since=x": 400, "?since=-1": 400, "?wait=soon": 400, "?wait=-1s": 400} {
		want(t, query, s.do(t, "GET", at+query, anonymous), status)
	}
	want(t, "no booth", s.do(t, "GET", s.url("b", "none", "marks.json")+"?since=1&wait=1m", anonymous), http.StatusNotFound)
}

func name(t testing.TB, s string) folder.Name {
	t.Helper()
	n, err := folder.ParseName(s)
	check(t, err)
	return n
}

// A poll ends with its reader and with the booth. Red when await does not look
// at the context, or takes a booth that has gone for one without marks.
func TestALongPollEndsWithItsBooth(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", twoParts)
	came := make(chan answer)
	go func() {
		came <- s.do(t, "GET", s.url("b", "x", "marks.json")+"?since=4&wait=1m&waiting=p1", s.operator())
	}()
	for s.desk.Ledger.Asked(name(t, "x"))["p1"].IsZero() {
	}
	want(t, "delete", s.json(t, s.url("b", "x", "delete"), s.operator(), "{}"), http.StatusOK)
	want(t, "the poll", <-came, http.StatusNotFound)

	write(t, s.dir("y")+"/.marks.json", twoParts)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.addr+s.url("b", "y", "marks.json")+"?since=4&wait=1m", nil)
	check(t, err)
	if _, err := http.DefaultClient.Do(req); err == nil {
		t.Error("answered")
	}
}

// case B27 and INV-2: keep, release, delete and undo, from the page. A held and a
// kept booth go like any other. Red when a hold is asked before a delete.
func TestKeepReleaseDeleteAndUndoFromThePage(t *testing.T) {
	s := serve(t, options{})
	browser := s.browser(t)
	act := func(op string, fields ...string) answer {
		return s.form(t, s.url("b", "x", op), browser, fields...)
	}
	write(t, s.dir("x")+"/.marks.json", twoParts)
	want(t, "keep", act("keep", "why=a reference"), http.StatusSeeOther)
	if body := read(t, s.dir("x")+"/.forever"); !strings.Contains(body, `"why":"a reference"`) || !strings.Contains(body, principal) {
		t.Errorf("%s", body)
	}
	if page := s.do(t, "GET", s.url("b", "x", ""), browser); !strings.Contains(page.body, ">kept<") || !strings.Contains(page.body, ">Release<") {
		t.Errorf("%s", page.body)
	}
	want(t, "delete", act("delete"), http.StatusSeeOther)
	want(t, "gone", s.do(t, "GET", s.url("b", "x", ""), browser), http.StatusNotFound)
	id := s.desk.Sweeper.Trash()[0].ID
	index := s.do(t, "GET", s.base.String()+"?deleted="+id, browser)
	if !strings.Contains(index.body, "is in the trash") || !strings.Contains(index.body, s.url("trash", id, "restore")) {
		t.Errorf("%s", index.body)
	}
	res := s.form(t, s.url("trash", id, "restore"), browser)
	want(t, "undo", res, http.StatusSeeOther)
	if to := res.Header.Get("Location"); to != s.url("b", "x", "") {
		t.Errorf("led to %s", to)
	}
	if s.pick(t, "x", "p1").State() != marks.StateOpen || read(t, s.dir("x")+"/.forever") == "" {
		t.Error("it came back without its marks")
	}
	want(t, "release", act("unkeep", "back=index"), http.StatusSeeOther)
	check(t, os.Remove(filepath.Join(s.dir("x"), ".viewed")))
	want(t, "release again", act("unkeep"), http.StatusSeeOther)
	if _, err := os.Lstat(s.dir("x") + "/.viewed"); err == nil {
		t.Error("the second release moved the clock")
	}
	check(t, os.MkdirAll(s.dir("x")+"/.forever/inside", 0o755))
	res = act("unkeep")
	want(t, "a folder with something in it", res, http.StatusConflict)
	if !strings.Contains(res.body, "is a folder with something in it") {
		t.Errorf("%s", res.body)
	}
	want(t, "undo twice", s.form(t, s.url("trash", id, "restore"), browser), http.StatusNotFound)
	want(t, "delete what is not there", s.form(t, s.url("b", "none", "delete"), browser), http.StatusNotFound)
}

// The marks page is a view, marks.json is none: INV-7. Red when serveMarksJSON
// records one, or serveMarks does not.
func TestTheMarksPageIsAViewAndMarksJSONIsNone(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/.marks.json", twoParts)
	viewed := func() bool {
		_, err := os.Lstat(s.dir("x") + "/.viewed")
		return err == nil
	}
	for _, target := range []string{"marks.json", "asks", ".marks.json"} {
		s.do(t, "GET", s.url("b", "x", target), s.browser(t))
		s.do(t, "GET", s.url("b", "x", target), s.operator())
	}
	s.do(t, "GET", s.url("b", "x", "marks"), s.worker(t, "x"))
	s.do(t, "GET", s.url("b", "x", "marks"), anonymous)
	s.do(t, "HEAD", s.url("b", "x", "marks"), s.browser(t))
	s.do(t, "GET", s.url("b", "x", "marks"), s.browser(t), "Sec-Fetch-Dest: empty", "Sec-Fetch-Mode: cors", "Sec-Fetch-Site: same-origin")
	if viewed() {
		t.Error("viewed by no look")
	}
	s.do(t, "GET", s.url("b", "x", "marks"), s.browser(t))
	if !viewed() {
		t.Error("not viewed")
	}
}

// The index shows a snapshot, and a change that the desk knows of is in it at
// once. Red when updateLocked is left out, or forgets a booth that went.
func TestTheIndexKnowsWhatTheDeskKnows(t *testing.T) {
	s := serve(t, options{})
	for i := range 3 {
		write(t, s.dir(fmt.Sprintf("b%d", i))+"/a.txt", "x")
	}
	index := func() string { return s.do(t, "GET", s.base.String(), s.browser(t)).body }
	if got := index(); strings.Count(got, "expires in") != 3 {
		t.Fatalf("%s", got)
	}
	want(t, "keep", s.json(t, s.url("b", "b1", "keep"), s.operator(), "{}"), http.StatusOK)
	if got := index(); strings.Count(got, "expires in") != 2 || !strings.Contains(got, ">kept<") {
		t.Errorf("%s", got)
	}
	want(t, "delete", s.json(t, s.url("b", "b0", "delete"), s.operator(), "{}"), http.StatusOK)
	if got := index(); strings.Count(got, "expires in") != 1 || strings.Contains(got, "/b/b0/") {
		t.Errorf("%s", got)
	}
	write(t, s.dir("b9")+"/a.txt", "x") // which nobody told the desk
	s.ahead.Store(int64(maxAge) + 1)
	if got := index(); !strings.Contains(got, "/b/b9/") {
		t.Error("an older snapshot was shown")
	}
}

// More booths than a page holds: each lane is counted whole, and leads on. Red
// when firstCards counts what it shows.
func TestTheIndexPagesItsLanes(t *testing.T) {
	s := serve(t, options{})
	for i := range indexPageSize + 20 {
		check(t, os.MkdirAll(s.dir(fmt.Sprintf("c%03d", i)), 0o755))
	}
	for i := range 3 {
		write(t, s.dir(fmt.Sprintf("k%d", i))+"/.forever", "")
	}
	page := s.do(t, "GET", s.base.String(), s.browser(t)).body
	if strings.Count(page, `<li class="card">`) != indexPageSize+3 || !strings.Contains(page, `<span class="count">120</span>`) || !strings.Contains(page, "All 120") {
		t.Errorf("%d cards", strings.Count(page, `<li class="card">`))
	}
	page = s.do(t, "GET", s.base.String()+"?lane=counting&page=2", s.browser(t)).body
	if strings.Count(page, `<li class="card">`) != 20 || !strings.Contains(page, "101 to 120 of 120") {
		t.Errorf("%d cards on the second page", strings.Count(page, `<li class="card">`))
	}
	want(t, "no such page", s.do(t, "GET", s.base.String()+"?lane=counting&page=-7", s.browser(t)), http.StatusOK)
	want(t, "no such lane", s.do(t, "GET", s.base.String()+"?lane=x", s.browser(t)), http.StatusNotFound)
}
