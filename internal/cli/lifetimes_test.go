//go:build linux

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// briefDesk is a running "holdfast up" of this test's own program, whose booths live
// for two seconds and whose sweeper comes every second.
type briefDesk struct {
	t    *testing.T
	home string
	url  string
	cmd  *exec.Cmd
}

func startDesk(t *testing.T, home string) *briefDesk {
	t.Helper()
	cmd := exec.Command("holdfast", "--home", home, "up", "--listen", "127.0.0.1:0", "--ttl", "2s", "--tick", "1s")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	d := &briefDesk{t: t, home: home, cmd: cmd}
	t.Cleanup(d.stop)
	lines := bufio.NewScanner(out)
	lines.Scan()
	url, ok := strings.CutPrefix(lines.Text(), "holdfast: listening on ")
	if !ok {
		t.Fatalf("up said %q", lines.Text())
	}
	d.url = url
	return d
}

func (d *briefDesk) stop() {
	if d.cmd == nil {
		return
	}
	must(d.t, d.cmd.Process.Signal(syscall.SIGTERM))
	must(d.t, d.cmd.Wait())
	d.cmd = nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lines are the lifetimes of all booths, as the command says them.
func (d *briefDesk) lines() map[string]string {
	d.t.Helper()
	out, err := exec.Command("holdfast", "--home", d.home, "--json", "booth", "ls").Output()
	must(d.t, err)
	var doc struct {
		Booths []struct {
			Name  string
			State struct{ Line string }
		}
	}
	must(d.t, json.Unmarshal(out, &doc))
	lines := map[string]string{}
	for _, b := range doc.Booths {
		lines[b.Name] = b.State.Line
	}
	return lines
}

func (d *briefDesk) page(path string) string {
	d.t.Helper()
	res, err := http.Get(d.url + path)
	must(d.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(d.t, err)
	return string(body)
}

// awaitGone waits until the sweeper has taken all booths of which gone says so;
// it fails with the test's own time.
func (d *briefDesk) awaitGone(gone func(name string) bool) map[string]string {
	d.t.Helper()
	for {
		lines := d.lines()
		if !slices.ContainsFunc(slices.Collect(keys(lines)), gone) {
			return lines
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// row is a row of the lifetime table: what is in a booth, and what every surface
// says of it after its time.
type row struct {
	name string
	set  func(t *testing.T, d *briefDesk, dir string)
	line string
}

func file(name, content string) func(*testing.T, *briefDesk, string) {
	return func(t *testing.T, _ *briefDesk, dir string) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
}

func marksDoc(entries ...string) string {
	return `{"schema":"holdfast.marks/v1","rev":1,"marks":[` + strings.Join(entries, ",") + `]}`
}

const (
	askedPick  = `{"id":"p1","shape":"pick","title":"t","parts":[{"id":"a","kind":"confirm"},{"id":"b","kind":"text"}]}`
	partPick   = `{"id":"p1","shape":"pick","title":"t","parts":[{"id":"a","kind":"confirm"},{"id":"b","kind":"text"}],"answer":{"by":"o","parts":{"a":{"confirm":true}}}}`
	donePick   = `{"id":"p1","shape":"pick","title":"t","parts":[{"id":"a","kind":"confirm"}],"answer":{"by":"o","parts":{"a":{"confirm":true}}}}`
	noOptions  = `{"id":"p1","shape":"pick","title":"t","parts":[{"id":"a","kind":"choice","options":[]}]}`
	unreadable = "held · marks unreadable"
)

func tenNotesOneBroken() string {
	notes := make([]string, 0, 10)
	for i := range 9 {
		notes = append(notes, fmt.Sprintf(`{"id":"n%d","shape":"note","text":"x"}`, i))
	}
	return marksDoc(append(notes, `{"id":"n9","shape":"note"}`)...)
}

// heldRows are the rows of the table that any user can bring about; case B26.
var heldRows = []row{
	{"kept", file(".forever", ""), "kept"},
	{"kept-damaged", func(t *testing.T, d *briefDesk, dir string) {
		file(".forever", "")(t, d, dir)
		file(".marks.json", "")(t, d, dir)
	}, "kept · marks unreadable"},
	{"open", file(".marks.json", marksDoc(askedPick)), "held until answered"},
	{"partly", file(".marks.json", marksDoc(partPick)), "held until answered"},
	{"empty", file(".marks.json", ""), unreadable},
	{"blank", file(".marks.json", " \n"), unreadable},
	{"null", file(".marks.json", "null"), unreadable},
	{"list", file(".marks.json", "[]"), unreadable},
	{"truncated", file(".marks.json", marksDoc(donePick)[:60]), unreadable},
	{"folder", func(t *testing.T, _ *briefDesk, dir string) { must(t, os.Mkdir(dir+"/.marks.json", 0o755)) }, unreadable},
	{"link", func(t *testing.T, _ *briefDesk, dir string) { must(t, os.Symlink("nowhere", dir+"/.marks.json")) }, unreadable},
	{"pipe", func(t *testing.T, _ *briefDesk, dir string) { must(t, unix.Mkfifo(dir+"/.marks.json", 0o644)) }, unreadable},
	{"large", file(".marks.json", strings.Repeat(" ", 5<<20)+marksDoc(donePick)), unreadable},
	{"one-broken", file(".marks.json", tenNotesOneBroken()), unreadable},
	{"no-options", file(".marks.json", marksDoc(noOptions)), unreadable},
	{"review", func(t *testing.T, d *briefDesk, _ string) {
		must(t, os.WriteFile(d.home+"/desk/holds.json", []byte(`{"holds":{"review":"n-17"},"schema":"holdfast.holds/v1"}`+"\n"), 0o600))
	}, "held until n-17 is reviewed"},
	{"busy", func(t *testing.T, _ *briefDesk, dir string) {
		f, err := os.Open(dir)
		must(t, err)
		t.Cleanup(func() { f.Close() })
		must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	}, "held · in use"},
	{"deep", func(t *testing.T, _ *briefDesk, dir string) {
		must(t, os.MkdirAll(dir+strings.Repeat("/d", 140), 0o755))
	}, "held · cannot be read: " + strings.Repeat("d/", 127) + "d"},
}

// hold checks rows against a real desk: each booth stays, and says why on every
// surface, while the sibling beside it, which differs in nothing else, goes.
func hold(t *testing.T, rows []row) *briefDesk {
	t.Helper()
	home := t.TempDir()
	must(t, os.MkdirAll(home+"/desk", 0o700))
	for _, r := range rows {
		for _, name := range []string{r.name, "doomed-" + r.name} {
			must(t, os.MkdirAll(filepath.Join(home, "booths", name), 0o755))
			must(t, os.WriteFile(filepath.Join(home, "booths", name, "a.txt"), []byte("x"), 0o644))
		}
		r.set(t, &briefDesk{home: home}, filepath.Join(home, "booths", r.name))
	}
	must(t, os.MkdirAll(home+"/booths/answered", 0o755))
	must(t, os.WriteFile(home+"/booths/answered/.marks.json", []byte(marksDoc(donePick)), 0o644))
	d := startDesk(t, home)
	left := d.awaitGone(func(name string) bool { return strings.HasPrefix(name, "doomed-") || name == "answered" })
	index := d.page("/")
	for _, r := range rows {
		if left[r.name] != r.line {
			t.Errorf("%s: %q, want %q", r.name, left[r.name], r.line)
		}
		shown := ">" + strings.ReplaceAll(r.line, "'", "&#39;") + "</span>"
		for surface, page := range map[string]string{"index": index, "page": d.page("/b/" + r.name + "/"), "marks": d.page("/b/" + r.name + "/marks")} {
			if !strings.Contains(page, shown) {
				t.Errorf("%s: the %s does not say %q", r.name, surface, r.line)
			}
		}
	}
	if len(left) != len(rows) {
		t.Errorf("left: %v", left)
	}
	return d
}

// The lifetime table on real folders, INV-3, INV-4 and INV-6. Red when a reason
// is left out of lifetime.hold, or a surface makes a line of its own.
func TestEveryHoldHoldsAndItsSiblingGoes(t *testing.T) {
	t.Parallel()
	d := hold(t, heldRows)
	// What ends a hold lets the timer have the booth: answered, repaired by hand.
	must(t, os.WriteFile(d.home+"/booths/open/.marks.json", []byte(marksDoc(donePick)), 0o644))
	must(t, os.Remove(d.home+"/booths/empty/.marks.json"))
	must(t, os.Remove(d.home+"/booths/kept/.forever"))
	d.awaitGone(func(name string) bool { return slices.Contains([]string{"open", "empty", "kept"}, name) })
}

// A mount inside holds; it takes root. Red when the survey's mount is not asked.
func TestAMountHolds(t *testing.T) {
	t.Parallel()
	hold(t, []row{{"mount", func(t *testing.T, _ *briefDesk, dir string) {
		must(t, os.Mkdir(dir+"/disk", 0o755))
		if err := unix.Mount("none", dir+"/disk", "tmpfs", 0, "size=64k"); err != nil {
			t.Fatalf("this test needs to mount (root): %v", err)
		}
		t.Cleanup(func() { must(t, unix.Unmount(dir+"/disk", unix.MNT_DETACH)) })
	}, "held · contains a mount"}})
}

// A record of arrivals that cannot be read holds every booth, and none is written
// over it; once it is gone the booths count from then. The record of reviews does
// the same. Red when the ledger takes what it cannot read for nothing.
func TestARecordThatCannotBeReadHoldsEverything(t *testing.T) {
	t.Parallel()
	for file, line := range map[string]string{"seen.json": "held · arrival unknown", "holds.json": "held · review record unreadable"} {
		home := t.TempDir()
		for _, name := range []string{"a", "b"} {
			must(t, os.MkdirAll(filepath.Join(home, "booths", name), 0o755))
		}
		must(t, os.MkdirAll(home+"/desk", 0o700))
		must(t, os.WriteFile(home+"/desk/"+file, []byte("{"), 0o600))
		must(t, os.MkdirAll(home+"/booths/aside", 0o755))
		d := startDesk(t, home)
		ticks := home + "/desk/ticks.json"
		for seen, last := 0, ""; seen < 5; time.Sleep(50 * time.Millisecond) { // five ticks
			if data, err := os.ReadFile(ticks); err == nil && string(data) != last {
				seen, last = seen+1, string(data)
			}
		}
		for name, got := range d.lines() {
			if got != line {
				t.Errorf("%s: %s: %q", file, name, got)
			}
		}
		if len(d.lines()) != 3 {
			t.Errorf("%s: left: %v", file, d.lines())
		}
		if data, err := os.ReadFile(home + "/desk/" + file); err != nil || string(data) != "{" {
			t.Errorf("%s: %q %v", file, data, err)
		}
		must(t, os.Remove(home+"/desk/"+file))
		d.awaitGone(func(string) bool { return true })
		d.stop()
	}
}
