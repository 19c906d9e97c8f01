//go:build linux

package snapshot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/roadmap/git"
)

// A removal that fails leaves the result, is in the answer and in the journal.
func (h *home) leaves(got Closed[string], path string, exit int, words string) {
	h.t.Helper()
	if got.Result != "done" {
		h.t.Errorf("the result is %q", got.Result)
	}
	failed := is[CloseFailed](h.t, got.Close)
	if failed.Worktree != path || failed.ExitCode != exit || !strings.Contains(failed.Stderr, words) {
		h.t.Errorf("%+v", failed)
	}
	all := h.failures()
	if len(all) == 0 || all[len(all)-1].Close != failed || all[len(all)-1].Operation != "test" || all[len(all)-1].Seq != int64(len(all)) {
		h.t.Errorf("the journal has %+v", all)
	}
	is[Gone](h.t, h.Judge(h.name(path)))
}

// reaps takes what was left away.
func (h *home) reaps(path string) {
	h.t.Helper()
	got := h.Reap(h.t.Context(), h.name(path))
	is[Gone](h.t, got.Owner)
	is[Removed](h.t, got.Close)
	h.nothingLeft()
}

// case R09
func TestAnEntryRemovedByHandIsSaidAndReaped(t *testing.T) {
	h := newHome(t)
	var path string
	got := h.run(func(s *Snapshot) {
		path = s.Path()
		check(t, os.RemoveAll(filepath.Join(h.plan, "carrier.git/worktrees")))
	})
	h.leaves(got, path, 128, "is not a working tree")
	if s := is[CloseFailed](t, got.Close).Sentence(); !strings.HasPrefix(s, "The snapshot "+path+" is left behind, since git ended with exit status 128: fatal: ") {
		t.Error(s)
	}
	if listed, folders, _ := h.left(); len(listed) != 0 || len(folders) != 1 {
		t.Errorf("left are %v and %v", listed, folders)
	}
	h.reaps(path)
}

// case R09. Nothing that people run takes a snapshot away, and what is gone already
// closes cleanly. Red when remove wants the folder to be there.
func TestWhatPeopleDoToASnapshotIsBorne(t *testing.T) {
	h := newHome(t)
	for name, act := range map[string]func(path string){
		"folder deleted":       func(path string) { check(t, os.RemoveAll(path)) },
		"its .git deleted":     func(path string) { check(t, os.Remove(path+"/.git")) },
		"its .git a folder":    func(path string) { check(t, os.Remove(path+"/.git")); check(t, os.MkdirAll(path+"/.git/x", 0o755)) },
		"filled":               func(path string) { check(t, os.MkdirAll(path+"/a/b/c", 0o755)) },
		"gc and prune":         func(string) { plainGit(t, h.plan+"/carrier.git", "gc", "--quiet", "--prune=now"); prune(t, h) },
		"deleted, then pruned": func(path string) { check(t, os.RemoveAll(path)); prune(t, h) },
		"unlocked":             func(path string) { plainGit(t, h.plan+"/carrier.git", "worktree", "unlock", path) },
	} {
		t.Run(name, func(t *testing.T) {
			got := h.run(func(s *Snapshot) {
				act(s.Path())
				if listed, _, _ := h.left(); len(listed) != 1 {
					t.Errorf("git lists %v", listed)
				}
				o, err := s.Repo().Objects(t.Context())
				check(t, err)
				if _, err := o.Read(s.Commit().String()+":a", 10); err != nil {
					t.Error(err)
				}
				check(t, o.Close())
			})
			is[Removed](t, got.Close)
			h.nothingLeft()
		})
	}
}

func prune(t *testing.T, h *home) {
	t.Helper()
	plainGit(t, h.plan+"/carrier.git", "worktree", "prune", "--expire=now")
}

// gc keeps what only a snapshot pins.
func TestASnapshotPinsWhatNoRefHas(t *testing.T) {
	h := newHome(t)
	h.run(func(s *Snapshot) {
		plainGit(t, h.plan+"/carrier.git", "update-ref", "-d", "refs/holdfast/written")
		plainGit(t, h.plan+"/carrier.git", "gc", "--quiet", "--prune=now")
		if kind := plainGit(t, h.plan+"/carrier.git", "cat-file", "-t", s.Commit().String()); kind != "commit" {
			t.Errorf("it is a %s", kind)
		}
	})
}

