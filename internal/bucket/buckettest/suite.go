package buckettest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/bucket"
)

// Open makes a bucket that is new and empty, and gives two ways to it, such as
// two machines have.
type Open func(t *testing.T) [2]bucket.Store

// Run holds a store to what package bucket says of all of them.
func Run(t *testing.T, open Open) {
	for name, claim := range map[string]func(*testing.T, [2]bucket.Store){
		"WhatIsWrittenIsReadBackByEverybody":            readBack,
		"AnObjectHasUpTo16MiB":                          bounded,
		"CreatingNeedsThatNothingIsThere":               createOnly,
		"ReplacingNeedsTheVersionThatIsThere":           replace,
		"ReplacingWhatIsNotThereCreatesNothing":         replaceAbsent,
		"EqualBytesMayHaveEqualVersionsAndOthersDoNot":  versions,
		"WhatIsNoKeyOrVersionIsRefusedBeforeAnything":   zeroes,
		"AListIsInTheOrderOfBytesAndOfItsPrefix":        lists,
		"AWriteThatNobodyWaitsForIsNotCalledDone":       cancelled,
		"FiftyWritersOfOneVersionHaveOneWinnerEachTime": func(t *testing.T, s [2]bucket.Store) { race(t, s, 50, rounds) },
		"OneOfSixteenCreates":                           raceToCreate,
		"NoIncrementIsLost":                             func(t *testing.T, s [2]bucket.Store) { increments(t, s, 8, 20) },
		"TheProbeFindsNoFault":                          probed,
	} {
		t.Run(name, func(t *testing.T) { claim(t, open(t)) })
	}
}

// done is the version of a write that must come through.
func done(t *testing.T, e bucket.Ending) bucket.Version {
	t.Helper()
	d, ok := e.(bucket.Done)
	if !ok {
		t.Fatalf("want a write done, got %T %+v", e, e)
	}
	return d.Version
}

// refused wants a write that the condition kept from happening.
func refused(t *testing.T, e bucket.Ending) {
	t.Helper()
	if _, ok := e.(bucket.Refused); !ok {
		t.Errorf("want a write refused, got %T %+v", e, e)
	}
}

// failed wants a write that did not happen whatever is there.
func failed(t *testing.T, e bucket.Ending) {
	t.Helper()
	if _, ok := e.(bucket.Failed); !ok {
		t.Errorf("want a write failed, got %T %+v", e, e)
	}
}

// get reads an object that must be there or not, and gives its bytes, nil if not.
func get(t *testing.T, s bucket.Store, key bucket.Key) ([]byte, bucket.Version) {
	t.Helper()
	reading, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	found, ok := reading.(bucket.Found)
	if !ok {
		return nil, bucket.Version{}
	}
	return found.Data, found.Version
}

// holds wants the object to have these bytes, whoever reads it.
func holds(t *testing.T, stores [2]bucket.Store, key bucket.Key, want []byte) {
	t.Helper()
	for i, s := range stores {
		if got, _ := get(t, s, key); !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("way %d reads %.40q, want %.40q", i, got, want)
		}
	}
}

func readBack(t *testing.T, s [2]bucket.Store) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for name, data := range map[string][]byte{"empty": {}, "all": all, "a/b/c-d_e.F": []byte("deep\n"), "lines": []byte("\r\n\n\x00")} {
		key := Key(t, name)
		holds(t, s, key, nil)
		version := done(t, s[0].Put(t.Context(), key, data, bucket.Absent{}))
		holds(t, s, key, data)
		if _, got := get(t, s[1], key); got != version {
			t.Errorf("%s is read in version %v and was written in %v", name, got, version)
		}
	}
}

func bounded(t *testing.T, s [2]bucket.Store) {
	key := Key(t, "large")
	large := bytes.Repeat([]byte("0123456789abcdef"), bucket.MaxObject/16)
	failed(t, s[0].Put(t.Context(), key, append(slices.Clone(large), 'x'), bucket.Absent{}))
	holds(t, s, key, nil)
	done(t, s[0].Put(t.Context(), key, large, bucket.Absent{}))
	holds(t, s, key, large)
}

