package dirbucket_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/bucket/dirbucket"
	"holdfast/internal/durable"
)

const object = "control/boxes/one.json"

// writes are what is cut off at each moment: on what was there before, if
// anything.
var writes = map[string]struct{ old, new string }{
	"create":  {"", "new"},
	"replace": {"old", "new"},
}

// prepare puts old in a new folder, unless it is empty.
func prepare(t *testing.T, old string) string {
	t.Helper()
	folder := t.TempDir()
	if old != "" {
		put(t.Context(), t, open(t, folder), old)
	}
	return folder
}

// put writes data on what is there.
func put(ctx context.Context, t testing.TB, s bucket.Store, data string) bucket.Ending {
	t.Helper()
	reading, err := s.Get(ctx, buckettest.Key(t, object))
	if err != nil {
		return bucket.Failed{Cause: err}
	}
	return s.Put(ctx, buckettest.Key(t, object), []byte(data), reading.Unmoved())
}

// faulted is a store in folder whose every moment is shown to faults.
func faulted(t *testing.T, folder string, faults durable.Faults) *dirbucket.Store {
	t.Helper()
	d, err := durable.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	d.Faults = faults
	return dirbucket.New(d)
}

// moments is the moments that writing data in folder passes.
func moments(t *testing.T, old, data string) []durable.Moment {
	t.Helper()
	var all []durable.Moment
	s := faulted(t, prepare(t, old), func(m durable.Moment) error {
		all = append(all, m)
		return nil
	})
	if e, ok := put(t.Context(), t, s, data).(bucket.Done); !ok {
		t.Fatalf("undisturbed it ended as %T", e)
	}
	return all
}

// now is what a next process reads, and that it can go on.
func now(t *testing.T, folder string) string {
	t.Helper()
	s := open(t, folder)
	reading, err := s.Get(t.Context(), buckettest.Key(t, object))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := s.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	found, there := reading.(bucket.Found)
	if there != (len(keys) == 1) || len(keys) > 1 {
		t.Errorf("%q is there, and it lists %v", found.Data, keys)
	}
	if e, ok := put(t.Context(), t, s, "next").(bucket.Done); !ok {
		t.Errorf("the next process cannot go on: %T %+v", e, e)
	}
	if left := temporaries(t, folder); len(left) > 0 {
		t.Errorf("left behind for good: %v", left)
	}
	return string(found.Data)
}

func temporaries(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), durable.TemporaryPrefix) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Red when: ending says Failed where durable says Unknown, a failed sync of a
// folder is left out, or a Store does not remove what dead writers left.
func TestEveryMomentOfAWriteCanFail(t *testing.T) {
	for name, w := range writes {
		for i, m := range moments(t, w.old, w.new) {
			t.Run(fmt.Sprintf("%s/%d %s done=%v", name, i, m.Step, m.Done), func(t *testing.T) {
				t.Run("error", func(t *testing.T) { failOnce(t, w.old, w.new, i) })
				t.Run("crash", func(t *testing.T) { crash(t, w.old, w.new, i) })
			})
		}
	}
}

// failOnce fails one moment, and holds the ending to what is there.
func failOnce(t *testing.T, old, data string, at int) {
	folder := prepare(t, old)
	n := 0
	s := faulted(t, folder, func(durable.Moment) error {
		if n++; n-1 == at {
			return unix.EIO
		}
		return nil
	})
	e := put(t.Context(), t, s, data)
	got := now(t, folder)
	switch e := e.(type) {
	case bucket.Done:
		if got != data {
			t.Errorf("done, and it holds %q", got)
		}
	case bucket.Failed:
		if got != old || !errors.Is(e.Cause, unix.EIO) {
			t.Errorf("failed, and it holds %q: %v", got, e.Cause)
		}
	case bucket.Unknown:
		if got != old && got != data || !errors.Is(e.Cause, unix.EIO) {
			t.Errorf("unknown, and it holds %q: %v", got, e.Cause)
		}
	case bucket.Refused:
		t.Errorf("refused: %v", e.Cause)
	}
}

