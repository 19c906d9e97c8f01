package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/git"
)

// case R01. Red when environment passes on all that there is.
func TestAnInheritedGitEnvironmentHasNoEffect(t *testing.T) {
	theirs := remote(t)
	url := remote(t)
	t.Setenv("GIT_DIR", theirs)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(theirs, "i"))
	t.Setenv("GIT_WORK_TREE", t.TempDir())
	t.Setenv("GIT_NAMESPACE", "elsewhere")
	t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(theirs, "o"))
	t.Setenv("GIT_CONFIG_COUNT", "99")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'core.bare'='false'")
	t.Setenv("GIT_SSH_COMMAND", "false")
	r := repo(t, git.Options{})
	c := commit(t, r, git.ID{}, "a", "1")
	b := branch(t, "plan")
	is[git.Accepted](t, r.Push(t.Context(), url, b, c, git.ID{}))
	if got := is[git.Present](t, r.RemoteTip(t.Context(), url, b)).Commit; got != c {
		t.Errorf("the remote says %s, want %s", got, c)
	}
	if got := must(r.Fetch(t.Context(), url, b, own(t, "remote/plan")))(t); got != c {
		t.Errorf("fetched %s, want %s", got, c)
	}
	if refs := plainGit(t, theirs, "for-each-ref"); refs != "" {
		t.Errorf("the repository in the environment has %s", refs)
	}
	if got := plainGit(t, url, "rev-parse", "refs/heads/plan"); got != c.String() {
		t.Errorf("the remote has %s, want %s", got, c)
	}
}

// hostile gives the user settings that would change everything. A remote that is a
// path runs by them too, as everything of this user does: that is let be. ran is a file that
// is there if anything of the user's has run.
func hostile(t *testing.T) (ran string) {
	t.Helper()
	home := os.Getenv("HOME")
	ran = filepath.Join(home, "ran")
	hooks := filepath.Join(home, "hooks")
	for _, hook := range []string{"pre-push", "reference-transaction", "post-checkout", "pre-auto-gc"} {
		script(t, filepath.Join(hooks, hook), "case $PWD in *remote.git) exit 0;; esac; touch "+ran+"; exit 1")
		script(t, filepath.Join(home, "template/hooks", hook), "touch "+ran+"; exit 1")
	}
	check(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(`
[core]
	hooksPath = `+hooks+`
	autocrlf = true
	fsmonitor = `+filepath.Join(hooks, "pre-push")+`
	sharedRepository = 0666
	logAllRefUpdates = always
[init]
	templateDir = `+filepath.Join(home, "template")+`
	defaultBranch = elsewhere
[commit]
	gpgSign = true
[push]
	followTags = true
	gpgSign = true
	default = nothing
	recurseSubmodules = check
[color]
	ui = always
	push = always
[fetch]
	prune = true
	pruneTags = true
	output = compact
[gc]
	auto = 1
[fastimport]
	unpackLimit = 1
[user]
	useConfigOnly = true
`), 0o600))
	return ran
}

// case R02. Red when environment leaves overruled out.
func TestTheUsersSettingsHaveNoEffect(t *testing.T) {
	first := repo(t, git.Options{})
	url := remote(t)
	ran := hostile(t)
	r := must(git.Init(t.Context(), filepath.Join(filepath.Dir(first.Dir()), "second.git"), git.Options{}))(t)
	if _, err := os.Lstat(filepath.Join(r.Dir(), "hooks")); err == nil {
		t.Error("it has hooks")
	}
	const text = "one\r\ntwo\n"
	c := commit(t, r, git.ID{}, "a", text)
	plainGit(t, r.Dir(), "tag", "-a", "-m", "t", "tag", c.String())
	b := branch(t, "plan")
	is[git.Accepted](t, r.Push(t.Context(), url, b, c, git.ID{}))
	if refs := plainGit(t, url, "for-each-ref", "--format=%(refname)"); refs != "refs/heads/plan" {
		t.Errorf("pushed were %s", refs)
	}
	if got := must(r.Fetch(t.Context(), url, b, own(t, "remote/plan")))(t); got != c {
		t.Errorf("fetched %s", got)
	}
	if refs := plainGit(t, r.Dir(), "for-each-ref", "--format=%(refname)"); refs != "refs/holdfast/remote/plan\nrefs/holdfast/written\nrefs/tags/tag" {
		t.Errorf("it has the refs %s", refs)
	}
	place := filepath.Join(t.TempDir(), "w")
	check(t, r.AddWorktree(t.Context(), place, c, "why"))
	_, err := r.RemoveWorktree(t.Context(), place)
	check(t, err)
	o := must(r.Objects(t.Context()))(t)
	if got := string(must(o.Read(c.String()+":a", 100))(t).Data); got != text {
		t.Errorf("it reads %q", got)
	}
	raw := string(must(o.Read(c.String(), 1000))(t).Data)
	if strings.Contains(raw, "gpgsig") || !strings.Contains(raw, "committer Holdfast <holdfast@localhost> 1767323045 +0000\n") {
		t.Errorf("the commit is %s", raw)
	}
	check(t, o.Close())
	if _, err := os.Lstat(ran); err == nil {
		t.Error("a hook of the user has run")
	}
}

