package bucket_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/problem"
)

// faulty is a store that makes something else of a write's condition.
type faulty struct {
	bucket.Store
	put func(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending
}

func (f faulty) Put(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	return f.put(ctx, key, data, on)
}

// unlisted is a store whose lists are empty.
type unlisted struct{ bucket.Store }

func (unlisted) List(context.Context, string) ([]bucket.Key, error) { return nil, nil }

// overwrite writes whatever is there.
func overwrite(ctx context.Context, s bucket.Store, key bucket.Key, data []byte) bucket.Ending {
	reading, err := s.Get(ctx, key)
	if err != nil {
		return bucket.Failed{Cause: err}
	}
	return s.Put(ctx, key, data, reading.Unmoved())
}

// only lets writes on one kind of condition through without a look at it, where
// there is an object or where there is none.
func only[C bucket.Condition](there bool) func(bucket.Store) bucket.Store {
	return func(s bucket.Store) bucket.Store {
		return faulty{s, func(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
			reading, err := s.Get(ctx, key)
			_, found := reading.(bucket.Found)
			if _, ours := on.(C); err != nil || !ours || found != there {
				return s.Put(ctx, key, data, on)
			}
			return overwrite(ctx, s, key, data)
		}}
	}
}

// windowed looks at the condition, and writes a moment later: it keeps each
// precondition in sequence, and none of them in a race.
func windowed[C bucket.Condition](s bucket.Store) bucket.Store {
	var mu sync.Mutex
	return faulty{s, func(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
		if _, ours := on.(C); !ours {
			return s.Put(ctx, key, data, on)
		}
		reading, err := s.Get(ctx, key)
		if err != nil || reading.Unmoved() != on {
			return buckettest.Refused()
		}
		time.Sleep(time.Second) // of the bubble: until everybody has looked
		mu.Lock()
		defer mu.Unlock()
		return overwrite(ctx, s, key, data)
	}}
}

// liar refuses what it writes.
func liar(s bucket.Store) bucket.Store {
	return faulty{s, func(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
		e := s.Put(ctx, key, data, on)
		if _, refused := e.(bucket.Refused); refused {
			overwrite(ctx, s, key, data)
		}
		return e
	}}
}

// forgetful acknowledges what it does not write, from the second write on.
func forgetful(s bucket.Store) bucket.Store {
	return faulty{s, func(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
		reading, err := s.Get(ctx, key)
		found, ok := reading.(bucket.Found)
		if err == nil && ok && reading.Unmoved() == on {
			return bucket.Done{Version: found.Version}
		}
		return s.Put(ctx, key, data, on)
	}}
}

func answers(e bucket.Ending) func(bucket.Store) bucket.Store {
	return func(s bucket.Store) bucket.Store {
		return faulty{s, func(context.Context, bucket.Key, []byte, bucket.Condition) bucket.Ending { return e }}
	}
}

// case F04
//
// Red when: the probe leaves out the step of that name, or believes a refusal
// without a look at what is there.
func TestTheProbeRefusesAStoreByNameOfItsFault(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(bucket.Store) bucket.Store
		step  string
	}{
		"ignores If-Match":                     {only[bucket.At](true), bucket.StepIfMatch},
		"creates on If-Match of an absent key": {only[bucket.At](false), bucket.StepIfMatchAbsent},
		"does not honour create-only":          {only[bucket.Absent](true), bucket.StepCreateOnly},
		"has several winners in a race":        {windowed[bucket.At], bucket.StepWinners},
		"lets several create in a race":        {windowed[bucket.Absent], bucket.StepWinners},
		"refuses, and writes all the same":     {liar, bucket.StepCreateOnly},
		"acknowledges, and does not write":     {forgetful, bucket.StepReadBack},
		"does not list what it has taken":      {func(s bucket.Store) bucket.Store { return unlisted{s} }, bucket.StepReadBack},
		"refuses every write":                  {answers(buckettest.Refused()), bucket.StepReadBack},
		"does not know how its writes ended":   {answers(buckettest.Unknown()), "probe-failed"},
		"takes no write":                       {answers(bucket.Failed{Cause: errors.New("forbidden")}), "probe-failed"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *buckettest.Memory) {
				err := bucket.Probe(t.Context(), c.spoil(m))
				var public *problem.Error
				if !errors.As(err, &public) || public.Step != c.step {
					t.Fatalf("want step %s, got %v", c.step, err)
				}
				want := problem.Refused
				if c.step == "probe-failed" {
					want = problem.Failed
				}
				if public.Kind != want {
					t.Errorf("want it %s, got it %s", want, public.Kind)
				}
				keys, err := m.List(t.Context(), "")
				for _, key := range keys {
					if !strings.HasPrefix(key.String(), "probe/") {
						t.Errorf("it wrote %s", key)
					}
				}
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A sound store passes, and can be probed again and again.
func TestASoundStorePassesTheProbeEachTime(t *testing.T) {
	bubble(t, func(t *testing.T, m *buckettest.Memory) {
		for n := range 3 {
			if err := bucket.Probe(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if keys, err := m.List(t.Context(), ""); err != nil || len(keys) != 2*(n+1) {
				t.Errorf("it left %v, %v", keys, err)
			}
		}
	})
}
