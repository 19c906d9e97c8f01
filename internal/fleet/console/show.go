package console

import (
	"context"
	"errors"
	"time"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// Shown is all that is known of an instance.
type Shown struct {
	Instance
	Claim string `json:"claim"` // held or released
	// Operation made the claim what it is, by the console whose key signed it.
	Operation  string        `json:"operation"`
	Console    string        `json:"console"`
	Enrollment string        `json:"enrollment"`
	Session    uint64        `json:"session"`
	Receipts   []claim.Noted `json:"receipts"` // the newest last
	// BoxSession is the present life of the box's root, left out where it has none.
	BoxSession *BoxSession `json:"box_session,omitempty"`
}

// BoxSession is one life of a box's root, as it is shown.
type BoxSession struct {
	ID         string    `json:"id"`
	Version    string    `json:"version"`
	Generation uint64    `json:"generation"`
	Proof      string    `json:"proof"`
	ProofWhy   string    `json:"proof_why,omitempty"`
	Isolation  string    `json:"isolation"`
	StartedAt  time.Time `json:"started_at"`
}

// Show is all that is known of an instance.
func (o *Ops) Show(ctx context.Context, instance string) (Shown, error) {
	if err := roster.CheckName("instance", instance); err != nil {
		return Shown{}, err
	}
	v, err := o.Roster.Read(ctx)
	if err != nil {
		return Shown{}, err
	}
	c, err := o.claim(ctx, v.Roster, instance)
	if errors.Is(err, errAbsent) {
		return Shown{}, unknownInstance(instance)
	}
	if err != nil {
		return Shown{}, err
	}
	l := o.looksFor(v.Roster)
	i, err := l.at(ctx, c)
	if err != nil {
		return Shown{}, err
	}
	shown := Shown{
		Instance: i, Claim: string(c.State), Operation: c.Operation, Console: c.Console, Enrollment: c.Enrollment,
		Session: c.Session, Receipts: c.Receipts,
	}
	shown.BoxSession, err = l.lives(ctx, c.Enrollment)
	return shown, err
}

// lives is the present session of a box, nil where none can be read.
func (l *looks) lives(ctx context.Context, enrolled string) (*BoxSession, error) {
	s, err := l.box(ctx, enrolled)
	if err != nil || s.box.Enrollment() == "" {
		return nil, err
	}
	now, err := l.session(ctx, s.box)
	switch {
	case errors.Is(err, errAbsent) || err != nil && problem.KindOf(err) != problem.Failed:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &BoxSession{now.ID, now.Version, now.Generation, now.Proof, now.ProofWhy, now.Isolation, now.StartedAt}, nil
}
