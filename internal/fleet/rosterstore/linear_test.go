package rosterstore_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"

	"holdfast/internal/bucket"
)

// series is the roster's holds, by the revision that added each, as one party with a
// memory of its own reads and adds them.
type series struct {
	f *fleet
	s *rosterstore.Store
}

// Read reads the holds in order.
func (p series) Read() ([]string, bool) {
	v, err := p.s.Read(p.f.t.Context())
	if err != nil {
		return nil, false
	}
	return held(v), true
}

func held(v *rosterstore.Version) []string {
	return slices.SortedFunc(maps.Keys(v.Holds), func(a, b string) int {
		return cmp.Or(v.Holds[a].ReservedAt.Compare(v.Holds[b].ReservedAt), cmp.Compare(a, b))
	})
}

// Update adds a hold whose time says which revision added it.
func (p series) Update(operation string) buckettest.Told {
	ctx, done := context.WithTimeout(p.f.t.Context(), 10*time.Second)
	defer done()
	v, err := p.s.Update(ctx, p.f.console, func(r *roster.Roster) error {
		at := noon.Add(time.Duration(r.Revision) * time.Millisecond)
		return r.ReserveHold(operation, roster.Hold{Console: "main", Scope: roster.All(), ReservedAt: at})
	})
	var unsettled *bucket.Unsettled
	switch {
	case err == nil:
		return buckettest.Place(slices.Index(held(v), operation) + 1)
	case errors.As(err, &unsettled):
		return buckettest.NotKnown{}
	}
	return buckettest.NoEffect{}
}

// Red when: Update answers from memory, Read serves what it has in hand without asking
// the store, or a write whose answer was lost is called refused.
func TestReadsAndUpdatesAreInOneOrderThroughFaults(t *testing.T) {
	buckettest.Credentials(t)
	linear(t, 7, 3, 6)
}

func linear(t *testing.T, seed uint64, clients, each int) {
	f := &fleet{t: t, root: key(1), console: key(2)}
	var parties []buckettest.Party
	for i, way := range buckettest.Faulty(t, seed) {
		f.bucket = way
		s := f.party()
		if i == 0 {
			f.begin(s)
		}
		parties = append(parties, series{f, s})
	}
	buckettest.Linear(t, seed, clients, each, parties...)
}

// begin makes the first roster, through faults too: until it is there.
func (f *fleet) begin(s *rosterstore.Store) {
	f.t.Helper()
	for {
		_, err := s.Init(f.t.Context(), f.console, f.first)
		if err == nil || step(err) == "fleet-present" {
			return
		}
		if f.t.Context().Err() != nil {
			f.t.Fatal(err)
		}
	}
}
