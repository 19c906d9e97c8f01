package buckettest

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/bucket"
)

// Call is one call of a [Memory]: the nth of its kind, from 1.
type Call struct {
	Put    bool // or else a Get
	Number int
}

// Fault is what a [Memory] makes of a call.
//
//sumtype:decl
type Fault interface{ fault() }

// None carries the call out.
type None struct{}

// Before does nothing, and says Ending; a Get fails.
type Before struct{ Ending bucket.Ending }

// After writes, if the condition holds, and says Ending.
type After struct{ Ending bucket.Ending }

// Late says Unknown now, and writes when the channel is closed, if the condition
// holds then.
type Late struct{ Until <-chan struct{} }

// Twice writes, and once more at once, and gives the second answer.
type Twice struct{}

func (None) fault()   {}
func (Before) fault() {}
func (After) fault()  {}
func (Late) fault()   {}
func (Twice) fault()  {}

// ErrPlanned is the cause of what a plan made fail.
var ErrPlanned = errors.New("as planned")

// Unknown is the ending of an answer that was lost.
func Unknown() bucket.Ending { return bucket.Unknown{Cause: ErrPlanned} }

// Refused is a refusal.
func Refused() bucket.Ending { return bucket.Refused{Cause: ErrPlanned} }

// Memory is a [bucket.Store] without a place, whose versions are the MD5 of the
// bytes, as S3's are. It watches its callers: a write on a version that it has
// not given out fails the test.
type Memory struct {
	t testing.TB

	mu      sync.Mutex
	plan    func(Call) Fault
	objects map[bucket.Key][]byte
	past    map[bucket.Key][]bucket.Version // in the order of the writes
	counts  map[bool]int
	lates   sync.WaitGroup
}

var _ bucket.Store = (*Memory)(nil)

// NewMemory is an empty store for the length of the test.
func NewMemory(t testing.TB) *Memory {
	return &Memory{
		t:       t,
		plan:    func(Call) Fault { return None{} },
		objects: map[bucket.Key][]byte{},
		past:    map[bucket.Key][]bucket.Version{},
		counts:  map[bool]int{},
	}
}

// Plan sets what is made of calls from now on.
func (m *Memory) Plan(plan func(Call) Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plan = plan
}

// Writes is how many writes of key took effect.
func (m *Memory) Writes(key bucket.Key) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.past[key])
}

// Wait waits for what is late.
func (m *Memory) Wait() { m.lates.Wait() }

// Get reads.
func (m *Memory) Get(ctx context.Context, key bucket.Key) (bucket.Reading, error) {
	if err := errors.Join(bucket.CheckGet(key), ctx.Err()); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, fails := m.nextLocked(false).(Before); fails {
		return nil, ErrPlanned
	}
	data, ok := m.objects[key]
	if !ok {
		return bucket.Nothing{}, nil
	}
	return bucket.Found{Data: slices.Clone(data), Version: md5Of(data)}, nil
}

// Put writes, or does what the plan says.
func (m *Memory) Put(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	if err := errors.Join(bucket.CheckPut(key, data, on), ctx.Err()); err != nil {
		return bucket.Failed{Cause: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	data = slices.Clone(data)
	switch f := m.nextLocked(true).(type) {
	case None:
		return m.putLocked(key, data, on)
	case Before:
		return f.Ending
	case After:
		m.putLocked(key, data, on)
		return f.Ending
	case Twice:
		m.putLocked(key, data, on)
		return m.putLocked(key, data, on)
	case Late:
		m.lates.Go(func() {
			<-f.Until
			m.mu.Lock()
			defer m.mu.Unlock()
			m.putLocked(key, data, on)
		})
	}
	return Unknown()
}

func (m *Memory) nextLocked(put bool) Fault {
	m.counts[put]++
	return m.plan(Call{Put: put, Number: m.counts[put]})
}

func (m *Memory) putLocked(key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	if at, ok := on.(bucket.At); ok && !m.gaveLocked(at.Version) {
		m.t.Errorf("a write of %s on a version that nobody was given", key)
	}
	now := bucket.Nothing{}.Unmoved()
	if old, ok := m.objects[key]; ok {
		now = bucket.At{Version: md5Of(old)}
	}
	if now != on {
		return Refused()
	}
	version := md5Of(data)
	m.objects[key] = data
	m.past[key] = append(m.past[key], version)
	return bucket.Done{Version: version}
}

// gaveLocked reports whether v was some object's.
func (m *Memory) gaveLocked(v bucket.Version) bool {
	for _, versions := range m.past {
		if slices.Contains(versions, v) {
			return true
		}
	}
	return false
}

// CheckNothingCameBack fails the test if key had one content twice: by versions
// alone a writer could not have told. [bucket.Update] never does that.
func (m *Memory) CheckNothingCameBack(key bucket.Key) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	sorted := slices.Clone(m.past[key])
	slices.SortFunc(sorted, func(a, b bucket.Version) int { return strings.Compare(a.Token(), b.Token()) })
	if len(slices.Compact(sorted)) != len(m.past[key]) {
		m.t.Errorf("%s had the same version twice", key)
	}
}

// List lists.
func (m *Memory) List(ctx context.Context, prefix string) ([]bucket.Key, error) {
	if err := errors.Join(bucket.CheckPrefix(prefix), ctx.Err()); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []bucket.Key
	for key := range m.objects {
		if strings.HasPrefix(key.String(), prefix) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b bucket.Key) int { return strings.Compare(a.String(), b.String()) })
	return keys, nil
}

func md5Of(data []byte) bucket.Version {
	sum := md5.Sum(data)
	return bucket.NewVersion(hex.EncodeToString(sum[:]))
}
