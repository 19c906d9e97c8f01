package booth

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/booth/marks"
)

func tenWithOneBroken() string {
	var entries []string
	for i := range 10 {
		entries = append(entries, fmt.Sprintf(`{"id":"n%d","shape":"note","text":"hm"}`, i))
	}
	entries[4] = `{"id":"n4","shape":"note"}`
	return doc(entries...)
}

// marksCases are contents of .marks.json, and the reason that each holds with;
// 0 counts down. Each unreadable one stands beside the clean one closest to it.
var marksCases = []struct {
	name, content string
	hold          lifetime.Reason
	shown         int // marks that hydrate all the same
	open          int
}{
	{"no marks", doc(), 0, 0, 0},
	{"empty", "", lifetime.MarksHold, 0, 0},
	{"blank", " \n\t ", lifetime.MarksHold, 0, 0},
	{"null", "null", lifetime.MarksHold, 0, 0},
	{"a list", "[]", lifetime.MarksHold, 0, 0},
	{"an empty object", "{}", lifetime.MarksHold, 0, 0},
	{"two documents", doc() + doc(), lifetime.MarksHold, 0, 0},
	{"truncated", doc(note)[:40], lifetime.MarksHold, 0, 0},
	{"a member twice", strings.Replace(doc(note), `"rev":1`, `"rev":1,"rev":1`, 1), lifetime.MarksHold, 1, 0},
	{"another schema", strings.Replace(doc(note), "/v1", "/v9", 1), lifetime.MarksHold, 0, 0},
	{"a note", doc(note), 0, 1, 0},
	{"one broken of ten", tenWithOneBroken(), lifetime.MarksHold, 9, 0},
	{"an id twice", doc(note, note), lifetime.MarksHold, 1, 0},
	{"an unknown shape", doc(note, `{"id":"z","shape":"riddle"}`), lifetime.MarksHold, 1, 0},
	{"an unknown member", strings.Replace(doc(note), `"rev":1`, `"rev":1,"later":[2]`, 1), 0, 1, 0},
	{"no more than may be", doc(note) + strings.Repeat(" ", marks.MaxSize-len(doc(note))), 0, 1, 0},
	{"five MiB", doc(note) + strings.Repeat(" ", 5<<20), lifetime.MarksHold, 0, 0},
	{"an open pick", doc(openPick), lifetime.Open, 1, 1},
	{"a pick answered in part", doc(half), lifetime.Open, 1, 1},
	{"an answered pick", doc(answered), 0, 1, 0},
	{"a withdrawn pick", doc(withdrawn), 0, 1, 0},
	{"a pick that can never be answered", doc(noOptions), lifetime.MarksHold, 0, 0},
	{"an open pick beside a broken one", doc(openPick, noOptions), lifetime.MarksHold, 1, 1},
}

// case B26. Red when readMarks takes any error for "not there", or marksFact does
// not ask Whole. The order of the two reasons does not matter to the timer; the
// line says which is shown.
func TestMarksThatCannotBeReadHoldAndTheirCleanSiblingsDoNot(t *testing.T) {
	for _, c := range marksCases {
		t.Run(c.name, func(t *testing.T) {
			b, dir := makeBooth(t)
			write(t, dir, marks.File, c.content)
			l := look(b)
			held, holds := l.State.(lifetime.Held)
			if holds != (c.hold != 0) || held.Reason != c.hold {
				t.Errorf("state %#v, want %v", l.State, c.hold)
			}
			if len(l.Marks.Marks) != c.shown || l.Marks.Open() != c.open {
				t.Errorf("%d marks shown, %d open; want %d, %d", len(l.Marks.Marks), l.Marks.Open(), c.shown, c.open)
			}
			if damaged := c.hold == lifetime.MarksHold; damaged != (l.Summary().MarksError != "") {
				t.Errorf("marks_error %q", l.Summary().MarksError)
			}
		})
	}
}

// A member whose name is ours but for its letters is an unknown one. Red when the
// document is read by encoding/json alone, which folds them: the last one wins,
// and an open pick, or a whole answer's absence, disappears.
func TestNoMemberInOtherLettersHidesAnOpenPick(t *testing.T) {
	for _, content := range []string{
		strings.TrimSuffix(doc(openPick), "}") + `,"MARKS":[]}`,
		doc(strings.TrimSuffix(openPick, "}") + `,"Withdrawn":{"by":"w"}}`),
		doc(strings.TrimSuffix(openPick, "}") + `,"PARTS":[]}`),
	} {
		b, dir := makeBooth(t)
		write(t, dir, marks.File, content)
		if _, held := look(b).State.(lifetime.Held); !held {
			t.Errorf("%s: %#v", content, look(b).State)
		}
	}
}

