package remotetest

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEachRemoteTakesAPushAndGivesItBack(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for _, r := range remotes(t, "--object-format="+format) {
			t.Run(r.name+" "+format, func(t *testing.T) {
				c := newCaller(t, "--object-format="+format)
				if err := c.push(r.url); err != nil {
					t.Fatal(err)
				}
				wantTip(t, r.repo, c.Tip("work"))
				next := r.repo.Commit("plan", Put("more", "x"))
				c.Git("fetch", "--quiet", r.url, "plan")
				if got := c.Git("rev-parse", "FETCH_HEAD"); got != next {
					t.Errorf("fetched %s, want %s", got, next)
				}
			})
		}
	}
}

// Git sends what is over a megabyte in chunks.
//
// Red when: HTTP hands the body on as it comes.
func TestALargePushArrives(t *testing.T) {
	for _, r := range remotes(t) {
		t.Run(r.name, func(t *testing.T) {
			c := newCaller(t)
			c.Git("config", "core.compression", "0")
			c.Commit("work", Put("large", strings.Repeat("0123456789abcdef", 1<<17)))
			if err := c.push(r.url); err != nil {
				t.Fatal(err)
			}
			wantTip(t, r.repo, c.Tip("work"))
		})
	}
}

// Red when: ReadOnly leaves out one of the two settings.
func TestAReadOnlyServerIsReadAndTakesNoPush(t *testing.T) {
	for _, r := range remotes(t)[1:] {
		t.Run(r.name, func(t *testing.T) {
			r.repo.Commit("main", Put("a", "a"))
			r.repo.ReadOnly(true)
			c := newCaller(t)
			if err := c.push(r.url); err == nil {
				t.Error("the push was taken")
			}
			wantTip(t, r.repo, "")
			c.Git("ls-remote", "--exit-code", r.url, "main")
			r.repo.ReadOnly(false)
			if err := c.push(r.url); err != nil {
				t.Error(err)
			}
		})
	}
}

// Red when: the handler of HTTP lets everybody in.
func TestALockedServerWantsThePassword(t *testing.T) {
	s := HTTP(t)
	for _, to := range []*Server{s, NewProxy(t, s).Server} {
		c := newCaller(t)
		wantFailure(t, c.push(to.Locked), "could not read Username")
		wantFailure(t, c.push(strings.Replace(to.URL, "sesame", "simsim", 1)), "Authentication failed")
		wantTip(t, s.Repository, "")
		file := filepath.Join(c.home, "passwords")
		to.WriteCredentials(file)
		c.Git("config", "credential.helper", "store --file="+file)
		if err := c.push(to.Locked); err != nil {
			t.Error(err)
		}
		s.Delete("plan")
	}
}

// Red when: the hook exits with 0.
func TestARejectingHookSaysItsWordsAndMovesNothing(t *testing.T) {
	for _, r := range remotes(t) {
		t.Run(r.name, func(t *testing.T) {
			c := newCaller(t)
			r.repo.Reject(`"not on a Friday" $HOME`)
			err := c.push(r.url)
			wantFailure(t, err, `"not on a Friday" $HOME`)
			wantFailure(t, err, "[remote rejected] (pre-receive hook declined)")
			wantTip(t, r.repo, "")
			r.repo.Accept()
			if err := c.push(r.url); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAHangingHookWaitsUntilItIsLetGo(t *testing.T) {
	for _, r := range remotes(t) {
		t.Run(r.name, func(t *testing.T) {
			gate := r.repo.Hang()
			c := newCaller(t)
			done, _ := c.begin(r.url)
			gate.Await()
			select {
			case err := <-done:
				t.Fatalf("the push ended at the gate: %v", err)
			default:
			}
			wantTip(t, r.repo, "")
			gate.Release()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			wantTip(t, r.repo, c.Tip("work"))
		})
	}
}

// Red when: the hook opens its pipe after it said that it has come (sometimes), or
// the end of the pipe is not closed with the test.
func TestAHookThatStillHangsEndsWithTheTest(t *testing.T) {
	for _, r := range remotes(t) {
		t.Run(r.name, func(t *testing.T) {
			inner := *r.repo
			inner.t = t
			gate := inner.Hang()
			done, _ := newCaller(t).begin(r.url)
			gate.Await()
			t.Cleanup(func() { <-done })
		})
	}
}

func TestASilentAddressIsCalledAndNeverAnswers(t *testing.T) {
	for _, scheme := range []string{"http", "git"} {
		address, called := Silent(t)
		done, end := newCaller(t).begin(scheme + "://" + address + "/plan.git")
		<-called
		select {
		case err := <-done:
			t.Fatalf("%s: the push ended: %v", scheme, err)
		default:
		}
		end()
		if err := <-done; err == nil {
			t.Errorf("%s: a push to nobody succeeded", scheme)
		}
	}
}

// Red when: Dead listens.
func TestADeadAddressRefusesAtOnce(t *testing.T) {
	address := Dead(t)
	wantFailure(t, newCaller(t).push("http://"+address+"/plan.git"), "Failed to connect")
	wantFailure(t, newCaller(t).push("git://"+address+"/plan.git"), "onnection refused")
}

// Red when: commit gives the tip as a parent in either case, or leaves out its tree.
func TestARewriteHasTheTreeAndNotTheHistory(t *testing.T) {
	r := Path(t)
	r.Commit("plan", Put("a b", "a"), Put("dir/b", "b"))
	old := r.Commit("plan", Link("c", "a"))
	made := r.Rewrite("plan")
	wantTip(t, r, made)
	if got := r.Git("rev-list", "--count", "plan"); got != "1" || made == old {
		t.Errorf("the new history has %s commits, want another one", got)
	}
	if got := r.Git("diff", "--name-status", old, made); got != "" {
		t.Errorf("the trees differ: %s", got)
	}
	changed := r.Rewrite("plan", Remove("dir"), Put("c/d", "d"))
	if got, want := r.Git("diff", "--name-status", "--no-renames", old, changed), "D\tc\nA\tc/d\nD\tdir/b"; got != want {
		t.Errorf("changed:\n%s\nwant:\n%s", got, want)
	}
	r.Move("plan", old)
	wantTip(t, r, old)
	r.Delete("plan")
	wantTip(t, r, "")
}
