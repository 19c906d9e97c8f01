package pages

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
)

// Red when: an act's address leads to another act, a form lacks a field that its act
// reads, or serveAct calls done what it did not find in the log (recorded).
func TestEachFormDoesWhatItSays(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.open("base", event.Card{Title: "The base"})
	s.open("other", event.Card{Title: "The other"})
	for _, step := range []struct {
		act     string
		change  []string
		kind    string
		present string
	}{
		{"claim", []string{"assignee", "principal:local/studio/bo", "return_to", string(me)}, "claimed", "claimed it for bo"},
		{"block", []string{"reason", "no\r\nstones"}, "blocked", "is blocked: no stones"},
		{"release", nil, "open", "released it"},
		{"edit", []string{"title", "The <new> base", "labels", "b, a,, b", "priority", "p1"}, "open", "edited the card: The <new> base"},
		{"link", []string{"relation", "blocked_by", "to", "other"}, "open", "linked it"},
		{"unlink", nil, "open", "took away the link"},
		{"comment", []string{"body", "Well *said*"}, "open", "commented: Well *said*"},
		{"comment/delete", nil, "open", "deleted"},
		{"accept", []string{"reason", "stands"}, "accepted", "stands"},
		{"reopen", nil, "open", "reopened"},
		{"drop", nil, "dropped", "dropped"},
	} {
		res := s.do("base", step.act, step.change...)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %.2000s", step.act, res.Status, textOf(res.body))
		}
		said := textOf(res.body)
		if i := strings.Index(said, "Recorded"); i < 0 {
			t.Errorf("%s is not said to be recorded: %.600s", step.act, said)
		} else if !strings.Contains(said[i:i+200], step.present) {
			t.Errorf("%s: %.200s", step.act, said[i:])
		}
		n, err := s.plan.Show(t.Context(), roadmap.AsOf, "base")
		check(t, err)
		if n.Standing.Kind != step.kind {
			t.Errorf("after %s it is %s", step.act, n.Standing.Kind)
		}
		if step.act == "edit" && (n.Title != "The <new> base" || strings.Join(n.Labels, ",") != "a,b" || n.Priority != "p1") {
			t.Errorf("%+v", n.Row)
		}
	}
	if s.changed != 11 {
		t.Errorf("%d changes were told", s.changed)
	}
}

func TestACommentIsAnsweredAndChanged(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.open("base", event.Card{Title: "The base"})
	first := s.append("base", event.CommentCreated{Comment: "c1", Body: "first"})
	address := "/desk/roadmap/base?answer=" + string(first)
	res := s.follow(s.ask(http.MethodPost, "/desk/roadmap/base/comment", formOn(t, s.page(address), "/desk/roadmap/base/comment", "body", "an answer"), true))
	wants(t, res.body, "Recorded", "an answer")
	edit := formOn(t, s.page("/desk/roadmap/base?edit="+string(first)), "/desk/roadmap/base/comment/edit", "body", "changed")
	s.follow(s.ask(http.MethodPost, "/desk/roadmap/base/comment/edit", edit, true))
	n, err := s.plan.Show(t.Context(), roadmap.Now, "base")
	check(t, err)
	if len(n.Comments) != 2 || n.Comments[0].Body != "changed" || !n.Comments[0].Edited || n.Comments[1].Answers != first {
		t.Errorf("%+v", n.Comments)
	}
}

// Red when: the key is made when the form is sent (roadmap.NewKey in try), or a
// comment's name is another one each time.
func TestAFormThatIsSentTwiceIsOneEvent(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	opening := formOn(t, s.page("/desk/roadmap?new=1"), "/desk/roadmap", "node", "base", "title", "The base")
	for range 2 {
		if res := s.ask(http.MethodPost, "/desk/roadmap", opening, true); res.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s %s", res.Status, textOf(res.body))
		}
	}
	address := "/desk/roadmap/base/comment"
	form := formOn(t, s.page("/desk/roadmap/base"), address, "body", "once")
	first := s.ask(http.MethodPost, address, form, true)
	s.append("base", event.CommentCreated{Comment: "between", Body: "between"})
	second := s.ask(http.MethodPost, address, form, true)
	if first.StatusCode != http.StatusSeeOther || second.Header.Get("Location") != first.Header.Get("Location") {
		t.Errorf("%s %v, then %s %v", first.Status, first.Header, second.Status, second.Header)
	}
	log, err := s.plan.Log(t.Context(), roadmap.Now, "base")
	check(t, err)
	if len(log.Events) != 3 {
		t.Errorf("%+v", log.Events)
	}
	form.Set("body", "another")
	if res := s.ask(http.MethodPost, address, form, true); res.StatusCode != http.StatusConflict || !strings.Contains(res.body, "stands for another command") {
		t.Errorf("%s %s", res.Status, textOf(res.body))
	}
}

