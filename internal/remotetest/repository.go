// Package remotetest gives tests real git remotes, and ways in which they fail.
//
// A [Repository] is a bare repository: by its path it is a remote already
// ([Path]), and [HTTP] and [Daemon] serve one with git's own programs. What can
// go wrong with a remote is made by hand, and happens when the test says so,
// never after a time: hooks that refuse or hang ([Repository.Reject],
// [Repository.Hang]), a server that takes no pushes ([Repository.ReadOnly]), an
// address that is silent or dead ([Silent], [Dead]), a history replaced by force
// ([Repository.Rewrite]), and a [Proxy] that loses, repeats and keeps requests
// and answers, as a function of the request.
//
// Everything ends with the test: no process, port or goroutine is left. The git
// that is run here sees none of the user's environment or configuration; what
// the tested code runs is its own affair. Only tests import this package.
package remotetest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Repository is a bare repository that a remote is made of.
type Repository struct {
	Dir string // also the URL of a remote at a path
	t   testing.TB
}

// Path makes an empty repository. The arguments are further ones of git init,
// such as --object-format=sha256.
func Path(t testing.TB, init ...string) *Repository {
	t.Helper()
	r := &Repository{Dir: filepath.Join(t.TempDir(), "plan.git"), t: t}
	empty(init).Copy(t, ".", r.Dir)
	return r
}

// made has an empty repository for each of the arguments that one was asked with.
var made sync.Map // strings to *Prepared

func empty(init []string) *Prepared {
	p, _ := made.LoadOrStore(strings.Join(init, " "), Prepare(func(t testing.TB, dir string) {
		t.Helper()
		r := &Repository{Dir: dir, t: t}
		r.run("", nil, append([]string{"init", "--quiet", "--bare", "--initial-branch=main"}, append(init, dir)...)...)
		config, err := os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer config.Close()
		if _, err := config.WriteString(settings); err != nil {
			t.Fatal(err)
		}
	}))
	return p.(*Prepared)
}

// settings let servers take pushes, and nothing tidy up in the background, which
// would outlive the test.
const settings = `[http]
	receivepack = true
[daemon]
	receivepack = true
[receive]
	autogc = false
[gc]
	auto = 0
`

// ReadOnly sets whether the servers of the repository refuse pushes, from the
// next connection on. At its path nothing refuses them.
func (r *Repository) ReadOnly(yes bool) {
	r.t.Helper()
	pushes := "true"
	if yes {
		pushes = "false"
	}
	r.Git("config", "http.receivepack", pushes)
	r.Git("config", "daemon.receivepack", pushes)
}

// Tip is the commit that branch stands at, or "" without such a branch.
func (r *Repository) Tip(branch string) string {
	r.t.Helper()
	return r.Git("for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
}

// Git runs git in the repository and gives what it printed, without white space
// at the ends. A failure fails the test.
func (r *Repository) Git(args ...string) string {
	r.t.Helper()
	return r.run(r.Dir, nil, args...)
}

func (r *Repository) run(dir string, in io.Reader, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, environment(filepath.Dir(r.Dir)), in
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, words.String())
	}
	return strings.TrimSpace(string(out))
}

// environment is all that git sees here.
func environment(home string) []string {
	return []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Remote", "GIT_AUTHOR_EMAIL=remote@example.org",
		"GIT_COMMITTER_NAME=Remote", "GIT_COMMITTER_EMAIL=remote@example.org",
	}
}
