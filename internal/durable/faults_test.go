package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
)

// operation is a write whose every moment is cut off, in three ways: by an
// error, by a simulated crash, and by a real kill (kill_test.go).
type operation struct {
	prepare func(folder string) error
	run     func(d *durable.Dir) error
	again   func(d *durable.Dir) error // what a next process does, whatever it finds
	state   func(d *durable.Dir) string
	old     string
	between []string // what else a crash may leave
	new     string
}

const limit = 200

var operations = map[string]operation{
	"WriteFile over a file": {
		prepare: write("f", "old"), run: writeFile, again: writeFile,
		state: content, old: "old", new: "new",
	},
	"WriteFile": {
		prepare: nothing, run: writeFile, again: writeFile,
		state: content, old: "absent", new: "new",
	},
	"Create": {
		prepare: nothing,
		run:     create,
		again: func(d *durable.Dir) error {
			if err := create(d); !errors.Is(err, fs.ErrExist) {
				return err
			}
			return nil
		},
		state: content, old: "absent", new: "new",
	},
	"MakeSub": {
		prepare: nothing, run: makeSub, again: makeSub,
		state: subfolder, old: "absent", new: "folder",
	},
	"Append": {
		prepare: write("j", `{"n":1}`+"\n"),
		run:     appendRecords(2), again: appendRecords(),
		state: records, old: `{"n":1}`, new: `{"n":1} {"n":2}`,
	},
	"Append several": {
		prepare: write("j", `{"n":1}`+"\n"),
		run:     appendRecords(2, 3), again: appendRecords(),
		state: records, old: `{"n":1}`, between: []string{`{"n":1} {"n":2}`}, new: `{"n":1} {"n":2} {"n":3}`,
	},
	"Append to a new journal": {
		prepare: nothing,
		run:     appendRecords(1), again: appendRecords(),
		state: records, old: "", new: `{"n":1}`,
	},
	"OpenJournal with a torn line": {
		prepare: write("j", `{"n":1}`+"\n"+`{"n":`),
		run:     appendRecords(), again: appendRecords(),
		state: tornKept, old: "kept", new: "kept",
	},
}

func nothing(string) error { return nil }

func write(name, data string) func(string) error {
	return func(folder string) error { return os.WriteFile(filepath.Join(folder, name), []byte(data), 0o600) }
}

func writeFile(d *durable.Dir) error { return d.WriteFile("f", []byte("new"), 0o600) }

func create(d *durable.Dir) error { return d.Create("f", []byte("new"), 0o600) }

func makeSub(d *durable.Dir) error {
	sub, err := d.MakeSub("sub", 0o700)
	if err != nil {
		return err
	}
	return sub.Close()
}

func appendRecords(numbers ...int) func(*durable.Dir) error {
	return func(d *durable.Dir) error {
		j, err := d.OpenJournal("j", limit, func(durable.Record) error { return nil })
		if err != nil {
			return err
		}
		defer j.Close()
		if len(numbers) == 0 {
			return nil
		}
		var batch []any
		for _, n := range numbers {
			batch = append(batch, map[string]int{"n": n})
		}
		return j.Append(batch...)
	}
}

func content(d *durable.Dir) string {
	data, err := d.ReadFile("f", limit)
	return stateOf(string(data), err)
}

func subfolder(d *durable.Dir) string {
	sub, err := d.Sub("sub")
	if err == nil {
		sub.Close()
	}
	return stateOf("folder", err)
}

