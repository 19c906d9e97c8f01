package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/roadmap/git"
)

// asOwner plays the part of an owner, in a process of its own: it opens a snapshot in
// the repository that it is told, and fetches from a server, on the snapshot or before
// there is one.
func asOwner() bool {
	dir, url, early := os.Getenv("HOLDFAST_TEST_REPO"), os.Getenv("HOLDFAST_TEST_URL"), os.Getenv("HOLDFAST_TEST_EARLY") != ""
	if dir == "" {
		return false
	}
	ctx := context.Background()
	repo, err := git.Open(ctx, dir, git.Options{})
	if err != nil {
		panic(err)
	}
	s, err := OpenStore(repo)
	if err != nil {
		panic(err)
	}
	written, _ := git.OwnRef("written")
	plan, _ := git.Branch("plan")
	fetch := func(r *git.Repo) { _, _ = r.Fetch(ctx, url, plan, written) }
	With(ctx, s, Operation[error]{
		Name: "slow",
		Find: func(ctx context.Context, r *git.Repo) (git.ID, error) {
			if early {
				fetch(r)
			}
			id, _, err := r.Resolve(ctx, written)
			return id, err
		},
		Do:     func(_ context.Context, snap *Snapshot) error { fetch(snap.Repo()); return nil },
		Refuse: func(err error) error { return err },
	})
	return true
}

