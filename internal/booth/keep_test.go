package booth

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/internal/booth/lifetime"
	"holdfast/internal/problem"
)

var now = time.Date(2026, 5, 6, 7, 8, 9, 123_000_000, time.UTC)

func keep(t testing.TB, s shed, why string) bool {
	t.Helper()
	changed, err := Keep(context.Background(), s.data, named(t, "x"), why, "principal:me", now)
	check(t, err)
	return changed
}

func release(t testing.TB, s shed) bool {
	t.Helper()
	released, err := Release(context.Background(), s.data, named(t, "x"), now)
	check(t, err)
	return released
}

// Red when Keep does not compare, or writes an empty reason over one.
func TestKeepingAgainChangesNothingButForAnotherReason(t *testing.T) {
	s := newShed(t)
	b, dir := s.booth(t, "x")
	for _, c := range []struct {
		why     string
		changed bool
		is      string
	}{
		{"", true, ""},
		{"", false, ""},
		{"good", true, "good"},
		{"good", false, "good"},
		{"", false, "good"},
		{"better", true, "better"},
		{"\xff", true, "\uFFFD"},
		{"\xff", false, "\uFFFD"},
	} {
		before := content(t, dir+"/"+KeepFile)
		if got := keep(t, s, c.why); got != c.changed {
			t.Errorf("%q: changed is %v", c.why, got)
		}
		if !c.changed && content(t, dir+"/"+KeepFile) != before {
			t.Errorf("%q: the marker was written", c.why)
		}
		if got := look(b).State; got != (lifetime.Kept{Why: c.is}) {
			t.Errorf("%q: %#v", c.why, got)
		}
	}
}

func TestAMarkerSaysWhoAndWhen(t *testing.T) {
	s := newShed(t)
	_, dir := s.booth(t, "x")
	keep(t, s, "good")
	if got := content(t, dir+"/"+KeepFile); got != `{"at":"2026-05-06T07:08:09.123Z","by":"principal:me","why":"good"}`+"\n" {
		t.Errorf("%s", got)
	}
}

// A marker that was made by hand keeps as it is. Red when Keep takes what it
// cannot read for nothing.
func TestAnyMarkerKeepsAsItIs(t *testing.T) {
	for what, plant := range oddities {
		s := newShed(t)
		b, dir := s.booth(t, "x")
		plant(t, dir+"/"+KeepFile)
		before, err := os.Lstat(dir + "/" + KeepFile)
		check(t, err)
		if keep(t, s, "") {
			t.Errorf("%s: changed", what)
		}
		if after, err := os.Lstat(dir + "/" + KeepFile); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s: %v", what, err)
		}
		if _, ok := look(b).State.(lifetime.Kept); !ok {
			t.Errorf("%s: %#v", what, look(b).State)
		}
	}
}

// A reason in place of a marker without one. A folder cannot be replaced, which
// is refused in words; whatever is behind a link stays. Red when Keep writes over a
// folder all the same.
func TestAReasonReplacesAMarkerWithout(t *testing.T) {
	target := t.TempDir() + "/target"
	check(t, os.WriteFile(target, []byte("x"), 0o644))
	for what, plant := range oddities {
		s := newShed(t)
		b, dir := s.booth(t, "x")
		if plant(t, dir+"/"+KeepFile); what == "link" {
			check(t, os.Remove(dir+"/"+KeepFile))
			check(t, os.Symlink(target, dir+"/"+KeepFile))
		}
		changed, err := Keep(context.Background(), s.data, named(t, "x"), "good", "me", now)
		want := lifetime.Kept{Why: "good"}
		if what == "folder" {
			want.Why = ""
			step(t, err, problem.Refused, "keep-marker")
		} else {
			check(t, err)
		}
		if changed != (what != "folder") || look(b).State != want {
			t.Errorf("%s: %v, %#v", what, changed, look(b).State)
		}
	}
	if content(t, target) != "x" {
		t.Error("the link was followed")
	}
}

