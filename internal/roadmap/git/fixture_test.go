package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"holdfast/internal/roadmap/git"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must is v, if there was no error.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// plainGit runs git as anybody would, in dir, away from the user's settings.
func plainGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// repo makes a repository of ours in a home of its own.
func repo(t *testing.T, o git.Options) *git.Repo {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	return must(git.Init(t.Context(), filepath.Join(home, "carrier.git"), o))(t)
}

// remote makes an empty bare repository of somebody else.
func remote(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "remote.git")
	plainGit(t, "/", append(append([]string{"init", "--quiet", "--bare"}, args...), dir)...)
	return dir
}

func branch(t *testing.T, name string) git.Ref {
	t.Helper()
	return must(git.Branch(name))(t)
}

func own(t *testing.T, name string) git.Ref {
	t.Helper()
	return must(git.OwnRef(name))(t)
}

var day = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// commit writes a commit with the file name of content data.
func commit(t *testing.T, r *git.Repo, parent git.ID, name, data string) git.ID {
	t.Helper()
	return must(r.Write(t.Context(), git.Commit{
		Ref: own(t, "written"), Parent: parent, Time: day, Message: "m",
		Changes: []git.Change{{Path: name, Data: []byte(data)}},
	}))(t)
}

// write makes an executable file of lines.
func script(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

func is[T any](t *testing.T, v any) T {
	t.Helper()
	got, ok := v.(T)
	if !ok {
		t.Fatalf("%T %+v, want %T", v, v, got)
	}
	return got
}
