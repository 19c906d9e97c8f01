package fleet

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// Joined is where a machine stands that asked to come in.
type Joined struct {
	BoxID      string `json:"box_id"`
	Enrollment string `json:"enrollment"`
	// State is asked (no console has answered), or that of the box's row.
	State    string `json:"state"`
	Revision uint64 `json:"revision,omitempty"`
	Binding  string `json:"binding,omitempty"`
}

// Asked is the State of a machine that no console has answered yet.
const Asked = "asked"

// Join asks to come in by an invitation, with a document of a cloud if that is asked
// for, and says where that stands. Asking again is safe: the same machine asks the
// same, and is let in once. A machine that belongs to a fleet already is refused.
func Join(ctx context.Context, h Home, text string, d *enrollment.Document) (Joined, error) {
	t, err := enrollment.ParseToken(text)
	if err != nil {
		return Joined{}, err
	}
	folder, err := makeFolder(h.Box)
	if err != nil {
		return Joined{}, err
	}
	defer folder.Close()
	if err := other(h, t); err != nil {
		return Joined{}, err
	}
	evidence, err := sign.ReadOrCreateKey(folder, evidenceKey)
	if err != nil {
		return Joined{}, err
	}
	id := enrollment.ID(t.Key.Public())
	p := place{Schema: placeSchema, Store: h.athome(t.Store), Bucket: t.Bucket, Root: t.Root, Invitation: id, Enrollment: roster.EnrollmentOf(id, evidence.Public().ID())}
	// Looked at first: a word that is good for nothing does not bind the machine.
	if err := p.look(ctx, h, func(one *party, v *rosterstore.Version) error {
		if _, in := v.Boxes[p.Enrollment]; in {
			return nil
		}
		_, err := one.invitation(ctx, v)
		return err
	}); err != nil {
		return Joined{}, err
	}
	if err := p.create(folder); err != nil {
		return Joined{}, err
	}
	b, err := openBox(h)
	if err != nil {
		return Joined{}, err
	}
	defer b.Close()
	if err := b.ask(ctx, t.Key, evidence, d); err != nil {
		return Joined{}, err
	}
	return b.status(ctx)
}

// other refuses a machine that came in by another invitation.
func other(h Home, t enrollment.Token) error {
	p, err := h.openParty(h.Box)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.Close()
	if p.place.Invitation == enrollment.ID(t.Key.Public()) {
		return nil
	}
	return problem.Refusal("box-joined", "This machine asked to come into a fleet by another invitation. Nothing was changed.").
		WithHint("holdfast box status says where that stands; to begin anew, move %q away", h.Box)
}

// Status says where this machine stands. One that never asked is [ErrNoBox].
func Status(ctx context.Context, h Home) (Joined, error) {
	b, err := openBox(h)
	if err != nil {
		return Joined{}, err
	}
	defer b.Close()
	return b.status(ctx)
}

// ErrNoBox: the home is no box of a fleet.
var ErrNoBox error = problem.New(problem.Gone, "box-absent", "This machine is no box of a fleet. Nothing was changed.").
	WithHint("ask for an invitation, and say: holdfast box join INVITATION")

// box is this machine as a box.
type box struct{ party }

func openBox(h Home) (*box, error) {
	p, err := h.openParty(h.Box)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoBox
	}
	if err != nil {
		return nil, err
	}
	return &box{*p}, nil
}

// invitation is the one that a machine came by.
func (p *party) invitation(ctx context.Context, v *rosterstore.Version) (enrollment.Invitation, error) {
	key, err := enrollment.Key(p.place.Invitation)
	if err != nil {
		return enrollment.Invitation{}, err
	}
	data, err := bucket.Read(ctx, p.bucket, key)
	if errors.Is(err, fs.ErrNotExist) {
		err = problem.Refusal("invitation-unknown", "There is no such invitation in the store. Nothing was changed.")
	}
	if err != nil {
		return enrollment.Invitation{}, err
	}
	return enrollment.ReadInvitation(data, v.Roster)
}

// ask writes the box's identity, if it is not there.
func (b *box) ask(ctx context.Context, invitation, evidence sign.Key, d *enrollment.Document) error {
	v, err := b.roster.Read(ctx)
	if err != nil {
		return err
	}
	if _, in := v.Boxes[b.place.Enrollment]; in {
		return nil
	}
	i, err := b.invitation(ctx, v)
	if err != nil {
		return err
	}
	_, request, err := enrollment.NewRequest(i, invitation, evidence, d)
	if err != nil {
		return err
	}
	at, err := enrollment.IdentityKey(b.place.Enrollment)
	if err != nil {
		return err
	}
	if err := create(ctx, b.bucket, at, request); err != nil && !b.asked(ctx, at, i) {
		return err
	}
	return nil
}

// asked reports whether this machine's request is there already. It may have another
// document in it: clouds make a new one each time.
func (b *box) asked(ctx context.Context, at bucket.Key, i enrollment.Invitation) bool {
	data, err := bucket.Read(ctx, b.bucket, at)
	if err != nil {
		return false
	}
	was, err := enrollment.ReadRequest(data, b.place.Enrollment)
	return err == nil && was.Prove(i) == nil
}

// status is where the box stands, or the refusal that it was given.
func (b *box) status(ctx context.Context) (Joined, error) {
	v, err := b.roster.Read(ctx)
	if err != nil {
		return Joined{}, err
	}
	j := Joined{Enrollment: b.place.Enrollment, State: Asked, Revision: v.Revision}
	if a, in := v.Actor(b.place.Enrollment); in {
		j.BoxID, j.State, j.Binding = a.BoxID, a.State.String(), a.Binding.String()
		return j, nil
	}
	if err := b.refusal(ctx, v); err != nil {
		return Joined{}, err
	}
	key, err := enrollment.IdentityKey(b.place.Enrollment)
	if err != nil {
		return Joined{}, err
	}
	data, err := bucket.Read(ctx, b.bucket, key)
	if errors.Is(err, fs.ErrNotExist) {
		return Joined{}, problem.Refusal("not-asked", "This machine has an invitation, and did not come to asking.").WithHint("say holdfast box join INVITATION again")
	}
	if err != nil {
		return Joined{}, err
	}
	asked, err := enrollment.ReadRequest(data, b.place.Enrollment)
	j.BoxID = asked.Box
	return j, err
}

// refusal is the answer to the box's request, if that was a refusal.
func (b *box) refusal(ctx context.Context, v *rosterstore.Version) error {
	key, err := enrollment.RefusalKey(b.place.Invitation, b.place.Enrollment)
	if err != nil {
		return err
	}
	reading, err := b.bucket.Get(ctx, key)
	if err != nil {
		return err
	}
	if found, ok := reading.(bucket.Found); ok {
		return enrollment.ReadRefusal(found.Data, v.Roster, b.place.Enrollment)
	}
	return nil
}

// Await asks every so often where this machine stands, until a console has answered or
// ctx ends; then it is still [Asked].
func Await(ctx context.Context, h Home, every time.Duration) (Joined, error) {
	b, err := openBox(h)
	if err != nil {
		return Joined{}, err
	}
	defer b.Close()
	for {
		j, err := b.status(ctx)
		if err != nil || j.State != Asked {
			return j, err
		}
		select {
		case <-ctx.Done():
			return j, nil
		case <-time.After(every):
		}
	}
}
