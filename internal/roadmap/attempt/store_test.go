package attempt

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

// A test that needs another process starts this binary again, with the folder of a plan
// in its environment: it begins an attempt for each that it is told of.
const childFolder = "HOLDFAST_TEST_ATTEMPTS"

func TestMain(m *testing.M) {
	folder := os.Getenv(childFolder)
	if folder == "" {
		goleak.VerifyTestMain(m)
		return
	}
	dir, err := durable.OpenDir(folder)
	if err == nil {
		var holder []byte
		if holder, err = io.ReadAll(os.Stdin); err == nil { // until all may begin
			b := first
			b.Holder = event.Principal(holder)
			_, err = At(dir).Begin(b)
		}
	}
	if problem.KindOf(err) == problem.Refused && problem.From(err, "").Step == StepBinding {
		os.Exit(8)
	}
	if err != nil {
		os.Exit(1)
	}
}

// yard is the attempts of a plan's folder.
type yard struct {
	Store
	t    *testing.T
	path string
}

func newYard(t *testing.T) yard {
	t.Helper()
	path := t.TempDir()
	dir, err := durable.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return yard{At(dir), t, path}
}

func (y yard) begin(b Binding) event.Attempt {
	y.t.Helper()
	a, err := y.Begin(b)
	if err != nil || a != b.Attempt() {
		y.t.Fatalf("%s, %v", a, err)
	}
	return a
}

// at is where an attempt's binding lies.
func (y yard) at(a event.Attempt) string { return filepath.Join(y.path, folder, string(a), file) }

func (y yard) bytes(a event.Attempt) string {
	y.t.Helper()
	data, err := os.ReadFile(y.at(a))
	if err != nil {
		y.t.Fatal(err)
	}
	return string(data)
}

// refused wants an error of a step.
func refused(t *testing.T, step string, err error) {
	t.Helper()
	if why := problem.From(err, ""); err == nil || why.Kind != problem.Refused || why.Step != step {
		t.Errorf("it ended as %v, and should be refused at %s", err, step)
	}
}

// Red when: Begin refuses what is there whatever that is (leave out join).
func TestAnAttemptBegunAgainIsTheSame(t *testing.T) {
	y := newYard(t)
	for range 2 {
		a := y.begin(first)
		if b, err := y.Read(a); err != nil || b != first || y.bytes(a) != golden {
			t.Errorf("%+v, %v", b, err)
		}
	}
	next := first
	next.Try = 2
	if a := y.begin(next); a == first.Attempt() {
		t.Error("another try is the same attempt")
	}
}

// Red when: Begin writes over what is there (WriteFile in place of Create), or join does
// not compare.
func TestABindingIsNeverReplaced(t *testing.T) {
	y := newYard(t)
	a := y.begin(first)
	for _, other := range []Binding{{"fix-login", claim, 1, bob}, {"fix-logout", claim, 1, ada}} {
		_, err := y.Begin(other)
		refused(t, StepBinding, err)
	}
	if y.bytes(a) != golden {
		t.Errorf("now it is %s", y.bytes(a))
	}
}

// Red when: Begin writes over what is there, or tells the winner by having looked first
// (Read, and then WriteFile).
func TestOfManyWhoBeginAtOnceOneBinds(t *testing.T) {
	t.Run("goroutines", func(t *testing.T) {
		y := newYard(t)
		ends := make([]error, 8)
		var all sync.WaitGroup
		for i := range ends {
			all.Go(func() {
				b := first
				b.Holder += event.Principal(rune('a' + i))
				_, ends[i] = y.Begin(b)
			})
		}
		all.Wait()
		y.wantOne(ends)
	})
	t.Run("processes", func(t *testing.T) {
		y := newYard(t)
		children := make([]*exec.Cmd, 4)
		starts := make([]io.WriteCloser, len(children))
		for i := range children {
			c := exec.CommandContext(t.Context(), os.Args[0])
			c.Env = append(os.Environ(), childFolder+"="+y.path)
			in, err := c.StdinPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(in, string(ada)+string(rune('a'+i)))
			children[i], starts[i] = c, in
		}
		for _, in := range starts {
			in.Close()
		}
		ends := make([]error, len(children))
		for i, c := range children {
			err := c.Wait()
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == 8 {
				err = problem.Refusal(StepBinding, "as the child says.")
			}
			ends[i] = err
		}
		y.wantOne(ends)
	})
}

// wantOne wants one end to be good, and the binding to be its.
func (y yard) wantOne(ends []error) {
	y.t.Helper()
	b, err := y.Read(first.Attempt())
	if err != nil {
		y.t.Fatal(err)
	}
	for i, err := range ends {
		if b.Holder == ada+event.Principal(rune('a'+i)) {
			if err != nil {
				y.t.Errorf("whose the binding is, was told %v", err)
			}
			continue
		}
		refused(y.t, StepBinding, err)
	}
}

