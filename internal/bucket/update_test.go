package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/problem"
)

// puts is the plan that meets the writes with these faults, in their order, and
// lets all else be.
func puts(faults ...buckettest.Fault) func(buckettest.Call) buckettest.Fault {
	return func(c buckettest.Call) buckettest.Fault {
		if c.Put && c.Number <= len(faults) {
			return faults[c.Number-1]
		}
		return buckettest.None{}
	}
}

// add updates the counter by operation, with so much time.
func add(t *testing.T, s bucket.Store, operation string) (bucket.Updated[[]string], error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return bucket.Update(ctx, s, buckettest.Key(t, "counter.json"), buckettest.Counter{}, buckettest.Add(operation))
}

// operations is what the counter holds.
func operations(t *testing.T, s bucket.Store) []string {
	t.Helper()
	reading, err := s.Get(t.Context(), buckettest.Key(t, "counter.json"))
	if err != nil {
		t.Fatal(err)
	}
	found, ok := reading.(bucket.Found)
	if !ok {
		return nil
	}
	done, history, err := buckettest.Counter{}.Decode(found.Data)
	if err != nil || history.Check() != nil || int(history.Revision()) != len(done) {
		t.Errorf("revision %d after %d operations, %v, %v", history.Revision(), len(done), err, history.Check())
	}
	return done
}

// bubble runs f with a new store and a clock that jumps.
func bubble(t *testing.T, f func(t *testing.T, m *buckettest.Memory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, buckettest.NewMemory(t)) })
}

var lostAnswers = map[string][]buckettest.Fault{
	"lost before it came":                   {buckettest.Before{Ending: buckettest.Unknown()}},
	"lost after it was written":             {buckettest.After{Ending: buckettest.Unknown()}},
	"delivered twice, the second refused":   {buckettest.Twice{}},
	"refused after it was written":          {buckettest.After{Ending: buckettest.Refused()}},
	"409 again and again":                   {buckettest.Before{Ending: buckettest.Refused()}, buckettest.Before{Ending: buckettest.Refused()}},
	"lost before, and after":                {buckettest.Before{Ending: buckettest.Unknown()}, buckettest.After{Ending: buckettest.Unknown()}},
	"lost before, then delivered twice":     {buckettest.Before{Ending: buckettest.Unknown()}, buckettest.Twice{}},
	"lost before, then refused and written": {buckettest.Before{Ending: buckettest.Unknown()}, buckettest.After{Ending: buckettest.Refused()}},
}

// case F03
//
// Red when: a lost answer is an error at once, or a refusal is believed without a
// look.
func TestALostAnswerIsSettledByReading(t *testing.T) {
	for name, faults := range lostAnswers {
		for _, before := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s, at revision %d", name, before), func(t *testing.T) {
				bubble(t, func(t *testing.T, m *buckettest.Memory) {
					for i := range before {
						if _, err := add(t, m, fmt.Sprint(i)); err != nil {
							t.Fatal(err)
						}
					}
					n := 0
					m.Plan(func(c buckettest.Call) buckettest.Fault {
						if c.Put && n < len(faults) {
							n++
							return faults[n-1]
						}
						return buckettest.None{}
					})
					got, err := add(t, m, "it")
					if err != nil {
						t.Fatal(err)
					}
					done := operations(t, m)
					if n := len(done); n != before+1 || done[before] != "it" {
						t.Errorf("it holds %v", done)
					}
					if got.Revision != uint64(before+1) || got.WriteID == "" || got.WriteID != got.History.WriteID {
						t.Errorf("it was told %+v", got)
					}
					if n := m.Writes(buckettest.Key(t, "counter.json")); n != before+1 {
						t.Errorf("it was written %d times", n)
					}
				})
			})
		}
	}
}

// Others write before it can look. Its write is in the history, or nowhere.
//
// Red when: the write is looked for only as the last one.
func TestOthersMayWriteBeforeItLooks(t *testing.T) {
	for name, fault := range map[string]buckettest.Fault{
		"written": buckettest.After{Ending: buckettest.Unknown()},
		"lost":    buckettest.Before{Ending: buckettest.Unknown()},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *buckettest.Memory) {
				other := interrupt(t, m, fault, func() {
					for i := range 20 {
						if _, err := add(t, m, fmt.Sprint(i)); err != nil {
							t.Error(err)
						}
					}
				})
				got, err := add(t, other, "it")
				if err != nil {
					t.Fatal(err)
				}
				done := operations(t, m)
				if len(done) != 21 || done[got.Revision-1] != "it" {
					t.Errorf("told revision %d of %v", got.Revision, done)
				}
			})
		})
	}
}

// interrupted is a store whose first write meets a fault, after which others are
// at work.
type interrupted struct {
	*buckettest.Memory
	once   sync.Once
	fault  buckettest.Fault
	others func()
}