// case B03, case B26. Red when readMarks opens by path, or an *Unserved counts as
// "not there".
func TestMarksThatAreNoRegularFileHold(t *testing.T) {
	for kind, plant := range oddities {
		b, dir := makeBooth(t)
		plant(t, dir+"/"+marks.File)
		want := lifetime.Held{Reason: lifetime.MarksHold}
		got, _ := look(b).State.(lifetime.Held)
		if got.Reason != want.Reason || got.Detail == "" {
			t.Errorf("%s: %#v", kind, look(b).State)
		}
	}
}

// Whatever .forever is, it keeps, and its body is never needed for that. Red when
// readSentinel reads the body first, or follows a link.
func TestWhateverTheKeepMarkerIsItKeeps(t *testing.T) {
	if _, ok := look(first(makeBooth(t))).State.(lifetime.Counting); !ok {
		t.Fatal("a booth without one does not count down")
	}
	for kind, plant := range oddities {
		b, dir := makeBooth(t)
		plant(t, dir+"/"+KeepFile)
		if got := look(b).State; got != (lifetime.Kept{}) {
			t.Errorf("%s: %#v", kind, got)
		}
	}
	for content, why := range map[string]string{
		"":                               "",
		"no json":                        "",
		`{"why":7}`:                      "",
		`{"why":"a reference","by":"o"}`: "a reference",
	} {
		b, dir := makeBooth(t)
		write(t, dir, KeepFile, content)
		if got := look(b).State; got != (lifetime.Kept{Why: why}) {
			t.Errorf("%q: %#v", content, got)
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

// Red when Decide returns Kept before it has put the damage in.
func TestDamageRidesAlongWithAKeptBooth(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, KeepFile, "")
	write(t, dir, marks.File, "{")
	l := look(b)
	if s, ok := l.State.(lifetime.Kept); !ok || s.Marks == "" || l.Line() != "kept · marks unreadable" {
		t.Errorf("%#v %q", l.State, l.Line())
	}
}

// A tree deeper than anybody walks was not walked. Red when treeFact does not
// ask for the failure.
func TestATreeThatIsNotWalkedWholeHolds(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, strings.Repeat("d/", 127)+"f", "")
	if _, ok := look(b).State.(lifetime.Counting); !ok {
		t.Errorf("a tree just flat enough: %#v", look(b).State)
	}
	write(t, dir, strings.Repeat("d/", 130)+"f", "")
	s, _ := look(b).State.(lifetime.Held)
	if s.Reason != lifetime.TreeHold || !strings.HasPrefix(s.Detail, "d/d/") {
		t.Errorf("%#v", look(b).State)
	}
	if !strings.HasPrefix(look(b).Line(), "held · cannot be read: d/d/") {
		t.Errorf("%q", look(b).Line())
	}
}

// Red when the walk does not ask its context: what was not seen would count as
// not there.
func TestALookThatWasCutShortHolds(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "d/f", "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s, _ := At(ctx, b, at(time.Now())).State.(lifetime.Held); s.Reason != lifetime.TreeHold {
		t.Errorf("%#v", s)
	}
}

// What decides the kind is an item: what is served. Red when kindOf looks for
// names and not among the items.
func TestOnlyAnItemDecidesTheKind(t *testing.T) {
	for _, c := range []struct {
		files []string
		want  Kind
	}{
		{nil, Gallery},
		{[]string{"a.png"}, Gallery},
		{[]string{"index.html"}, Report},
		{[]string{"links.md"}, Board},
		{[]string{"index.html", "links.md"}, Report},
		{[]string{"sub/index.html", "sub/links.md"}, Gallery},
		{[]string{"INDEX.HTML", ".index.html"}, Gallery},
	} {
		b, dir := makeBooth(t)
		for _, f := range c.files {
			write(t, dir, f, "x")
		}
		if got := look(b).Kind; got != c.want {
			t.Errorf("%v: %v, want %v", c.files, got, c.want)
		}
	}
	for kind, plant := range oddities { // case B03
		b, dir := makeBooth(t)
		plant(t, dir+"/"+ReportFile)
		if got := look(b).Kind; got != Gallery {
			t.Errorf("index.html as %s: %v", kind, got)
		}
		write(t, dir, BoardFile, "x")
		if got := look(b).Kind; got != Board {
			t.Errorf("index.html as %s beside a board: %v", kind, got)
		}
		b, dir = makeBooth(t)
		plant(t, dir+"/"+BoardFile)
		if got := look(b).Kind; got != Gallery {
			t.Errorf("links.md as %s: %v", kind, got)
		}
	}
}

