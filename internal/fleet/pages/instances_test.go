package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fleet/console"
)

// Red when: an empty list does not say how to begin, where there is no fleet, no box, and
// nothing that ran.
func TestEmptyInstancesSayHowToBegin(t *testing.T) {
	t.Parallel()
	s := serve(t)
	wants(t, s.page("/desk/instances"), "This home is no console of a fleet", "holdfast fleet init", `<a href="/desk/instances" aria-current="true">Instances</a>`)
	s, c := begin(t)
	wants(t, s.page("/desk/instances"), "Nothing has run yet", "holdfast fleet invite BOX", "0 instances")
	s, c = begin(t, "walls")
	page := s.page("/desk/instances")
	wants(t, page, "Nothing has run yet", "holdfast run NAME -- COMMAND")
	wantsNot(t, page, "fleet invite")
	wants(t, s.page("/desk/fleet/walls"), "No instance was last run here.", "holdfast run NAME --box walls", "It was never started: say holdfast up on that machine.")
	for _, address := range []string{"/desk/instances/x", "/desk/instances/x/log", "/desk/api/v1/instances/x", "/desk/instances/A%20B", "/desk/instances/x/verify", "/desk/api/v1/instances/x/verify"} {
		if res := s.asOperator(address); res.StatusCode != http.StatusNotFound || !strings.Contains(res.body, "o instance is called") {
			t.Errorf("%s: %s %s", address, res.Status, res.body)
		}
	}
	if res := s.post("/desk/instances/x/stop", url.Values{}); res.StatusCode != http.StatusNotFound {
		t.Errorf("%s %s", res.Status, res.body)
	}
	var list struct{ Instances []console.Instance }
	s.json("/desk/api/v1/instances", &list)
	if _, err := c.Work(nil).List(t.Context()); err != nil || list.Instances == nil || len(list.Instances) > 0 {
		t.Error(list, err)
	}
}

// hostile is a work that prints what tries to be more than text.
const hostile = `printf '\033[31mred\033[0m\033[2J\033]0;title\007\n<script>alert(1)</script></pre><img src=x onerror=alert(1)>\n\tindented\n\377\376\000 binary\n\342\200\256gnp.exe\nend\n'; exec sleep 1000`

// case F15. From a run to its receipt, on the pages: what runs is said as the box says it,
// a stop is ordered once and shown with its receipt, each question about which has an answer.
// Red when: the page leaves out the claim, the box's word or the output; the form's key is
// not used (two stops are noted); the receipt is left out, or verified as another's.
func TestAnInstanceIsShownAndStoppedAndVerified(t *testing.T) {
	t.Parallel()
	r := begun(t)
	r.run("demo", hostile)
	page := r.printed("demo", "end")
	lookAt(t, "output", page)
	wants(t, page, "running", "red\\x1b[2J\\x1b]0;title\\x07", "<script>alert(1)</script></pre>", "\tindented", `\xff\xfe\x00 binary`, `\u202egnp.exe`,
		"The root on this machine says so now.", "ready: it takes orders", "There is no receipt of it: nothing proves that it has ended.", `data-every="2"`, "Operation", "Session 1")
	wantsNot(t, page, "Stop it", "Verify")
	wants(t, r.page("/desk/instances"), "1 instance · 1 running", `href="/desk/instances/demo"`)
	wants(t, rowOf(t, r.page("/desk/fleet"), "one"), "1 running", "proof: ", "isolation: ", "On this machine: Ready: it takes orders.")
	wants(t, r.page("/desk/fleet/one"), "What runs here", `href="/desk/instances/demo"`, "This home is the box, and its root says so.")

	page = r.asOperator("/desk/instances/demo").body
	wants(t, page, "Stop it", `action="/desk/instances/demo/stop"`)
	_, rest, _ := strings.Cut(page, `name="key" value="`)
	key, _, _ := strings.Cut(rest, `"`)
	form := url.Values{"key": {key}, "grace": {"1"}}
	for range 2 { // as somebody does who is impatient
		if res := r.post("/desk/instances/demo/stop", form); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/desk/instances/demo" {
			t.Fatal(res.Status, res.body)
		}
	}
	page = r.printed("demo", "ended by signal 15")
	wants(t, page, "It has ended, and a receipt proves it.", "released: no box may run it", "normal", "Roster revision")
	if page = r.asOperator("/desk/instances/demo").body; strings.Contains(page, "Stop it") {
		t.Error("what is stopped can be stopped")
	}
	wants(t, page, `href="/desk/instances/demo/verify?incarnation=1#incarnation-1"`)
	page = r.asOperator("/desk/instances/demo/verify?incarnation=1").body
	wants(t, page, "Every question has its answer.", "signature yes the box signed these bytes", "directory_revision yes", "claim yes the claim notes it")
	var shown instanceDoc
	r.json("/desk/api/v1/instances/demo", &shown)
	if len(shown.Evidence) != 1 || shown.Evidence[0].Exit != "ended by signal 15" || shown.Operation != key || !strings.HasSuffix(shown.Evidence[0].Key, "1-"+key+".json") {
		t.Errorf("%+v", shown)
	}
	var is console.Verification
	check(t, json.Unmarshal([]byte(r.asOperator("/desk/api/v1/instances/demo/verify").body), &is))
	if !is.OK || len(is.Checks) < 14 {
		t.Errorf("%+v", is)
	}
	r.damage()
}