func interrupt(t *testing.T, m *buckettest.Memory, fault buckettest.Fault, others func()) *interrupted {
	t.Helper()
	return &interrupted{Memory: m, fault: fault, others: others}
}

func (i *interrupted) Put(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	var e bucket.Ending
	i.once.Do(func() {
		i.Plan(func(buckettest.Call) buckettest.Fault { return i.fault })
		e = i.Memory.Put(ctx, key, data, on)
		i.Plan(puts())
		i.others()
	})
	if e != nil {
		return e
	}
	return i.Memory.Put(ctx, key, data, on)
}

// unsettled wants the error of a write of which nothing is known.
func unsettled(t *testing.T, err error) {
	t.Helper()
	var u *bucket.Unsettled
	if !errors.As(err, &u) || u.WriteID == "" || problem.KindOf(err) != problem.Unknown {
		t.Errorf("want an unknown write with its id, got %v", err)
	}
}

// A write that is under way is neither done nor refused, however long it is.
//
// Red when: Pending is an answer "nothing was written" at the end of the time.
func TestAWriteUnderWayIsNeverCalledRefused(t *testing.T) {
	bubble(t, func(t *testing.T, m *buckettest.Memory) {
		arrive := make(chan struct{})
		m.Plan(func(c buckettest.Call) buckettest.Fault {
			if c.Put && c.Number > 1 {
				return buckettest.Before{Ending: buckettest.Refused()}
			}
			return buckettest.Late{Until: arrive}
		})
		_, err := add(t, m, "it")
		unsettled(t, err)
		if got := operations(t, m); len(got) > 0 {
			t.Errorf("it holds %v", got)
		}
		close(arrive)
		m.Wait()
		if got := operations(t, m); !slices.Equal(got, []string{"it"}) {
			t.Errorf("it holds %v", got)
		}
		m.Plan(puts())
		if got, err := add(t, m, "it"); err != nil || got.WriteID != "" || got.Revision != 1 {
			t.Errorf("asked again it says %+v, %v", got, err)
		}
	})
}

// The first copy arrives after the second was written: it is dead.
//
// Red when: the first copy's lost answer ends the update.
func TestALateCopyChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, m *buckettest.Memory) {
		arrive := make(chan struct{})
		m.Plan(puts(buckettest.Late{Until: arrive}))
		for _, operation := range []string{"it", "more"} {
			if _, err := add(t, m, operation); err != nil {
				t.Fatal(err)
			}
		}
		close(arrive)
		m.Wait()
		if got := operations(t, m); !slices.Equal(got, []string{"it", "more"}) {
			t.Errorf("it holds %v", got)
		}
	})
}

// Red when: Beyond is taken for Passed, and the change is made once more.
func TestWhatTheHistoryHasForgottenIsUnknown(t *testing.T) {
	bubble(t, func(t *testing.T, m *buckettest.Memory) {
		for name, fault := range map[string]buckettest.Fault{
			"written": buckettest.After{Ending: buckettest.Unknown()},
			"lost":    buckettest.Before{Ending: buckettest.Unknown()},
		} {
			other := interrupt(t, m, fault, func() {
				for i := range bucket.MaxWrites + 1 {
					if _, err := add(t, m, fmt.Sprint(name, i)); err != nil {
						t.Error(err)
					}
				}
			})
			_, err := add(t, other, "it "+name)
			unsettled(t, err)
		}
	})
}

// What ends an update, and whether something was sent by then.
func TestWhatEndsAnUpdate(t *testing.T) {
	no := errors.New("not admitted")
	ends := func(name string, plan func(buckettest.Call) buckettest.Fault, change bucket.Change[[]string], check func(*testing.T, error)) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *buckettest.Memory) {
				if _, err := add(t, m, "before"); err != nil {
					t.Fatal(err)
				}
				m.Plan(plan)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := bucket.Update(ctx, m, buckettest.Key(t, "counter.json"), buckettest.Counter{}, change)
				check(t, err)
				m.Plan(puts())
				if got := operations(t, m); !slices.Equal(got, []string{"before"}) {
					t.Errorf("it holds %v", got)
				}
			})
		})
	}
	is := func(want error) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			if !errors.Is(err, want) {
				t.Errorf("want %v, got %v", want, err)
			}
			if problem.KindOf(err) == problem.Unknown {
				t.Errorf("nothing was sent, and it says %v", err)
			}
		}
	}
	always := func(f buckettest.Fault) func(buckettest.Call) buckettest.Fault {
		return func(c buckettest.Call) buckettest.Fault {
			if c.Put {
				return f
			}
			return buckettest.None{}
		}
	}
	reads := func(c buckettest.Call) buckettest.Fault {
		if c.Put {
			return buckettest.None{}
		}
		return buckettest.Before{}
	}
	failure := bucket.Failed{Cause: no}
	ends("the change", puts(), func([]string, bool) ([]string, error) { return nil, no }, is(no))
	ends("a write that failed", always(buckettest.Before{Ending: failure}), buckettest.Add("it"), is(no))
	ends("a read that failed", reads, buckettest.Add("it"), is(buckettest.ErrPlanned))
	ends("lost, and then failed", func(c buckettest.Call) buckettest.Fault {
		if c.Put && c.Number == 2 { // the first is that of what was before
			return buckettest.Before{Ending: buckettest.Unknown()}
		}
		return always(buckettest.Before{Ending: failure})(c)
	}, buckettest.Add("it"), unsettled)
	ends("lost, and no read comes through", func(c buckettest.Call) buckettest.Fault {
		if !c.Put && c.Number <= 2 {
			return buckettest.None{}
		}
		return buckettest.Before{Ending: buckettest.Unknown()}
	}, buckettest.Add("it"), unsettled)
	ends("409 until the time is up", always(buckettest.Before{Ending: buckettest.Refused()}), buckettest.Add("it"), unsettled)
}

