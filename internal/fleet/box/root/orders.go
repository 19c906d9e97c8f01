package root

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"syscall"
	"time"

	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
)

// Take takes an order: the bytes of its envelope, and what the agent that hands it on was
// bound to when it started. It is verified against the roster as it is now. No error means
// that the order is believed, and answered in the store; a refusal that nothing came of it.
func (r *Root) Take(ctx context.Context, data []byte, installer roster.Stamp) (operation string, err error) {
	v, err := r.readRoster(ctx)
	if err != nil {
		// Whatever is wrong with the roster is no answer to this order.
		return "", problem.New(problem.Failed, "roster-unread", "The roster cannot be read: %s. Nothing was started or stopped.", problem.Words(err)).Because(err)
	}
	o, err := order.Read(data, v.Roster)
	if err != nil {
		return "", err
	}
	if err := r.mine(o, v.Roster); err != nil {
		return "", err
	}
	is := record{
		Kind: intent.KindLaunch, Operation: o.Operation, BoxID: o.BoxID, Instance: o.Instance, Incarnation: o.Incarnation,
		Session: o.Session, Stamp: o.Binding, Installer: installer, Work: o.Work, GraceNS: o.GraceNS, Launch: 1,
	}
	if o.Kind == order.Stop {
		is.Kind, is.Installer, is.Launch = intent.KindStop, roster.Stamp{}, 0
	}
	t, err := r.known(is)
	if err != nil {
		return "", err
	}
	return o.Operation, r.add(r.life, t)
}

// readRoster reads the roster. What was verified of it has to be remembered on this disk: on
// a full one the room for stops is given up for that, since no order could be believed else.
func (r *Root) readRoster(ctx context.Context) (*rosterstore.Version, error) {
	v, err := r.Roster.Read(ctx)
	if errors.Is(err, syscall.ENOSPC) && r.giveUpReserve() {
		return r.Roster.Read(ctx)
	}
	return v, err
}

// mine refuses an order that is not for this box, as it is now.
func (r *Root) mine(o order.Order, v *roster.Roster) error {
	s := r.standing()
	row, enrolled := v.Boxes[r.Enrollment]
	switch {
	case o.Bucket != r.Bucket || o.Enrollment != r.Enrollment || !enrolled || o.BoxID != row.BoxID:
		return problem.Refusal("order-foreign", "The order %s is for another box. Nothing was started or stopped.", o.Operation)
	case s.id == "":
		return problem.New(problem.Failed, "box-"+string(s.mode), "This box takes no orders: %s. Nothing was started or stopped.", s.why)
	case o.BoxSession != s.id:
		return problem.Refusal("order-session", "The order %s is for another session of this box. Nothing was started or stopped.", o.Operation)
	case document.OfBox(o.Operation):
		return problem.Refusal("order-key", "The key %s is one that only this box itself makes. Nothing was started or stopped.", o.Operation)
	}
	return nil
}

// known is the task of an order: what the journal has of its operation, or a new act.
func (r *Root) known(is record) (*task, error) {
	was, err := r.book.record(is.Operation)
	switch {
	case err != nil:
		return nil, err
	case was != nil && !was.same(is):
		return nil, problem.Refusal("operation-conflict", "The operation %s was another order. Nothing was started or stopped.", is.Operation)
	case was != nil:
		return newTask(*was, intent.Resume(was.row())), nil
	case is.Kind == intent.KindStop:
		return newTask(is, intent.NewStop(is.subject())), nil
	}
	return newTask(is, intent.NewLaunch(is.subject())), nil
}

// resume goes on with what an earlier root left.
func (r *Root) resume(ctx context.Context) error {
	left, err := r.book.pending()
	if err != nil {
		return err
	}
	for _, is := range left {
		r.Log.Info("goes on", "operation", is.Operation, "instance", is.Instance, "phase", is.Phase)
		if err := r.add(ctx, newTask(is, intent.Resume(is.row()))); err != nil {
			return err
		}
	}
	return r.attach()
}

// Stopped is what came of stopping an instance here.
type Stopped struct {
	Instance    string `json:"instance"`
	Incarnation uint64 `json:"incarnation"`
	// Receipt is the key of the receipt, and Why why there is none yet.
	Receipt string `json:"receipt,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Down stops all that is installed here and not proved to have ended, as the box's own
// operations, and waits for the receipts until ctx ends. The store is not asked: receipts
// that cannot be handed to it now are later.
func (r *Root) Down(ctx context.Context, grace time.Duration) ([]Stopped, error) {
	open, err := r.book.open()
	if err != nil {
		return nil, err
	}
	for _, i := range open {
		if i.fenced {
			continue // its stop is under way
		}
		is := record{
			Kind: intent.KindStop, Operation: document.BoxPrefix + randomID()[:16], BoxID: i.boxID, Instance: i.Instance, Incarnation: i.Incarnation,
			Session: i.Session, Stamp: i.Stamp, GraceNS: int64(grace), Local: true,
		}
		if err := r.add(r.life, newTask(is, intent.NewStop(is.subject()))); err != nil {
			return nil, err
		}
	}
	for {
		changed := r.changes()
		list, left, err := r.down(open)
		if err != nil || !left {
			return list, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return list, nil
		}
	}
}

// down is how far the stops of what was open are.
func (r *Root) down(open []installed) (list []Stopped, left bool, err error) {
	list = []Stopped{}
	for _, i := range open {
		f, _, err := r.book.at(i.Instance, i.Incarnation)
		if err != nil {
			return nil, false, err
		}
		s := Stopped{Instance: i.Instance, Incarnation: i.Incarnation}
		if f != nil && f.receipt != nil {
			s.Receipt, s.SHA256 = f.ref.Key, f.ref.SHA256
		} else {
			s.Why, left = r.waitsFor(i.Instance), true
		}
		list = append(list, s)
	}
	return list, left, nil
}

// waitsFor is why the first act of an instance does nothing now, "" if it goes on.
func (r *Root) waitsFor(instance string) string {
	r.mu.Lock()
	l := r.lanes[instance]
	r.mu.Unlock()
	if l == nil {
		return ""
	}
	t := l.first()
	if t == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.pause
}

func (r *Root) changes() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
