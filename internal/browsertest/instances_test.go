//go:build browser

package browsertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fleet/enrollment"
)

// running is a desk whose home is console and box, with instances of every kind: one prints
// what tries to be more than text, one has ended twice, one never could begin, and the claim
// of one is damaged.
func running(t *testing.T) *Desk {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "holdfast.toml"), []byte("[box]\nallow_root = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := consoleOf(t, home)
	word, err := c.Invite(t.Context(), enrollment.Invitation{Box: "one", Uses: 1, Label: "The one by the door"}, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	holdfast(t, home, "box", "join", word.Token)
	t.Cleanup(func() { // after the desk's own end, which would start the root again
		if out, err := exec.Command(Binary(t), "--home", home, "down", "--grace", "0s").CombinedOutput(); err != nil {
			t.Errorf("holdfast down: %v: %s", err, out)
		}
	})
	d := StartAt(t, home)
	for { // until the box has a session
		found, err := filepath.Glob(filepath.Join(home, "bucket/boxes/*/session.json"))
		if err != nil || t.Context().Err() != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	run := func(name, script string) { holdfast(t, home, "run", name, "--", "sh", "-c", script) }
	run("noisy", `printf '\033[31mred\033[0m\033[2J\n<script>document.title = "not plain"</script>\n\377\000\342\200\256gnp\n'; head -c 3000 /dev/zero | tr '\0' x; for i in $(seq 300); do echo "line $i"; done; while sleep 1; do date; done`)
	run(strings.Repeat("unbroken", 7), "exec sleep 1000")
	run("ended", "exec sleep 1000")
	holdfast(t, home, "stop", "ended")
	run("ended", "exit 3")
	holdfast(t, home, "stop", "ended")
	if out, err := exec.Command(Binary(t), "--home", home, "run", "never", "--", "/no/such/program").CombinedOutput(); err == nil {
		t.Fatalf("%s", out)
	}
	if err := os.WriteFile(filepath.Join(home, "bucket/control/claims/torn.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

// instanceLooks are the pages of a home that runs something.
func instanceLooks() []look {
	return []look{
		{"instances", "instances"},
		{"instance", "instances/noisy"},
		{"instance-long", "instances/" + strings.Repeat("unbroken", 7)},
		{"instance-ended", "instances/ended"},
		{"instance-verified", "instances/ended/verify?incarnation=1"},
		{"instance-refused", "instances/never"},
		{"instance-torn", "instances/torn"},
		{"instance-missing", "instances/nowhere"},
		{"fleet-runs", "fleet"},
		{"fleet-box-runs", "fleet/one"},
	}
}

// TestAPersonStopsAndVerifiesWithoutScript: from the list to an instance, asked first, to
// the receipt and each question about it. Red when a form or a link leads elsewhere, or a
// stop needs no second word.
func TestAPersonStopsAndVerifiesWithoutScript(t *testing.T) { // case F15
	d := running(t)
	tab := Open(t, 390, 844)
	tab.Script(false)
	tab.Open(d.SignIn)
	tab.Follow(`.rooms a:nth-child(4)`)
	tab.Follow(linkTo(d, "instances", "noisy"))
	if text := tab.Text(); !strings.Contains(text, "line 300") || !strings.Contains(text, "Its box has started it.") {
		t.Fatal(text)
	}
	if Eval[bool](tab, `document.querySelector("#stop form").checkVisibility()`) {
		t.Error("nothing was asked first")
	}
	tab.Click("#stop summary")
	tab.Until(`document.querySelector("#stop").open`)
	tab.Follow("#stop form button")
	if tab.Path() != d.path("instances", "noisy") {
		t.Errorf("%s: %s", tab.Path(), tab.Text())
	}
	for !strings.Contains(tab.Text(), "a receipt proves it") {
		tab.Open(d.URL + "instances/noisy")
	}
	tab.Follow(`#incarnation-1 .actions a`)
	if text := tab.Text(); !strings.Contains(text, "Every question has its answer.") || !strings.Contains(text, "the box signed these bytes") {
		t.Error(text)
	}
}

// TestAnInstancesPageFollowsIt: the output grows at its end and stays where somebody has
// scrolled to, and a stop is seen to its receipt, without a reload. Red when page.js does
// not look by itself, or the end of the output is not in sight.
func TestAnInstancesPageFollowsIt(t *testing.T) {
	d := running(t)
	tab := signedIn(t, d)
	tab.Open(d.URL + "instances/noisy")
	const out = `document.querySelector(".output")`
	if gap := Eval[int](tab, out+`.getBoundingClientRect().bottom - `+out+`.firstElementChild.getBoundingClientRect().bottom | 0`); gap < 0 || gap > 3 {
		t.Errorf("the end is %d px out of sight", gap)
	}
	Eval[bool](tab, `window.same = true, window.before = document.querySelector(".output").textContent.length, true`)
	tab.Until(out + `.textContent.length > before + 20`)
	if at := Eval[int](tab, out+`.scrollTop | 0`); at != 0 {
		t.Errorf("the end is not followed: %d", at)
	}
	place := `(() => { const o = document.querySelector(".output"); return (o.scrollHeight + o.scrollTop) | 0 })()`
	was := Eval[int](tab, out+`.scrollTop = -500, window.before = document.querySelector(".output").textContent.length, `+place)
	tab.Until(out + `.textContent.length > before + 20`)
	if is := Eval[int](tab, place); is < was-2 || is > was+2 {
		t.Errorf("what was being read moved: %d, %d", was, is)
	}
	holdfast(t, d.Home, "stop", "noisy", "--grace", "0s")
	tab.Until(`!!document.querySelector(".state.stopped") && !!document.querySelector("#incarnation-1")`)
	if !Eval[bool](tab, `window.same`) {
		t.Error("the page was loaded anew")
	}
}
