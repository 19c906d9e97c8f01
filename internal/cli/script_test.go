package cli

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/internal/remotetest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"holdfast": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the command as a person and a script would. Commands of the
// scripts beside the usual ones: serving HOME (waits until a desk serves it and
// sets URL), listen VAR (takes a port for the rest of the script), jsonpath FILE
// PATH VALUE (a member of a JSON document), setjson VAR FILE PATH (a variable's
// value from there), setfrom VAR FILE (from a file), status N COMMAND… (runs it,
// and wants that exit status), appears GLOB (waits until there is such a file), wordfile
// FILE TEXT (writes it), says PATTERN COMMAND… (runs it until it says so), document FILE… (see there), and those of remotes.
func TestScripts(t *testing.T) {
	testscript.Run(t, scripts(t, "testdata/script"))
}

// scripts is how the scripts of a folder are run.
func scripts(t *testing.T, dir string) testscript.Params {
	far := remotes{t: t, known: map[string]*remotetest.Repository{}}
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("XDG_DATA_HOME", e.WorkDir+"/xdg")
			e.Defer(func() { leaveNothing(e.WorkDir) })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serving":  serving,
			"listen":   listen,
			"jsonpath": jsonpath,
			"setfrom":  setfrom,
			"setjson":  setjson,
			"status":   status,
			"remote":   far.path,
			"http":     far.http,
			"hook":     far.hook,
			"pushes":   far.pushes,
			"plant":    far.plant,
			"until":    until,
			"appears":  appears,
			"says":     says,
			"wordfile": wordfile,
			"document": document,
		},
	}
}

func serving(ts *testscript.TestScript, _ bool, args []string) {
	path := filepath.Join(ts.MkAbs(args[0]), "desk", "serving.json")
	if !awaited(func() bool {
		data, err := os.ReadFile(path)
		var s struct{ URL string }
		if err != nil || json.Unmarshal(data, &s) != nil {
			return false
		}
		addr, _, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), "/")
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return false
		}
		c.Close()
		ts.Setenv("URL", s.URL)
		return true
	}) {
		ts.Fatalf("no desk serves %s", args[0])
	}
}

// awaited looks again and again until what another program does has come about, and
// gives up after a minute.
func awaited(look func() bool) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if look() {
			return true
		}
	}
	return false
}

func listen(ts *testscript.TestScript, _ bool, args []string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { ln.Close() })
	ts.Setenv(args[0], ln.Addr().String())
}

func jsonpath(ts *testscript.TestScript, neg bool, args []string) {
	if got := member(ts, args[0], args[1]); (got == args[2]) == neg {
		ts.Fatalf("%s: %s is %s", args[0], args[1], got)
	}
}

func setjson(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], member(ts, args[1], args[2]))
}

func status(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if args[0] != strconv.Itoa(got) {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// member is what a path leads to in the one JSON document of a file; null where
// it leads nowhere.
func member(ts *testscript.TestScript, file, path string) string {
	var v any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	dec.UseNumber()
	ts.Check(dec.Decode(&v))
	if dec.More() {
		ts.Fatalf("%s holds more than one document", file)
	}
	for part := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[part]
		case []any:
			i, err := strconv.Atoi(part)
			ts.Check(err)
			v = nil
			if i < len(at) {
				v = at[i]
			}
		default:
			v = nil
		}
	}
	got, err := json.Marshal(v)
	ts.Check(err)
	return strings.Trim(string(got), `"`)
}

func setfrom(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}
