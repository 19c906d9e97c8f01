package carrier

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/queue"
)

// asked is what a client asked of a node: something to be appended under a key, or
// all of its keys.
type asked struct {
	node event.Node
	key  event.Key // empty: a read
	kind event.Kind
	who  event.Principal
	// came is what a read answered after all was over. The log only grows, so that
	// whatever an order leads to on the way is the beginning of it: this keeps the
	// search for an order short, and forbids no order that there could be.
	came string
}

// answered is what it was told.
type answered struct {
	outcome string // as told has it; "read" for a read
	step    string // of a refusal
	keys    string // of a read: each with a space after it
}

// nodeState is what a node amounts to.
type nodeState struct {
	keys   string
	holder event.Principal
}

func (s nodeState) has(k event.Key) bool { return strings.Contains(" "+s.keys, " "+string(k)+" ") }

func (s nodeState) admits(a asked) bool {
	return a.kind != event.KindClaimed && a.kind != event.KindReleased || (a.kind == event.KindClaimed) == (s.holder == "")
}

func (s nodeState) with(a asked) nodeState {
	s.keys += string(a.key) + " "
	if a.kind == event.KindClaimed {
		s.holder = a.who
	} else if a.kind == event.KindReleased {
		s.holder = ""
	}
	return s
}

// step is the plan as it ought to be. What is unknown or queued may take effect at
// any later time, or never: such a step is never over, and does what it can.
func (s nodeState) step(a asked, got answered) (bool, nodeState) {
	if a.key == "" {
		return got.keys == s.keys, s
	}
	switch got.outcome {
	case "appended":
		if s.has(a.key) { // by what was asked before, of which nothing was known
			return true, s
		}
		return s.takes(a), s.with(a)
	case "already_present":
		return s.has(a.key), s
	case "refused":
		held := got.step == "claim-held" || got.step == "standing"
		return !s.has(a.key) && (!held || !s.admits(a)), s
	default:
		if s.has(a.key) || !s.takes(a) {
			return true, s
		}
		return true, s.with(a)
	}
}

// takes says whether a can be what came next.
func (s nodeState) takes(a asked) bool {
	return s.admits(a) && strings.HasPrefix(a.came, s.with(a).keys)
}

var planModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		nodes := map[event.Node][]porcupine.Operation{}
		for _, op := range history {
			n := op.Input.(asked).node
			nodes[n] = append(nodes[n], op)
		}
		parts := [][]porcupine.Operation{}
		for _, ops := range nodes {
			parts = append(parts, ops)
		}
		return parts
	},
	Init: func() any { return nodeState{} },
	Step: func(state, input, output any) (bool, any) {
		ok, next := state.(nodeState).step(input.(asked), output.(answered))
		return ok, next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// ledger is a history as it happens.
type ledger struct {
	clock atomic.Int64 // orders calls and returns
	mu    sync.Mutex
	ops   []porcupine.Operation
}

func (l *ledger) do(client int, a asked, f func() (answered, bool)) answered {
	call := l.clock.Add(1)
	got, seen := f()
	back := l.clock.Add(1)
	if got.outcome == "queued" || got.outcome == "unknown" {
		back = math.MaxInt64
	}
	if seen {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ops = append(l.ops, porcupine.Operation{ClientId: client, Input: a, Call: call, Output: got, Return: back})
	}
	return got
}

// client is a carrier whose answers are put down.
type client struct {
	*Carrier
	number int
	ledger *ledger
	chance *rand.Rand
}

// act does the nth thing. What is not known is asked once more, under its key.
func (c *client) act(ctx context.Context, n int) {
	a := asked{
		node: event.Node([]string{"one", "two"}[c.chance.IntN(2)]),
		who:  event.Principal(fmt.Sprintf("principal:local/studio/w%d", c.number)),
	}
	kind := c.chance.IntN(10)
	if kind >= 7 {
		c.ledger.do(c.number, a, func() (answered, bool) { return c.look(ctx, a.node) })
		return
	}
	a.key = event.Key(fmt.Sprintf("w%d-%d", c.number, n))
	var body event.Body
	switch {
	case kind < 3:
		body = event.Claimed{Assignee: a.who, ReturnTo: a.who}
	case kind < 5:
		body = event.Released{}
	default:
		body = event.CommentCreated{Comment: event.Comment("c-" + string(a.key)), Body: "Hello"}
	}
	a.kind = body.Kind()
	for range 2 {
		got := c.ledger.do(c.number, a, func() (answered, bool) { return c.say(ctx, a, body), true })
		if got.outcome != "queued" && got.outcome != "unknown" {
			return
		}
	}
}

func (c *client) say(ctx context.Context, a asked, body event.Body) answered {
	closed, err := c.Append(ctx, event.Command{Key: a.key, Node: a.node, Author: a.who, At: time.Now(), Body: body})
	if err != nil {
		return answered{outcome: "refused", step: err.Error()}
	}
	got := answered{outcome: tell(a.key, closed.Result[0].Ended).Outcome}
	if no, ok := closed.Result[0].Ended.(queue.Refused); ok {
		got.step = no.Problem.Step
	}
	return got
}

// look reads a node, if the remote can be asked.
func (c *client) look(ctx context.Context, n event.Node) (answered, bool) {
	if read := c.Refresh(ctx); read.Result.Err != nil {
		return answered{}, false
	}
	v, err := c.View(ctx)
	if err != nil {
		return answered{}, false
	}
	defer v.Close()
	got := answered{outcome: "read"}
	err = v.Envelopes(1, func(e event.Envelope) error {
		if e.Event.Node() == n {
			got.keys += string(e.Key) + " "
		}
		return nil
	})
	return got, err == nil
}

// faulty is what a proxy does with each request, by chance of a seed. What is
// delayed goes on when some more requests have come.
type faulty struct {
	seed  uint64
	mu    sync.Mutex
	came  int
	kept  map[chan struct{}]int // until how many have come
	quiet bool
}

func (f *faulty) act(r remotetest.Request) remotetest.Act {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.came++
	for c, until := range f.kept {
		if f.came >= until || f.quiet {
			close(c)
			delete(f.kept, c)
		}
	}
	chance := rand.New(rand.NewPCG(f.seed, uint64(r.Kind)<<32|uint64(r.Number)))
	n := chance.IntN(100)
	pushes := r.Kind == remotetest.Push
	if f.quiet || n < 45 || !pushes && n < 88 {
		return remotetest.Pass{}
	}
	if !pushes {
		return []remotetest.Act{remotetest.Drop{}, remotetest.Lose{}, remotetest.Lose{Keep: 40}, remotetest.Withhold{Until: f.keep(1)}}[chance.IntN(4)]
	}
	switch {
	case n < 52:
		return remotetest.Drop{}
	case n < 68:
		return remotetest.Lose{Keep: chance.IntN(2) * 40}
	case n < 80:
		return remotetest.Twice{Second: chance.IntN(2) == 0}
	case n < 92:
		return remotetest.Delay{Until: f.keep(1 + chance.IntN(3))}
	default:
		return remotetest.Withhold{Until: f.keep(1 + chance.IntN(3))}
	}
}

func (f *faulty) keep(more int) chan struct{} {
	c := make(chan struct{})
	f.kept[c] = f.came + more
	return c
}

// calm lets everything pass from now on.
func (f *faulty) calm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.quiet = true
	for c := range f.kept {
		close(c)
	}
	f.kept = map[chan struct{}]int{}
}

