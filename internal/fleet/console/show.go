package console

import (
	"context"
	"errors"
	"time"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
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
	return o.looksFor(v.Roster).shown(ctx, c)
}

// shown is all that is known of the instance whose claim is c.
func (l *looks) shown(ctx context.Context, c claim.Claim) (Shown, error) {
	i, err := l.at(ctx, c)
	if err != nil {
		return Shown{}, err
	}
	shown := Shown{
		Instance: i, Claim: string(c.State), Operation: c.Operation, Console: c.Console, Enrollment: c.Enrollment,
		Session: c.Session, Receipts: c.Receipts,
	}
	life, err := l.life(ctx, c.Enrollment)
	shown.BoxSession = life.Session
	return shown, err
}

func sessionOf(now order.Session) *BoxSession {
	return &BoxSession{now.ID, now.Version, now.Generation, now.Proof, now.ProofWhy, now.Isolation, now.StartedAt}
}
