package rosterstore_test

import (
	"errors"
	"fmt"
	"testing"

	"holdfast/internal/bucket/dirbucket"
	"holdfast/internal/fleet/roster"
)

// What a change of a roster of a thousand rows spends its time on: run it with
// -cpuprofile. What it costs beside other things is measured in bench.
func BenchmarkUpdate(b *testing.B) {
	f := &fleet{dir: b.TempDir(), root: key(1), console: key(2)}
	f.bucket = dirbucket.New(folder(b, f.dir))
	s := f.partyIn(b, b.TempDir())
	_, err := s.Init(b.Context(), f.console, func() (*roster.Roster, error) {
		r, err := f.first()
		for i := range 1000 {
			err = errors.Join(err, r.Enroll(admission(fmt.Sprint("many-", i)), fmt.Sprintf("%064x", i), noon))
		}
		return r, err
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Update(b.Context(), f.console, label(fmt.Sprint(b.N, b.Elapsed()))); err != nil {
			b.Fatal(err)
		}
	}
}
