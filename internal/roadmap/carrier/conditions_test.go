package carrier

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/problem"
	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/queue"
)

// case R13: the clock of one writer is decades behind, that of another a day ahead,
// and then it goes back. Red when: later takes the time as it is.
func TestClocksChangeNoOrder(t *testing.T) {
	t.Parallel()
	repo := remotetest.Path(t)
	plain, early, ahead := newHome(t), newHome(t), newHome(t)
	for _, h := range []Home{plain, early, ahead} {
		begin(t, h, repo.Dir)
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	write := func(h Home, key event.Key) {
		c, err := Open(context.WithoutCancel(t.Context()), h)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		cmd := command(string(key), event.Node("n-"+key), opened("A node"))
		closed, err := c.Append(context.Background(), cmd)
		if got := tell(key, closed.Result[0].Ended); err != nil || got.Outcome != "appended" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	write(plain, "k1")
	synctest.Test(t, func(*testing.T) { write(early, "k2") }) // in the year 2000
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Until(tomorrow))
		write(ahead, "k3")
	})
	write(ahead, "k4") // whose clock was put back
	write(plain, "k5")
	c := begin(t, newHome(t), repo.Dir)
	wantKeys(t, c, "k1", "k2", "k3", "k4", "k5")
	times := strings.Fields(repo.Git("log", "--reverse", "--format=%ct", branch))
	if len(times) != 6 || !slices.IsSorted(times) {
		t.Errorf("the times of the commits are %v", times)
	}
}

// case R16, as far as it can be counted. Red when: an append writes, sends or reads
// what is there already, by another process for each.
func TestWhatAnAppendCostsDoesNotGrow(t *testing.T) { whatAnAppendCosts(t, 5, 300) }

// whatAnAppendCosts compares what an append costs when the log has so many events.
func whatAnAppendCosts(t *testing.T, sizes ...int) {
	t.Helper()
	calls := countGit(t)
	repo := remotetest.Path(t)
	c := begin(t, newHome(t), repo.Dir)
	at, want := 0, ""
	for _, to := range sizes {
		list := []event.Command{}
		for ; at < to; at++ {
			list = append(list, command(fmt.Sprintf("f%d", at), event.Node(fmt.Sprintf("f%d", at)), opened("A node")))
		}
		if _, err := c.AppendAll(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		objects, before := stored(t, repo), calls()
		appended(t, c, command(fmt.Sprintf("k%d", to), event.Node(fmt.Sprintf("k%d", to)), opened("A node")))
		at++
		cost := fmt.Sprintf("%d runs of git, %d objects", calls()-before, stored(t, repo)-objects)
		if want == "" {
			want = cost
			t.Log(want)
		}
		if cost != want {
			t.Errorf("at %d events an append costs %s, and in the beginning %s", to, cost, want)
		}
	}
}

// countGit counts how often git is run from now on.
func countGit(t *testing.T) func() int {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := fmt.Sprintf("#!/bin/sh\necho >>'%s/calls'\nexec '%s' \"$@\"\n", dir, real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() int {
		data, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return len(data)
	}
}

// stored is how many objects a repository has.
func stored(t *testing.T, repo *remotetest.Repository) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(repo.Git("count-objects", "-v")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "count" || name == "in-pack" {
			i, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			n += i
		}
	}
	return n
}

// case R11. Red when: the index's address is made of the path as it is.
func TestAHomeMayHaveAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with spaces", "new\nline", "it's \"quoted\"", "50% off?#1", "-dash", "a link"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), name)
			if name == "a link" {
				if err := os.Symlink(t.TempDir(), dir); err != nil {
					t.Fatal(err)
				}
			}
			h := Home{Plan: filepath.Join(dir, "plan"), Embedded: filepath.Join(dir, "roadmap.git")}
			if err := os.MkdirAll(h.Plan, 0o700); err != nil {
				t.Fatal(err)
			}
			repo := remotetest.Path(t)
			c := begin(t, h, repo.Dir)
			appended(t, c, command("k1", "fix-login", opened("Mend it")))
			appended(t, begin(t, newHome(t), repo.Dir), command("k2", "paint", opened("Paint it")))
			wantKeys(t, c, "k1", "k2")
			if _, err := os.Stat(filepath.Join(h.Plan, "index.db")); err != nil {
				t.Errorf("the index is elsewhere: %v", err)
			}
		})
	}
}

