package git_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/roadmap/git"
)

// Red when Write leaves --force out: a root is then no successor of what the ref had.
func TestACommitIsWhatWasAskedForAndNothingElseMoves(t *testing.T) {
	r := repo(t, git.Options{})
	ctx := t.Context()
	one := must(r.Write(ctx, git.Commit{
		Ref: own(t, "written"), Time: day, Message: "first\n\nwith a body",
		Changes: []git.Change{
			{Path: "tail/0000000001-a b.json", Data: []byte("{}\n")},
			{Path: "format", Data: []byte("x\x00y")},
			{Path: "empty"},
		},
	}))(t)
	two := must(r.Write(ctx, git.Commit{
		Ref: own(t, "written"), Parent: one, Time: day.Add(time.Second), Message: "second",
		Changes: []git.Change{{Path: "tail/0000000001-a b.json", Delete: true}, {Path: "not there", Delete: true}, {Path: "s/1", Data: bytes.Repeat([]byte("line\n"), 100_000)}},
	}))(t)
	if tree := plainGit(t, r.Dir(), "ls-tree", "-r", "--name-only", two.String()); tree != "empty\nformat\ns/1" {
		t.Errorf("the tree has %s", tree)
	}
	if log := plainGit(t, r.Dir(), "log", "--format=%an <%ae> %ct %P %s", two.String()); log != "Holdfast <holdfast@localhost> 1767323046 "+one.String()+" second\nHoldfast <holdfast@localhost> 1767323045  first" {
		t.Errorf("the log says %s", log)
	}
	// A root again, beside what the ref had: fast-import must not take that for its parent.
	root := must(r.Write(ctx, git.Commit{Ref: own(t, "written"), Time: day, Message: "r"}))(t)
	if parents := plainGit(t, r.Dir(), "log", "--format=%P", root.String()); parents != "" {
		t.Errorf("the root has the parent %s", parents)
	}
	if refs := plainGit(t, r.Dir(), "for-each-ref", "--format=%(refname) %(objectname)"); refs != "refs/holdfast/written "+root.String() {
		t.Errorf("the refs are %s", refs)
	}
	for _, path := range []string{"", "/a", "a/", "a//b", "../a", ".git/config", "x/.GIT/y", "a\nb", `"a"`, "a\x00"} {
		if _, err := r.Write(ctx, git.Commit{Ref: own(t, "written"), Time: day, Changes: []git.Change{{Path: path}}}); err == nil {
			t.Errorf("written to %q", path)
		}
	}
	if _, err := r.Write(ctx, git.Commit{Ref: branch(t, "main"), Time: day}); err == nil {
		t.Error("a branch was written")
	}
	missing, _ := git.ParseID(strings.Repeat("1", 40))
	if _, err := r.Write(ctx, git.Commit{Ref: own(t, "x"), Parent: missing, Time: day}); err == nil {
		t.Error("written on a parent that is not there")
	}
	leftCrashes(t, r)
}

