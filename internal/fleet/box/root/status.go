package root

import (
	"context"
	"os"
	"time"

	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/receipt"
)

// Status is what a root says of itself, for display: nothing is decided by it.
type Status struct {
	// Changes is how often what is said here has changed since this root started.
	Changes    uint64     `json:"changes"`
	PID        int        `json:"pid"`
	Version    string     `json:"version"`
	Enrollment string     `json:"enrollment"`
	Mode       Mode       `json:"mode"`
	Why        string     `json:"why"`
	Session    string     `json:"session"` // "" before it has one
	Proof      string     `json:"proof"`
	ProofWhy   string     `json:"proof_why"`
	Isolation  string     `json:"isolation"`
	Reserve    bool       `json:"reserve"` // whether the room for stops on a full disk is kept
	Instances  []Instance `json:"instances"`
	Intents    []Intent   `json:"intents"`
}

// Instance is the newest incarnation of an instance on this box.
type Instance struct {
	Instance    string    `json:"instance"`
	Incarnation uint64    `json:"incarnation"`
	Session     uint64    `json:"session"`
	Binding     string    `json:"binding"`
	State       string    `json:"state"` // installed, running, exited, stopping, stopped, refused
	Started     time.Time `json:"started,omitzero"`
	Exit        string    `json:"exit"` // of one that ended, in words
	Folder      string    `json:"folder"`
	Refusal     string    `json:"refusal"`
}

// Intent is an act that is not settled.
type Intent struct {
	Operation   string       `json:"operation"`
	Kind        intent.Kind  `json:"kind"`
	Instance    string       `json:"instance"`
	Incarnation uint64       `json:"incarnation"`
	Binding     string       `json:"binding"`
	Phase       intent.Phase `json:"phase"`
	Waits       string       `json:"waits"` // why nothing can be done now
}

// Evidence is a receipt in the journal.
type Evidence struct {
	receipt.Ref
	Instance    string `json:"instance"`
	Incarnation uint64 `json:"incarnation"`
	Operation   string `json:"operation"`
	Handed      bool   `json:"handed"` // to the store
}

// Status looks at what there is now.
func (r *Root) Status() (Status, error) {
	s := r.standing()
	out := Status{
		Changes: r.countOfChanges(),
		PID:     pid(), Version: r.Version, Enrollment: r.Enrollment, Mode: s.mode, Why: s.why, Session: s.id,
		Proof: r.ability.proof, ProofWhy: r.ability.why, Isolation: r.ability.isolation, Reserve: r.book.journal.Reserve(),
		Instances: []Instance{}, Intents: []Intent{},
	}
	all, err := r.book.newest()
	if err != nil {
		return out, err
	}
	for _, i := range all {
		out.Instances = append(out.Instances, r.instance(i))
	}
	left, err := r.book.pending()
	if err != nil {
		return out, err
	}
	for _, is := range left {
		out.Intents = append(out.Intents, Intent{is.Operation, is.Kind, is.Instance, is.Incarnation, is.Stamp.String(), is.Phase, r.waitsFor(is.Instance)})
	}
	for _, i := range r.ordered() {
		was, err := r.book.record(i.Operation)
		if err != nil {
			return out, err
		}
		if was == nil {
			out.Intents = append(out.Intents, i)
		}
	}
	return out, nil
}

// Await returns once there were other than since changes, or ctx ends.
func (r *Root) Await(ctx context.Context, since uint64) {
	r.mu.Lock()
	changed, count := r.changed, r.count
	r.mu.Unlock()
	if count != since {
		return
	}
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

func (r *Root) countOfChanges() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// instance is one as Status shows it.
func (r *Root) instance(i installed) Instance {
	out := Instance{
		Instance: i.Instance, Incarnation: i.Incarnation, Session: i.Session, Binding: i.Stamp.String(),
		State: "installed",
	}
	if i.identity != nil {
		out.Started, out.Folder = i.identity.At, i.identity.Folder
	}
	exit, ended := r.ended(i)
	switch {
	case i.receipted:
		out.State = "stopped"
	case i.fenced:
		out.State = "stopping"
	case i.refusal != "":
		out.State, out.Refusal = "refused", i.refusal
	case ended:
		out.State = "exited"
	case i.identity != nil && i.phase == intent.Running:
		out.State = "running"
	}
	if ended || i.receipted {
		out.Exit = exit
	}
	return out
}

// Receipts are those in the journal, by instance and incarnation.
func (r *Root) Receipts() ([]Evidence, error) { return r.book.receipts() }

func pid() int { return os.Getpid() }