// case R11: whatever room there is, each command is told what is so, and with more
// room the same one is appended once.
func TestAFullDiskTellsTheTruth(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=3m", "none", h.Plan).Run(); err != nil {
		return // truth_test.go has the same through faults
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", h.Plan).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	repo := remotetest.Path(t)
	c := begin(t, h, repo.Dir)
	want := 0
	for room := 0; room <= 80<<10; room += 16 << 10 {
		cmd := nth(room)
		empty := fill(t, h.Plan, room)
		closed, err := c.Append(t.Context(), cmd)
		if err != nil && problem.From(err, "").Step == "" {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
		got := told{Outcome: "refused"}
		if err == nil {
			got = tell(cmd.Key, closed.Result[0].Ended)
		}
		there := strings.Contains(repo.Git("log", "--format=%s", branch), string(cmd.Node)+":")
		if there != (got.Outcome == "appended") && got.Outcome != "unknown" {
			t.Errorf("with room for %d bytes it was told %+v; it is in the log: %v", room, got, there)
		}
		t.Logf("with room for %d bytes: %s %s", room, got.Outcome, got.Why)
		empty()
		if again := tell(cmd.Key, end(t, c, cmd)); again.Outcome != "appended" && again.Outcome != "already_present" {
			t.Errorf("with room again: %+v", again)
		}
		want++
	}
	if got := logOf(t, begin(t, newHome(t), repo.Dir)); len(got) != want {
		t.Errorf("the log has %d events, want %d", len(got), want)
	}
}

// fill leaves so much room in the file system of dir.
func fill(t *testing.T, dir string, room int) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for block := make([]byte, 4096); ; {
		n, err := f.Write(block)
		size += int64(n)
		if err != nil {
			break
		}
	}
	if err := errors.Join(f.Truncate(max(0, size-int64(room))), f.Close()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// case R12
func TestOddRemotesServe(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*remotetest.Repository){
		"a tag of the branch's name": func(r *remotetest.Repository) {
			r.Git("update-ref", "refs/tags/"+branch, r.Tip(branch))
		},
		"a branch named as a tag's ref": func(r *remotetest.Repository) {
			r.Git("update-ref", "refs/heads/refs/tags/"+branch, r.Tip(branch))
		},
		"packed": func(r *remotetest.Repository) {
			r.Git("repack", "-a", "-d", "-q")
			r.Git("pack-refs", "--all")
		},
		"shallow": func(r *remotetest.Repository) {
			if err := os.WriteFile(filepath.Join(r.Dir, "shallow"), []byte(r.Tip(branch)+"\n"), 0o600); err != nil {
				t.Error(err)
			}
			r.Git("reflog", "expire", "--expire=now", "--all")
			r.Git("prune", "--expire=now")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := remotetest.Path(t)
			c := begin(t, newHome(t), repo.Dir)
			appended(t, c, command("k1", "fix-login", opened("Mend it")))
			appended(t, c, command("k2", "paint", opened("Paint it")))
			prepare(repo)
			appended(t, c, command("k3", "roof", opened("A roof")))
			h := newHome(t)
			_, err := Init(t.Context(), h, repo.Dir)
			if name == "shallow" && err != nil { // or it says what it does not support
				if p := problem.From(err, ""); !strings.Contains(p.Reason, "shallow") {
					t.Errorf("%s: %s", p.Step, p.Reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantKeys(t, begin(t, h, repo.Dir), "k1", "k2", "k3")
			wantKeys(t, c, "k1", "k2", "k3")
		})
	}
}

// case R07, in one home and in several, with answers that are lost.
func TestOfManyClaimersOneHoldsWhateverIsLost(t *testing.T) {
	t.Parallel()
	for name, homes := range map[string]int{"one home": 1, "several": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claimersWhoseAnswersAreLost(t, homes, 4)
		})
	}
}

func claimersWhoseAnswersAreLost(t *testing.T, homes, claimers int) {
	t.Helper()
	proxy := remotetest.NewProxy(t, remotetest.HTTP(t))
	first := beginAt(t, newHome(t), proxy.URL, proxy.Dir)
	appended(t, first, command("open", "fix-login", opened("Mend it")))
	proxy.Plan(func(r remotetest.Request) remotetest.Act {
		if r.Kind == remotetest.Push && r.Number%2 == 1 {
			return remotetest.Lose{}
		}
		return remotetest.Pass{}
	})
	at := make([]Home, homes)
	for i := range at {
		at[i] = newHome(t)
		beginAt(t, at[i], proxy.URL, proxy.Dir)
	}
	ends := make([]queue.Ended, claimers)
	var wg sync.WaitGroup
	for i := range ends {
		c := reopen(t, at[i%homes])
		wg.Go(func() {
			who := event.Principal(fmt.Sprintf("principal:local/studio/w%d", i))
			cmd := event.Command{Key: event.Key(fmt.Sprintf("claim%d", i)), Node: "fix-login", Author: who, At: time.Now(), Body: event.Claimed{Assignee: who, ReturnTo: ada}}
			ends[i] = end(t, c, cmd)
		})
	}
	wg.Wait()
	refresh(t, first)
	checkClaims(t, ends, standing(t, first, "fix-login").Holder)
}

// A caller that gives up in any moment leaves no descriptor, no process, and no
// command of which more is said than is so.
func TestCallersThatGiveUpLeaveNothingBehind(t *testing.T) { callersThatGiveUp(t, 10) }

func callersThatGiveUp(t *testing.T, callers int) {
	t.Helper()
	repo := remotetest.Path(t)
	c := begin(t, newHome(t), repo.Dir)
	appended(t, c, command("first", "first", opened("The first")))
	before := descriptors(t)
	chance := rand.New(rand.NewPCG(7, 7))
	for i := range callers {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(chance.IntN(250))*time.Millisecond)
		closed, err := c.Append(ctx, nth(i))
		if err != nil {
			t.Fatal(err)
		}
		c.Refresh(ctx)
		cancel()
		got := tell(nth(i).Key, closed.Result[0].Ended)
		if got.Outcome == "refused" {
			t.Errorf("a command that may wait was told %+v", got)
		}
		if again := tell(nth(i).Key, end(t, c, nth(i))); again.Outcome != "appended" && again.Outcome != "already_present" || got.Outcome == "appended" && again.ID != got.ID {
			t.Errorf("told %+v, and then %+v", got, again)
		}
	}
	if got := descriptors(t); got > before+8 { // of the index, whose connections come and go
		t.Errorf("%d descriptors are open, and there were %d", got, before)
	}
	if got := len(logOf(t, c)); got != callers+1 {
		t.Errorf("the log has %d events, want %d", got, callers+1)
	}
}

