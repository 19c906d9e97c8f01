package observation

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var seen = Seen{Commit: strings.Repeat("a", 40), Seq: 7}

func newStore(t *testing.T) (Store, string) {
	t.Helper()
	path := t.TempDir()
	dir, err := durable.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return At(dir), filepath.Join(path, folder)
}

func text(name, s string) Body {
	return Body{Name: name, MediaType: mediaTypes[1], Data: []byte(s)}
}

func put1(t *testing.T, s Store, at time.Time, b ...Body) {
	t.Helper()
	if err := s.Write(t.Context(), at, seen, b); err != nil {
		t.Fatal(err)
	}
}

func wantStep(t *testing.T, s Store, surface, step string) {
	t.Helper()
	_, _, err := s.Read(surface)
	if p := problem.From(err, ""); err == nil || p.Step != step {
		t.Errorf("%v, want the step %s", err, step)
	}
}

func TestWhatWasWrittenIsRead(t *testing.T) {
	s, _ := newStore(t)
	put1(t, s, noon, text("b", "two"), text("a", "one"))
	o, b, err := s.Read("a")
	if err != nil || string(b.Data) != "one" || b.MediaType != mediaTypes[1] {
		t.Fatalf("%+v %v", b, err)
	}
	want := Observation{noon, seen, []Surface{text("a", "one").surface(), text("b", "two").surface()}}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Error(diff)
	}
	wantStep(t, s, "c", problem.StepNotFound)
}

// Red when: unread takes every error for absence (an empty index is there), body
// does not compare digests, or takes a body that is not there for another one.
func TestFourThingsThatCanBeWrongAreToldApart(t *testing.T) {
	s, dir := newStore(t)
	wantStep(t, s, "a", StepAbsent)
	put1(t, s, noon, text("a", "one"))
	body, index := filepath.Join(dir, bodies, Digest([]byte("one"))), filepath.Join(dir, file)
	for _, other := range []string{"two", "longer", ""} {
		write(t, body, other)
		wantStep(t, s, "a", StepDigest)
	}
	if err := os.Remove(body); err != nil {
		t.Fatal(err)
	}
	wantStep(t, s, "a", StepMissing)
	for _, damaged := range []string{"", "{", "[]", strings.Repeat(" ", maxIndex+1)} {
		write(t, index, damaged)
		wantStep(t, s, "a", StepUnreadable)
	}
	if err := errors.Join(os.Remove(index), os.Mkdir(index, 0o700)); err != nil {
		t.Fatal(err)
	}
	wantStep(t, s, "a", StepUnreadable)
}

// Red when: clean keeps only what the new index names, or all; put writes a body
// that is there.
func TestABodyGoesWhenTwoIndexesDoNotNameIt(t *testing.T) {
	s, dir := newStore(t)
	put1(t, s, noon, text("a", "one"), text("b", "same"))
	same := filepath.Join(dir, bodies, Digest([]byte("same")))
	was, err := os.Stat(same)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, bodies, "not-ours"), "x")
	put1(t, s, noon.Add(time.Hour), text("a", "two"), text("b", "same"))
	have(t, dir, "one", "two", "same")
	put1(t, s, noon.Add(2*time.Hour), text("a", "three"), text("b", "same"))
	have(t, dir, "two", "three", "same")
	if is, err := os.Stat(same); err != nil || !os.SameFile(was, is) {
		t.Errorf("a body was rewritten: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, bodies, "not-ours")); err != nil {
		t.Error("what is no body was removed")
	}
}

// Red when: Write cleans although it could not read what the index before names.
func TestBesideAnUnreadableIndexNothingGoes(t *testing.T) {
	s, dir := newStore(t)
	put1(t, s, noon, text("a", "one"))
	write(t, filepath.Join(dir, file), "")
	put1(t, s, noon.Add(time.Hour), text("a", "two"))
	have(t, dir, "one", "two")
	if _, b, err := s.Read("a"); err != nil || string(b.Data) != "two" {
		t.Errorf("%q %v", b.Data, err)
	}
}

