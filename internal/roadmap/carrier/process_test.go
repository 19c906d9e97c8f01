package carrier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/queue"
)

// race is many processes that append at once.
type race struct {
	processes, each int
	homes           int    // among which they are dealt out
	kills           int    // how often each process is killed
	seed            uint64 // of the moments of that
	http            bool   // they come by HTTP, rather than by a path
}

func (r race) String() string {
	return fmt.Sprintf("%d processes in %d homes, %d events each, killed %d times, seed %d", r.processes, r.homes, r.each, r.kills, r.seed)
}

// run runs the race, and checks that the log has exactly one event for each key,
// and that each process was told what is so.
func (r race) run(t *testing.T) {
	t.Helper()
	repo, url := r.remote(t)
	homes := make([]Home, r.homes)
	for i := range homes {
		homes[i] = newHome(t)
		beginAt(t, homes[i], url, repo.Dir)
	}
	said := make([][]told, r.processes)
	var wg sync.WaitGroup
	for i := range r.processes {
		p := part{Home: homes[i%r.homes], From: i * r.each, To: (i + 1) * r.each}
		chance := rand.New(rand.NewPCG(r.seed, uint64(i)))
		wg.Go(func() {
			for kills := range r.kills + 1 {
				c := start(t, p)
				if kills < r.kills {
					// Some time while it appends.
					stop := c.killAfter(time.Duration(chance.IntN(200*r.each)) * time.Millisecond)
					defer stop()
				}
				heard, killed := c.end(t)
				said[i] = append(said[i], heard...)
				if !killed {
					return
				}
			}
		})
	}
	wg.Wait()
	check := beginAt(t, newHome(t), url, repo.Dir)
	log := logOf(t, check)
	if len(log) != r.processes*r.each {
		t.Errorf("the log has %d events, want %d", len(log), r.processes*r.each)
	}
	for i := range r.processes {
		checkTold(t, repo, said[i], log)
		wantAnswered(t, said[i], i*r.each, (i+1)*r.each)
	}
	for _, h := range homes {
		wantEmptyQueue(t, h)
	}
}

func (r race) remote(t *testing.T) (repo *remotetest.Repository, url string) {
	t.Helper()
	if r.http {
		s := remotetest.HTTP(t)
		return s.Repository, s.URL
	}
	repo = remotetest.Path(t)
	return repo, repo.Dir
}

// logOf is the log by key. A key that is there twice fails the test.
func logOf(t testing.TB, c *Carrier) map[event.Key]event.ID {
	t.Helper()
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	log := map[event.Key]event.ID{}
	err = v.Envelopes(1, func(e event.Envelope) error {
		if _, twice := log[e.Key]; twice {
			t.Errorf("%s is in the log twice", e.Key)
		}
		log[e.Key] = e.Event.ID()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// checkTold compares what a process was told with the log.
func checkTold(t testing.TB, repo *remotetest.Repository, said []told, log map[event.Key]event.ID) {
	t.Helper()
	commits := map[string]bool{}
	for _, s := range said {
		switch s.Outcome {
		case "appended", "already_present":
			if log[s.Key] != s.ID {
				t.Errorf("%s was told %s as %s, and the log has %s", s.Key, s.Outcome, s.ID, log[s.Key])
			}
			commits[s.Commit] = true
		case "queued", "unknown":
		default:
			t.Errorf("%s was told: %s %s", s.Key, s.Outcome, s.Why)
		}
	}
	for commit := range commits {
		repo.Git("merge-base", "--is-ancestor", commit, branch)
	}
}

// wantAnswered checks that the last word on each command is that it is in the log.
func wantAnswered(t testing.TB, said []told, from, to int) {
	t.Helper()
	last := map[event.Key]string{}
	for _, s := range said {
		last[s.Key] = s.Outcome
	}
	for i := from; i < to; i++ {
		if o := last[nth(i).Key]; !slices.Contains([]string{"appended", "already_present"}, o) {
			t.Errorf("%s was told %q at last", nth(i).Key, o)
		}
	}
}

func wantEmptyQueue(t testing.TB, h Home) {
	t.Helper()
	c, err := Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	waiting, damaged, err := c.queue.Entries()
	if len(waiting)+len(damaged) > 0 || err != nil {
		t.Errorf("in the queue are left %v, %v, %v", waiting, damaged, err)
	}
}

// Red when: again does not read the tip (no process comes to its end then). Publishing
// without the queue's lock does not turn it red: leases and keys hold even so.
func TestProcessesThatAppendAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]race{
		"one home":     {processes: 4, each: 6, homes: 1},
		"four homes":   {processes: 4, each: 1, homes: 4},
		"killed":       {processes: 3, each: 3, homes: 1, kills: 1, seed: 1},
		"killed apart": {processes: 2, each: 2, homes: 2, kills: 1, seed: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(r)
			r.run(t)
		})
	}
}

// Every other moment of an append at which the process can be killed, from the
// queue's first file to the last; the long test has each. Red when: the key is not looked up before a command is
// appended, or Append does not queue first.
func TestAProcessKilledInAnyMomentOfAnAppendLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	killedInAnyMoment(t, "", 2)
}

// killedInAnyMoment kills a process in the first moment and each stride-th after it.
func killedInAnyMoment(t *testing.T, url string, stride int) {
	t.Helper()
	h := newHome(t)
	c := begin(t, h, url)
	n, kills := 1, 0
	for ; ; n += stride {
		cmd := nth(n)
		said, killed := start(t, part{Home: h, From: n, To: n + 1, Die: n}).end(t)
		if !killed {
			break
		}
		kills++
		entries, _, err := c.queue.Entries()
		if err != nil {
			t.Fatal(err)
		}
		waits := slices.ContainsFunc(entries, func(e queue.Entry) bool { return e.Command.Key == cmd.Key })
		// Everyday code: another command comes by, and then the same one again.
		appended(t, c, command(fmt.Sprintf("by%d", n), event.Node(fmt.Sprintf("by%d", n)), opened("Another")))
		refresh(t, c)
		if _, there := logOf(t, c)[cmd.Key]; waits && !there {
			t.Errorf("at moment %d: it waited in the queue, and was not appended with the next one", n)
		}
		again := tell(cmd.Key, end(t, c, cmd))
		if again.Outcome != "appended" && again.Outcome != "already_present" {
			t.Errorf("at moment %d: asked again, it was told %+v", n, again)
		}
		for _, s := range append(said, again) {
			if log := logOf(t, c); log[cmd.Key] != s.ID {
				t.Errorf("at moment %d: told %+v, the log has %s", n, s, log[cmd.Key])
			}
		}
	}
	t.Logf("an append was killed at %d moments, the last of them before the %d.", kills, n)
	if n < 25 {
		t.Errorf("an append has fewer than %d moments at which it was killed", n)
	}
	wantEmptyQueue(t, h)
	if got := len(logOf(t, c)); got != 2*kills+1 {
		t.Errorf("the log has %d events, want %d", got, 2*kills+1)
	}
}
