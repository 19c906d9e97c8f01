//go:build browser

package browsertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// fourParts asks for a radio, boxes, a yes or no, and words.
const fourParts = `{"schema":"holdfast.marks/v1","rev":3,"marks":[{"id":"m1","shape":"pick","by":"worker/1","title":"How to go on?","rev":1,"parts":[` +
	`{"id":"one","prompt":"Palette","kind":"choice","options":[{"id":"a","label":"Warm"},{"id":"b","label":"Cold","item":"a.txt"}]},` +
	`{"id":"many","prompt":"Sizes","kind":"multi","options":[{"id":"s"},{"id":"m"},{"id":"l"}]},` +
	`{"id":"sure","prompt":"Start?","kind":"confirm"},` +
	`{"id":"words","prompt":"Its name","kind":"text"}]}]}`

// answered is what a question of the marks file says of its answer.
type answered struct {
	ID     string
	Answer struct {
		By, Via, Comment string
		At               time.Time
		Parts            map[string]struct {
			Choices []string
			Confirm *bool
			Text    string
		}
	}
	Superseded []struct {
		Answer struct {
			Parts map[string]struct{ Choices []string }
		}
	}
}

// answerTo reads the first question of a booth as a worker does.
func (d *Desk) answerTo(booth string) answered {
	d.t.Helper()
	var doc struct{ Marks []answered }
	if err := json.Unmarshal([]byte(d.marks(booth)), &doc); err != nil {
		d.t.Fatal(err)
	}
	return doc.Marks[0]
}

func (d *Desk) marks(booth string) string {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.Booth(booth), ".marks.json"))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

// life is the line of the page's booth, or of the only card of the index.
func life(tab *Tab) string {
	tab.t.Helper()
	return Eval[string](tab, `document.querySelector(".life").textContent`)
}

// TestAnAnswerInPartHoldsAndTheWholeOneLetsGo: with clicks, from the booth's page
// and then from its questions. What was said in part stands in the form. Red when
// Pick.Open asks only whether there is an answer, when formValue does not know one
// of the kinds, when who says "token" of a page, or the option does not say that
// it is checked.
func TestAnAnswerInPartHoldsAndTheWholeOneLetsGo(t *testing.T) {
	for name, script := range map[string]bool{"script": true, "no script": false} {
		t.Run(name, func(t *testing.T) {
			eachSite(t, func(t *testing.T, d *Desk) {
				d.Write("asked", "a.txt", "words")
				d.Write("asked", ".marks.json", fourParts)
				tab := Open(t, 390, 844)
				tab.Script(script)
				tab.Open(d.Link())
				held := func(where string) {
					t.Helper()
					if got := life(tab); !strings.HasPrefix(got, "held until answered") {
						t.Errorf("%s says %q", where, got)
					}
				}
				held("the card")
				tab.Follow(linkTo(d, "b", "asked", ""))
				held("the booth's page")
				tab.Click(`input[name=part-0][value="=b"]`)
				tab.Click(`input[name=part-1][value="=s"]`)
				tab.Click(`input[name=part-1][value="=l"]`)
				tab.Follow(`.answer button`)
				if tab.Path() != d.path("b", "asked", "") {
					t.Errorf("the answer led to %s", tab.Path())
				}
				held("the booth's page, after a part")
				if text := tab.Text(); !strings.Contains(text, "answered in part, still open") {
					t.Errorf("it does not say that there is more to answer: %s", text)
				}
				if got := Eval[string](tab, `[...document.querySelectorAll("input:checked")].map(e => e.value).join()`); got != "=b,=s,=l" {
					t.Errorf("in the form stand %s", got)
				}
				tab.Follow(`.brand`)
				held("the card, after a part")

				tab.Open(d.URL + "b/asked/marks")
				held("the questions, after a part")
				tab.Click(`input[name=part-2][value=no]`)
				tab.Do(chromedp.SendKeys(chromedp.CSS(`textarea[name=part-3]`), "Late <light>"), chromedp.SendKeys(chromedp.CSS(`textarea[name=comment]`), "not before noon"))
				tab.Follow(`.answer button`)
				counts := func(where string) {
					t.Helper()
					if got := life(tab); !strings.HasPrefix(got, "expires in ") || strings.Contains(tab.Text(), "held until") {
						t.Errorf("%s says %q", where, got)
					}
				}
				counts("the questions, after all")
				if got := Eval[string](tab, `[...document.querySelectorAll(".said dd")].map(e => e.textContent).join("|")`); got != "Cold|s, l|no|Late <light>|not before noon" {
					t.Errorf("the answer is shown as %s", got)
				}
				tab.Follow(`.head .meta a`)
				counts("the booth's page, after all")
				tab.Follow(`.brand`)
				counts("the card, after all")

				a := d.answerTo("asked").Answer
				if !strings.HasPrefix(a.By, "principal:local/") || a.Via != "page" || a.At.IsZero() || a.Comment != "not before noon" {
					t.Errorf("the answer is by %q via %q at %v, with %q", a.By, a.Via, a.At, a.Comment)
				}
				if p := a.Parts; strings.Join(p["one"].Choices, ",") != "b" || strings.Join(p["many"].Choices, ",") != "s,l" || p["sure"].Confirm == nil || *p["sure"].Confirm || p["words"].Text != "Late <light>" {
					t.Errorf("the answer says %+v", p)
				}
				if !script && strings.Contains(d.Log(), "/events") {
					t.Error("a script ran: this was no test")
				}
			})
		})
	}
}