// A reason that could not be read back is refused. Red when the limit counts the
// reason and not what is written.
func TestAReasonThatWouldNotBeReadIsRefused(t *testing.T) {
	s := newShed(t)
	b, dir := s.booth(t, "x")
	for _, why := range []string{strings.Repeat("x", maxKeep), strings.Repeat("\x01", maxKeep/2)} {
		changed, err := Keep(context.Background(), s.data, named(t, "x"), why, "me", now)
		step(t, err, problem.Refused, problem.StepTooLarge)
		if changed || content(t, dir+"/"+KeepFile) != "absent" {
			t.Error("something was written")
		}
	}
	most := strings.Repeat("x", maxKeep-1000)
	keep(t, s, most)
	if got := look(b).State; got != (lifetime.Kept{Why: most}) {
		t.Errorf("%.60v", got)
	}
}

// case B27. Red when Release records no view, or not the time that it was given.
func TestReleasingIsALook(t *testing.T) {
	plants := map[string]func(t testing.TB, path string){
		"a file": func(t testing.TB, path string) { t.Helper(); check(t, os.WriteFile(path, []byte("x"), 0)) },
	}
	for what, plant := range oddities { // with an empty folder
		plants[what] = plant
	}
	for what, plant := range plants {
		t.Run(what, func(t *testing.T) {
			s := newShed(t)
			_, dir := s.booth(t, "x")
			plant(t, dir+"/"+KeepFile)
			if !release(t, s) {
				t.Fatal("nothing was released")
			}
			if _, err := os.Lstat(dir + "/" + KeepFile); !os.IsNotExist(err) {
				t.Errorf("%v", err)
			}
			st, err := os.Stat(dir + "/.viewed")
			check(t, err)
			if !st.ModTime().Equal(now) {
				t.Errorf("viewed at %v", st.ModTime())
			}
		})
	}
}

// case B27. Red when Release records a view whatever it found.
func TestReleasingTwiceChangesNothingNotEvenTheClock(t *testing.T) {
	s := newShed(t)
	b, dir := s.booth(t, "x")
	past := now.Add(-time.Hour)
	state := func() string {
		var out []string
		for _, n := range []string{"", "/.viewed", "/f"} {
			st, err := os.Stat(dir + n)
			if err != nil {
				out = append(out, "absent")
				continue
			}
			out = append(out, st.ModTime().String())
		}
		return strings.Join(out, " ")
	}
	write(t, dir, "f", "x")
	check(t, os.Chtimes(dir, past, past))
	before := state()
	if release(t, s) || state() != before {
		t.Errorf("never kept: %s, then %s", before, state())
	}
	keep(t, s, "")
	release(t, s)
	check(t, os.Chtimes(dir+"/.viewed", past, past))
	check(t, os.Chtimes(dir, past, past))
	before = state()
	if release(t, s) || state() != before {
		t.Errorf("the second time: %s, then %s", before, state())
	}
	if _, ok := look(b).State.(lifetime.Counting); !ok {
		t.Errorf("%#v", look(b).State)
	}
}

// case B27. Red when a folder that is not empty is an error without words.
func TestAMarkerThatIsAFolderWithSomethingInItIsRefusedInWords(t *testing.T) {
	s := newShed(t)
	b, dir := s.booth(t, "x")
	write(t, dir, KeepFile+"/deep", "x")
	released, err := Release(context.Background(), s.data, named(t, "x"), now)
	step(t, err, problem.Refused, "keep-marker")
	if released || content(t, dir+"/"+KeepFile+"/deep") != "x" || content(t, dir+"/.viewed") != "absent" {
		t.Error("something was changed")
	}
	if _, ok := look(b).State.(lifetime.Kept); !ok {
		t.Errorf("%#v", look(b).State)
	}
}

// INV-5. Red when Release hands on the error of the view.
func TestABoothIsReleasedWhereNoViewCanBeRecorded(t *testing.T) {
	for what, plant := range oddities {
		s := newShed(t)
		_, dir := s.booth(t, "x")
		if what == "link" {
			check(t, os.Symlink(t.TempDir(), dir+"/.viewed"))
		} else {
			plant(t, dir+"/.viewed")
		}
		keep(t, s, "good")
		if !release(t, s) || content(t, dir+"/"+KeepFile) != "absent" {
			t.Errorf("%s: not released", what)
		}
	}
}
