package s3bucket_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/problem"
)

// register is one object, as one party reads and updates it.
type register struct {
	t     *testing.T
	store bucket.Store
	key   bucket.Key
}

// Read reads the operations.
func (r register) Read() ([]string, bool) {
	reading, err := r.store.Get(r.t.Context(), r.key)
	if err != nil {
		return nil, false
	}
	found, ok := reading.(bucket.Found)
	if !ok {
		return nil, true
	}
	done, _, err := buckettest.Counter{}.Decode(found.Data)
	if err != nil {
		r.t.Error(err)
	}
	return done, true
}

// Update adds an operation, also where it was added.
func (r register) Update(operation string) buckettest.Told {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	got, err := bucket.Update(ctx, r.store, r.key, buckettest.Counter{}, buckettest.Again(operation))
	var unsettled *bucket.Unsettled
	switch {
	case err == nil:
		return buckettest.Place(got.Revision)
	case errors.As(err, &unsettled):
		return buckettest.NotKnown{}
	case problem.KindOf(err) == problem.Unknown:
		r.t.Errorf("unknown without a write id: %v", err)
	}
	return buckettest.NoEffect{}
}

// linear is [buckettest.Linear] of one object behind two ways with faults.
func linear(t *testing.T, seed uint64, clients, each int) {
	var parties []buckettest.Party
	for _, s := range buckettest.Faulty(t, seed) {
		parties = append(parties, register{t, s, buckettest.Key(t, "register.json")})
	}
	buckettest.Linear(t, seed, clients, each, parties...)
}

// case F03
//
// Red when: Update believes a refusal without a look, or takes Pending for Passed.
func TestThroughFaultsEveryAnswerOfAnUpdateIsTrue(t *testing.T) {
	buckettest.Credentials(t)
	linear(t, 5, 4, 8)
}
