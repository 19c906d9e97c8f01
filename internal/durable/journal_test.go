package durable_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// reopen opens the journal j in d and returns its records, joined.
func reopen(t *testing.T, d *durable.Dir) (*durable.Journal, string) {
	t.Helper()
	var got []string
	j, err := d.OpenJournal("j", limit, func(r durable.Record) error {
		if r.Line != len(got)+1 {
			t.Errorf("record %d has the number %d", len(got)+1, r.Line)
		}
		got = append(got, string(r.Data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, strings.Join(got, " ")
}

func TestAJournalGivesBackWhatItTook(t *testing.T) {
	folder := t.TempDir()
	d := open(t, folder)
	j, got := reopen(t, d)
	if got != "" {
		t.Errorf("new, it has %s", got)
	}
	if err := errors.Join(j.Append(map[string]int{"b": 1, "a": 2}), j.Append("x\ny", []int{3}), j.Close()); err != nil {
		t.Fatal(err)
	}
	// The bytes are the format.
	data, err := os.ReadFile(filepath.Join(folder, "j"))
	if want := "{\"a\":2,\"b\":1}\n\"x\\ny\"\n[3]\n"; err != nil || string(data) != want {
		t.Errorf("%q, %v; want %q", data, err, want)
	}
	if j, got = reopen(t, d); got != `{"a":2,"b":1} "x\ny" [3]` || j.Aside() != "" {
		t.Errorf("%s, aside %q", got, j.Aside())
	}
}

// Each place at which a crash can cut the last append off.
func TestEveryPrefixOfAnAppendIsRecovered(t *testing.T) {
	const whole = `{"n":1}` + "\n"
	const last = `{"n":2,"text":"two"}` + "\n"
	for cut := range len(last) {
		folder := t.TempDir()
		if err := write("j", whole+last[:cut])(folder); err != nil {
			t.Fatal(err)
		}
		d := open(t, folder)
		checkTorn(t, d, last[:cut])
	}
}

// checkTorn checks that the journal has {"n":1} and a torn line, and that it
// goes on after it.
func checkTorn(t *testing.T, d *durable.Dir, torn string) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(d.Name(), "j"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.ReadJournal("j", limit, func(durable.Record) error { return nil })
	after, _ := os.ReadFile(filepath.Join(d.Name(), "j"))
	if err != nil || string(got) != torn || !bytes.Equal(before, after) {
		t.Errorf("a reader found %q, %v and left %q", got, err, after)
	}
	j, have := reopen(t, d)
	if have != `{"n":1}` {
		t.Errorf("cut to %q it has %s", torn, have)
	}
	if torn != "" {
		if kept, err := d.ReadFile(j.Aside(), limit); string(kept) != torn {
			t.Errorf("kept aside %q, %v; want %q", kept, err, torn)
		}
	}
	if err := errors.Join(j.Append(3), j.Close()); err != nil {
		t.Fatal(err)
	}
	if _, have = reopen(t, d); have != `{"n":1} 3` {
		t.Errorf("after a torn %q it went on as %s", torn, have)
	}
}

// A block that never reached the disk reads as NUL bytes.
func TestALastLineWithHolesIsTorn(t *testing.T) {
	for _, torn := range []string{"\x00\x00", "{\"n\":\x00\x00}\n", "\x00\n"} {
		folder := t.TempDir()
		if err := write("j", `{"n":1}`+"\n"+torn)(folder); err != nil {
			t.Fatal(err)
		}
		checkTorn(t, open(t, folder), torn)
	}
}

func TestDamageIsRefusedByLineAndLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		line int
	}{
		"in the middle":        {"1\n{\"n\":\n3\n", 2},
		"in the first":         {"x\n2\n", 1},
		"an empty line":        {"1\n\n3\n", 2},
		"a whole last line":    {"1\n{\"n\":}\n", 2}, // it was acknowledged
		"NUL in the middle":    {"1\n\x00\n3\n", 2},
		"twice a member":       {"1\n2\n{\"a\":1,\"a\":1}\n", 3},
		"two records":          {"1\n2 3\n", 2},
		"over the limit":       {"1\n\"" + strings.Repeat("x", limit) + "\"\n", 2},
		"over it, without end": {"1\n" + strings.Repeat("x", 3*limit), 2},
		"the reader says so":   {"1\n2\n\"refuse me\"\n", 3},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := write("j", c.data)(folder); err != nil {
				t.Fatal(err)
			}
			_, err := open(t, folder).OpenJournal("j", limit, func(r durable.Record) error {
				if string(r.Data) == `"refuse me"` {
					return errors.New("no such record")
				}
				return nil
			})
			var damage *durable.Damage
			if !errors.As(err, &damage) || damage.Line != c.line {
				t.Errorf("said %v, want damage of line %d", err, c.line)
			}
			if left, _ := os.ReadFile(filepath.Join(folder, "j")); string(left) != c.data {
				t.Errorf("left %q", left)
			}
		})
	}
}

