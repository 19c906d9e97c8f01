package root

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/receipt"
)

// book is what root knows of its journal.
type book struct {
	dir *durable.Dir
	now func() time.Time
	mu  sync.Mutex
	state
}

type state struct {
	Generation uint64
	Acts       []line
	Fences     []fenceLine
}

type line struct {
	record
	Installed bool
	Identity  []byte
	Started   time.Time
}

type fenceLine struct {
	Target  receipt.Target
	Receipt []byte
	Ref     receipt.Ref
}

// installed is an incarnation in the inventory.
type installed struct {
	intent.Subject
	boxID     string
	identity  []byte
	isolation string
	folder    string
	started   time.Time
	phase     intent.Phase
	refusal   string
	fenced    bool
	receipted bool
}

type fence struct {
	target  receipt.Target
	receipt []byte
	ref     receipt.Ref
}

// entry is one commit.
type entry struct {
	record
	identity []byte          // at Spawned
	target   *receipt.Target // at Fenced
	receipt  []byte          // at Proved
	raise    bool
}

var errFull = errors.New("the disk is full")

func openBook(dir *durable.Dir, now func() time.Time) (*book, error) {
	b := &book{dir: dir, now: now}
	data, err := dir.ReadFile("journal.json", 1<<30)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &b.state)
	}
	return b, err
}

func (b *book) close() {}

func (b *book) generation() (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Generation, nil
}

func (b *book) record(operation string) (*record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.Acts {
		if l.Operation == operation {
			return &l.record, nil
		}
	}
	return nil, nil
}

func (b *book) pending() ([]record, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []record
	for _, l := range b.Acts {
		if !l.Phase.Settled() {
			list = append(list, l.record)
		}
	}
	return list, nil
}

func (b *book) fenceOf(instance string, incarnation uint64) *fenceLine {
	for i, f := range b.Fences {
		if f.Target.Instance == instance && f.Target.Incarnation == incarnation {
			return &b.Fences[i]
		}
	}
	return nil
}

func (b *book) installed(l line) installed {
	i := installed{Subject: l.subject(), boxID: l.BoxID, identity: l.Identity, started: l.Started, phase: l.Phase}
	if l.Refused != nil {
		i.refusal = l.Refused.Reason
	}
	if len(l.Identity) > 0 {
		if who, err := decodeIdentity(l.Identity); err == nil {
			i.isolation, i.folder = who.Shim.Isolation, who.Folder
		}
	} else {
		i.identity = nil
	}
	if f := b.fenceOf(l.Instance, l.Incarnation); f != nil {
		i.fenced, i.receipted = true, f.Receipt != nil
	}
	return i
}

func (b *book) all() []installed {
	var list []installed
	for _, l := range b.Acts {
		if l.Installed {
			list = append(list, b.installed(l))
		}
	}
	slices.SortFunc(list, func(x, y installed) int {
		if c := strings.Compare(x.Instance, y.Instance); c != 0 {
			return c
		}
		return int(x.Incarnation) - int(y.Incarnation)
	})
	return list
}

// open are the incarnations that were let through, or may be, and are not proved to have ended.
func (b *book) open() ([]installed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(b.all(), func(i installed) bool { return i.receipted || i.identity == nil && i.phase == intent.Refused }), nil
}

// newest is the newest incarnation of each instance.
func (b *book) newest() ([]installed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []installed
	for _, i := range b.all() {
		if n := len(list); n > 0 && list[n-1].Instance == i.Instance {
			list[n-1] = i
		} else {
			list = append(list, i)
		}
	}
	return list, nil
}

func (b *book) here(instance string) ([]intent.Installation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []intent.Installation
	seen := map[uint64]bool{}
	for _, i := range b.all() {
		if i.Instance == instance {
			list = append(list, intent.Installation{Subject: i.Subject, Fenced: i.fenced, Receipted: i.receipted, Identified: i.identity != nil})
			seen[i.Incarnation] = true
		}
	}
	for _, f := range b.Fences {
		t := f.Target
		if t.Instance == instance && !seen[t.Incarnation] {
			list = append(list, intent.Installation{
				Subject: intent.Subject{Instance: instance, Incarnation: t.Incarnation, Session: t.Session, Stamp: t.Binding},
				Fenced:  true, Receipted: f.Receipt != nil,
			})
		}
	}
	return list, nil
}

func (b *book) at(instance string, incarnation uint64) (*fence, *installed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var f *fence
	if l := b.fenceOf(instance, incarnation); l != nil {
		f = &fence{l.Target, l.Receipt, l.Ref}
	}
	for _, i := range b.all() {
		if i.Instance == instance && i.Incarnation == incarnation {
			return f, &i, nil
		}
	}
	return f, nil, nil
}

func (b *book) receipts() ([]Evidence, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []Evidence{}
	for _, f := range b.Fences {
		if f.Receipt == nil {
			continue
		}
		e := Evidence{Ref: f.Ref, Instance: f.Target.Instance, Incarnation: f.Target.Incarnation, Operation: f.Target.Operation}
		for _, l := range b.Acts {
			e.Handed = e.Handed || l.Operation == f.Target.Operation && l.Phase == intent.Handed
		}
		list = append(list, e)
	}
	return list, nil
}

func (b *book) commit(_ context.Context, e entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := state{b.Generation, slices.Clone(b.Acts), slices.Clone(b.Fences)}
	at := slices.IndexFunc(next.Acts, func(l line) bool { return l.Operation == e.Operation })
	if at < 0 {
		next.Acts = append(next.Acts, line{})
		at = len(next.Acts) - 1
	}
	l := next.Acts[at]
	l.record = e.record
	switch e.Phase {
	case intent.Installed:
		l.Installed, l.Identity = true, nil
	case intent.Spawned:
		l.Identity, l.Started = e.identity, b.now()
	case intent.Ordered, intent.Intended, intent.Running, intent.Fenced, intent.Proved, intent.Handed, intent.Refused:
	}
	next.Acts[at] = l
	if e.target != nil {
		next.Fences = append(next.Fences, fenceLine{Target: *e.target})
	}
	if e.receipt != nil {
		for i, f := range next.Fences {
			if f.Target.Instance == e.Instance && f.Target.Incarnation == e.Incarnation {
				next.Fences[i].Receipt, next.Fences[i].Ref = e.receipt, *e.Receipt
			}
		}
	}
	if e.raise {
		next.Generation++
	}
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := b.dir.WriteFile("journal.json", data, 0o600); err != nil {
		if errors.Is(err, unix.ENOSPC) {
			return errFull
		}
		return err
	}
	b.state = next
	return nil
}

func (b *book) giveUpReserve() error { return b.dir.Remove("reserve") }
func (b *book) reserved() bool       { _, err := os.Stat("reserve"); return err == nil }

func encodeIdentity(i identified) ([]byte, error) { return canon.Encode(i) }

func decodeIdentity(data []byte) (i identified, err error) { return i, canon.Decode(data, &i) }