func createOnly(t *testing.T, s [2]bucket.Store) {
	key := Key(t, "control/roster.json")
	done(t, s[0].Put(t.Context(), key, []byte("first"), bucket.Absent{}))
	for _, store := range s {
		refused(t, store.Put(t.Context(), key, []byte("second"), bucket.Absent{}))
		refused(t, store.Put(t.Context(), key, []byte("first"), bucket.Absent{}))
	}
	holds(t, s, key, []byte("first"))
}

func replace(t *testing.T, s [2]bucket.Store) {
	key := Key(t, "k")
	first := done(t, s[0].Put(t.Context(), key, []byte("first"), bucket.Absent{}))
	second := done(t, s[1].Put(t.Context(), key, []byte("second"), bucket.At{Version: first}))
	refused(t, s[0].Put(t.Context(), key, []byte("stale"), bucket.At{Version: first}))
	refused(t, s[1].Put(t.Context(), key, []byte("stale"), bucket.At{Version: first}))
	holds(t, s, key, []byte("second"))
	done(t, s[0].Put(t.Context(), key, []byte("third"), bucket.At{Version: second}))
	holds(t, s, key, []byte("third"))
}

func replaceAbsent(t *testing.T, s [2]bucket.Store) {
	other := done(t, s[0].Put(t.Context(), Key(t, "other"), []byte("other"), bucket.Absent{}))
	key := Key(t, "none")
	refused(t, s[0].Put(t.Context(), key, []byte("new"), bucket.At{Version: other}))
	refused(t, s[0].Put(t.Context(), key, []byte("other"), bucket.At{Version: other}))
	holds(t, s, key, nil)
}

// case F02: nothing here may be built on versions alone.
func versions(t *testing.T, s [2]bucket.Store) {
	key := Key(t, "k")
	first := done(t, s[0].Put(t.Context(), key, []byte("free"), bucket.Absent{}))
	second := done(t, s[0].Put(t.Context(), key, []byte("held"), bucket.At{Version: first}))
	if first == second {
		t.Error("other bytes have the same version")
	}
	third := done(t, s[0].Put(t.Context(), key, []byte("free"), bucket.At{Version: second}))
	stale := s[1].Put(t.Context(), key, []byte("late"), bucket.At{Version: first})
	if _, took := stale.(bucket.Done); took != (first == third) {
		t.Errorf("a write on a version that came back (%v) ended as %T", first == third, stale)
	}
}

func zeroes(t *testing.T, s [2]bucket.Store) {
	failed(t, s[0].Put(t.Context(), bucket.Key{}, []byte("x"), bucket.Absent{}))
	failed(t, s[0].Put(t.Context(), Key(t, "k"), []byte("x"), bucket.At{}))
	failed(t, s[0].Put(t.Context(), Key(t, "k"), []byte("x"), nil))
	if got, err := s[0].Get(t.Context(), bucket.Key{}); err == nil {
		t.Errorf("the object without a key is %v", got)
	}
	for _, prefix := range []string{"/", "a//", "../", "a/../b", "a b", ".", "a/."} {
		if got, err := s[0].List(t.Context(), prefix); err == nil {
			t.Errorf("under %q there are %v", prefix, got)
		}
	}
	if got, err := s[0].List(t.Context(), ""); err != nil || len(got) > 0 {
		t.Errorf("there are %v, %v", got, err)
	}
}