// staleVersion gives the content of now with the version of before, once: some
// servers look up the two one after the other.
type staleVersion struct {
	*buckettest.Memory
	before bucket.Version
	once   sync.Once
}

func (s *staleVersion) Get(ctx context.Context, key bucket.Key) (bucket.Reading, error) {
	reading, err := s.Memory.Get(ctx, key)
	if found, ok := reading.(bucket.Found); ok {
		s.once.Do(func() { found.Version = s.before })
		reading = found
	}
	return reading, err
}

// Red when: what is pending is sent again on the version that was read first.
func TestTheSameContentUnderAnotherVersionIsWrittenOn(t *testing.T) {
	bubble(t, func(t *testing.T, m *buckettest.Memory) {
		key := buckettest.Key(t, "counter.json")
		var before bucket.Version
		for _, operation := range []string{"1", "2"} {
			if reading, err := m.Get(t.Context(), key); err != nil {
				t.Fatal(err)
			} else if found, ok := reading.(bucket.Found); ok {
				before = found.Version
			}
			if _, err := add(t, m, operation); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := add(t, &staleVersion{Memory: m, before: before}, "it"); err != nil || got.Revision != 3 {
			t.Errorf("revision %d, %v", got.Revision, err)
		}
	})
}

// Others keep writing until the time is up: nothing was written, and it says so.
//
// Red when: what has passed at the end of the time is called unknown.
func TestWhoIsNeverFirstIsToldThatNothingWasWritten(t *testing.T) {
	bubble(t, func(t *testing.T, m *buckettest.Memory) {
		n := 0
		busy := &always{Memory: m, before: func() {
			n++
			if _, err := add(t, m, fmt.Sprint(n)); err != nil {
				t.Error(err)
			}
		}}
		_, err := add(t, busy, "it")
		if problem.KindOf(err) != problem.Refused || n < 2 {
			t.Errorf("after %d tries: %v", n, err)
		}
		if slices.Contains(operations(t, m), "it") {
			t.Error("it is there")
		}
	})
}

// always is a store where somebody else writes before each write.
type always struct {
	*buckettest.Memory
	before func()
}

func (a *always) Put(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	a.before()
	return a.Memory.Put(ctx, key, data, on)
}

// An object that is not what it should be is not written over.
func TestADamagedObjectIsLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T, m *buckettest.Memory) {
		for i, data := range []string{"", "{", "{}", `{"write_id":"x","writes":[]}`} {
			key := buckettest.Key(t, fmt.Sprint("k", i))
			m.Put(t.Context(), key, []byte(data), bucket.Absent{})
			_, err := bucket.Update(t.Context(), m, key, buckettest.Counter{}, buckettest.Add("it"))
			var damaged *bucket.Damaged
			if !errors.As(err, &damaged) || damaged.Key != key || m.Writes(key) != 1 {
				t.Errorf("%q: %v, written %d times", data, err, m.Writes(key))
			}
		}
	})
}

// case F02: reserve and release give the same facts, and another version.
//
// Red when: Next gives the id of before, or the history is left out of the bytes.
func TestTheSameFactsAgainAreAnotherVersion(t *testing.T) {
	bubble(t, func(t *testing.T, m *buckettest.Memory) {
		key := buckettest.Key(t, "roster.json")
		set := func(holds ...string) bucket.Version {
			_, err := bucket.Update(t.Context(), m, key, buckettest.Counter{}, func([]string, bool) ([]string, error) { return holds, nil })
			if err != nil {
				t.Fatal(err)
			}
			reading, err := m.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			return reading.(bucket.Found).Version
		}
		before := set("none")
		set("reserved")
		if after := set("none"); after == before {
			t.Error("the version came back")
		}
		if e, ok := m.Put(t.Context(), key, []byte("stale"), bucket.At{Version: before}).(bucket.Refused); !ok {
			t.Errorf("a stale swap ended as %T", e)
		}
		m.CheckNothingCameBack(key)
	})
}