// descriptors is how many this process has open; none where that cannot be told.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return len(list)
}

// Readers, writers, and somebody who throws the index away, in one home at once: all
// come to an end, and nobody reads less than he wrote. Red when: view does not wait
// for who makes the index anew.
func TestReadersAndWritersOutliveAnIndexThatIsThrownAway(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first := begin(t, h, "")
	var wg sync.WaitGroup
	for w := range 3 {
		c, err := Open(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		wg.Go(func() {
			for i := range 6 {
				cmd := nth(10*w + i)
				if got := tell(cmd.Key, end(t, c, cmd)); got.Outcome != "appended" {
					t.Errorf("%+v", got)
				}
				if read := c.Refresh(t.Context()); read.Result.Err != nil {
					t.Error(read.Result.Err)
				}
				if _, there := logOf(t, c)[cmd.Key]; !there {
					t.Errorf("%s was appended, and is not read", cmd.Key)
				}
			}
		})
	}
	wg.Go(func() {
		for range 6 {
			if read := first.Rebuild(t.Context(), "for a test"); read.Result.Err != nil {
				t.Error(read.Result.Err)
			}
		}
	})
	wg.Wait()
	if got := len(logOf(t, first)); got != 18 {
		t.Errorf("the log has %d events, want 18", got)
	}
}
