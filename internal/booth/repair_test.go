package booth

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/booth/lifetime"
	"holdfast/internal/booth/marks"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// repair is a repair that must not fail, and what must hold of every one: the
// marks are whole, and a second repair changes nothing.
func repair(t testing.TB, s shed) (Repaired, marks.Reading) {
	t.Helper()
	dir := s.path + "/x"
	done, err := Repair(context.Background(), s.data, named(t, "x"))
	check(t, err)
	after := content(t, dir+"/"+marks.File)
	r := marks.Parse([]byte(after))
	if !r.Whole() || len(r.Marks) != done.Kept || done.Lost == nil || done.Name != "x" {
		t.Errorf("%+v; the marks are %+v", done, r)
	}
	before := names(t, dir)
	again, err := Repair(context.Background(), s.data, named(t, "x"))
	check(t, err)
	if again.Aside != "" || len(again.Lost) != 0 || again.Kept != done.Kept {
		t.Errorf("a second time: %+v", again)
	}
	if content(t, dir+"/"+marks.File) != after || strings.Join(names(t, dir), " ") != strings.Join(before, " ") {
		t.Errorf("a second time changed something: %v", names(t, dir))
	}
	return done, r
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	all, err := os.ReadDir(dir)
	check(t, err)
	var out []string
	for _, e := range all {
		out = append(out, e.Name())
	}
	return out
}

// case B26. Red when Repair writes over the damaged file, does not say what it
// lost, or begins with anything but what hydrates.
func TestRepairMendsAndKeepsTheBytes(t *testing.T) {
	ten := []string{openPick}
	for _, id := range strings.Split("bcdefghij", "") {
		ten = append(ten, strings.Replace(note, "n1", id, 1))
	}
	ten[5] = `{"id":"e","shape":"note"}`
	cases := map[string]struct {
		data string
		kept int
		open int
		lost bool
	}{
		"empty":                   {"", 0, 0, true},
		"blank":                   {" \n\t", 0, 0, true},
		"null":                    {"null", 0, 0, true},
		"list":                    {"[]", 0, 0, true},
		"truncated":               {doc(openPick, note)[:len(doc(openPick, note))-20], 1, 1, true},
		"5 MiB of nothing":        {strings.Repeat(" ", 5<<20) + doc(openPick), 1, 1, false},
		"5 MiB":                   {doc(strings.Replace(note, "hm", strings.Repeat("hm", 5<<19), 1), openPick), 1, 1, true},
		"one broken among ten":    {doc(ten...), 9, 1, true},
		"a pick without options":  {doc(openPick, noOptions), 1, 1, true},
		"only one without them":   {doc(noOptions), 0, 0, true},
		"answered, and a bad one": {doc(answered, withdrawn, note, "7"), 3, 0, true},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			s := newShed(t)
			b, dir := s.booth(t, "x")
			write(t, dir, marks.File, c.data)
			if h, ok := look(b).State.(lifetime.Held); !ok || h.Reason != lifetime.MarksHold {
				t.Fatalf("before: %#v", look(b).State)
			}
			done, r := repair(t, s)
			if done.Kept != c.kept || r.Open() != c.open || len(done.Lost) > 0 != c.lost || done.Aside == "" {
				t.Errorf("%+v, %d open", done, r.Open())
			}
			if got := content(t, dir+"/"+done.Aside); got != c.data {
				t.Errorf("the damaged bytes are now %.60q", got)
			}
			state := look(b).State
			if h, held := state.(lifetime.Held); held != (c.open > 0) || held && h.Reason != lifetime.Open {
				t.Errorf("after: %#v", state)
			}
		})
	}
}