// leftCrashes fails where fast-import left a report of a crash.
func leftCrashes(t *testing.T, r *git.Repo) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(r.Dir(), "fast_import_crash_*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// Red when UpdateRef does not name the old value to git.
func TestARefIsMovedByCompareAndSwap(t *testing.T) {
	r := repo(t, git.Options{})
	ctx, ref := t.Context(), own(t, "known")
	one := commit(t, r, git.ID{}, "a", "1")
	two := commit(t, r, one, "a", "2")
	if _, there, err := r.Resolve(ctx, ref); there || err != nil {
		t.Errorf("before: %t, %v", there, err)
	}
	check(t, r.UpdateRef(ctx, ref, one, git.ID{}))
	var moved *git.Moved
	if err := r.UpdateRef(ctx, ref, two, git.ID{}); !errors.As(err, &moved) || moved.Is != one {
		t.Errorf("made twice: %v", err)
	}
	if err := r.UpdateRef(ctx, ref, two, two); !errors.As(err, &moved) || moved.Is != one {
		t.Errorf("from another: %v", err)
	}
	check(t, r.UpdateRef(ctx, ref, two, one))
	if id, _, err := r.Resolve(ctx, ref); id != two || err != nil {
		t.Errorf("it is at %s, %v", id, err)
	}
	if err := r.UpdateRef(ctx, branch(t, "main"), two, git.ID{}); err == nil {
		t.Error("a branch was moved")
	}
	// A ref that is damaged is not absent.
	check(t, os.WriteFile(filepath.Join(r.Dir(), ref.String()), nil, 0o600))
	if _, there, err := r.Resolve(ctx, ref); there || err == nil { // Red when Resolve ignores what git warns of
		t.Errorf("damaged: %t, %v", there, err)
	}
}

func TestObjectsAreReadAndRefusedByType(t *testing.T) {
	r := repo(t, git.Options{})
	ctx := t.Context()
	large := strings.Repeat("x", 1<<20)
	c := commit(t, r, git.ID{}, "a b", "one missing\n")
	c = commit(t, r, c, "large", large)
	o := must(r.Objects(ctx))(t)
	got := must(o.Read(c.String()+":a b", 12))(t)
	if got.Type != "blob" || string(got.Data) != "one missing\n" {
		t.Errorf("%+v", got)
	}
	var tooLarge *git.TooLarge
	if _, err := o.Read(c.String()+":large", 1<<20-1); !errors.As(err, &tooLarge) || tooLarge.Size != 1<<20 || tooLarge.Type != "blob" {
		t.Errorf("a large one: %v", err)
	}
	if got := must(o.Read(c.String()+":large", 1<<20))(t); string(got.Data) != large { // Red when the rest is not drained
		t.Errorf("then %d bytes", len(got.Data))
	}
	var missing *git.Missing
	for _, name := range []string{"nothing", c.String() + ":nothing here", strings.Repeat("1", 40), "", "a\nb", "x blob 3"} {
		if _, err := o.Read(name, 100); !errors.As(err, &missing) || missing.Name != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	// What is written meanwhile is there.
	next := commit(t, r, c, "new", "2")
	if got := must(o.Read(next.String()+":new", 10))(t); string(got.Data) != "2" {
		t.Errorf("new: %q", got.Data)
	}
	if got := must(o.Read(next.String(), 1000))(t); got.Type != "commit" || got.ID != next {
		t.Errorf("%+v", got)
	}
	check(t, o.Close())
	if _, err := o.Read(c.String(), 100); err == nil {
		t.Error("read after Close")
	}
}

func TestAnAmbiguousNameIsSaid(t *testing.T) {
	r := repo(t, git.Options{})
	seen := map[string]string{} // the first digits of a blob's id, and its content
	for i := 0; ; i++ {
		data := strconv.Itoa(i)
		sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data))
		short := hex.EncodeToString(sum[:])[:4]
		if other, ok := seen[short]; ok {
			commit(t, r, commit(t, r, git.ID{}, "a", data), "b", other)
			ambiguous(t, r, short)
			return
		}
		seen[short] = data
	}
}

func ambiguous(t *testing.T, r *git.Repo, short string) {
	t.Helper()
	o := must(r.Objects(t.Context()))(t)
	var ambiguous *git.Ambiguous
	if _, err := o.Read(short, 100); !errors.As(err, &ambiguous) {
		t.Errorf("%v", err)
	}
	check(t, o.Close())
}

func TestWorktreesAreListedWhateverTheirPathsAre(t *testing.T) {
	r := repo(t, git.Options{})
	ctx := t.Context()
	c := commit(t, r, git.ID{}, "a", "1")
	base := must(filepath.EvalSymlinks(t.TempDir()))(t)
	var want []git.Worktree
	want = append(want, git.Worktree{Path: r.Dir(), Bare: true})
	reasons := map[string]string{"a b": "two words", "c\nd": "one\ntwo", "e": ""}
	for _, name := range []string{"a b", "c\nd"} {
		reason := reasons[name]
		check(t, r.AddWorktree(ctx, filepath.Join(base, name), c, reason))
		want = append(want, git.Worktree{Path: filepath.Join(base, name), Head: c, Detached: true, Locked: &reason})
	}
	plainGit(t, r.Dir(), "worktree", "add", "--quiet", "-b", "x", filepath.Join(base, "z"), c.String())
	check(t, os.RemoveAll(filepath.Join(base, "z")))
	got := must(r.Worktrees(ctx))(t)
	if len(got) != 4 || got[3].Prunable == nil || got[3].Branch != "refs/heads/x" {
		t.Fatalf("%+v", got)
	}
	if d := cmp.Diff(want, got[:3], cmp.AllowUnexported(git.ID{})); d != "" {
		t.Error(d)
	}
	if names := must(os.ReadDir(filepath.Join(base, "a b")))(t); len(names) != 1 || names[0].Name() != ".git" {
		t.Errorf("checked out were %v", names)
	}
	for name := range reasons {
		if _, err := r.RemoveWorktree(ctx, filepath.Join(base, name)); (err == nil) == (name == "e") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := must(r.Worktrees(ctx))(t); len(got) != 2 {
		t.Errorf("left are %+v", got)
	}
}
