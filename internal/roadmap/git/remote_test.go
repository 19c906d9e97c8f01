package git_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/roadmap/git"
)

// brief is limits for what is going to reach them.
var brief = git.Limits{Network: time.Second}

// silent is a server that takes connections and never says a word.
func silent(t *testing.T) (address string) {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var all []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			all = append(all, c)
		}
		for _, c := range all {
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// locked is a server that wants a password.
func locked(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// case R03. Red when RemoteTip takes an exit status other than 2, or a deadline, for
// "absent".
func TestWhoCannotBeAskedIsUnreachableAndNeverAbsent(t *testing.T) {
	r := repo(t, git.Options{Limits: brief})
	slow := must(git.Open(t.Context(), r.Dir(), git.Options{}))(t)
	c := commit(t, r, git.ID{}, "a", "1")
	b := branch(t, "plan")
	for name, x := range map[string]struct {
		r          *git.Repo
		url, words string
	}{
		"no such path":      {slow, "/nonexistent/x.git", "does not appear to be a git repository"},
		"no git at all":     {slow, t.TempDir(), "does not appear to be a git repository"},
		"nobody listens":    {slow, "http://" + closedPort(t) + "/x.git", "onnect"},
		"a silent server":   {r, "git://" + silent(t) + "/x.git", "more than 1s"},
		"a silent site":     {r, "http://" + silent(t) + "/x.git", "more than 1s"},
		"a password wanted": {slow, locked(t) + "/x.git", "could not read Username"},
		"no such transport": {slow, "holdfastnone://x/y", "remote-holdfastnone"},
		"an option":         {slow, "--upload-pack=touch /tmp/x", "no place of a remote"},
		"a program":         {slow, "ext::sh -c true", "not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := is[git.Unreachable](t, x.r.RemoteTip(t.Context(), x.url, b)); !strings.Contains(got.Words, x.words) {
				t.Errorf("it says %q", got.Words)
			}
			got := x.r.Push(t.Context(), x.url, b, c, git.ID{})
			if name == "no such transport" { // a helper of somebody else: who knows what it did
				is[git.Unsettled](t, got)
			} else if got := is[git.NotSent](t, got); !strings.Contains(got.Words, x.words) {
				t.Errorf("the push says %q", got.Words)
			}
			if _, err := x.r.Fetch(t.Context(), x.url, b, own(t, "remote/plan")); err == nil {
				t.Error("fetched")
			}
		})
	}
}

// Red when Words leaves the replacement out (this git hides some itself, not all), takes
// the first @ for the last, or cuts before it hides; when hostIn ends a password at a
// space.
func TestAWordOfGitHasNoPassword(t *testing.T) {
	if got := git.Words([]byte("fatal: unable to access 'https://user:hunter2@host/x.git/': no\rx\x1b[2J\n")); got != "fatal: unable to access 'https://host/x.git/': no\nx\\x1b[2J" {
		t.Errorf("%q", got)
	}
	for url, want := range map[string]string{
		"https://bob:p@hunter2@host/x": "https://host/x",
		"https://bob:p/hunter2@host/x": "https://host/x",
		"https://hunter2@host:8443/x":  "https://host:8443/x",
		"https://host:8443/team@v2/x":  "https://host:8443/team@v2/x",
		"https://host/team@v2/x":       "https://host/team@v2/x",
		"ssh://git@[::1]:22/x@y":       "ssh://[::1]:22/x@y",
		"https://[::1]:22/x@y":         "https://[::1]:22/x@y",
		"git@host:x.git":               "git@host:x.git",
		"file:///srv/a@b":              "file:///srv/a@b",
		"https://host/x?token=hunter2": "https://host/x",
		"://@":                         "://",
		// What url.Parse does not take, git may.
		"https://bob:hun ter2@host/x":                             "https://host/x",
		"https://hun ter2@host/x":                                 "https://host/x",
		"https://bob:p@ss hunter2@host/x":                         "https://host/x",
		"https://bob:p/ss hunter2@host/x":                         "https://host/x",
		"https://bob:p%zzhunter2@host/x":                          "https://host/x",
		"https://bob:a://hunter2@host/x":                          "https://host/x",
		"cannot read 'https://bob:a hunter2@host/x/': no":         "cannot read 'https://host/x/': no",
		"from https://host/x to https://b:hunter2@host/y":         "from https://host/x to https://host/y",
		"https://host/x,https://b:hunter2@host/y":                 "https://host/x,https://host/y",
		"https://host/x?to=https://b:hunter2@h no":                "https://host/x no",
		"https://host/x says a@b":                                 "https://host/x says a@b",
		"https://host:8443/x\nsays a@b":                           "https://host:8443/x\nsays a@b",
		strings.Repeat("x", 4070) + " https://bob:hunter2@host/x": strings.Repeat("x", 4070) + " https://host/x",
	} {
		if got := git.Words([]byte(url)); got != want {
			t.Errorf("%.100q is said as %.100q", url, got)
		}
	}
	r := repo(t, git.Options{})
	url := "http://user:hunter2@" + closedPort(t) + "/x.git"
	if got := is[git.Unreachable](t, r.RemoteTip(t.Context(), url, branch(t, "plan"))); strings.Contains(got.Words, "hunter2") {
		t.Error(got.Words)
	}
}

func TestAnEmptyRemoteIsAbsent(t *testing.T) {
	r := repo(t, git.Options{})
	is[git.Absent](t, r.RemoteTip(t.Context(), remote(t), branch(t, "plan")))
}

