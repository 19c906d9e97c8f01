package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

// Refusal is something in the log that could not be read. It refuses its node;
// where that could not be told either, the log as a whole.
type Refusal struct {
	Place  string // where in the log: a file, or a file and a line
	Node   event.Node
	Step   string
	Reason string
}

// Segment is a sealed file of the log.
type Segment struct {
	Number int // from 1
	Object string
}

// Update is what was read of the log beyond a position.
type Update struct {
	From     string // the commit that the index must stand at
	To       Position
	Events   []event.Envelope // new ones, in the order of the log
	Segments []Segment        // new ones
	// Refusals is what could not be read. Those of segments are new ones; all
	// others stand in the place of what was said before, where Reread says so.
	Refusals []Refusal
	Reread   bool
}

// ErrMoved: the index does not stand where the update begins. Somebody else
// brought it further.
var ErrMoved = errors.New("the index has moved meanwhile")

// Apply makes an update, whole or not at all.
func (x *Index) Apply(ctx context.Context, u Update) error {
	return x.write(ctx, func(tx *sql.Tx) error {
		at, err := position(tx)
		if err != nil {
			return err
		}
		if at.Commit != u.From {
			return ErrMoved
		}
		for _, step := range []func(*sql.Tx, Update) error{insertEvents, extendNodes, insertRest} {
			if err := step(tx, u); err != nil {
				return err
			}
		}
		return nil
	})
}

func insertEvents(tx *sql.Tx, u Update) error {
	insert, err := tx.Prepare(`INSERT INTO event (seq, key, node, bytes) VALUES (?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, e := range u.Events {
		if _, err := insert.Exec(e.Seq, string(e.Key), string(e.Event.Node()), e.Event.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// extendNodes folds the new events into the states of their nodes.
func extendNodes(tx *sql.Tx, u Update) error {
	fresh := map[event.Node][]event.Event{}
	order := []event.Node{}
	for _, e := range u.Events {
		n := e.Event.Node()
		if fresh[n] == nil {
			order = append(order, n)
		}
		fresh[n] = append(fresh[n], e.Event)
	}
	put, err := tx.Prepare(`INSERT INTO node (node, state) VALUES (?, ?) ON CONFLICT (node) DO UPDATE SET state = excluded.state`)
	if err != nil {
		return err
	}
	defer put.Close()
	prior, err := tx.Prepare(stateQuery)
	if err != nil {
		return err
	}
	defer prior.Close()
	for _, n := range order {
		state, err := extend(tx, prior, n, fresh[n])
		if err != nil {
			return err
		}
		data, err := state.Encode()
		if err != nil {
			return err
		}
		if _, err := put.Exec(string(n), data); err != nil {
			return err
		}
	}
	return nil
}

// extend is the state of a node after its new events, which are stored already.
func extend(tx *sql.Tx, prior *sql.Stmt, n event.Node, fresh []event.Event) (history.State, error) {
	state, err := stateIn(prior.QueryRow(string(n)))
	if errors.Is(err, sql.ErrNoRows) {
		return history.StateOf(n, fresh), nil
	}
	if err != nil {
		return history.State{}, err
	}
	for _, e := range fresh {
		next, ok := state.Extend(e)
		if !ok {
			all, err := events(tx, n, "")
			return history.StateOf(n, all), err
		}
		state = next
	}
	return state, nil
}

func insertRest(tx *sql.Tx, u Update) error {
	said := map[Refusal]bool{}
	if u.Reread {
		if _, err := tx.Exec(`DELETE FROM refusal WHERE place NOT LIKE 'segments/%'`); err != nil {
			return err
		}
		left, err := refusals(tx)
		if err != nil {
			return err
		}
		for _, r := range left { // an odd file among the segments is seen at each reading
			said[r] = true
		}
	}
	for _, r := range u.Refusals {
		if said[r] {
			continue
		}
		if _, err := tx.Exec(`INSERT INTO refusal (place, node, step, reason) VALUES (?, ?, ?, ?)`, r.Place, string(r.Node), r.Step, r.Reason); err != nil {
			return err
		}
	}
	for _, s := range u.Segments {
		if _, err := tx.Exec(`INSERT INTO segment (number, object) VALUES (?, ?)`, s.Number, s.Object); err != nil {
			return err
		}
	}
	p := u.To
	_, err := tx.Exec(`INSERT OR REPLACE INTO position (one, commit_id, committed, read, seq, sealed, sealed_seq) VALUES (1, ?, ?, ?, ?, ?, ?)`,
		p.Commit, stamp(p.Committed), stamp(p.Read), p.Seq, p.Sealed, p.SealedSeq)
	return err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func unstamp(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, &Damaged{Reason: fmt.Sprintf("it has %q for a time", s)}
	}
	return t, nil
}
