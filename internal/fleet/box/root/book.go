package root

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/box/journal"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/problem"
)

// book is the journal as acts are written in it and read from it: an act is an intent, whose
// payload is its record.
type book struct {
	journal    *journal.Journal
	enrollment string
	now        func() time.Time

	mu     sync.Mutex
	cached []installed // all there is; nil after a commit
}

// installed is an incarnation in the inventory.
type installed struct {
	intent.Subject
	boxID     string
	identity  *identified // of the shim that was let through, or is at its gate
	phase     intent.Phase
	refusal   string
	fenced    bool
	receipted bool
	local     bool // its stop was begun on the box itself
}

// identified is a shim's identity as the journal has it: where its folder is, who it is,
// and when it was written down.
type identified struct {
	Folder string        `json:"folder"`
	Shim   shim.Identity `json:"shim"`
	At     time.Time     `json:"at"`
}

// fence is a fence, and what is proved of it.
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

func openBook(dir *durable.Dir, enrollment string, now func() time.Time) (*book, error) {
	j, err := journal.Open(dir)
	if err != nil {
		return nil, err
	}
	return &book{journal: j, enrollment: enrollment, now: now}, nil
}

func (b *book) close() { b.journal.Close() }

func (b *book) generation() (uint64, error) { return b.journal.Generation() }

// record is what the journal has of an operation, nil for nothing.
func (b *book) record(operation string) (r *record, err error) {
	return r, b.journal.View(func(tx *journal.Tx) error {
		i, ok, err := tx.Intent(operation)
		if err == nil && ok {
			r, err = decodeRecord(i)
		}
		return err
	})
}

func decodeRecord(i journal.Intent) (*record, error) {
	var r record
	if err := canon.Decode(i.Payload, &r); err != nil {
		return nil, problem.New(problem.Failed, "journal-damaged", "What the journal says of the operation %s cannot be read. Nothing was changed.", i.Operation).Because(err)
	}
	return &r, nil
}

// pending are the acts that are not settled, in the order in which they were begun.
func (b *book) pending() (list []record, err error) {
	return list, b.journal.View(func(tx *journal.Tx) error {
		left, err := tx.Pending()
		for _, i := range left {
			r, err := decodeRecord(i)
			if err != nil {
				return err
			}
			list = append(list, *r)
		}
		return err
	})
}

// inventory is all that is or was installed, by instance and incarnation.
func (b *book) inventory() ([]installed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cached != nil {
		return b.cached, nil
	}
	list := []installed{}
	err := b.journal.View(func(tx *journal.Tx) error {
		all, err := tx.Inventory()
		for _, n := range all {
			i, err := read(tx, n)
			if err != nil {
				return err
			}
			list = append(list, i)
		}
		return err
	})
	if err == nil {
		b.cached = list
	}
	return list, err
}

// read is an installation with what the journal has beside it.
func read(tx *journal.Tx, n journal.Installation) (installed, error) {
	i := installed{Subject: intent.Subject{
		Operation: n.Operation, Instance: n.Instance, Incarnation: n.Incarnation, Session: n.Session, Stamp: n.Stamp,
	}}
	if n.Identity != nil {
		who, err := decodeIdentity(n.Identity)
		if err != nil {
			return i, err
		}
		i.identity = &who
	}
	by, ok, err := tx.Intent(n.Operation)
	if err == nil && ok {
		var r *record
		if r, err = decodeRecord(by); err == nil {
			i.boxID, i.phase = r.BoxID, r.Phase
			if r.Refused != nil {
				i.refusal = r.Refused.Reason
			}
		}
	}
	if err != nil {
		return i, err
	}
	f, fenced, err := tx.Fence(n.Instance, n.Incarnation)
	i.fenced, i.receipted = fenced, fenced && f.Receipt != nil
	i.local = fenced && document.OfBox(f.Target.Operation)
	return i, err
}

// open are the incarnations of which a process may be alive, or may still be started. What was
// refused is none: its shim was not let through, or said that it could not start the work.
func (b *book) open() ([]installed, error) {
	all, err := b.inventory()
	return slices.DeleteFunc(slices.Clone(all), func(i installed) bool {
		return i.receipted || i.phase == intent.Refused && !i.fenced
	}), err
}

// newest is the newest incarnation of each instance.
func (b *book) newest() ([]installed, error) {
	all, err := b.inventory()
	var list []installed
	for _, i := range all {
		if n := len(list); n > 0 && list[n-1].Instance == i.Instance {
			list[n-1] = i
		} else {
			list = append(list, i)
		}
	}
	return list, err
}

// here is what of an instance is on this box, as acts are judged by it.
func (b *book) here(instance string) ([]intent.Installation, error) {
	all, err := b.inventory()
	if err != nil {
		return nil, err
	}
	var list []intent.Installation
	seen := map[uint64]bool{}
	for _, i := range all {
		if i.Instance == instance {
			list = append(list, intent.Installation{Subject: i.Subject, Fenced: i.fenced, Receipted: i.receipted, Identified: i.identity != nil})
			seen[i.Incarnation] = true
		}
	}
	// What was stopped before it was ever installed.
	return list, b.journal.View(func(tx *journal.Tx) error {
		fences, err := tx.Fences()
		for _, f := range fences {
			t := f.Target
			if t.Instance == instance && !seen[t.Incarnation] {
				list = append(list, intent.Installation{
					Subject: intent.Subject{Instance: instance, Incarnation: t.Incarnation, Session: t.Session, Stamp: t.Binding},
					Fenced:  true, Receipted: f.Receipt != nil,
				})
			}
		}
		return err
	})
}