// case B17. Red when a stamp in the future is not cut to the time of the look
// (the booth is immortal), or not named.
func TestAStampInTheFutureCountsAsNowAndIsNamed(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "ahead", "x")
	future := time.Now().Add(1000 * time.Hour)
	check(t, os.Chtimes(dir+"/ahead", future, future))
	l := look(b)
	if s, ok := l.State.(lifetime.Counting); !ok || !s.Until.Equal(l.At.Add(day)) {
		t.Errorf("%#v, looked at %v", l.State, l.At)
	}
	if l.Survey.Future != 1 || l.Survey.FuturePath != "ahead" {
		t.Errorf("%d, %q", l.Survey.Future, l.Survey.FuturePath)
	}
	if got := l.Listing().Files[0].At; got != stamp(l.At) {
		t.Errorf("listed as of %s", got)
	}
}

// case B17, case B16: an old mtime was brought along; the file came now. Red when
// stampOf takes the mtime alone.
func TestAnOldMtimeDoesNotMakeABoothOld(t *testing.T) {
	b, dir := makeBooth(t)
	began := time.Now()
	write(t, dir, "old", "x")
	old := time.Unix(0, 0)
	check(t, os.Chtimes(dir+"/old", old, old))
	check(t, os.Chtimes(dir, old, old))
	l := look(b)
	// A file's time is of the last tick of the kernel's clock, a little behind.
	if s, ok := l.State.(lifetime.Counting); !ok || s.Until.Before(began.Add(day-time.Second)) || l.Survey.Newest.Path != "old" {
		t.Errorf("%#v, newest %+v", l.State, l.Survey.Newest)
	}
}

// The age of a booth is decided by the time of the look, and by nothing else.
// Red when At asks the clock itself.
func TestAnExpiredBoothIsSaidToBe(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "a", "x")
	l := At(context.Background(), b, at(time.Now().Add(2*day)))
	if l.Line() != "expires at the next sweep" {
		t.Errorf("%q", l.Line())
	}
	write(t, dir, marks.File, doc(openPick))
	l = At(context.Background(), b, at(time.Now().Add(2*day)))
	if l.Line() != "held until answered" {
		t.Errorf("held: %q", l.Line())
	}
	if e := l.Explain(); e.WouldExpire == "" || e.State.Until != "" {
		t.Errorf("would expire %q, until %q", e.WouldExpire, e.State.Until)
	}
}

// Red when List lists what is no booth, or stops at one that is odd.
func TestListTakesEveryFolderAndNothingElse(t *testing.T) {
	s := newShed(t)
	for _, n := range []string{"b", "a", "\xff\xfe", "with space"} {
		s.booth(t, n)
	}
	write(t, s.path, "file", "x")
	check(t, os.Mkdir(s.path+"/.hidden", 0o755))
	check(t, os.Symlink("a", s.path+"/alias"))
	_, odd := s.booth(t, "odd")
	oddities["named pipe"](t, odd+"/"+marks.File)
	looks, err := List(context.Background(), s.data, at(time.Now()))
	check(t, err)
	var names []string
	for _, l := range looks {
		names = append(names, l.Name.String())
	}
	if d := cmp.Diff([]string{"a", "b", "odd", "with space", "\xff\xfe"}, names); d != "" {
		t.Error(d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := List(ctx, s.data, at(time.Now())); err == nil {
		t.Error("a list that was cut short is given as whole")
	}
}

// Red when MaxSize or the order of items depends on what the manifest claims.
func TestTheOrderOfAManifestNamesItemsOnly(t *testing.T) {
	b, dir := makeBooth(t)
	for _, f := range []string{"a", "b", "c", "d/e"} {
		write(t, dir, f, f)
	}
	write(t, dir, ManifestFile, `{"order":["c","nothing","../../etc/passwd",".marks.json","d/e","c"],"captions":{"a":"A"}}`)
	l := look(b)
	var got []string
	for _, it := range l.Items {
		got = append(got, it.Path.String())
	}
	if d := cmp.Diff([]string{"c", "d/e", "a", "b"}, got); d != "" {
		t.Error(d)
	}
	if len(l.Survey.Items) != 4 || l.Survey.Items[0].Path.String() != "a" {
		t.Error("the survey's own order was changed, and find is a binary search in it")
	}
	if l.Manifest.Captions["a"] != "A" || l.Kind != Gallery {
		t.Errorf("%+v %v", l.Manifest, l.Kind)
	}
	var items []folder.Item = l.Survey.Items
	if _, ok := find(items, "d/e"); !ok {
		t.Error("find misses an item")
	}
}