// Red when: expected is not asked, notDone drops the values, or since says nothing.
func TestWhoComesTooLateSeesWhatChangedAndKeepsTheirWords(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.open("base", event.Card{Title: "The base"})
	address := "/desk/roadmap/base/edit"
	form := formOn(t, s.page("/desk/roadmap/base"), address, "title", "My title", "body", "My </textarea> words")
	s.append("base", event.CommentCreated{Comment: "c", Body: "what came between"})
	res := s.ask(http.MethodPost, address, form, true)
	if res.StatusCode != http.StatusConflict {
		t.Fatalf("%s %s", res.Status, textOf(res.body))
	}
	wants(t, res.body, "what came between", "What came since", "My title", "My &lt;/textarea&gt; words")
	again := formOn(t, res.body, address)
	if again.Get("title") != "My title" || again.Get("body") != "My </textarea> words" || again.Get(keyField) == form.Get(keyField) || again.Get(expectField) == form.Get(expectField) {
		t.Errorf("%v", again)
	}
	if res := s.follow(s.ask(http.MethodPost, address, again, true)); res.StatusCode != http.StatusOK || !strings.Contains(res.body, "Recorded") {
		t.Errorf("%s %s", res.Status, textOf(res.body))
	}
}

// Red when: status leaves out history.Conflicts, or answers with a conflict whatever a
// remote refuses.
func TestWhatIsRefusedSaysSoByItsStatus(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.open("base", event.Card{Title: "The base"})
	page := s.page("/desk/roadmap/base")
	for _, c := range []struct {
		act    string
		change []string
		status int
		says   string
	}{
		{"claim", []string{"assignee", "bo"}, 400, "names nobody"},
		{"comment", []string{"body", " \n "}, 400, "body"},
		{"edit", []string{"priority", "p9"}, 400, "is no priority"},
		{"comment", []string{"body", "x", keyField, "no key!"}, 400, "is no operation key"},
		{"comment", []string{"body", "x", expectField, ""}, 400, "is no id of an event"},
		{"link", []string{"relation", "blocked_by", "to", "Not A Node"}, 400, "is no name of a node"},
		{"link", []string{"relation", "blocked_by", "to", "base"}, 409, "cannot be linked to itself"},
		{"comment", []string{"body", "x", expectField, strings.Repeat("a", 64)}, 409, "has moved on"},
	} {
		address := "/desk/roadmap/base/" + c.act
		form := formOn(t, page, address, c.change...)
		res := s.ask(http.MethodPost, address, form, true)
		if res.StatusCode != c.status || !strings.Contains(textOf(res.body), c.says) {
			t.Errorf("%s %v: %s %.600s", c.act, c.change, res.Status, textOf(res.body))
		}
		if res := s.ask(http.MethodPost, address, form, false); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s by anybody: %s", c.act, res.Status)
		}
	}
	// What the page does not offer now, it may have offered before.
	for act, says := range map[string]string{"release": "so it cannot be released", "comment/delete": "has no comment none", "reconcile": "nothing to reconcile"} {
		form := formOn(t, page, "/desk/roadmap/base/comment", keyField, string(roadmap.NewKey()), "comment", "none", "keep", strings.Repeat("a", 64))
		if res := s.ask(http.MethodPost, "/desk/roadmap/base/"+act, form, true); res.StatusCode != http.StatusConflict || !strings.Contains(textOf(res.body), says) || strings.Contains(res.body, "changed meanwhile") {
			t.Errorf("%s: %s %.600s", act, res.Status, textOf(res.body))
		}
	}
	form := formOn(t, page, "/desk/roadmap/base/comment", "body", "my words")
	if res := s.ask(http.MethodPost, "/desk/roadmap/gone/comment", form, true); res.StatusCode != http.StatusConflict || !strings.Contains(res.body, "my words") {
		t.Errorf("%s %s", res.Status, textOf(res.body))
	}
	delete(form, expectField)
	if res := s.ask(http.MethodPost, "/desk/roadmap/base/comment", form, true); res.StatusCode != http.StatusBadRequest {
		t.Errorf("without a revision: %s", res.Status)
	}
	opening := formOn(t, s.page("/desk/roadmap?new=1"), "/desk/roadmap", "node", "base", "title", "Taken <b>")
	res := s.ask(http.MethodPost, "/desk/roadmap", opening, true)
	if res.StatusCode != http.StatusConflict || formOn(t, res.body, "/desk/roadmap").Get("title") != "Taken <b>" {
		t.Errorf("%s %s", res.Status, textOf(res.body))
	}
	log, err := s.plan.Log(t.Context(), roadmap.Now, "base")
	check(t, err)
	if len(log.Events) != 1 {
		t.Errorf("%+v", log.Events)
	}
}