// at is the fence of an incarnation and what is installed of it, each nil for nothing.
func (b *book) at(instance string, incarnation uint64) (f *fence, i *installed, err error) {
	return f, i, b.journal.View(func(tx *journal.Tx) error {
		n, ok, err := tx.Installation(instance, incarnation)
		if err == nil && ok {
			var one installed
			one, err = read(tx, n)
			i = &one
		}
		if err != nil {
			return err
		}
		is, ok, err := tx.Fence(instance, incarnation)
		if err != nil || !ok {
			return err
		}
		f = &fence{target: is.Target, receipt: is.Receipt}
		f.ref, err = refOf(tx, is.Target)
		return err
	})
}

// refOf is where the receipt of a fence is: what its stop says, since another receipt of the
// same fence may have been in the store before.
func refOf(tx *journal.Tx, t receipt.Target) (receipt.Ref, error) {
	i, ok, err := tx.Intent(t.Operation)
	if err != nil || !ok {
		return receipt.Ref{}, err
	}
	r, err := decodeRecord(i)
	if err != nil || r.Receipt == nil {
		return receipt.Ref{}, err
	}
	return *r.Receipt, nil
}

// receipts are those in the journal, by instance and incarnation.
func (b *book) receipts() ([]Evidence, error) {
	list := []Evidence{}
	return list, b.journal.View(func(tx *journal.Tx) error {
		fences, err := tx.Fences()
		for _, f := range fences {
			if f.Receipt == nil {
				continue
			}
			ref, err := refOf(tx, f.Target)
			if err != nil {
				return err
			}
			list = append(list, Evidence{Ref: ref, Instance: f.Target.Instance, Incarnation: f.Target.Incarnation, Operation: f.Target.Operation, Handed: f.Uploaded})
		}
		return err
	})
}

// commit writes an entry, all of it or nothing.
func (b *book) commit(ctx context.Context, e entry) error {
	payload, err := canon.Encode(e.record)
	if err != nil {
		return err
	}
	err = b.journal.Commit(ctx, func(tx *journal.Tx) error {
		i := journal.Intent{
			Operation: e.Operation, Kind: string(e.Kind), Instance: e.Instance, Incarnation: e.Incarnation,
			Phase: string(e.Phase), Payload: payload, OpenedAt: b.now().UTC().Truncate(time.Millisecond), Settled: e.Phase.Settled(),
		}
		if was, ok, err := tx.Intent(e.Operation); err != nil {
			return err
		} else if ok {
			i.OpenedAt = was.OpenedAt
		}
		if i.Settled {
			i.Outcome = e.outcome()
		}
		err := errors.Join(tx.PutIntent(i), b.beside(tx, e))
		if err == nil && e.raise {
			_, err = tx.Raise()
		}
		return err
	})
	b.mu.Lock()
	b.cached = nil
	b.mu.Unlock()
	return err
}

// raise raises the generation, and nothing else.
func (b *book) raise(ctx context.Context) error {
	return b.journal.Commit(ctx, func(tx *journal.Tx) error {
		_, err := tx.Raise()
		return err
	})
}

// beside writes what a phase has beside its intent.
func (b *book) beside(tx *journal.Tx, e entry) error {
	switch e.Phase {
	case intent.Installed, intent.Spawned:
		return tx.PutInstallation(journal.Installation{
			Instance: e.Instance, Incarnation: e.Incarnation, Enrollment: b.enrollment, Session: e.Session, Stamp: e.Stamp,
			Operation: e.Operation, Work: *e.Work, State: string(e.Phase), Launch: e.Launch, Identity: e.identity,
		})
	case intent.Fenced:
		return tx.PutFence(journal.Fence{Target: *e.target})
	case intent.Proved, intent.Handed:
		f, ok, err := tx.Fence(e.Instance, e.Incarnation)
		if err != nil || !ok {
			return errors.Join(err, problem.New(problem.Failed, problem.StepInternal, "A receipt without its fence."))
		}
		if f.Receipt == nil {
			f.Receipt = e.receipt
		}
		f.Uploaded = e.Phase == intent.Handed
		return tx.PutFence(f)
	case intent.Refused:
		// Nothing of it is alive: what would say who it was is taken away.
		n, ok, err := tx.Installation(e.Instance, e.Incarnation)
		if err != nil || !ok || n.Operation != e.Operation {
			return err
		}
		n.State, n.Identity = string(e.Phase), nil
		return tx.PutInstallation(n)
	case intent.Ordered, intent.Intended, intent.Running:
	}
	return nil
}

// outcome is what came of a settled act, in words.
func (e entry) outcome() string {
	if e.Refused != nil {
		return "refused: " + e.Refused.Reason
	}
	return string(e.Phase)
}

func encodeIdentity(i identified) ([]byte, error) { return canon.Encode(i) }

func decodeIdentity(data []byte) (i identified, err error) {
	if err := canon.Decode(data, &i); err != nil {
		return i, problem.New(problem.Failed, "journal-damaged", "An identity in the journal cannot be read. The process was not touched.").Because(err)
	}
	return i, nil
}