// Red when Open does not look for the mark.
func TestOnlyARepositoryWithOurMarkIsOpened(t *testing.T) {
	r := repo(t, git.Options{})
	var e *problem.Error
	if _, err := git.Open(t.Context(), remote(t), git.Options{}); !errors.As(err, &e) || e.Step != "repository-not-ours" {
		t.Errorf("a foreign one: %v", err)
	}
	if _, err := git.Open(t.Context(), t.TempDir(), git.Options{}); !errors.As(err, &e) || e.Step != "repository-not-ours" {
		t.Errorf("a folder: %v", err)
	}
	if _, err := git.Open(t.Context(), r.Dir()+"x", git.Options{}); !errors.As(err, &e) || e.Kind != problem.Gone {
		t.Errorf("none: %v", err)
	}
	if _, err := git.Init(t.Context(), r.Dir(), git.Options{}); !errors.As(err, &e) || e.Step != "repository-exists" {
		t.Errorf("made twice: %v", err)
	}
	plainGit(t, r.Dir(), "config", "holdfast.made", "holdfast-repository/2")
	if _, err := git.Open(t.Context(), r.Dir(), git.Options{}); !errors.As(err, &e) || e.Step != "repository-not-ours" {
		t.Errorf("of another make: %v", err)
	}
	names := must(os.ReadDir(filepath.Dir(r.Dir())))(t)
	if len(names) != 1 {
		t.Errorf("beside it lies %v", names)
	}
}

// case R11
func TestARepositoryIsReachedThroughALinkAndOddNames(t *testing.T) {
	home := filepath.Join(t.TempDir(), "a home\nwith \"a\" line")
	check(t, os.Mkdir(home, 0o755))
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(home, link))
	r := must(git.Init(t.Context(), filepath.Join(link, "c.git"), git.Options{}))(t)
	if want := filepath.Join(home, "c.git"); r.Dir() != want {
		t.Errorf("its path is %q", r.Dir())
	}
	commit(t, r, git.ID{}, "a b", "1")
}

// case R12
func TestASHA256RepositoryIsSupported(t *testing.T) {
	r := repo(t, git.Options{Format: git.SHA256})
	url := remote(t, "--object-format=sha256")
	c := commit(t, r, git.ID{}, "a", "1")
	if len(c.String()) != 64 {
		t.Errorf("the id is %s", c)
	}
	b := branch(t, "plan")
	is[git.Accepted](t, r.Push(t.Context(), url, b, c, git.ID{}))
	next := commit(t, r, c, "b", "2")
	is[git.Accepted](t, r.Push(t.Context(), url, b, next, c))
	if got := is[git.Present](t, r.RemoteTip(t.Context(), url, b)).Commit; got != next {
		t.Errorf("the remote has %s", got)
	}
	again := must(git.Open(t.Context(), r.Dir(), git.Options{}))(t)
	if again.Format() != git.SHA256 {
		t.Errorf("opened again it has %s", again.Format())
	}
	if got := must(again.Fetch(t.Context(), url, b, own(t, "remote/plan")))(t); got != next {
		t.Errorf("fetched %s", got)
	}
	check(t, again.UpdateRef(t.Context(), own(t, "x"), next, git.ID{}))
	// One of the other format says so in git's words.
	sha1 := must(git.Init(t.Context(), filepath.Join(t.TempDir(), "one.git"), git.Options{}))(t)
	if _, err := sha1.Fetch(t.Context(), url, b, own(t, "remote/plan")); err == nil || !strings.Contains(err.Error(), "object format") && !strings.Contains(err.Error(), "mismatched algorithms") {
		t.Errorf("into a sha1 repository: %v", err)
	}
}

// case R12. A remote that is a shallow clone has not what a log needs, and that is said.
// Git ends with status 0 then: red when Fetch fetches to a ref that is there already.
func TestAShallowRemoteIsRefusedInWords(t *testing.T) {
	r := repo(t, git.Options{})
	whole, shallow := remote(t), filepath.Join(t.TempDir(), "shallow.git")
	b := branch(t, "plan")
	one := commit(t, r, git.ID{}, "a", "1")
	two := commit(t, r, one, "a", "2")
	is[git.Accepted](t, r.Push(t.Context(), whole, b, two, git.ID{}))
	plainGit(t, "/", "clone", "--quiet", "--bare", "--depth=1", "--branch=plan", "file://"+whole, shallow)
	if got := is[git.Present](t, r.RemoteTip(t.Context(), shallow, b)).Commit; got != two {
		t.Errorf("its tip is %s", got)
	}
	other := must(git.Init(t.Context(), filepath.Join(t.TempDir(), "other.git"), git.Options{}))(t)
	plainGit(t, whole, "update-ref", "refs/heads/old", one.String())
	must(other.Fetch(t.Context(), whole, branch(t, "old"), own(t, "remote/plan")))(t)
	if id, err := other.Fetch(t.Context(), shallow, b, own(t, "remote/plan")); err == nil || !strings.Contains(err.Error(), "shallow") {
		t.Errorf("fetched %s, %v", id, err)
	}
}