// Red when: Read takes any name for one of a folder, or makes no difference between
// what is not there and what cannot be read.
func TestOnlyWhatIsNotThereWasNeverBegun(t *testing.T) {
	y := newYard(t)
	other := first
	other.Try = 2
	y.begin(other)
	absent := first.Attempt()
	for _, a := range []event.Attempt{"", " ", ".", "..", "a7", absent + "0", "../attempts/" + absent, event.Attempt(strings.ToUpper(string(absent))), absent} {
		_, err := y.Read(a)
		refused(t, StepAttempt, err)
	}
	if err := os.MkdirAll(filepath.Dir(y.at(absent)), 0o700); err != nil { // killed before it was bound
		t.Fatal(err)
	}
	_, err := y.Read(absent)
	refused(t, StepAttempt, err)
	y.begin(first)
}

// Red when: read takes what is no regular file, or bytes that Decode does not; Begin
// mends what it finds.
func TestAnUnreadableBindingBindsNothingAndStays(t *testing.T) {
	spoils := map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to a good one": func(path string) error {
			return errors.Join(os.WriteFile(path+".good", []byte(golden), 0o600), os.Symlink(path+".good", path))
		},
		"a link to nothing": func(path string) error { return os.Symlink("nothing", path) },
		"huge": func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(golden), 0o600), os.Truncate(path, 1<<40))
		},
	}
	for name, c := range bad {
		spoils[name] = func(path string) error { return os.WriteFile(path, []byte(c.data), 0o600) }
	}
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			a := first.Attempt()
			if err := os.MkdirAll(filepath.Dir(y.at(a)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := spoil(y.at(a)); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(y.at(a))
			if err != nil {
				t.Fatal(err)
			}
			_, err = y.Read(a)
			refused(t, StepBinding, err)
			_, err = y.Begin(first)
			refused(t, StepBinding, err)
			if after, err := os.Lstat(y.at(a)); err != nil || !os.SameFile(before, after) || after.Size() != before.Size() {
				t.Errorf("it was touched: %v", err)
			}
		})
	}
}

// Red when: lookUp follows a link in the place of a folder.
func TestALinkInThePlaceOfAFolderBindsNothing(t *testing.T) {
	for _, linked := range []string{"the attempt", "all attempts"} {
		y := newYard(t)
		a := y.begin(first)
		path := filepath.Dir(y.at(a))
		if linked == "all attempts" {
			path = filepath.Dir(path)
		}
		if err := errors.Join(os.Rename(path, path+".away"), os.Symlink(path+".away", path)); err != nil {
			t.Fatal(err)
		}
		_, err := y.Read(a)
		refused(t, StepBinding, err)
	}
}

// Red when: Read leaves out that the folder's name is the key of what is in it.
func TestABindingInTheFolderOfAnotherBindsNothing(t *testing.T) {
	y := newYard(t)
	a := y.begin(first)
	other := Key(claim, 2)
	if err := os.Rename(filepath.Dir(y.at(a)), filepath.Dir(y.at(other))); err != nil {
		t.Fatal(err)
	}
	_, err := y.Read(other)
	refused(t, StepBinding, err)
	_, err = y.Read(a)
	refused(t, StepAttempt, err)
}

var errFault = errors.New("as the test wants")

// failAt fails the nth moment of what is done in the plan's folder from now on, and says
// whether there was one.
func (y yard) failAt(n int) (came *bool) {
	came = new(bool)
	y.plan.Faults = func(durable.Moment) error {
		if n--; n == 0 {
			*came = true
			return errFault
		}
		return nil
	}
	return came
}

// Whichever moment fails, the attempt is not said to have begun unless it has, and
// begun again it has. Red when: Begin answers a name beside an error, or takes one that
// is there as it is, however little its writer came to do (leave out Sync in join).
func TestAWriteThatFailsBeginsNothingForCertain(t *testing.T) {
	for name, before := range map[string]bool{"begun": false, "begun again": true} {
		t.Run(name, func(t *testing.T) {
			failed := 0
			for n := 1; ; n++ {
				y := newYard(t)
				if before {
					y.begin(first)
				}
				came := y.failAt(n)
				a, err := y.Begin(first)
				y.plan.Faults = nil
				if !*came {
					break
				}
				if err == nil { // a temporary file is left, which is no harm
					if _, err := y.Read(a); err != nil {
						t.Errorf("at moment %d it was said to have begun: %v", n, err)
					}
				} else if failed++; a != "" || !errors.Is(err, errFault) {
					t.Errorf("at moment %d: %q, %v", n, a, err)
				}
				y.begin(first)
			}
			if least := map[bool]int{false: 18, true: 17}[before]; failed < least {
				t.Errorf("%d moments of it failed, and it has at least %d", failed, least)
			}
		})
	}
}