// Git would remove what is mounted there. Red when remove asks git after Empty failed.
func TestAMountInsideIsLeftAndSaid(t *testing.T) {
	h := newHome(t)
	var path string
	got := h.run(func(s *Snapshot) {
		path = s.Path()
		check(t, os.Mkdir(path+"/m", 0o755))
		tmpfs(t, path+"/m")
		check(t, os.WriteFile(path+"/m/kept", nil, 0o600))
	})
	h.leaves(got, path, noExit, "a file system is mounted there")
	if s := is[CloseFailed](t, got.Close).Sentence(); !strings.Contains(s, "its removal did not come to an end") {
		t.Error(s)
	}
	if _, err := os.Stat(path + "/m/kept"); err != nil {
		t.Error(err)
	}
	if listed, folders, _ := h.left(); len(listed) != 1 || len(folders) != 1 {
		t.Errorf("left are %v and %v", listed, folders)
	}
	again := h.Reap(t.Context(), h.name(path)) // it is as little possible for the reaper
	is[CloseFailed](t, again.Close)
	if f := h.failures(); len(f) != 2 || f[1].Operation != "reap" {
		t.Errorf("%+v", f)
	}
	check(t, unix.Unmount(path+"/m", 0))
	h.reaps(path)
}

func tmpfs(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mount("none", path, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatalf("this test needs to mount (root): %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
}

// The snapshot's folder itself is in use as a mount: git forgets the entry, but the
// folder stays. Red when remove leaves git's exit status out.
func TestAFolderThatCannotBeRemovedIsSaid(t *testing.T) {
	h := newHome(t)
	var path string
	got := h.run(func(s *Snapshot) {
		path = s.Path()
		check(t, unix.Mount(path, path, "", unix.MS_BIND, ""))
		t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	})
	failed := is[CloseFailed](t, got.Close)
	h.leaves(got, path, failed.ExitCode, "failed to delete")
	if failed.ExitCode == 0 {
		t.Error("with exit status 0")
	}
	check(t, unix.Unmount(path, 0))
	h.reaps(path)
}

// Red when remove takes git's exit status for the whole truth.
func TestAFolderThatIsThereStillIsSaid(t *testing.T) {
	h := newHome(t)
	var path string
	got := h.run(func(s *Snapshot) {
		path = s.Path()
		fakeGit(t, "*'worktree remove'*) git \"$@\" && exec mkdir "+path)
	})
	t.Setenv("PATH", realPath)
	h.leaves(got, path, 0, "the folder is there still")
	h.reaps(path)
}

// Not even root can unlink what is immutable.
func TestAnImmutableFileIsLeftAndSaid(t *testing.T) {
	h := newHome(t)
	var path string
	got := h.run(func(s *Snapshot) {
		path = s.Path()
		check(t, os.WriteFile(path+"/f", nil, 0o600))
		immutable(t, path+"/f", true)
		t.Cleanup(func() {
			if _, err := os.Lstat(path + "/f"); err == nil {
				immutable(t, path+"/f", false)
			}
		})
	})
	h.leaves(got, path, noExit, "operation not permitted")
	immutable(t, path+"/f", false)
	h.reaps(path)
}

func immutable(t *testing.T, path string, on bool) {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	defer f.Close()
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		const flag = 0x10 // FS_IMMUTABLE_FL
		flags &^= flag
		if on {
			flags |= flag
		}
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags))
	}
	if err != nil {
		t.Fatalf("this test needs root and a file system that knows immutable files: %v", err)
	}
}

