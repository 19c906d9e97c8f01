package booth

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/booth/lifetime"
	"holdfast/internal/booth/marks"
)

// members are the names in a JSON value, nested ones with a dot, sorted.
func members(t testing.TB, v any) []string {
	t.Helper()
	data, err := json.Marshal(v)
	check(t, err)
	var tree any
	check(t, json.Unmarshal(data, &tree))
	names := map[string]bool{}
	collect(names, "", tree)
	var out []string
	for n := range names {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func collect(into map[string]bool, prefix string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			into[prefix+name] = true
			collect(into, prefix+name+".", inner)
		}
	case []any:
		for _, inner := range v {
			collect(into, prefix, inner)
		}
	}
}

// The member names that docs/INTERFACE.md promises.
var summaryMembers = []string{
	"bytes", "items", "kind", "marks_error", "name", "newest", "newest.at", "newest.clock", "newest.path", "open",
	"state", "state.detail", "state.kind", "state.line", "state.reason", "state.until", "title", "url",
}

// Red when a member of Summary, Explanation, Listing or Missing gets another
// name, goes away, or is left out where it is empty.
func TestJSONHasTheMembersOfTheInterface(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "a", "x")
	check(t, os.Symlink("a", dir+"/l"))
	l := look(b)
	plus := func(more ...string) []string {
		out := append(slices.Clone(summaryMembers), more...)
		slices.Sort(out)
		return out
	}
	for _, c := range []struct {
		doc  any
		want []string
	}{
		{l.Summary(), summaryMembers},
		{Look{}.Summary(), summaryMembers},
		{l.Explain(), plus("rule", "would_expire")},
		{l.Listing(), plus("files", "files.at", "files.bytes", "files.clock", "files.path", "files.url", "unserved", "unserved.path", "unserved.why")},
		{NewMissing("x", "gone"), []string{"name", "state", "state.detail", "state.kind", "state.line", "state.reason", "state.until", "url"}},
	} {
		if d := cmp.Diff(c.want, members(t, c.doc)); d != "" {
			t.Errorf("%T: %s", c.doc, d)
		}
	}
}

// The page that the test above follows is the one that people read.
func TestTheInterfacePageNamesEachMember(t *testing.T) {
	page, err := os.ReadFile("../../docs/INTERFACE.md")
	check(t, err)
	for _, name := range append([]string{"rule", "would_expire", "files", "unserved", "url", "why"}, summaryMembers...) {
		last := name[strings.LastIndexByte(name, '.')+1:]
		if !strings.Contains(string(page), `"`+last+`"`) {
			t.Errorf("docs/INTERFACE.md does not name %q", last)
		}
	}
}

// INV-3: what is listed, shown and explained of one booth is one answer. Red
// when one of them decides again, or leaves the damage out.
func TestListShowAndExplainSayTheSame(t *testing.T) {
	s := newShed(t)
	for name, plant := range map[string]func(dir string){
		"counting": func(string) {},
		"kept":     func(dir string) { write(t, dir, KeepFile, `{"why":"x"}`); write(t, dir, marks.File, "{") },
		"open":     func(dir string) { write(t, dir, marks.File, doc(openPick)) },
		"broken":   func(dir string) { write(t, dir, marks.File, "") },
		"deep":     func(dir string) { write(t, dir, strings.Repeat("d/", 130)+"f", "") },
		"odd":      func(dir string) { oddities["named pipe"](t, dir+"/"+ReportFile) },
	} {
		_, dir := s.booth(t, name)
		plant(dir)
	}
	now := time.Now()
	looks, err := List(context.Background(), s.data, at(now))
	check(t, err)
	if len(looks) != 6 {
		t.Fatalf("%d booths", len(looks))
	}
	for _, l := range looks {
		b, err := s.data.Booth(l.Name)
		check(t, err)
		alone := At(context.Background(), b, at(now))
		b.Close()
		want := l.Summary()
		for from, got := range map[string]Summary{"show": alone.Listing().Summary, "explain": alone.Explain().Summary, "look": alone.Summary()} {
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s: %s", l.Name, from, d)
			}
		}
		if want.State.Kind != lifetime.Kind(l.State) || want.State.Line != lifetime.Line(l.State, now) {
			t.Errorf("%+v", want.State)
		}
		if counting := want.State.Kind == "counting"; counting != (want.State.Until != "") || counting && want.State.Until != l.Explain().WouldExpire {
			t.Errorf("%s: until %q, would expire %q", l.Name, want.State.Until, l.Explain().WouldExpire)
		}
		if (want.MarksError != "") != (l.Marks.Why() != "") || want.Items != len(l.Listing().Files) {
			t.Errorf("%+v", want)
		}
	}
}

var rfc3339UTC = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)

// case B04, B06. Names are bytes; JSON is not. Red when Escape or text is left
// out for a member.
func TestNamesThatAreNoTextHaveAnExactURL(t *testing.T) {
	b, dir := newShed(t).booth(t, "a/b\xff"[2:])
	for _, n := range []string{"\xff#.png", "d/a?b%\n", "photo\u202egnp.exe"} {
		write(t, dir, n, "x")
	}
	write(t, dir, KeepFile, "{\"why\":\"\xff\"}")
	check(t, os.Symlink("x", dir+"/\xfel"))
	l := look(b).Listing()
	if l.Name != "b\uFFFD" || l.URL != "b%FF" {
		t.Errorf("%q %q", l.Name, l.URL)
	}
	want := []FileEntry{
		{Path: "d/a?b%\n", URL: "d/a%3Fb%25%0A"},
		{Path: "photo\u202egnp.exe", URL: "photo%E2%80%AEgnp.exe"},
		{Path: "\uFFFD#.png", URL: "%FF%23.png"},
	}
	for i, f := range l.Files {
		if !rfc3339UTC.MatchString(f.At) || f.Clock == "" || f.Bytes != 1 {
			t.Errorf("%+v", f)
		}
		if f.Path != want[i].Path || f.URL != want[i].URL {
			t.Errorf("%q %q, want %q %q", f.Path, f.URL, want[i].Path, want[i].URL)
		}
	}
	if l.Unserved[0].Path != "\uFFFDl" || l.Unserved[0].Why != "link, not followed" {
		t.Errorf("%+v", l.Unserved)
	}
	if m := NewMissing("\xff/", "x"); m.Name != "\uFFFD/" || m.State.Kind != "gone" {
		t.Errorf("%+v", m)
	}
}

// A booth whose tree says nothing has no newest stamp, not one of the year 1.
func TestNoStampIsNoStamp(t *testing.T) {
	if got := (Look{}).Summary().Newest; got != (Newest{}) {
		t.Errorf("%+v", got)
	}
	if e := (Look{}).Explain(); e.WouldExpire != "" {
		t.Errorf("%q", e.WouldExpire)
	}
}