// put puts an event into the log behind everybody's back.
func put(t testing.TB, r *remotetest.Repository, seq int64, e event.Event) {
	t.Helper()
	env := event.Envelope{Seq: seq, Key: event.Key(fmt.Sprintf("put-%d", seq)), Event: e}
	r.Commit("roadmap-events", remotetest.Put(fmt.Sprintf("tail/%010d-%.12s.json", seq, e.ID()), string(env.Bytes())))
}

func seal(t testing.TB, n event.Node, on event.ID, b event.Body) event.Event {
	t.Helper()
	parents := []event.ID{on}
	e, err := event.Draft{Node: n, Author: me, Parents: parents, At: time.Now(), Body: b}.Seal()
	check(t, err)
	return e
}

// Red when: forkOf gives a line what all have, form leaves out a head, or the page
// of a fork has another form.
func TestAForkIsShownAsItsLinesAndMendedByChoosingOne(t *testing.T) {
	t.Parallel()
	r := remotetest.Path(t)
	s := serve(t, r.Dir)
	first := s.open("base", event.Card{Title: "The base"})
	a := seal(t, "base", first, event.CommentCreated{Comment: "a", Body: "the left line"})
	b := seal(t, "base", first, event.CommentCreated{Comment: "b", Body: "the right line"})
	put(t, r, 2, a)
	put(t, r, 3, b)
	wants(t, s.page("/desk/roadmap"), `id="lane-forked"`)
	body := s.page("/desk/roadmap/base")
	wants(t, body, "They share 1 event", "the left line", "the right line", "Which line is the history?")
	if strings.Contains(body, "/base/comment") || strings.Contains(body, "/base/accept") {
		t.Error("a forked node offers more than to mend it")
	}
	lines := strings.Split(body[strings.Index(body, `class="lines"`):strings.Index(body, `<aside`)], `aria-label="The line that ends in `)
	if len(lines) != 3 || strings.Contains(lines[1], "opened it") || strings.Contains(lines[1], "the left line") == strings.Contains(lines[1], "the right line") {
		t.Errorf("%q", lines)
	}
	form := formOn(t, body, "/desk/roadmap/base/reconcile")
	if len(form[expectField]) != 2 {
		t.Errorf("%v", form)
	}
	form.Set("keep", string(b.ID()))
	res := s.follow(s.ask(http.MethodPost, "/desk/roadmap/base/reconcile", form, true))
	wants(t, res.body, "Recorded", "on a line that was not kept")
	n, err := s.plan.Show(t.Context(), roadmap.AsOf, "base")
	check(t, err)
	if n.Standing.Kind != "open" || n.Revision == "" {
		t.Errorf("%+v", n.Row)
	}
}

// Red when: sentence or Missing says nothing of what is missing.
func TestAnIncompleteHistoryNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := remotetest.Path(t)
	s := serve(t, r.Dir)
	s.open("base", event.Card{Title: "The base"})
	missing := event.ID(strings.Repeat("ab", 32))
	put(t, r, 2, seal(t, "base", missing, event.CommentCreated{Comment: "a", Body: "late"}))
	wants(t, s.page("/desk/roadmap/base"), "What is missing", string(missing), "late")
	wants(t, s.page("/desk/roadmap"), `id="lane-history_incomplete"`)
}