// linear lets clients of several homes loose on a plan whose remote is faulty, and
// wants an order of all that they did in which each was told what is so.
func linear(t *testing.T, seed uint64, homes, clients, each int) {
	t.Helper()
	proxy := remotetest.NewProxy(t, remotetest.HTTP(t))
	first := beginAt(t, newHome(t), proxy.URL, proxy.Dir)
	var l ledger
	for _, n := range []event.Node{"one", "two"} {
		key := event.Key("open-" + n)
		l.do(0, asked{node: n, key: key, kind: event.KindOpened}, func() (answered, bool) {
			appended(t, first, command(string(key), n, opened("A node")))
			return answered{outcome: "appended"}, true
		})
	}
	var all []*client
	for range homes {
		h := newHome(t)
		h.Limits = git.Limits{Network: 2 * time.Second} // what is kept for ever is given up
		beginAt(t, h, proxy.URL, proxy.Dir)
		for range clients {
			c, err := Open(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			all = append(all, &client{Carrier: c, number: len(all), ledger: &l, chance: rand.New(rand.NewPCG(seed, uint64(len(all))))})
		}
	}
	f := &faulty{seed: seed, kept: map[chan struct{}]int{}}
	proxy.Plan(f.act)
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			for n := range each {
				c.act(t.Context(), n)
			}
		})
	}
	wg.Wait()
	f.calm()
	for _, c := range all { // what is queued, and then what all came to
		if _, err := c.Publish(t.Context()); err != nil {
			t.Error(err)
		}
	}
	came := map[event.Node]string{}
	for _, n := range []event.Node{"one", "two"} {
		got := l.do(len(all), asked{node: n}, func() (answered, bool) { return (&client{Carrier: first}).look(t.Context(), n) })
		came[n] = got.keys
	}
	for i, op := range l.ops {
		a := op.Input.(asked)
		a.came = came[a.node]
		l.ops[i].Input = a
	}
	result, info := porcupine.CheckOperationsVerbose(planModel, l.ops, time.Minute)
	counts := map[string]int{}
	for _, op := range l.ops {
		counts[op.Output.(answered).outcome]++
	}
	t.Logf("seed %d: %v", seed, counts)
	if result != porcupine.Ok {
		for _, op := range l.ops {
			t.Logf("client %d from %d to %d: %s", op.ClientId, op.Call, op.Return, planModel.DescribeOperation(op.Input, op.Output))
		}
		t.Errorf("seed %d: %s; longest order: %d", seed, result, len(info.PartialLinearizations()))
	}
}

// case R05. Red when: a lost answer is taken for a refusal, or an old set of events
// for what is there now.
func TestThroughAFaultyRemoteEveryAnswerIsTrue(t *testing.T) {
	t.Parallel()
	linear(t, 1, 2, 2, 5)
}
