package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

// says runs a command again and again until what it prints has a line that matches: says
// PATTERN COMMAND….
func says(ts *testscript.TestScript, _ bool, args []string) {
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	var last []byte
	if !awaited(func() bool {
		cmd := exec.Command(args[1], args[2:]...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = append(os.Environ(), "HOLDFAST_BOX_ALLOW_ROOT="+ts.Getenv("HOLDFAST_BOX_ALLOW_ROOT"))
		for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
			cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
		}
		last, _ = cmd.CombinedOutput()
		return want.Match(last)
	}) {
		ts.Fatalf("%v never said %s: %s", args[1:], args[0], last)
	}
}

// leaveNothing ends what a script that failed has left running: a root and its work live on
// after the desk.
func leaveNothing(dir string) {
	roots, _ := filepath.Glob(filepath.Join(dir, "*", "box", "root", "root.sock"))
	for _, at := range roots {
		home := filepath.Dir(filepath.Dir(filepath.Dir(at)))
		out, err := exec.Command("holdfast", "--home", home, "down", "--grace", "0s").CombinedOutput()
		if err != nil && !bytes.Contains(out, []byte("No root runs")) {
			os.Stderr.Write(out)
		}
	}
}