// damage spoils what is stored of the instance, piece by piece.
func (r *runner) damage() {
	t := r.t
	t.Helper()
	was := read(t, r.stored("evidence/*/demo/*.json"))
	r.spoil("evidence/*/demo/*.json", strings.Replace(string(was), "a", "b", 1))
	wants(t, r.page("/desk/instances/demo"), "receipt damaged", "not the one that the claim notes")
	wants(t, r.asOperator("/desk/instances/demo/verify").body, "This receipt proves nothing", "does not hold", "no ")
	var doc instanceDoc
	r.json("/desk/api/v1/instances/demo", &doc)
	if doc.Evidence[0].Trouble == "" || doc.Evidence[0].Proof != "" {
		t.Errorf("%+v", doc)
	}
	check(t, os.Remove(r.stored("evidence/*/demo/*.json")))
	wants(t, r.page("/desk/instances/demo"), "The receipt is not in the store any more.")
	wants(t, r.asOperator("/desk/instances/demo/verify").body, "not verified", "No receipt stands under")

	r.spoil("control/claims/demo.json", "{}")
	page := r.page("/desk/instances/demo")
	wants(t, page, "The claim cannot be believed", "damaged", "nothing is stopped or started")
	wantsNot(t, page, "Its box has started it", "Output")
	wants(t, r.page("/desk/instances"), "1 damaged", "not known")
	r.json("/desk/api/v1/instances/demo", &doc)
	if doc.State != "damaged" || doc.Refusal == "" {
		t.Errorf("%+v", doc)
	}
	r.post("/desk/instances/demo/stop", url.Values{})
	wants(t, r.page("/desk/instances/demo"), "The stop did not come to its end here")
}