// case R08. Red when: the board leaves out what was refused, or the page of a refused
// node passes for one that is not there.
func TestARefusedNodeIsShownWithItsStepAndReason(t *testing.T) {
	t.Parallel()
	r := remotetest.Path(t)
	s := serve(t, r.Dir)
	s.open("base", event.Card{Title: "The base"})
	first := s.open("roof", event.Card{Title: "The roof"})
	e := seal(t, "roof", first, event.CommentCreated{Comment: "a", Body: "late"})
	r.Commit("roadmap-events", remotetest.Put(fmt.Sprintf("tail/%010d-%.12s.json", 3, e.ID()), strings.Replace(string(event.Envelope{Seq: 3, Key: "k", Event: e}.Bytes()), "late", "<i>!", 1)))
	body := s.page("/desk/roadmap")
	wants(t, body, "What cannot be read", `<a href="/desk/roadmap/roof">roof</a>`, "event-id", "The base")
	res := s.get("/desk/roadmap/roof")
	if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(res.body, "cannot be read whole") || !strings.Contains(res.body, "event-id") {
		t.Errorf("%s %s", res.Status, textOf(res.body))
	}
}

// case R06. Red when: a template leaves out "newness".
func TestARewriteIsSaidOnEachPage(t *testing.T) {
	t.Parallel()
	r := remotetest.Path(t)
	s := serve(t, r.Dir)
	s.open("base", event.Card{Title: "The base"})
	is := r.Rewrite("roadmap-events")
	for _, address := range []string{"/desk/roadmap", "/desk/roadmap/base"} {
		wants(t, s.page(address), "The plan's log was rewritten", "holdfast roadmap accept-rewrite "+is, "The base")
	}
	form := formOn(t, s.page("/desk/roadmap/base"), "/desk/roadmap/base/comment", "body", "my words")
	res := s.ask(http.MethodPost, "/desk/roadmap/base/comment", form, true)
	if res.StatusCode == http.StatusSeeOther || res.StatusCode == http.StatusOK || !strings.Contains(res.body, "my words") {
		t.Errorf("%s %s", res.Status, textOf(res.body))
	}
	r.Delete("roadmap-events")
	wants(t, s.page("/desk/roadmap"), "branch is gone from the remote")
}

// case R03. Red when: a read that could not ask passes off what was read before, or
// what waits in the queue is called recorded.
func TestARemoteThatCannotBeAskedIsSaid(t *testing.T) {
	t.Parallel()
	r := remotetest.Path(t)
	s := serve(t, r.Dir)
	s.open("base", event.Card{Title: "The base"})
	page := s.page("/desk/roadmap/base")
	check(t, os.Rename(r.Dir, r.Dir+".away"))
	for _, address := range []string{"/desk/roadmap", "/desk/roadmap/base", "/desk/api/v1/roadmap"} {
		res := s.get(address)
		if res.StatusCode != http.StatusServiceUnavailable || strings.Contains(res.body, "The base") {
			t.Errorf("%s: %s %s", address, res.Status, textOf(res.body))
		}
		if !strings.Contains(address, "api") {
			wants(t, res.body, `href="`+address+`?as-of=1"`)
			old := s.page(address + "?as-of=1")
			wants(t, old, "This is what was read last", "The base", `<a href="`+address+`">Ask it now</a>`)
			if strings.Contains(old, `method="post" action="/desk/roadmap`) || strings.Contains(old, "data-live") {
				t.Error("an old page acts, or changes by itself")
			}
		}
	}
	form := formOn(t, page, "/desk/roadmap/base/comment", "body", "queued words")
	res := s.ask(http.MethodPost, "/desk/roadmap/base/comment", form, true)
	if res.StatusCode != http.StatusAccepted || !strings.Contains(res.body, "waits in the queue") || strings.Contains(res.body, "Recorded") || !strings.Contains(res.body, "queued words") {
		t.Errorf("%s %s", res.Status, textOf(res.body))
	}
	wants(t, s.page("/desk/roadmap?as-of=1"), "In the queue, and not in the plan yet", form.Get(keyField))
	claim := formOn(t, page, "/desk/roadmap/base/claim", "assignee", string(me), "return_to", string(me))
	res = s.ask(http.MethodPost, "/desk/roadmap/base/claim", claim, true)
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a claim that cannot wait: %s %s", res.Status, textOf(res.body))
	}
	check(t, os.Rename(r.Dir+".away", r.Dir))
	s.append("base", event.Claimed{Assignee: me, ReturnTo: me})
	_, _, err := s.plan.Publish(t.Context())
	check(t, err)
	wants(t, s.page("/desk/roadmap/base"), "queued words")
}
