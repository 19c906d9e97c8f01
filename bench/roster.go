package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/dirbucket"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/sign"
)

// rosterBucket names the bucket of the bench's fleets.
var rosterBucket = strings.Repeat("6", 32)

// rosters measures what a change of the roster costs beside the one conditional
// write without which nothing can be changed, of as many bytes on the same store: with
// 1 row to 10,000. And what it costs to read a roster that has not changed.
func rosters(l *lab) error {
	bounds := map[int]string{1: "<= 1.5", 100: "<= 3", 1000: "<= 40 ms", 10_000: "reported"}
	for _, rows := range []int{1, 100, 1000, 10_000} {
		f, err := l.fleet(rows)
		if err != nil {
			return err
		}
		figures, err := alternate(rounds(rows), f.update, f.bareWrite)
		if err != nil {
			return err
		}
		l.compare(fmt.Sprintf("a change of a roster of %d", rows), figures[0], figures[1], "ms", bounds[rows])
		if figures, err = alternate(rounds(rows), f.read, f.bareRead); err != nil {
			return err
		}
		l.compare(fmt.Sprintf("reading it, unchanged, of %d", rows), figures[0], figures[1], "ms", "not verified twice")
		f.close()
	}
	return nil
}

func rounds(rows int) int { return max(12, min(100, 20_000/rows)) }

// rosterFleet is a roster in a folder, and an object of the same size beside it.
type rosterFleet struct {
	store   *rosterstore.Store
	bucket  bucket.Store
	console sign.Key
	key     bucket.Key
	on      bucket.Condition
	bytes   []byte
	count   int
	close   func()
}

func (l *lab) fleet(rows int) (*rosterFleet, error) {
	dir := filepath.Join(l.dir, fmt.Sprint("roster-", rows))
	var dirs [2]*durable.Dir
	for i, name := range []string{"bucket", "memory"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
		var err error
		if dirs[i], err = durable.OpenDir(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	key, err := bucket.ParseKey("bench/bare.json")
	if err != nil {
		return nil, err
	}
	root := sign.Generate()
	f := &rosterFleet{
		bucket: dirbucket.New(dirs[0]), console: sign.Generate(), key: key, on: bucket.Absent{},
		close: func() { dirs[0].Close(); dirs[1].Close() },
	}
	f.store = rosterstore.New(f.bucket, rosterstore.Trust{Root: root.Public(), Bucket: rosterBucket}, rosterstore.NewMemory(dirs[1]))
	_, err = f.store.Init(context.Background(), f.console, func() (*roster.Roster, error) { return f.first(root, rows) })
	if err != nil {
		return nil, err
	}
	f.bytes, err = os.ReadFile(filepath.Join(dir, "bucket", rosterstore.Key))
	return f, err
}

func (f *rosterFleet) first(root sign.Key, rows int) (*roster.Roster, error) {
	r, at := roster.New(rosterBucket, time.Second), time.Now()
	grant, err := rosterstore.Grant(root, rosterBucket, "main", f.console.Public())
	if err != nil {
		return nil, err
	}
	for i := range rows {
		in := roster.Admission{
			Invitation: fmt.Sprintf("%032x", i), Uses: 1, BoxID: fmt.Sprint("box-", i), Namespace: "default", Region: "home", Pool: "default", Cloud: "none",
		}
		if rows < 10_000 || i < 10 { // each look for doubles takes longer than the last
			if err := r.Enroll(in, fmt.Sprintf("%064x", i), at); err != nil {
				return nil, err
			}
			continue
		}
		b := r.Boxes[roster.EnrollmentOf(fmt.Sprintf("%032x", 0), fmt.Sprintf("%064x", 0))]
		b.BoxID, b.EvidenceSHA256, b.Invitation, b.LossIDs = in.BoxID, fmt.Sprintf("%064x", i), in.Invitation, []string{}
		r.Boxes[roster.EnrollmentOf(in.Invitation, b.EvidenceSHA256)] = b
	}
	return r, r.EnrollConsole("main", f.console.Public().String(), grant, at)
}

// update labels a box, once.
func (f *rosterFleet) update() (float64, error) {
	f.count++
	began := time.Now()
	_, err := f.store.Update(context.Background(), f.console, func(r *roster.Roster) error { return r.SetLabel("box-0", fmt.Sprint(f.count)) })
	return milliseconds(began), err
}

// bareWrite replaces an object of the roster's size, on its condition.
func (f *rosterFleet) bareWrite() (float64, error) {
	f.count++
	data := append(f.bytes[:len(f.bytes):len(f.bytes)], fmt.Sprint(f.count)...)
	began := time.Now()
	ended, ok := f.bucket.Put(context.Background(), f.key, data, f.on).(bucket.Done)
	took := milliseconds(began)
	if !ok {
		return 0, fmt.Errorf("the bare write did not end well")
	}
	f.on = bucket.At(ended)
	return took, nil
}

func (f *rosterFleet) read() (float64, error) {
	began := time.Now()
	_, err := f.store.Read(context.Background())
	return milliseconds(began), err
}

func (f *rosterFleet) bareRead() (float64, error) {
	began := time.Now()
	_, err := f.bucket.Get(context.Background(), f.key)
	return milliseconds(began), err
}