// case B26, for what is no file. Red when Repair opens it, follows a link, or
// removes it.
func TestRepairKeepsWhateverIsInPlaceOfTheMarks(t *testing.T) {
	target := t.TempDir() + "/target"
	check(t, os.WriteFile(target, []byte(doc(openPick)), 0o644))
	plants := map[string]func(t testing.TB, path string){
		"a folder with something in it": func(t testing.TB, path string) { t.Helper(); write(t, path, "deep/f", "x") },
		"a link to marks":               func(t testing.TB, path string) { t.Helper(); check(t, os.Symlink(target, path)) },
	}
	for what, plant := range oddities {
		if what != "link" { // to a file of the system
			plants[what] = plant
		}
	}
	for what, plant := range plants {
		t.Run(what, func(t *testing.T) {
			s := newShed(t)
			_, dir := s.booth(t, "x")
			plant(t, dir+"/"+marks.File)
			before, err := os.Lstat(dir + "/" + marks.File)
			check(t, err)
			done, _ := repair(t, s)
			after, err := os.Lstat(dir + "/" + done.Aside)
			check(t, err)
			if !os.SameFile(before, after) || done.Kept != 0 || len(done.Lost) == 0 {
				t.Errorf("%+v", done)
			}
			if before.IsDir() && what != "folder" && content(t, dir+"/"+done.Aside+"/deep/f") != "x" {
				t.Error("what was in the folder is not")
			}
		})
	}
	if content(t, target) != doc(openPick) {
		t.Error("the file behind the link was changed")
	}
}

// Red when Repair makes marks where there are none, or writes whole ones anew.
func TestRepairLeavesWholeMarksAlone(t *testing.T) {
	s := newShed(t)
	_, dir := s.booth(t, "x")
	done, err := Repair(context.Background(), s.data, named(t, "x"))
	check(t, err)
	if done.Aside != "" || done.Lost == nil || len(names(t, dir)) != 0 {
		t.Errorf("%+v, %v", done, names(t, dir))
	}
	write(t, dir, marks.File, doc(openPick, note))
	if done, _ := repair(t, s); done.Aside != "" || done.Kept != 2 || content(t, dir+"/"+marks.File) != doc(openPick, note) {
		t.Errorf("%+v", done)
	}
}

// Red when setBeside takes a name that is taken.
func TestEachDamagedFileIsKeptUnderANameOfItsOwn(t *testing.T) {
	s := newShed(t)
	_, dir := s.booth(t, "x")
	for _, bad := range []string{"first", "second"} {
		check(t, os.RemoveAll(dir+"/"+marks.File))
		write(t, dir, marks.File, bad)
		repair(t, s)
	}
	if a, b := content(t, dir+"/"+asidePrefix+"1"), content(t, dir+"/"+asidePrefix+"2"); a != "first" || b != "second" {
		t.Errorf("%q, %q", a, b)
	}
}

// case B20. Red when the damaged marks are put aside before the others are there.
func TestARepairWithoutRoomChangesNothing(t *testing.T) {
	s := newShed(t)
	b, dir := s.booth(t, "x")
	write(t, dir, marks.File, doc(openPick, noOptions))
	failAt(t, func(m durable.Moment) error {
		if m == (durable.Moment{Step: durable.StepWrite}) {
			return unix.ENOSPC
		}
		return nil
	})
	done, err := Repair(context.Background(), s.data, named(t, "x"))
	step(t, err, problem.Failed, problem.StepNoSpace)
	if done.Aside != "" || strings.Join(names(t, dir), " ") != marks.File {
		t.Errorf("%+v, %v", done, names(t, dir))
	}
	if h, ok := look(b).State.(lifetime.Held); !ok || h.Reason != lifetime.MarksHold {
		t.Errorf("%#v", look(b).State)
	}
}

// At no moment is the booth without marks, for whoever reads meanwhile. Red when
// the two names change one after the other.
func TestAReaderFindsMarksAtEveryMomentOfARepair(t *testing.T) {
	s := newShed(t)
	b, dir := s.booth(t, "x")
	write(t, dir, marks.File, doc(openPick, noOptions))
	failAt(t, func(m durable.Moment) error {
		if h, ok := look(b).State.(lifetime.Held); !ok || h.Reason != lifetime.BusyHold && h.Reason != lifetime.MarksHold {
			t.Errorf("at %v: %#v", m, look(b).State)
		}
		if damaged, err := os.ReadFile(filepath.Join(dir, marks.File)); err != nil || !bytes.Contains(damaged, []byte("p5")) {
			t.Errorf("at %v: %.40q, %v", m, damaged, err)
		}
		return nil
	})
	done, err := Repair(context.Background(), s.data, named(t, "x"))
	check(t, err)
	if done.Kept != 1 {
		t.Errorf("%+v", done)
	}
}
