package carrier

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/remotetest"
)

// What Init makes: the folder of a plan as it is when Init is killed at its first
// question to the remote, a home with a plan in itself, and one beside the repository
// that its plan is kept in.
var (
	notYetBegun = remotetest.Prepare(func(t testing.TB, dir string) {
		t.Helper()
		h := Home{Plan: dir}
		if _, err := makeRepository(t.Context(), h, h.repository()); err != nil {
			t.Fatal(err)
		}
	})
	begunHere = remotetest.Prepare(func(t testing.TB, dir string) {
		t.Helper()
		initial(t, homeIn(t, dir), "").Close()
	})
	begunElsewhere = remotetest.Prepare(func(t testing.TB, dir string) {
		t.Helper()
		repo := remotetest.Path(t)
		initial(t, homeIn(t, filepath.Join(dir, "home")), repo.Dir).Close()
		if err := os.CopyFS(filepath.Join(dir, "remote"), os.DirFS(repo.Dir)); err != nil {
			t.Fatal(err)
		}
	})
)

func homeIn(t testing.TB, dir string) Home {
	t.Helper()
	h := Home{Plan: filepath.Join(dir, "plan"), Embedded: filepath.Join(dir, "roadmap.git")}
	if err := os.MkdirAll(h.Plan, 0o700); err != nil {
		t.Fatal(err)
	}
	return h
}

// copied puts a copy of what Init makes into an empty home and, where the repository
// in dir is empty, into that. It is false where Init is to look for itself.
func copied(t testing.TB, h Home, url, dir string) bool {
	t.Helper()
	switch {
	case h.Format != 0 || !isEmpty(h.Plan):
		return false
	case url == "":
		begunHere.Copy(t, ".", filepath.Dir(h.Plan))
		return true
	}
	heads := filepath.Join("refs", "heads")
	tip, err := os.ReadFile(filepath.Join(dir, heads, branch))
	_, packed := os.Lstat(filepath.Join(dir, "packed-refs"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && errors.Is(packed, fs.ErrNotExist) && isEmpty(filepath.Join(dir, heads)):
		begunElsewhere.Copy(t, "remote", dir)
	case err != nil || string(tip) != begunElsewhere.Read(t, filepath.Join("remote", heads, branch)):
		return false
	}
	begunElsewhere.Copy(t, filepath.Join("home", "plan"), h.Plan)
	plan, err := durable.OpenDir(h.Plan)
	if err == nil {
		err = writeSettings(plan, settings{URL: url})
		plan.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

func isEmpty(dir string) bool {
	list, err := os.ReadDir(dir)
	return err == nil && len(list) == 0
}