// crash stops everything from one moment on.
func crash(t *testing.T, old, data string, at int) {
	folder := prepare(t, old)
	n := 0
	s := faulted(t, folder, func(durable.Moment) error {
		if n++; n-1 >= at {
			return errors.New("crashed")
		}
		return nil
	})
	e := put(t.Context(), t, s, data)
	if _, refused := e.(bucket.Refused); refused {
		t.Error("a crash is no refusal")
	}
	if got := now(t, folder); got != old && got != data {
		t.Errorf("it left %q", got)
	}
}

// The order is the promise that only a power cut could show: each folder's name is
// durable before an object is in it, the object before it has its name, its name
// before the write is done, and what a reader is told before it is told.
//
// Red when: make opens a folder that is there without a sync of what holds it, or
// Get does not sync.
func TestStepsComeInTheOrderThatAPowerCutNeeds(t *testing.T) {
	for name, want := range map[string]string{
		"create":  "make-directory sync-directory make-directory sync-directory create-temporary write sync link remove-temporary sync-directory",
		"replace": "sync-directory make-directory sync-directory make-directory sync-directory create-temporary write sync rename sync-directory",
	} {
		var steps []string
		for _, m := range moments(t, writes[name].old, writes[name].new) {
			if m.Done {
				steps = append(steps, string(m.Step))
			}
		}
		if got := strings.Join(steps, " "); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
}

// A test that needs another process starts this binary again.
const (
	childFolder = "HOLDFAST_TEST_FOLDER"
	childPart   = "HOLDFAST_TEST_PART" // a moment to die at, or a name to count under
)

func TestMain(m *testing.M) {
	folder, part := os.Getenv(childFolder), os.Getenv(childPart)
	if folder == "" {
		os.Exit(m.Run())
	}
	d, err := durable.OpenDir(folder)
	if err != nil {
		panic(err)
	}
	key, err := bucket.ParseKey(object)
	if err != nil {
		panic(err)
	}
	if at, err := strconv.Atoi(part); err == nil {
		dieAt(d, key, at)
		os.Exit(3)
	}
	for n := range 10 {
		operation := fmt.Sprint(part, n)
		if _, err := bucket.Update(context.Background(), dirbucket.New(d), key, buckettest.Counter{}, buckettest.Add(operation)); err != nil {
			panic(err)
		}
	}
}

// dieAt writes "new" and kills this process at one of the moments.
func dieAt(d *durable.Dir, key bucket.Key, at int) {
	n := 0
	d.Faults = func(durable.Moment) error {
		if n++; n-1 == at {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {} // until it arrives
		}
		return nil
	}
	s := dirbucket.New(d)
	reading, err := s.Get(context.Background(), key)
	if err != nil {
		panic(err)
	}
	s.Put(context.Background(), key, []byte("new"), reading.Unmoved())
}

func child(t *testing.T, folder, part string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), childFolder+"="+folder, childPart+"="+part)
	c.Stderr = os.Stderr
	return c
}

// Nothing of the program runs after a SIGKILL. The folder's lock ends with it, or
// the next process would wait for ever.
func TestAKilledWriterLeavesOldOrNew(t *testing.T) {
	for name, w := range writes {
		for i, m := range moments(t, w.old, w.new) {
			t.Run(fmt.Sprintf("%s/%d %s done=%v", name, i, m.Step, m.Done), func(t *testing.T) {
				folder := prepare(t, w.old)
				var exit *exec.ExitError
				err := child(t, folder, strconv.Itoa(i)).Run()
				if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the child was not killed: %v", err)
				}
				if got := now(t, folder); got != w.old && got != w.new {
					t.Errorf("it left %q", got)
				}
			})
		}
	}
}

// Red when: the folder is not locked, and others are kept out by this process only.
func TestProcessesThatWriteAtOnceLoseNothing(t *testing.T) {
	folder := t.TempDir()
	var all []*exec.Cmd
	for i := range 4 {
		c := child(t, folder, fmt.Sprintf("p%d-", i))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	reading, err := open(t, folder).Get(t.Context(), buckettest.Key(t, object))
	if err != nil {
		t.Fatal(err)
	}
	done, history, err := buckettest.Counter{}.Decode(reading.(bucket.Found).Data)
	if err != nil || len(done) != 40 || history.Revision() != 40 {
		t.Errorf("%d operations at revision %d, %v", len(done), history.Revision(), err)
	}
}