// records is the journal's records. No journal has none.
func records(d *durable.Dir) string {
	var got []string
	_, err := d.ReadJournal("j", limit, func(r durable.Record) error {
		got = append(got, string(r.Data))
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return stateOf(strings.Join(got, " "), err)
}

// tornKept is "kept" if the acknowledged record is there and the torn bytes are
// in the journal or beside it.
func tornKept(d *durable.Dir) string {
	if got := records(d); got != `{"n":1}` {
		return got
	}
	torn, err := d.ReadJournal("j", limit, func(durable.Record) error { return nil })
	beside, _ := filepath.Glob(filepath.Join(d.Name(), "j.torn-*"))
	for _, path := range beside {
		torn, err = os.ReadFile(path)
	}
	if string(torn) != `{"n":` {
		return fmt.Sprintf("torn bytes are %q", torn)
	}
	return stateOf("kept", err)
}

func stateOf(state string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	case err != nil:
		return err.Error()
	default:
		return state
	}
}

// open holds folder open for the length of the test.
func open(t *testing.T, folder string) *durable.Dir {
	t.Helper()
	d, err := durable.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// moments is the moments that op passes.
func moments(t *testing.T, op operation) []durable.Moment {
	t.Helper()
	folder := t.TempDir()
	if err := op.prepare(folder); err != nil {
		t.Fatal(err)
	}
	var all []durable.Moment
	d := open(t, folder)
	d.Faults = func(m durable.Moment) error {
		all = append(all, m)
		return nil
	}
	if err := op.run(d); err != nil {
		t.Fatal(err)
	}
	if got := op.state(open(t, folder)); got != op.new {
		t.Fatalf("undisturbed it left %q, want %q", got, op.new)
	}
	return all
}

func temporaries(t *testing.T, folder string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder, durable.TemporaryPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// checkAfterCrash checks what a next process finds and can do.
func checkAfterCrash(t *testing.T, op operation, folder string) {
	t.Helper()
	d := open(t, folder)
	if got := op.state(d); got != op.old && got != op.new && !slices.Contains(op.between, got) {
		t.Errorf("the crash left %q, want %q or %q", got, op.old, op.new)
	}
	if _, err := d.RemoveAbandoned(); err != nil {
		t.Error(err)
	}
	if left := temporaries(t, folder); len(left) > 0 {
		t.Errorf("left behind for good: %v", left)
	}
	if err := op.again(d); err != nil {
		t.Errorf("the next process cannot go on: %v", err)
	}
}

// Red when: the rename goes before the write, data is written to the name itself,
// settle always says Refused, undoLocked does not truncate, or setAside truncates
// before it copies.
func TestEveryMomentOfAWriteCanFail(t *testing.T) {
	for name, op := range operations {
		for i, m := range moments(t, op) {
			t.Run(fmt.Sprintf("%s/%d %s done=%v", name, i, m.Step, m.Done), func(t *testing.T) {
				t.Run("error", func(t *testing.T) { failOnce(t, op, i) })
				t.Run("crash", func(t *testing.T) { crash(t, op, i) })
			})
		}
	}
}

// failOnce fails the moment number at, and checks that the outcome is the truth.
func failOnce(t *testing.T, op operation, at int) {
	folder := t.TempDir()
	if err := op.prepare(folder); err != nil {
		t.Fatal(err)
	}
	d := open(t, folder)
	n, failed := 0, durable.Moment{}
	d.Faults = func(m durable.Moment) error {
		if n++; n-1 == at {
			failed = m
			return unix.EIO
		}
		return nil
	}
	err := op.run(d)
	got := op.state(open(t, folder))
	switch outcome := durable.OutcomeOf(err); {
	case outcome == durable.Done && got != op.new:
		t.Errorf("done, but it left %q", got)
	case outcome == durable.Refused && got != op.old:
		t.Errorf("refused, but it left %q: %v", got, err)
	case err != nil && !errors.Is(err, unix.EIO):
		t.Errorf("the cause is lost: %v", err)
	}
	if failed.Step != durable.StepRemoveTemporary && len(temporaries(t, folder)) > 0 {
		t.Error("a temporary file is left behind")
	}
	checkAfterCrash(t, op, folder)
}

// crash stops everything from the moment number at on.
func crash(t *testing.T, op operation, at int) {
	folder := t.TempDir()
	if err := op.prepare(folder); err != nil {
		t.Fatal(err)
	}
	d := open(t, folder)
	n := 0
	d.Faults = func(durable.Moment) error {
		if n++; n-1 >= at {
			return errors.New("crashed")
		}
		return nil
	}
	_ = op.run(d)
	checkAfterCrash(t, op, folder)
}

// The order is the promise that no test of one machine's memory can see: a
// rename before the sync, or no sync of the folder, loses data at a power cut.
func TestStepsComeInTheOrderThatAPowerCutNeeds(t *testing.T) {
	for name, want := range map[string]string{
		"WriteFile over a file":        "create-temporary write sync rename sync-directory",
		"Create":                       "create-temporary write sync link remove-temporary sync-directory",
		"MakeSub":                      "make-directory sync-directory",
		"Append":                       "open-journal lock sync sync-directory append sync",
		"OpenJournal with a torn line": "open-journal lock create-temporary write sync link remove-temporary sync-directory truncate sync sync-directory",
	} {
		var steps []string
		for _, m := range moments(t, operations[name]) {
			if m.Done {
				steps = append(steps, string(m.Step))
			}
		}
		if got := strings.Join(steps, " "); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
}

// Unknown is no excuse: whatever fails before the name changes is Refused.
func TestOutcomeIsUnknownOnlyOnceTheNameMayHaveChanged(t *testing.T) {
	for step, want := range map[durable.Moment]durable.Outcome{
		{Step: durable.StepCreateTemporary}:             durable.Refused,
		{Step: durable.StepCreateTemporary, Done: true}: durable.Refused,
		{Step: durable.StepWrite}:                       durable.Refused,
		{Step: durable.StepWrite, Done: true}:           durable.Refused,
		{Step: durable.StepSync}:                        durable.Refused,
		{Step: durable.StepSync, Done: true}:            durable.Refused,
		{Step: durable.StepRename}:                      durable.Refused,
		{Step: durable.StepRename, Done: true}:          durable.Unknown,
		{Step: durable.StepSyncDir}:                     durable.Unknown,
		{Step: durable.StepSyncDir, Done: true}:         durable.Unknown,
	} {
		d := open(t, t.TempDir())
		d.Faults = func(m durable.Moment) error {
			if m == step {
				return unix.EIO
			}
			return nil
		}
		if got := durable.OutcomeOf(writeFile(d)); got != want {
			t.Errorf("%v: %s, want %s", step, got, want)
		}
	}
}