// Red when: the index is written before the bodies.
func TestAnIndexThatIsNotWrittenLeavesTheOldOneWhole(t *testing.T) {
	s, dir := newStore(t)
	put1(t, s, noon, text("a", "one"))
	into := filepath.Join(dir, bodies)
	if err := errors.Join(os.RemoveAll(into), os.WriteFile(into, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), noon.Add(time.Hour), seen, []Body{text("a", "two")}); problem.From(err, "").Step != "observation-write" {
		t.Error(err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s %v", after, err)
	}
	// A body whose name is taken by a folder.
	if err := errors.Join(os.Remove(into), os.MkdirAll(filepath.Join(into, Digest([]byte("two")), "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), noon.Add(time.Hour), seen, []Body{text("a", "two")}); err == nil {
		t.Error("written over a folder")
	}
	if after, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the index names a body that is not there: %s %v", after, err)
	}
}

// Red when: put takes a body for right because its name is there.
func TestADamagedBodyIsMendedByTheNextWriter(t *testing.T) {
	s, dir := newStore(t)
	put1(t, s, noon, text("a", "one"))
	write(t, filepath.Join(dir, bodies, Digest([]byte("one"))), "odd")
	put1(t, s, noon.Add(time.Hour), text("a", "one"))
	if _, b, err := s.Read("a"); err != nil || string(b.Data) != "one" {
		t.Errorf("%q %v", b.Data, err)
	}
}

func have(t *testing.T, dir string, texts ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, bodies))
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		if digestShape.MatchString(e.Name()) {
			got[e.Name()] = true
		}
	}
	for _, s := range texts {
		want[Digest([]byte(s))] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func write(t *testing.T, path, s string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
}

const golden = `{"observed_at":"2026-11-30T12:00:00Z","plan":{"commit":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","seq":7,"standing":"seen"},"schema":"holdfast.served-observation/v1",` +
	`"surfaces":[{"bytes":3,"digest":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed","media_type":"text/plain; charset=utf-8","name":"a"}]}`

func TestTheIndexIsTheseBytes(t *testing.T) {
	got, err := encode(Observation{noon, seen, []Surface{text("a", "one").surface()}})
	if err != nil || string(got) != golden {
		t.Errorf("%s %v", got, err)
	}
}

// tooMany is one surface more than there may be, each with a name of its own, in order.
func tooMany(surface string) string {
	var list []string
	for i := range maxSurfaces + 1 {
		list = append(list, strings.Replace(surface, `"a"`, fmt.Sprintf(`"a%02d"`, i), 1))
	}
	return strings.Join(list, `,`)
}

// Red when: decode leaves out one of its checks.
func TestTheDecoderIsTotal(t *testing.T) {
	surface := `{"bytes":3,"digest":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed","media_type":"text/plain; charset=utf-8","name":"a"}`
	for _, c := range [][2]string{
		{`"observed_at"`, `"count":1,"observed_at"`},
		{`observation/v1`, `observation/v2`},
		{`12:00:00Z`, `12:00:00.5Z`},
		{`12:00:00Z`, `13:00:00+01:00`},
		{`12:00:00Z`, `noon`},
		{`"seq":7`, `"seq":-1`},
		{`"seq":7,`, ``},
		{`"seen"`, `"unseen"`},
		{`"seen"`, `"gone"`},
		{`"seq":7`, `"reason":"x","seq":7`},
		{`"commit":"aaaa`, `"commit":"aaa`},
		{`"commit":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","seq":7,"standing":"seen"`, `"reason":"","standing":"unseen","step":"x"`},
		{`"commit":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","seq":7,"standing":"seen"`, `"reason":"no","standing":"gone","step":"x"`},
		{`"seq":7,"standing":"seen"`, `"reason":"no","seq":7,"standing":"unseen","step":"x"`},
		{`[` + surface + `]`, `[]`},
		{surface, surface + `,` + surface},
		{surface, strings.Replace(surface, `"a"`, `"b"`, 1) + `,` + surface},
		{surface, tooMany(surface)},
		{`"name":"a"`, `"name":"../a"`},
		{`"name":"a"`, `"name":""`},
		{`text/plain; charset=utf-8`, `text/html`},
		{`"digest":"76`, `"digest":"7G`},
		{`"bytes":3`, `"bytes":-3`},
		{`"bytes":3`, `"bytes":268435457`},
	} {
		bad := strings.Replace(golden, c[0], c[1], 1)
		if bad == golden {
			t.Fatalf("%s is not in it", c[0])
		}
		if o, err := decode([]byte(bad)); err == nil {
			t.Errorf("%s for %s is read: %+v", c[1], c[0], o)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte(strings.Replace(golden, `"commit":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","seq":7,"standing":"seen"`, `"reason":"no","standing":"unseen","step":"fetch"`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := decode(data)
		if err != nil {
			return
		}
		again, err := encode(o)
		if err != nil {
			t.Fatalf("%s is read and cannot be written: %v", data, err)
		}
		back, err := decode(again)
		if err != nil || !cmp.Equal(o, back) {
			t.Errorf("%v: %s", err, cmp.Diff(o, back))
		}
	})
}