func TestARecordOverTheLimitIsRefusedBeforeAnyIsWritten(t *testing.T) {
	d := open(t, t.TempDir())
	j, _ := reopen(t, d)
	fits := strings.Repeat("x", limit-2)
	for name, batch := range map[string][]any{
		"too long": {1, fits + "x"},
		"no JSON":  {1, "\xff"},
	} {
		if err := j.Append(batch...); durable.OutcomeOf(err) != durable.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(j.Append(fits), j.Close()); err != nil {
		t.Fatal(err)
	}
	if _, got := reopen(t, d); got != `"`+fits+`"` {
		t.Errorf("it has %q", got)
	}
}

// A sync that failed may have dropped what it could not write; a second one that
// succeeds says nothing about the first.
func TestAfterAFailedSyncNothingIsAppendedUntilReopened(t *testing.T) {
	d := open(t, t.TempDir())
	j, _ := reopen(t, d)
	d.Faults = func(m durable.Moment) error {
		if m == (durable.Moment{Step: durable.StepSync}) {
			return unix.EIO
		}
		return nil
	}
	err := j.Append(1)
	if durable.OutcomeOf(err) != durable.Unknown || problem.KindOf(err) != problem.Unknown {
		t.Errorf("the failed one: %v", err)
	}
	d.Faults = nil
	if err := j.Append(2); durable.OutcomeOf(err) != durable.Refused || !errors.Is(err, unix.EIO) {
		t.Errorf("the next one: %v", err)
	}
	j.Close()
	j, got := reopen(t, d)
	if err := j.Append(3); err != nil || got != "1" {
		t.Errorf("opened again it has %s, %v", got, err)
	}
}

// Whoever appends without the lock would lose the line to the next undo.
func TestAJournalThatSomeoneElseChangedIsNotAppendedTo(t *testing.T) {
	folder := t.TempDir()
	j, _ := reopen(t, open(t, folder))
	if err := write("j", "0\n")(folder); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(1); durable.OutcomeOf(err) != durable.Refused {
		t.Errorf("got %v", err)
	}
}

func TestAppendsOfManyAreEachWhole(t *testing.T) {
	d := open(t, t.TempDir())
	j, _ := reopen(t, d)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := j.Append([]int{i, 0}, []int{i, 1}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	j.Close()
	_, got := reopen(t, d)
	var pairs [][2]int
	for field := range strings.FieldsSeq(got) {
		var p [2]int
		if err := json.Unmarshal([]byte(field), &p); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, p)
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i][0] != pairs[i+1][0] || pairs[i][1] != 0 || pairs[i+1][1] != 1 {
			t.Fatal(fmt.Sprint("a batch is not together: ", pairs))
		}
	}
	if len(pairs) != 40 {
		t.Errorf("%d records", len(pairs))
	}
}

func TestASmallLimitIsKeptToo(t *testing.T) {
	folder := t.TempDir()
	if err := write("j", "123\n1234\n")(folder); err != nil {
		t.Fatal(err)
	}
	var damage *durable.Damage
	_, err := open(t, folder).ReadJournal("j", 3, func(durable.Record) error { return nil })
	if !errors.As(err, &damage) || damage.Line != 2 || !errors.Is(err, durable.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
