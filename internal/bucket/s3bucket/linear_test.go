package s3bucket_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/bucket/s3bucket"
	"holdfast/internal/faultproxy"
	"holdfast/internal/problem"
)

// told is what a client was told: of a read, all operations; of an update, its
// revision, or that nothing is known, or that nothing was written.
type told struct {
	all      string
	revision uint64
	unknown  bool
	nothing  bool
}

// registerModel is the object as it ought to be: the operations in their order.
// The input is an operation, or empty for a read. What is unknown may take effect
// at any later time, or never: it does so at the end, where nobody looks any more.
var registerModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		s, operation, got := state.(string), input.(string), output.(told)
		next := s + operation + " "
		switch {
		case operation == "":
			return got.all == s, s
		case got.nothing:
			return true, s
		case got.unknown:
			return true, next
		default:
			return uint64(strings.Count(next, " ")) == got.revision, next
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%q -> %+v", input, output) },
}

// register is one object and the history of its reads and updates.
type register struct {
	t     *testing.T
	key   bucket.Key
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// do puts down what f was told.
func (r *register) do(client int, operation string, f func() (told, bool)) {
	call := r.clock.Add(1)
	got, heard := f()
	back := r.clock.Add(1)
	if !heard {
		return
	}
	if got.unknown {
		back = math.MaxInt64
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, porcupine.Operation{ClientId: client, Input: operation, Call: call, Output: got, Return: back})
}

// read reads the operations. A read that failed says nothing.
func (r *register) read(s bucket.Store) (told, bool) {
	reading, err := s.Get(r.t.Context(), r.key)
	if err != nil {
		return told{}, false
	}
	found, ok := reading.(bucket.Found)
	if !ok {
		return told{}, true
	}
	done, _, err := buckettest.Counter{}.Decode(found.Data)
	if err != nil {
		r.t.Error(err)
	}
	var all strings.Builder
	for _, operation := range done {
		all.WriteString(operation + " ")
	}
	return told{all: all.String()}, true
}

// update adds operation, and would add it twice.
func (r *register) update(s bucket.Store, operation string) (told, bool) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	got, err := bucket.Update(ctx, s, r.key, buckettest.Counter{}, buckettest.Again(operation))
	var unsettled *bucket.Unsettled
	switch {
	case err == nil:
		return told{revision: got.Revision}, true
	case errors.As(err, &unsettled):
		return told{unknown: true}, true
	case problem.KindOf(err) == problem.Unknown:
		r.t.Errorf("unknown without a write id: %v", err)
	}
	return told{nothing: true}, true
}

// anyAct is what may happen to a request.
func anyAct(chance *rand.Rand) faultproxy.Act {
	switch chance.IntN(14) {
	case 0:
		return faultproxy.Drop{}
	case 1:
		return faultproxy.Lose{}
	case 2:
		return faultproxy.Lose{Keep: 3}
	case 3:
		return faultproxy.Twice{Second: true}
	case 4:
		return faultproxy.Twice{}
	case 5:
		return after(503, "SlowDown")
	case 6:
		return say(409, "ConditionalRequestConflict")
	case 7:
		return faultproxy.Withhold{Until: some(chance)}
	case 8, 9, 10:
		return faultproxy.Delay{Until: some(chance), Then: faultproxy.Lose{}}
	}
	return faultproxy.Pass{}
}

// some is closed after some time, often later than anybody waits for.
func some(chance *rand.Rand) <-chan struct{} {
	late := make(chan struct{})
	time.AfterFunc(time.Duration(chance.Int64N(int64(3*limit))), func() { close(late) })
	return late
}

// limit is how long an answer is waited for.
const limit = 300 * time.Millisecond

// linear lets clients read and update one object through two gateways and proxies
// that lose, delay, double and falsify, and looks for an order in which every
// answer was true.
func linear(t *testing.T, seed uint64, clients, each int) {
	folder := t.TempDir()
	prefix := string(bucket.NewWriteID())
	r := &register{t: t, key: buckettest.Key(t, "register.json")}
	var ways []bucket.Store
	for i := range 2 {
		gateway := buckettest.Gateway(t, folder)
		proxy := buckettest.Proxy(t, gateway)
		chance := rand.New(rand.NewPCG(seed, uint64(i)))
		proxy.Plan(func(q faultproxy.Request[string]) faultproxy.Act {
			if q.Kind == http.MethodPut || chance.IntN(3) == 0 {
				return anyAct(chance)
			}
			return faultproxy.Pass{}
		})
		ways = append(ways, s3bucket.New(place(t, proxy.Address, prefix), limit))
	}
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			chance := rand.New(rand.NewPCG(seed, uint64(100+i)))
			for n := range each {
				s := ways[chance.IntN(2)]
				if chance.IntN(3) == 0 {
					r.do(i, "", func() (told, bool) { return r.read(s) })
					continue
				}
				operation := fmt.Sprintf("%d-%d", i, n)
				r.do(i, operation, func() (told, bool) { return r.update(s, operation) })
			}
		})
	}
	all.Wait()
	switch porcupine.CheckOperationsTimeout(registerModel, r.ops, time.Minute) {
	case porcupine.Ok:
	case porcupine.Illegal:
		for _, op := range r.ops {
			t.Logf("%d: %d to %d: %q -> %+v", op.ClientId, op.Call, op.Return, op.Input, op.Output)
		}
		t.Errorf("seed %d: there is no order in which every answer was true", seed)
	case porcupine.Unknown:
		t.Errorf("seed %d: the search for an order took too long", seed)
	}
}

// case F03
//
// Red when: Update believes a refusal without a look, or takes Pending for Passed.
func TestThroughFaultsEveryAnswerOfAnUpdateIsTrue(t *testing.T) {
	buckettest.Credentials(t)
	linear(t, 5, 4, 8)
}
