//go:build browser

package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
)

// planAt gives a home the plan of the demonstration, kept at a remote, in which one
// node is forked, one is incomplete, one is refused and one has much to say.
func planAt(t *testing.T, home string) *remotetest.Repository {
	t.Helper()
	r := remotetest.Path(t)
	holdfast(t, home, "roadmap", "init", "--remote", r.Dir)
	holdfast(t, home, "roadmap", "import", "../../demo/plan.jsonl")
	seq := int64(29)
	add := func(n event.Node, on event.ID, b event.Body, spoil ...string) {
		t.Helper()
		parents := []event.ID{}
		if on != "" {
			parents = append(parents, on)
		}
		e, err := event.Draft{Node: n, Author: "principal:local/studio/cy", Parents: parents, At: time.Date(2026, 9, 23, 9, 0, 0, 0, time.UTC), Body: b}.Seal()
		if err != nil {
			t.Fatal(err)
		}
		seq++
		data := string(event.Envelope{Seq: seq, Key: event.Key(fmt.Sprintf("put-%d", seq)), Event: e}.Bytes())
		r.Commit("roadmap-events", remotetest.Put(fmt.Sprintf("tail/%010d-%.12s.json", seq, e.ID()), strings.NewReplacer(spoil...).Replace(data)))
	}
	revision := func(n event.Node) event.ID {
		t.Helper()
		var doc roadmap.Node
		if err := json.Unmarshal(holdfast(t, home, "--json", "roadmap", "show", string(n)), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Revision
	}
	notes := revision("reading-notes")
	add("reading-notes", notes, event.Claimed{Assignee: "principal:local/studio/cy", ReturnTo: "principal:local/studio/ada"})
	add("reading-notes", notes, event.Edited{Card: event.Card{Title: "Write up what we read about brushes and paint", Body: "Only the three newest papers."}})
	add("web-page", event.ID(strings.Repeat("0f", 32)), event.CommentCreated{Comment: "c", Body: "from a log that nobody has"})
	add("print-proofs", revision("print-proofs"), event.CommentCreated{Comment: "c", Body: "spoilt"}, "spoilt", "changed")
	long := strings.Repeat("unbroken", 10)
	add(event.Node(long), "", event.Opened{Card: event.Card{
		Title: strings.Repeat("unbroken", 60), Body: "# A heading\n\n| a | b |\n|---|---|\n| " + long + " | 2 |\n\n```\n" + strings.Repeat("code ", 60) + "\n```\n\n- [ ] to do\n\n![far](https://example.org/x.png) <b>tag</b>\n",
		Labels: []string{strings.Repeat("label", 12)}, Priority: "p0", Run: long,
	}})
	for i, to := range []event.Node{"exhibition", "web-page", "training-run"} {
		add(event.Node(long), revision(event.Node(long)), event.Linked{Relation: event.Relations[i], To: to})
	}
	return r
}

// longNode is the node that planAt gives long words.
var longNode = strings.Repeat("unbroken", 10)

// holdfast runs the program on a home.
func holdfast(t *testing.T, home string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(Binary(t), append([]string{"--home", home}, args...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("holdfast %q: %v: %s", args, err, errs.String())
	}
	return out
}

// observed waits until the plan was observed.
func (d *Desk) observed(t *testing.T) {
	t.Helper()
	wait(t, "an observation of the plan", func() bool {
		res, err := d.Client(true).Get(d.URL + "roadmap/daily")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// planLooks are the roadmap's pages.
func planLooks() []look {
	return []look{
		{"roadmap", "roadmap"},
		{"roadmap-filtered", "roadmap?label=exhibition&q=p"},
		{"roadmap-nothing", "roadmap?q=nowhere"},
		{"roadmap-lane", "roadmap?lane=open"},
		{"roadmap-old", "roadmap?as-of=1"},
		{"roadmap-open", "roadmap?new=1"},
		{"roadmap-daily", "roadmap/daily"},
		{"node", "roadmap/pick-a-palette"},
		{"node-result", "roadmap/training-run"},
		{"node-forked", "roadmap/reading-notes"},
		{"node-incomplete", "roadmap/web-page"},
		{"node-refused", "roadmap/print-proofs"},
		{"node-missing", "roadmap/nowhere"},
		{"node-accepted", "roadmap/old-checkpoints"},
		{"node-graph", "roadmap/exhibition"},
		{"node-long", "roadmap/" + longNode},
	}
}

// TestAPersonPlansWithoutScript: open a node, find it, assign it, say something, mend a
// fork, accept it, with clicks and the keyboard and no script. Red when a form has
// no action of its own, or a field is not sent.
func TestAPersonPlansWithoutScript(t *testing.T) {
	home := t.TempDir()
	planAt(t, home)
	d := StartAt(t, home)
	tab := Open(t, 390, 844)
	tab.Script(false)
	tab.Open(d.SignIn)
	tab.Follow(`.rooms a:not([aria-current])`)
	if tab.Path() != d.path("roadmap") {
		t.Fatalf("the navigation leads to %s", tab.Path())
	}
	tab.Follow(`.head .button.first`)
	tab.Do(chromedp.SendKeys("#form-open-title", "Frame the pictures"), chromedp.SendKeys("#form-open-node", "frame-pictures"), chromedp.SendKeys("#form-open-body", "In **oak**."))
	tab.Follow(`.opening button`)
	if !strings.HasPrefix(tab.Path(), d.path("roadmap", "frame-pictures")) || !strings.Contains(tab.Text(), "Recorded") || !strings.Contains(tab.Text(), "open and ready") {
		t.Fatalf("at %s: %s", tab.Path(), tab.Text())
	}
	tab.Click("#form-claim summary")
	tab.Follow("#form-claim button")
	if !strings.Contains(tab.Text(), "claimed it for") {
		t.Error(tab.Text())
	}
	tab.Do(chromedp.SendKeys("#say textarea", "Who has oak?"))
	tab.Follow("#say button")
	if !strings.Contains(tab.Text(), "commented: Who has oak?") {
		t.Error(tab.Text())
	}
	tab.Open(d.URL + "roadmap")
	tab.Do(chromedp.SendKeys("#q", "oak"), chromedp.SendKeys("#q", kb.Enter))
	tab.Until(`location.search.includes("oak") && document.readyState === "complete"`)
	tab.Follow(linkTo(d, "roadmap", "frame-pictures"))
	tab.Open(d.URL + "roadmap/reading-notes")
	tab.Follow(".fork .lines section:nth-child(2) button")
	if !strings.Contains(tab.Text(), "Recorded") || strings.Contains(tab.Text(), "Which line is the history?") {
		t.Error(tab.Text())
	}
}

// TestThePlansPagesChangeByThemselves: nobody reloads. Red when planned does not look
// at the plan, or page.js does not hear the topic.
func TestThePlansPagesChangeByThemselves(t *testing.T) {
	home := t.TempDir()
	holdfast(t, home, "roadmap", "init")
	d := StartAt(t, home)
	tab := signedIn(t, d)
	tab.Open(d.URL + "roadmap")
	Eval[bool](tab, `window.same = true`)
	holdfast(t, home, "roadmap", "open", "first", "--title", "The first")
	tab.Until(`document.querySelector('main a[href=` + quote(d.path("roadmap", "first")) + `]')`)
	if !Eval[bool](tab, `window.same`) {
		t.Error("the page was loaded anew")
	}
	tab.Open(d.URL + "roadmap/first")
	Eval[bool](tab, `document.querySelector("#form-accept").open = true`)
	tab.Do(chromedp.SendKeys("#say textarea", "half a sent"))
	holdfast(t, home, "roadmap", "comment", "first", "from elsewhere")
	tab.Until(`!!document.querySelector(".stale")`)
	if !Eval[bool](tab, `document.querySelector("#say textarea").value === "half a sent" && document.querySelector("#form-accept").open`) {
		t.Error("what was typed is gone")
	}
	Eval[bool](tab, `document.querySelector("#say textarea").value = "", true`)
	holdfast(t, home, "roadmap", "comment", "first", "and once more")
	tab.Until(`document.querySelectorAll(".comments > li").length === 2 && !document.querySelector(".stale")`)
	if !Eval[bool](tab, `document.querySelector("#form-accept").open`) {
		t.Error("what was unfolded is not any more")
	}
}