// TestLookingAtAnOptionChoosesNothing: the link opens beside the page, where what
// was typed stands. Red when the link is in the label and its option's box, or
// without target=_blank.
func TestLookingAtAnOptionChoosesNothing(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		d.Write("asked", "a.txt", "words")
		d.Write("asked", ".marks.json", fourParts)
		tab := signedIn(t, d)
		tab.Open(d.URL + "b/asked/")
		tab.Do(chromedp.SendKeys(chromedp.CSS(`textarea[name=comment]`), "half a thought"))
		tab.Click(`.option a`)
		wait(t, "the item's page", func() bool { return strings.Contains(d.Log(), "/b/asked/view") })
		tab.Front()
		if n := Eval[int](tab, `document.querySelectorAll(":checked").length`); n != 0 {
			t.Errorf("%d options are chosen", n)
		}
		if tab.Path() != d.path("b", "asked", "") || Eval[string](tab, `document.querySelector("textarea[name=comment]").value`) != "half a thought" {
			t.Error("the page with what was typed is gone")
		}
		tab.Click(`.option:has(a) .text`)
		if got := Eval[string](tab, `document.querySelector(":checked").value`); got != "=b" {
			t.Errorf("a click on its words chose %s", got)
		}
	})
}

// TestTheSecondOfTwoTabsLosesNoWords: where nobody began, the new answer is shown
// at once; where somebody did, what they typed stays, they are told, their answer
// is refused with what they chose and typed, and they can answer again. Red when
// desk.js puts the new page in place although something was typed, when Answer
// does not compare what was shown, when pickView does not show what a form said,
// and when a refused answer's page hides what the question says now.
func TestTheSecondOfTwoTabsLosesNoWords(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		d.Write("asked", "a.txt", "words")
		d.Write("asked", ".marks.json", question)
		first, second, third := signedIn(t, d), signedIn(t, d), signedIn(t, d)
		for _, tab := range []*Tab{first, second, third} {
			tab.Open(d.URL + "b/asked/marks")
			Eval[bool](tab, `window.same = true`)
		}
		second.Click(`input[value="=a"]`)
		second.Do(chromedp.SendKeys(chromedp.CSS(`textarea[name=comment]`), "the left one"))
		first.Click(`input[value="=b"]`)
		first.Follow(`.answer button`)

		third.Until(`document.querySelector(".pick.answered .said dd")?.textContent === "B"`)
		if !Eval[bool](third, `window.same`) || !strings.HasPrefix(life(third), "expires in ") {
			t.Errorf("the page that nobody touched: %s", life(third))
		}
		second.Until(`document.querySelector(".stale")`)
		kept := func(where string) {
			t.Helper()
			if got := Eval[string](second, `document.querySelector(":checked")?.value + " " + document.querySelector("textarea[name=comment]").value`); got != "=a the left one" {
				t.Errorf("%s there stands %s", where, got)
			}
		}
		kept("beside the notice")
		second.Follow(`.answer button`)
		if got := Eval[int](second, `performance.getEntriesByType("navigation")[0].responseStatus`); got != 409 {
			t.Errorf("the second answer got %d", got)
		}
		if got := Eval[string](second, `document.querySelector("[role=alert]").textContent`); !strings.Contains(got, "answered or changed since you saw it. Nothing was changed") {
			t.Errorf("it is told %q", got)
		}
		if got := Eval[string](second, `document.querySelector(".said dd").textContent`); got != "B" {
			t.Errorf("what the question says now is shown as %q", got)
		}
		kept("in the refused form")
		if a := d.answerTo("asked"); a.Answer.Parts["p1"].Choices[0] != "b" || len(a.Superseded) != 0 {
			t.Errorf("a refused answer was written: %+v", a)
		}
		second.Follow(`.answer button`)
		if second.Path() != d.path("b", "asked", "marks") {
			t.Errorf("the answer led to %s: %s", second.Path(), second.Text())
		}
		a := d.answerTo("asked")
		if a.Answer.Parts["p1"].Choices[0] != "a" || a.Answer.Comment != "the left one" || len(a.Superseded) != 1 || a.Superseded[0].Answer.Parts["p1"].Choices[0] != "b" {
			t.Errorf("answering again wrote %+v", a)
		}
		third.Until(`document.querySelector(".pick.answered .said dd")?.textContent === "A"`)
	})
}