// Red when: the page shows more than the end, or cuts within a character; the download is no
// attachment in the sandbox, has no ranges or another length; what is not kept is an error.
func TestALongOutputIsShownFromItsEnd(t *testing.T) {
	t.Parallel()
	r := begun(t)
	r.run("long", `head -c 1500000 /dev/zero | tr '\0' 'x'; i=0; while [ $i -lt 60000 ]; do echo "éééé $i"; i=$((i+1)); done; echo finished; exec sleep 1000`)
	page := r.printed("long", "finished")
	wants(t, page, "The last 262 kB of 2", "éééé 59999")
	if n := strings.Count(page, "xxxxxxxxxx"); n > 0 || len(page) > 400<<10 {
		t.Errorf("%d bytes, %d", len(page), n)
	}
	address := "/desk/instances/long/log?incarnation=1"
	res := r.get(address)
	want := 1500000 + len("finished\n")
	for i := range 60000 {
		want += len("éééé \n") + len(strconv.Itoa(i))
	}
	if res.StatusCode != http.StatusOK || len(res.body) != want || !strings.HasSuffix(res.body, "finished\n") {
		t.Errorf("%s, %d bytes of %d", res.Status, len(res.body), want)
	}
	for name, value := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff", "Content-Disposition": `attachment; filename="long-1.log"`, "Accept-Ranges": "bytes",
	} {
		if got := res.Header.Get(name); got != value {
			t.Errorf("%s: %q", name, got)
		}
	}
	if policy := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox ") {
		t.Error(policy)
	}
	part := r.get(address, "Range", "bytes=1048570-1048583") // over the end of a piece
	if part.StatusCode != http.StatusPartialContent || part.body != strings.Repeat("x", 14) {
		t.Errorf("%s %q", part.Status, part.body)
	}
	if last := r.get(address, "Range", "bytes=-9"); last.body != "finished\n" {
		t.Errorf("%s %q", last.Status, last.body)
	}
	if none := r.get("/desk/instances/long/log?incarnation=7"); none.StatusCode != http.StatusNotFound {
		t.Errorf("%s %s", none.Status, none.body)
	}
	if bad := r.get("/desk/instances/long/log?incarnation=x"); bad.StatusCode != http.StatusBadRequest {
		t.Errorf("%s %s", bad.Status, bad.body)
	}
	// A box elsewhere: what is read is what it put into the store.
	folder, err := filepath.Glob(filepath.Join(r.home.Box, "instances/long/1/shim-*"))
	check(t, err)
	var to string
	for to == "" { // the agent brings what is finished
		found, err := filepath.Glob(filepath.Join(r.home.Bucket, "logs/*/long/1/2"))
		check(t, err, t.Context().Err())
		if len(found) == 1 {
			to = filepath.Dir(found[0])
		}
		time.Sleep(10 * time.Millisecond)
	}
	check(t, os.Rename(filepath.Join(folder[0], "went"), filepath.Join(folder[0], "went.away")))
	wants(t, r.page("/desk/instances/long"), "Read from the store", "The last 262 kB of 2.1 MB.")
	if res := r.get(address); len(res.body) != 2<<20 {
		t.Errorf("%s, %d bytes", res.Status, len(res.body))
	}
	check(t, os.WriteFile(filepath.Join(to, "1"), []byte("short"), 0o600), os.WriteFile(filepath.Join(to, "2"), []byte("end"), 0o600))
	wants(t, r.page("/desk/instances/long"), "Piece 1 of the output has 5 bytes, and should have 1048576.")
	check(t, os.Rename(filepath.Join(folder[0], "went.away"), filepath.Join(folder[0], "went")))
}

// Red when: the text of an output that is cut begins within a character, or loses a line
// that is whole.
func TestTextThatIsCutBeginsWhole(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                          "",
		"half\nwhole":               "whole",
		"\x82\xacrest":              "rest",
		"\x82\x82\x82\x82\x82x":     `\x82\x82x`,
		strings.Repeat("x", 5<<10):  strings.Repeat("x", 5<<10),
		"a\nb\r\nc\rd\t\x1b[1;31me": "b\nc\\rd\te",
	} {
		if got := printedText([]byte(in), true); got != want {
			t.Errorf("%.20q: %.40q", in, got)
		}
	}
	if got := printedText([]byte("half\nwhole"), false); got != "half\nwhole" {
		t.Error(got)
	}
}

// Red when: a page that fetches itself again is sent although nothing moved, or one that a
// person asks for is not.
func TestAPageThatIsStillSoIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, "walls")
	for _, address := range []string{"/desk/instances", "/desk/fleet", "/desk/fleet/walls"} {
		_, rest, _ := strings.Cut(s.page(address), `data-version="`)
		version, _, _ := strings.Cut(rest, `"`)
		tag := `"` + version + `"`
		if res := s.get(address, "Holdfast-Live", "1", "If-None-Match", tag); res.StatusCode != http.StatusNotModified || res.body != "" {
			t.Errorf("%s: %s", address, res.Status)
		}
		for _, with := range [][]string{{"If-None-Match", tag}, {"Holdfast-Live", "1", "If-None-Match", `"0"`}, {"Holdfast-Live", "1"}} {
			if res := s.get(address, with...); res.StatusCode != http.StatusOK {
				t.Errorf("%s %q: %s", address, with, res.Status)
			}
		}
	}
}