// A git that never comes back. Red when remove takes a deadline for done.
func TestAGitPastItsDeadlineIsSaid(t *testing.T) {
	h := newHome(t)
	slow, err := git.Open(t.Context(), h.repo.Dir(), git.Options{Limits: git.Limits{Local: 5 * time.Second}})
	check(t, err)
	s, err := OpenStore(slow)
	check(t, err)
	defer s.Close()
	var path string
	got := With(t.Context(), s, h.at(func(snap *Snapshot) {
		path = snap.Path()
		fakeGit(t, "*'worktree remove'*) exec sleep 1000")
	}))
	h.leaves(got, path, noExit, "took more than")
	t.Setenv("PATH", realPath)
	h.reaps(path)
}

// realPath is the PATH before fakeGit.
var realPath = os.Getenv("PATH")

// fakeGit puts a git before the real one, which does as arm, of a case in the shell's
// language, says.
func fakeGit(t *testing.T, arm string) {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\nPATH=" + realPath + "\ncase \"$*\" in " + arm + ";; esac\nexec git \"$@\"\n"
	check(t, os.WriteFile(filepath.Join(dir, "git"), []byte(text), 0o755))
	t.Setenv("PATH", dir+":"+realPath)
}

// case R11. A disk that is full when the snapshot is closed: a removal needs no room.
func TestAFullDiskClosesCleanly(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "plan")
	check(t, os.Mkdir(plan, 0o755))
	tmpfs(t, plan)
	h := homeAt(t, plan)
	got := h.run(func(*Snapshot) { fill(t, plan+"/fill") })
	is[Removed](t, got.Close)
	h.nothingLeft()
	refused := h.run(func(*Snapshot) { t.Error("opened on a full disk") })
	if !strings.HasPrefix(refused.Result, "refused: ") {
		t.Error(refused.Result)
	}
	is[NotOpened](t, refused.Close)
	h.nothingLeft()
}

func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	check(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	check(t, f.Close())
}

// Red when noted drops the error of the journal.
func TestAFailureThatCannotBeJournalledIsSaidInTheAnswer(t *testing.T) {
	h := newHome(t)
	check(t, os.WriteFile(h.plan+"/close-failures.jsonl", []byte("{}\n"), 0o600))
	got := h.run(func(*Snapshot) { check(t, os.RemoveAll(filepath.Join(h.plan, "carrier.git/worktrees"))) })
	if failed := is[CloseFailed](t, got.Close); failed.ExitCode != 128 || !strings.Contains(failed.Stderr, "not in the journal") {
		t.Errorf("%+v", failed)
	}
	if _, err := h.Failures(); err == nil {
		t.Error("a damaged journal was read")
	}
}

// Red when replay does not compare the number.
func TestAGapInTheJournalIsDamage(t *testing.T) {
	h := newHome(t)
	line, err := Failure{Seq: 2, At: time.Unix(0, 0).UTC(), Operation: "x", Close: CloseFailed{"/w", 1, ""}}.MarshalJSON()
	check(t, err)
	check(t, os.WriteFile(h.plan+"/close-failures.jsonl", append(line, '\n'), 0o600))
	if all, err := h.Failures(); err == nil || !strings.Contains(err.Error(), "the number 2 where 1 is due") {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAFailureIsDecodedWholeOrNotAtAll(t *testing.T) {
	const good = `{"at":"2026-01-02T03:04:05Z","exit_code":128,"operation":"record","schema":"holdfast.snapshot-close-failure/v1","seq":1,"stderr":"s","worktree":"/w"}`
	if f, err := decodeFailure([]byte(good)); err != nil || f.Close != (CloseFailed{"/w", 128, "s"}) {
		t.Errorf("%+v, %v", f, err)
	}
	for _, change := range [][2]string{
		{`/v1`, `/v2`},
		{`"seq":1`, `"seq":0`},
		{`"seq":1`, `"seq":"1"`},
		{`128`, `-2`},
		{`"/w"`, `"w"`},
		{`"record"`, `""`},
		{`"record"`, `"Record"`},
		{`"stderr":"s",`, ``},
		{`"stderr":"s"`, `"stderr":null`},
		{`"seq":1`, `"seq":1,"x":1`},
		{`2026`, `x`},
		{good, ``},
	} {
		if f, err := decodeFailure([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%v: %+v", change, f)
		}
	}
}