// stalling is a git server that takes one connection and says nothing; connected
// gets it.
func stalling(t *testing.T) (url string, connected chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	connected = make(chan net.Conn, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.ReadAtLeast(c, make([]byte, 4), 4) // it has begun to ask
		connected <- c
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return fmt.Sprintf("git://%s/x.git", l.Addr()), connected
}

// case R10. An owner that was killed is alive for as long as what it had started, and
// gone then. Red when With does not hand the lock to git.
func TestAKilledOwnerIsAliveUntilItsGitEnds(t *testing.T) {
	for _, early := range []string{"", "before there is a snapshot"} {
		t.Run(early, func(t *testing.T) {
			h := newHome(t)
			url, connected := stalling(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "HOLDFAST_TEST_REPO="+h.repo.Dir(), "HOLDFAST_TEST_URL="+url, "HOLDFAST_TEST_EARLY="+early)
			check(t, cmd.Start())
			conn := <-connected
			check(t, cmd.Process.Kill())
			_ = cmd.Wait()
			n := h.onlyOwner()
			is[Alive](t, h.Judge(n))
			is[Alive](t, h.Reap(t.Context(), n).Owner)
			listed, folders, _ := h.left()
			if want := 1 - len(early)/len("before there is a snapshot"); len(listed) != want || len(folders) != want {
				t.Errorf("there are %v and %v", listed, folders)
			}
			check(t, h.ReapOwners(t.Context()))
			h.onlyOwner() // it is still there
			conn.Close()
			h.awaitFree(n)
			if gone := is[Gone](t, h.Judge(n)); gone.Evidence != "the lock of its owner's file was free" {
				t.Error(gone.Evidence)
			}
			check(t, h.ReapOwners(t.Context()))
			if early == "" {
				is[Removed](t, h.Reap(t.Context(), n).Close)
			}
			h.nothingLeft()
		})
	}
}

// onlyOwner is the one that there is.
func (h *home) onlyOwner() Name {
	h.t.Helper()
	_, _, owners := h.left()
	if len(owners) != 1 {
		h.t.Fatalf("the owners are %v", owners)
	}
	return h.name(h.namespace.folder + "/" + strings.TrimSuffix(owners[0], ".json"))
}

// awaitFree waits for the owner's lock.
func (h *home) awaitFree(n Name) {
	h.t.Helper()
	f, err := os.Open(h.plan + "/owners/" + n.owner())
	check(h.t, err)
	defer f.Close()
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	check(h.t, err)
}

// owners makes a snapshot with an owner's file of that content.
func (h *home) withOwner(text string) Name {
	h.t.Helper()
	n := h.namespace.fresh()
	check(h.t, h.repo.AddWorktree(h.t.Context(), n.String(), h.commit, "x"))
	check(h.t, os.WriteFile(h.plan+"/owners/"+n.owner(), []byte(text), 0o600))
	return n
}

// case R10. Only what the kernel says of this machine is evidence; nothing is removed
// without. Red when left takes a foreign machine, or what it cannot read, for gone.
func TestOnlyAnOwnerThatIsProvablyGoneIsReaped(t *testing.T) {
	h := newHome(t)
	now := `{"boot_id":"` + h.ident.boot + `","machine_id":"` + h.ident.machine + `","operation":"record","pid":1,"schema":"holdfast.snapshot-owner/v1","since":"2020-01-01T00:00:00Z"}`
	for name, c := range map[string]struct{ text, want string }{
		"this boot":           {now, "gone: the lock of its owner's file was free"},
		"an earlier boot":     {strings.Replace(now, h.ident.boot, "another", 1), "gone: the machine was started anew since"},
		"another machine":     {strings.Replace(now, h.ident.machine, "another", 1), "unknown: its owner is on another machine"},
		"empty":               {"", "unknown: its owner's file is damaged: $: the document is empty: it has no bytes at all"},
		"torn":                {now[:50], "unknown: its owner's file is damaged"},
		"of another schema":   {strings.Replace(now, "/v1", "/v2", 1), "unknown: its owner's file is damaged: its schema"},
		"a member more":       {strings.Replace(now, `"pid":1`, `"pid":1,"x":1`, 1), "unknown: its owner's file is damaged"},
		"a member less":       {strings.Replace(now, `"pid":1,`, ``, 1), "unknown: its owner's file is damaged"},
		"no process":          {strings.Replace(now, `"pid":1`, `"pid":0`, 1), "unknown: its owner's file is damaged"},
		"a strange operation": {strings.Replace(now, "record", "Re cord", 1), "unknown: its owner's file is damaged"},
		"large":               {now + strings.Repeat(" ", maxOwner), "unknown: its owner's file cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			n := h.withOwner(c.text)
			if got := words(h.Judge(n)); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
			got := h.Reap(t.Context(), n)
			if _, removed := got.Close.(Removed); removed != strings.HasPrefix(c.want, "gone") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func words(o Owner) string {
	switch o := o.(type) {
	case Alive:
		return "alive"
	case Gone:
		return "gone: " + o.Evidence
	case Unknown:
		return "unknown: " + o.Reason
	}
	return "?"
}

// case R10. Red when judge takes an error of the lock for a free one, or left does not
// ask for the file system.
func TestALockThatSaysNothingLeavesTheOwnerUnknown(t *testing.T) {
	h := newHome(t)
	n := h.namespace.fresh()
	if got := words(h.Judge(n)); got != "unknown: it has no owner's file" {
		t.Error(got)
	}
	check(t, os.Mkdir(h.plan+"/owners/"+n.owner(), 0o755))
	if got := words(h.Judge(n)); !strings.HasPrefix(got, "unknown: ") {
		t.Error(got)
	}
	check(t, os.Remove(h.plan+"/owners/"+n.owner()))
	check(t, os.Symlink("/dev/null", h.plan+"/owners/"+n.owner()))
	if got := words(h.Judge(n)); got != "unknown: its owner's file is no regular file" {
		t.Error(got)
	}
	n = h.withOwner(`{"boot_id":"other","machine_id":"` + h.ident.machine + `","operation":"record","pid":1,"schema":"holdfast.snapshot-owner/v1","since":"2020-01-01T00:00:00Z"}`)
	trust := h.ident.trust
	h.ident.trust = func(*os.File) (bool, error) { return false, nil }
	if got := words(h.Judge(n)); got != "unknown: its owner's file is on a file system whose locks do not say who is alive" {
		t.Error(got)
	}
	h.ident.trust = trust
	h.owners.Faults = func(m durable.Moment) error {
		if m.Step == durable.StepLock {
			return unix.ENOLCK
		}
		return nil
	}
	if got := words(h.Judge(n)); !strings.HasPrefix(got, "unknown: its owner's file cannot be locked") {
		t.Error(got)
	}
	refused := h.run(func(*Snapshot) { t.Error("opened without a lock") })
	if !strings.Contains(refused.Result, "refused") {
		t.Error(refused.Result)
	}
	h.owners.Faults = nil
	is[Gone](t, h.Judge(n))
}

func TestAMachineWithoutANameOpensNothing(t *testing.T) {
	h := newHome(t)
	h.ident.boot = ""
	if got := h.run(func(*Snapshot) { t.Error("opened") }); !strings.Contains(got.Result, "has no id") {
		t.Error(got.Result)
	}
}