// TestWordsTakenBackLetThePageGoOn: somebody who took back what they typed sees
// the next change, and no notice. Red when desk.js remembers that something was
// typed, or leaves the notice.
func TestWordsTakenBackLetThePageGoOn(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		d.Write("asked", "a.txt", "words")
		d.Write("asked", ".marks.json", question)
		tab := signedIn(t, d)
		tab.Open(d.URL + "b/asked/")
		Eval[bool](tab, `window.same = true`)
		tab.Do(chromedp.SendKeys(chromedp.CSS(`textarea[name=comment]`), "no"))
		d.Write("asked", ".marks.json", strings.Replace(question, `"title":"Which?"`, `"title":"Which of them?"`, 1))
		tab.Until(`document.querySelector(".stale")`)
		tab.Do(chromedp.SendKeys(chromedp.CSS(`textarea[name=comment]`), kb.Backspace+kb.Backspace))
		d.Write("asked", ".marks.json", strings.Replace(question, `"title":"Which?"`, `"title":"Which of these?"`, 1))
		tab.Until(`document.querySelector(".pick h3").textContent === "Which of these?" && !document.querySelector(".stale")`)
		if !Eval[bool](tab, `window.same`) {
			t.Error("the page was loaded anew")
		}
	})
}

// settledTwice is two settled questions, each with a fold for another answer and
// one for those before.
const settledTwice = `{"id":"s1","shape":"pick","title":"One","rev":1,"parts":[{"id":"a","kind":"text"}],"answer":{"parts":{"a":{"text":"x"}}},"superseded":[{"why":"answered-again","answer":{"parts":{"a":{"text":"y"}}}}]},` +
	`{"id":"s2","shape":"pick","title":"Two","rev":1,"parts":[{"id":"a","kind":"text"}],"answer":{"parts":{"a":{"text":"x"}}},"superseded":[{"why":"answered-again","answer":{"parts":{"a":{"text":"y"}}}}]}`

// TestAQuestionInTheFolderAppearsOnOpenPages: written as a worker does that knows
// no command, by a rename. Nobody reloads, the focus and what is unfolded stay,
// and it is no view. Red when desk.js does not listen for "change", and when it
// takes the first fold or summary of a question for any other.
func TestAQuestionInTheFolderAppearsOnOpenPages(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		d.Write("asked", "a.txt", "words")
		d.Write("asked", ".marks.json", `{"schema":"holdfast.marks/v1","rev":3,"marks":[`+settledTwice+`]}`)
		index, page, questions := signedIn(t, d), signedIn(t, d), signedIn(t, d)
		page.Open(d.URL + "b/asked/")
		questions.Open(d.URL + "b/asked/marks")
		Eval[bool](index, `document.querySelector(".x").focus(), true`)
		Eval[bool](page, `document.querySelector("form[action$='/keep'] button").focus(), true`)
		Eval[bool](questions, `(() => { const d = document.querySelectorAll("#s1 details"); d[1].open = true; d[1].querySelector("summary").focus(); return true })()`)
		for _, tab := range []*Tab{index, page, questions} {
			Eval[bool](tab, `window.same = true`)
		}
		viewed := d.viewedAt("asked")

		next := filepath.Join(d.Booth("asked"), ".marks.json.next")
		d.Write("asked", ".marks.json.next", `{"schema":"holdfast.marks/v1","rev":4,"marks":[`+settledTwice+`,{"id":"m1","shape":"pick","title":"And now?","parts":[{"id":"p1","kind":"confirm"}]}]}`)
		if err := os.Rename(next, filepath.Join(d.Booth("asked"), ".marks.json")); err != nil {
			t.Fatal(err)
		}
		index.Until(`document.querySelector("[aria-labelledby=waiting] h3")?.textContent === "asked"`)
		page.Until(`document.querySelector(".pick.open h3")?.textContent.startsWith("And now?")`)
		questions.Until(`document.querySelector(".pick.open h3")?.textContent.startsWith("And now?")`)
		for name, tab := range map[string]*Tab{"index": index, "page": page, "questions": questions} {
			if !Eval[bool](tab, `window.same`) {
				t.Errorf("%s was loaded anew", name)
			}
			if got := life(tab); !strings.HasPrefix(got, "held until answered") {
				t.Errorf("%s says %q", name, got)
			}
		}
		for tab, selector := range map[*Tab]string{index: `.card .x`, page: `form[action$='/keep'] button`, questions: `#s1 details:nth-of-type(2) summary`} {
			if !Eval[bool](tab, `document.activeElement.matches(`+quote(selector)+`)`) {
				t.Errorf("the focus went from %s to %s", selector, Eval[string](tab, `document.activeElement.outerHTML.slice(0, 200)`))
			}
		}
		if got := Eval[string](questions, `[...document.querySelectorAll("details")].map(d => d.closest("[id]").id + d.open).join()`); got != "s2false,s2false,s1false,s1true" {
			t.Errorf("unfolded: %s", got)
		}
		if d.viewedAt("asked") != viewed {
			t.Error("a page that updates itself left a view")
		}
	})
}

// viewedAt is when a booth was last looked at; zero for never.
func (d *Desk) viewedAt(booth string) time.Time {
	d.t.Helper()
	info, err := os.Lstat(filepath.Join(d.Home, "booths", booth, ".viewed"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