func lists(t *testing.T, s [2]bucket.Store) {
	all := []string{"A", "a-1", "a.b/c", "a/b", "a/b-c", "a/b.c/d", "a/b0", "a/bc/d/e", "a0", "a_b", "ab", "b/x", "b/y"}
	for _, name := range []int{5, 3, 12, 0, 7, 1, 9, 2, 11, 4, 6, 10, 8} {
		done(t, s[name%2].Put(t.Context(), Key(t, all[name]), []byte("x"), bucket.Absent{}))
	}
	for prefix, want := range map[string][]string{
		"":         all,
		"a":        all[1:11],
		"a/":       all[3:8],
		"a/b":      all[3:8],
		"a/bc":     all[7:8],
		"a/bc/d/":  all[7:8],
		"a/b.":     all[5:6],
		"b/x":      all[11:12],
		"b/x/":     nil,
		"c":        nil,
		"none/at/": nil,
	} {
		for _, store := range s {
			keys, err := store.List(t.Context(), prefix)
			if err != nil {
				t.Error(err)
			}
			var got []string
			for _, key := range keys {
				got = append(got, key.String())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("under %q:\n%s", prefix, diff)
			}
		}
	}
}

func cancelled(t *testing.T, s [2]bucket.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	key := Key(t, "k")
	switch e := s[0].Put(ctx, key, []byte("x"), bucket.Absent{}).(type) {
	case bucket.Failed, bucket.Unknown:
	case bucket.Done, bucket.Refused:
		t.Errorf("it ended as %T", e)
	}
	if got, err := s[0].Get(ctx, key); err == nil {
		t.Errorf("it was read: %v", got)
	}
	if got, err := s[0].List(ctx, ""); err == nil {
		t.Errorf("it was listed: %v", got)
	}
}

// together runs n at once and waits for all.
func together(n int, run func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			run(i)
		})
	}
	close(start)
	all.Wait()
}

// race lets n writers write on one version, again and again.
func race(t *testing.T, s [2]bucket.Store, n, rounds int) {
	key := Key(t, "race/k")
	version := done(t, s[0].Put(t.Context(), key, []byte("start"), bucket.Absent{}))
	for round := range rounds {
		version = winner(t, s, key, n, fmt.Sprintf("round %d", round), bucket.At{Version: version})
	}
}

func raceToCreate(t *testing.T, s [2]bucket.Store) {
	for round := range 4 {
		winner(t, s, Key(t, fmt.Sprintf("race/%d", round)), 16, "creation", bucket.Absent{})
	}
}

// winner lets n writers write on one condition, and gives the version that the
// one winner wrote.
func winner(t *testing.T, s [2]bucket.Store, key bucket.Key, n int, round string, on bucket.Condition) bucket.Version {
	t.Helper()
	endings := make([]bucket.Ending, n)
	data := func(i int) []byte { return fmt.Appendf(nil, "%s, writer %d", round, i) }
	together(n, func(i int) { endings[i] = s[i%2].Put(t.Context(), key, data(i), on) })
	won := -1
	for i, e := range endings {
		switch e := e.(type) {
		case bucket.Done:
			if won >= 0 {
				t.Fatalf("%s: %d and %d have won", round, won, i)
			}
			won = i
		case bucket.Refused:
		case bucket.Failed, bucket.Unknown:
			t.Errorf("%s: writer %d ended as %T %+v", round, i, e, e)
		}
	}
	if won < 0 {
		t.Fatalf("%s: nobody has won", round)
	}
	holds(t, s, key, data(won))
	return done(t, endings[won])
}

// increments lets writers update one object, each so many times.
func increments(t *testing.T, s [2]bucket.Store, writers, each int) {
	key := Key(t, "counter.json")
	var want []string
	for i := range writers {
		for n := range each {
			want = append(want, fmt.Sprintf("%d-%d", i, n))
		}
	}
	together(writers, func(i int) {
		for n := range each {
			_, err := bucket.Update(t.Context(), s[i%2], key, Counter{}, Again(want[i*each+n]))
			if err != nil {
				t.Error(err)
			}
		}
	})
	data, _ := get(t, s[0], key)
	got, history, err := Counter{}.Decode(data)
	if err != nil || history.Check() != nil || history.Revision() != uint64(len(want)) {
		t.Errorf("revision %d, %v, %v", history.Revision(), err, history.Check())
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func probed(t *testing.T, s [2]bucket.Store) {
	for _, store := range s {
		if err := bucket.Probe(t.Context(), store); err != nil {
			t.Error(err)
		}
	}
}
