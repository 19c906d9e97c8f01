package pages

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/observation"
)

// evils are texts that try to be something else.
var evils = []string{
	`"><script>alert(1)</script>`, `'><img src=x onerror=alert(1)>`, `</textarea><script>alert(1)</script>`, `</title></svg><script>alert(1)</script>`,
	`javascript:alert(1)`, "{{.}} {{template \"top\"}}", "\u202egnp.exe", "<!--", "&lt;script&gt;", `<a href="javascript:alert(1)">x</a>`, `[x](javascript:alert(1))`,
	`[x](data:text/html,<script>alert(1)</script>)`, `![x](https://evil.example/beacon.png)`, `<style>*{display:none}</style>`,
}

// lookAt checks that a page has no script but the house's, no handler, no address that
// runs and no control of direction, whatever its texts say.
func lookAt(t *testing.T, what, page string) {
	t.Helper()
	scripts, styles := 0, 0
	whole := "" // the element that shows somebody's text as it is: a block, which no control of direction leaves
	for z := html.NewTokenizer(strings.NewReader(page)); z.Next() != html.ErrorToken; {
		tag := z.Token()
		if whole == "" && tag.Type == html.TextToken && strings.ContainsAny(tag.Data, "\u202e\x1b") {
			t.Errorf("%s: a control character in %q", what, tag.Data)
		}
		if tag.Type == html.EndTagToken && tag.Data == whole {
			whole = ""
		}
		if tag.Type != html.StartTagToken && tag.Type != html.SelfClosingTagToken {
			continue
		}
		switch tag.Data {
		case "pre", "textarea":
			whole = tag.Data
		case "div":
			if len(tag.Attr) > 0 && tag.Attr[0].Val == "prose" {
				whole = "div"
			}
		case "script":
			scripts++
		case "style":
			styles++
		}
		for _, a := range tag.Attr {
			v := strings.ToLower(strings.TrimSpace(a.Val))
			if strings.HasPrefix(a.Key, "on") || (a.Key == "href" || a.Key == "src" || a.Key == "action") && (strings.HasPrefix(v, "javascript:") || strings.HasPrefix(v, "data:") || strings.HasPrefix(v, "vbscript:")) {
				t.Errorf("%s: <%s %s=%q>", what, tag.Data, a.Key, a.Val)
			}
		}
	}
	if scripts != 1 || styles != 0 {
		t.Errorf("%s: %d scripts, %d styles", what, scripts, styles)
	}
}

// Every place where somebody's text is shown, with every text that tries to be more.
// Red when: a template writes a text past its escaping (template.HTML for Line), or
// clip leaves out plain.Text.
func TestNoTextOfThePlanBecomesMoreThanText(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	evil := strings.Join(evils, " ")
	at := time.Now()
	title := head(evil, 400)
	commands := []event.Command{}
	say := func(n event.Node, b event.Body) {
		commands = append(commands, event.Command{Key: event.Key(fmt.Sprintf("evil-%d", len(commands))), Node: n, Author: me, At: at, Body: b})
	}
	labels := []string{`"><script>alert(1)</script>`, `'onmouseover=x`}
	say("other", event.Opened{Card: event.Card{Title: title}})
	say("bad", event.Opened{Card: event.Card{Title: title, Body: strings.Join(evils, "\n\n"), Labels: labels, Run: title}})
	say("bad", event.Linked{Relation: event.BlockedBy, To: "other"})
	say("bad", event.Claimed{Assignee: me, ReturnTo: me})
	say("bad", event.Progress{Note: evil})
	say("bad", event.Receipt{Obligation: title, Address: "javascript:alert(1)", Verdict: title})
	say("bad", event.Blocked{Reason: evil})
	for i, e := range evils {
		say("bad", event.CommentCreated{Comment: event.Comment("c" + string(rune('a'+i))), Body: e})
	}
	done, _, err := s.plan.AppendAll(t.Context(), commands)
	check(t, err)
	for i, d := range done {
		if d.Err != nil {
			t.Fatalf("%s: %v", commands[i].Body.Kind(), d.Err)
		}
	}
	check(t, observation.Observe(t.Context(), s.plan, s.store, at))
	for _, address := range []string{"/desk/roadmap", "/desk/roadmap?q=alert", "/desk/roadmap/bad", "/desk/roadmap/other", "/desk/roadmap/daily", "/desk/roadmap?new=1"} {
		body := s.page(address)
		lookAt(t, address, body)
		if strings.Contains(body, "evil.example/beacon") && strings.Contains(body, `<script src="https`) {
			t.Error(address)
		}
	}
	for _, e := range evils {
		address := "/desk/roadmap/bad/edit"
		form := formOn(t, s.page("/desk/roadmap/bad"), address, "title", e, "body", e, "priority", "p9", "labels", e, "run", e)
		res := s.ask(http.MethodPost, address, form, true)
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %s", e, res.Status)
		}
		lookAt(t, "refused "+e, res.body)
	}
	for _, q := range []string{"q", "label", "standing", "holder", "lane", "page", "said", "edit", "answer", "talk", "events"} {
		for _, base := range []string{"/desk/roadmap", "/desk/roadmap/bad"} {
			res := s.get(withQuery(base, map[string][]string{q: {evil}}))
			lookAt(t, base+"?"+q, res.body)
		}
	}
}
