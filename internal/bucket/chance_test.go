package bucket_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/problem"
)

// Everything at once: several writers, each answer lost, late, doubled or false by
// chance. What was told done is there once; what was told refused is not.
//
// Red when: attempt believes a Refused answer without a look, takes Pending for
// Passed, or gives each copy of a write an id of its own.
func TestUnderChanceEveryAnswerIsTrue(t *testing.T) {
	for seed := range uint64(60) {
		bubble(t, func(t *testing.T, m *buckettest.Memory) {
			chance := rand.New(rand.NewPCG(seed, 3))
			m.Plan(func(c buckettest.Call) buckettest.Fault { return anyFault(chance, c) })
			var mu sync.Mutex
			told := map[string]error{}
			var all sync.WaitGroup
			for i := range 6 {
				all.Go(func() {
					for n := range 8 {
						operation := fmt.Sprintf("%d-%d", i, n)
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						_, err := bucket.Update(ctx, m, buckettest.Key(t, "counter.json"), buckettest.Counter{}, buckettest.Again(operation))
						cancel()
						mu.Lock()
						told[operation] = err
						mu.Unlock()
					}
				})
			}
			all.Wait()
			m.Wait()
			m.Plan(puts())
			checkTold(t, told, operations(t, m))
			m.CheckNothingCameBack(buckettest.Key(t, "counter.json"))
		})
	}
}

// anyFault is what may happen to a call.
func anyFault(chance *rand.Rand, c buckettest.Call) buckettest.Fault {
	if !c.Put {
		if chance.IntN(5) == 0 {
			return buckettest.Before{}
		}
		return buckettest.None{}
	}
	arrive := make(chan struct{})
	switch chance.IntN(10) {
	case 0:
		return buckettest.Before{Ending: buckettest.Unknown()}
	case 1:
		return buckettest.After{Ending: buckettest.Unknown()}
	case 2:
		return buckettest.After{Ending: buckettest.Refused()}
	case 3:
		return buckettest.Before{Ending: buckettest.Refused()}
	case 4:
		return buckettest.Twice{}
	case 5:
		time.AfterFunc(time.Duration(chance.IntN(3000))*time.Millisecond, func() { close(arrive) })
		return buckettest.Late{Until: arrive}
	}
	return buckettest.None{}
}

// checkTold holds what was told of each operation to what the object holds.
func checkTold(t *testing.T, told map[string]error, holds []string) {
	t.Helper()
	for operation, err := range told {
		times := 0
		for _, held := range holds {
			if held == operation {
				times++
			}
		}
		unknown := problem.KindOf(err) == problem.Unknown
		switch {
		case err == nil && times != 1:
			t.Errorf("%s was told done, and is there %d times", operation, times)
		case err != nil && !unknown && times != 0:
			t.Errorf("%s was told %v, and is there %d times", operation, err, times)
		case times > 1:
			t.Errorf("%s is there %d times", operation, times)
		}
	}
}
