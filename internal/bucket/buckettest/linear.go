package buckettest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/s3bucket"
	"holdfast/internal/faultproxy"
)

// Party reads and updates one object that is a series of operations, as one client of
// it. The first operation done is the first of the series.
type Party interface {
	// Read is the series now; false where it could not be read, which says nothing.
	Read() (operations []string, ok bool)
	// Update adds an operation, and would add it twice if it were asked to.
	Update(operation string) Told
}

// Told is what a party was told of an update: its place in the series, counted from 1,
// or that it took no effect, or that nobody knows.
//
//sumtype:decl
type Told interface{ told() }

// Place is that of an operation that took effect.
type Place int

// NoEffect: nothing was written.
type NoEffect struct{}

// NotKnown: it may have taken effect, may do so later, or never.
type NotKnown struct{}

func (Place) told()    {}
func (NoEffect) told() {}
func (NotKnown) told() {}

// series is the output of a read, for the model.
type series string

func (series) told() {}

// seriesModel is the object as it ought to be: the operations in their order. The
// input is an operation, or empty for a read. What is not known takes effect at the
// end, where nobody looks any more, or earlier.
var seriesModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		s, operation := state.(string), input.(string)
		next := s + operation + " "
		switch got := output.(type) {
		case series:
			return string(got) == s, s
		case NoEffect:
			return true, s
		case NotKnown:
			return true, next
		case Place:
			return strings.Count(next, " ") == int(got), next
		}
		return false, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%q -> %+v", input, output) },
}

// history is what the parties did and were told.
type history struct {
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// do puts down what f was told; nil says nothing.
func (h *history) do(client int, operation string, f func() Told) {
	call := h.clock.Add(1)
	got := f()
	back := h.clock.Add(1)
	if got == nil {
		return
	}
	if got == (NotKnown{}) {
		back = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: operation, Call: call, Output: got, Return: back})
}

// Linear lets clients read and update one object, each through any of the parties, and
// looks for an order in which every answer was true.
func Linear(t *testing.T, seed uint64, clients, each int, parties ...Party) {
	t.Helper()
	var h history
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			chance := rand.New(rand.NewPCG(seed, uint64(100+i)))
			for n := range each {
				p := parties[chance.IntN(len(parties))]
				if chance.IntN(3) == 0 {
					h.do(i, "", func() Told {
						if s, ok := p.Read(); ok {
							return series(strings.Join(append(slices.Clone(s), ""), " "))
						}
						return nil
					})
					continue
				}
				operation := fmt.Sprintf("%d-%d", i, n)
				h.do(i, operation, func() Told { return p.Update(operation) })
			}
		})
	}
	all.Wait()
	switch porcupine.CheckOperationsTimeout(seriesModel, h.ops, time.Minute) {
	case porcupine.Ok:
	case porcupine.Illegal:
		for _, op := range h.ops {
			t.Logf("%d: %d to %d: %q -> %+v", op.ClientId, op.Call, op.Return, op.Input, op.Output)
		}
		t.Errorf("seed %d: there is no order in which every answer was true", seed)
	case porcupine.Unknown:
		t.Errorf("seed %d: the search for an order took too long", seed)
	}
}

// patience is how long an answer is waited for behind [Faulty].
const patience = 300 * time.Millisecond

// Faulty is one store through two gateways, each behind a proxy that loses, delays,
// doubles and falsifies what goes over it.
func Faulty(t *testing.T, seed uint64) []bucket.Store {
	t.Helper()
	folder, prefix := t.TempDir(), string(bucket.NewWriteID())
	var ways []bucket.Store
	for i := range 2 {
		proxy := Proxy(t, Gateway(t, folder))
		chance := rand.New(rand.NewPCG(seed, uint64(i)))
		proxy.Plan(func(q faultproxy.Request[string]) faultproxy.Act {
			if q.Kind == http.MethodPut || chance.IntN(3) == 0 {
				return anyAct(chance)
			}
			return faultproxy.Pass{}
		})
		ways = append(ways, s3bucket.New(At(t, proxy.Address, prefix), patience))
	}
	return ways
}

// At is a prefix of the bucket behind a gateway or a proxy.
func At(t *testing.T, address, prefix string) s3bucket.Place {
	t.Helper()
	query := url.Values{"endpoint": {address}, "region": {Region}}
	p, err := s3bucket.ParsePlace("s3://" + Bucket + "/" + prefix + "?" + query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return p
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
		return SayAfter(http.StatusServiceUnavailable, "SlowDown")
	case 6:
		return Say(http.StatusConflict, "ConditionalRequestConflict")
	case 7:
		return faultproxy.Withhold{Until: some(chance)}
	case 8, 9, 10:
		return faultproxy.Delay{Until: some(chance), Then: faultproxy.Lose{}}
	}
	return faultproxy.Pass{}
}

// Say answers in S3's words, in the server's place.
func Say(status int, code string) faultproxy.Say {
	return faultproxy.Say{Status: status, Body: "<Error><Code>" + code + "</Code><Message>as planned</Message></Error>"}
}

// SayAfter is Say, when the server has got the request.
func SayAfter(status int, code string) faultproxy.Say {
	s := Say(status, code)
	s.After = true
	return s
}

// some is closed after some time, often later than anybody waits for.
func some(chance *rand.Rand) <-chan struct{} {
	late := make(chan struct{})
	time.AfterFunc(time.Duration(chance.Int64N(int64(3*patience))), func() { close(late) })
	return late
}