// case R12. Red when exactTip takes the first line.
func TestOnlyTheExactRefIsTheTip(t *testing.T) {
	r := repo(t, git.Options{})
	url := remote(t)
	c := commit(t, r, git.ID{}, "a", "1")
	for _, ref := range []string{"refs/tags/plan", "refs/tags/refs/heads/plan", "refs/heads/other"} {
		plainGit(t, url, "fetch", "--quiet", r.Dir(), c.String()+":"+ref)
	}
	b := branch(t, "plan")
	is[git.Absent](t, r.RemoteTip(t.Context(), url, b))
	plainGit(t, url, "update-ref", "-d", "refs/tags/refs/heads/plan")
	next := commit(t, r, c, "b", "2")
	is[git.Accepted](t, r.Push(t.Context(), url, b, next, git.ID{}))
	if got := is[git.Present](t, r.RemoteTip(t.Context(), url, b)).Commit; got != next {
		t.Errorf("the tip is %s", got)
	}
	if got := must(r.Fetch(t.Context(), url, b, own(t, "remote/plan")))(t); got != next {
		t.Errorf("fetched %s", got)
	}
	is[git.Accepted](t, r.Push(t.Context(), url, b, commit(t, r, next, "c", "3"), next))
}

// Git pushes to refs/heads/refs/heads/plan where refs/heads/plan is wanted and not
// there. Red when Push leaves the leases of namesakes out.
func TestANamesakeOfTheBranchIsNeverPushedTo(t *testing.T) {
	r := repo(t, git.Options{})
	url := remote(t)
	c := commit(t, r, git.ID{}, "a", "1")
	next := commit(t, r, c, "b", "2")
	for _, namesake := range []string{"refs/heads/refs/heads/plan", "refs/refs/heads/plan", "refs/remotes/refs/heads/plan"} {
		plainGit(t, url, "fetch", "--quiet", r.Dir(), c.String()+":"+namesake)
		is[git.NotSent](t, r.Push(t.Context(), url, branch(t, "plan"), next, c))
		if got := plainGit(t, url, "rev-parse", namesake); got != c.String() {
			t.Errorf("%s is at %s", namesake, got)
		}
		plainGit(t, url, "update-ref", "-d", namesake)
	}
}

// case R03, R07
func TestAPushTakesEffectOnlyOnTheExpectedTip(t *testing.T) {
	r := repo(t, git.Options{})
	url := remote(t)
	b := branch(t, "plan")
	one := commit(t, r, git.ID{}, "a", "1")
	two := commit(t, r, one, "a", "2")
	other := commit(t, r, one, "a", "3")
	if got := is[git.Accepted](t, r.Push(t.Context(), url, b, one, git.ID{})); got.Tip != one {
		t.Errorf("accepted at %s", got.Tip)
	}
	is[git.Stale](t, r.Push(t.Context(), url, b, other, git.ID{})) // Red when the lease is left out
	is[git.Accepted](t, r.Push(t.Context(), url, b, two, one))
	is[git.Stale](t, r.Push(t.Context(), url, b, other, one))
	is[git.Accepted](t, r.Push(t.Context(), url, b, two, two)) // nothing to do
	if got := is[git.Present](t, r.RemoteTip(t.Context(), url, b)).Commit; got != two {
		t.Errorf("the remote has %s", got)
	}
}

// case R03. Red when settle takes git's own exit status for all that there is to
// know: a rejection is then unsettled.
func TestAHookOfTheRemoteRejectsInItsOwnWords(t *testing.T) {
	r := repo(t, git.Options{})
	url := remote(t)
	script(t, filepath.Join(url, "hooks/pre-receive"), "echo no plans on a Friday >&2; exit 1")
	c := commit(t, r, git.ID{}, "a", "1")
	got := is[git.Rejected](t, r.Push(t.Context(), url, branch(t, "plan"), c, git.ID{}))
	if !strings.Contains(got.Words, "pre-receive hook declined") || !strings.Contains(got.Words, "no plans on a Friday") {
		t.Errorf("it says %q", got.Words)
	}
	is[git.Absent](t, r.RemoteTip(t.Context(), url, branch(t, "plan")))
	check(t, os.Remove(filepath.Join(url, "hooks/pre-receive")))
	script(t, filepath.Join(url, "hooks/update"), `test "$1" != refs/heads/plan`)
	is[git.Rejected](t, r.Push(t.Context(), url, branch(t, "plan"), c, git.ID{}))
	is[git.Accepted](t, r.Push(t.Context(), url, branch(t, "other"), c, git.ID{}))
}

// A hook that hangs: the deadline passes while the remote has the pack, and it may
// go on. Red when sends leaves pack-objects out.
func TestADeadlineAfterSendingIsUnsettled(t *testing.T) {
	r := repo(t, git.Options{})
	url := remote(t)
	fifo := filepath.Join(t.TempDir(), "go")
	script(t, filepath.Join(url, "hooks/pre-receive"), "cat "+fifo)
	plainGit(t, "/", "-c", "alias.f=!mkfifo "+fifo, "f")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // the hook has begun once the pipe has its reader
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err == nil {
			defer f.Close()
		}
		cancel()
		<-t.Context().Done()
	}()
	c := commit(t, r, git.ID{}, "a", "1")
	is[git.Unsettled](t, r.Push(ctx, url, branch(t, "plan"), c, git.ID{}))
}

func TestWhatAStoppedContextLeavesIsSaid(t *testing.T) {
	r := repo(t, git.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Fetch(ctx, remote(t), branch(t, "x"), own(t, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	is[git.Unreachable](t, r.RemoteTip(ctx, remote(t), branch(t, "x")))
}
