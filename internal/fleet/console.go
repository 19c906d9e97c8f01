package fleet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// What a fleet begins with.
const (
	// RequestLimit is how long one call of the store may take.
	RequestLimit = 30 * time.Second
	firstConsole = "main"
	firstRegion  = "home"
)

// Console writes the roster of a fleet and reads it out. Open one with
// [OpenConsole] and close it after the last call. It is safe for concurrent use.
type Console struct {
	party
	key sign.Key
	now func() time.Time
}

// ErrNoFleet: the home is no console of a fleet.
var ErrNoFleet error = problem.New(problem.Gone, "fleet-absent", "This home is no console of a fleet. Nothing was changed.").
	WithHint("holdfast fleet init begins a fleet here")

// OpenConsole opens the console of a home. It creates nothing but the folder for
// what it verifies. A home that is none is [ErrNoFleet].
func OpenConsole(h Home) (*Console, error) {
	p, err := h.openParty(h.Console)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoFleet
	}
	if err != nil {
		return nil, err
	}
	key, err := sign.ReadKey(p.dir, consoleKey)
	if errors.Is(err, fs.ErrNotExist) {
		err = problem.Refusal("console-key", "The console's key %q in %q is gone. Nothing was changed.", consoleKey, p.dir.Name()).WithHint("put back a copy")
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return &Console{party: *p, key: key, now: time.Now}, nil
}

// Store is the address of the fleet's store.
func (c *Console) Store() string { return c.place.Store }

// Probe finds out whether the store honours the conditions of writes: see
// [bucket.Probe].
func (c *Console) Probe(ctx context.Context) error { return bucket.Probe(ctx, c.bucket) }

// Begun is what came of beginning a fleet.
type Begun struct {
	Store    string `json:"store"`
	Bucket   string `json:"bucket"`
	Root     string `json:"root"` // the public key
	Console  string `json:"console"`
	Region   string `json:"region"`
	Revision uint64 `json:"revision"`
}

// Init begins a fleet: at the address of a store, which is tried first, or in the home
// itself. It makes the keys and the first roster. What was begun and cut off is gone on
// with by asking again.
func Init(ctx context.Context, h Home, address string) (Begun, error) {
	if address == Embedded {
		if err := os.Mkdir(h.Bucket, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return Begun{}, problem.New(problem.Failed, "home", "The folder %q cannot be made: %s.", h.Bucket, problem.Words(err)).Because(err)
		}
	}
	store, done, err := h.openStore(address)
	if err != nil {
		return Begun{}, err
	}
	defer done()
	if err := bucket.Probe(ctx, store); err != nil {
		return Begun{}, err
	}
	d, err := makeFolder(h.Console)
	if err != nil {
		return Begun{}, err
	}
	defer d.Close()
	if err := vacant(ctx, store, d); err != nil {
		return Begun{}, err
	}
	if err := begin(d, address); err != nil {
		return Begun{}, err
	}
	// A crash from here on: the keys and fleet.json are there, and the roster is made
	// by asking again.
	c, err := OpenConsole(h)
	if err != nil {
		return Begun{}, err
	}
	defer c.Close()
	return c.begin(ctx)
}

// begin makes the keys and fleet.json, or finds them. A home that is a console of
// another fleet, or without the root key, is refused before anything is made.
func begin(d *durable.Dir, address string) error {
	switch was, err := readPlace(d); {
	case err == nil:
		return goesOn(d, was, address)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	root, err := sign.ReadOrCreateKey(d, rootKey)
	if err != nil {
		return err
	}
	if _, err := sign.ReadOrCreateKey(d, consoleKey); err != nil {
		return err
	}
	return place{Schema: placeSchema, Store: address, Bucket: randomName(), Root: root.Public(), Console: firstConsole}.create(d)
}

// goesOn says whether what a home was begun with is what is asked for now.
func goesOn(d *durable.Dir, was place, address string) error {
	present := problem.Refusal("fleet-present", "This home is a console of the fleet at %s. Nothing was changed.", was.Store)
	if was.Store != address {
		return present.WithHint("if no fleet came of that, move %q away and begin again", d.Name())
	}
	root, err := sign.ReadKey(d, rootKey)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && root.Public() != was.Root:
		return present.WithHint("its root key is elsewhere")
	case err != nil:
		return err
	}
	_, err = sign.ReadOrCreateKey(d, consoleKey)
	return err
}

// vacant refuses a store that has a roster, to a home that has no part in that fleet.
func vacant(ctx context.Context, b bucket.Store, d *durable.Dir) error {
	if _, err := readPlace(d); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := bucket.ParseKey(rosterstore.Key)
	if err != nil {
		return err
	}
	reading, err := b.Get(ctx, key)
	if _, found := reading.(bucket.Found); !found {
		return err
	}
	return problem.Refusal("fleet-present", "There is a roster in the store already: it is that of another home. Nothing was changed.").
		WithHint("to make this home a console of that fleet, say: holdfast fleet console key; to begin another, give it a store or a prefix of its own")
}

func randomName() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// begin writes the first roster.
func (c *Console) begin(ctx context.Context) (Begun, error) {
	root, err := sign.ReadKey(c.dir, rootKey)
	if err != nil {
		return Begun{}, err
	}
	grant, err := rosterstore.Grant(root, c.place.Bucket, c.place.Console, c.key.Public())
	if err != nil {
		return Begun{}, err
	}
	v, err := c.roster.Init(ctx, c.key, func() (*roster.Roster, error) {
		r, at := roster.New(c.place.Bucket, RequestLimit), c.now()
		return r, errors.Join(r.EnrollConsole(c.place.Console, c.key.Public().String(), grant, at),
			r.ConfigureRegion(firstRegion, "", RequestLimit, at), r.SetHome(firstRegion))
	})
	if err != nil {
		return Begun{}, err
	}
	return Begun{c.place.Store, c.place.Bucket, c.place.Root.String(), c.place.Console, firstRegion, v.Revision}, nil
}

// Written is what a change of the roster came to.
type Written struct {
	Revision uint64 `json:"revision"`
	// Changed is false where the roster said so already.
	Changed bool `json:"changed"`
	// Moved are the boxes whose binding the change moved: what was installed on them
	// before is refused from now on.
	Moved []Moved `json:"moved"`
}

// Moved is a binding that moved; From is empty for a box that is new.
type Moved struct {
	BoxID      string `json:"box_id"`
	Enrollment string `json:"enrollment"`
	From       string `json:"from,omitempty"`
	To         string `json:"to"`
}

// Consent says whether a change may strand what is installed.
type Consent bool

const (
	// Ask refuses a change that moves the binding of a box that is enrolled, and names
	// the boxes.
	Ask Consent = false
	// Granted was shown them, or does not want to be.
	Granted Consent = true
)

// write changes the roster, if the one who asked agrees to what the change strands.
func (c *Console) write(ctx context.Context, consent Consent, change func(*roster.Roster) error) (Written, error) {
	var moves []roster.Move
	changed := false
	v, err := c.roster.Update(ctx, c.key, func(r *roster.Roster) error {
		before := r.Clone()
		moves, changed = nil, false
		if err := change(r); err != nil {
			return err
		}
		changed, moves = true, roster.Moves(before, r)
		if consent == Ask {
			return strands(before, moves)
		}
		return nil
	})
	if err != nil {
		return Written{}, err
	}
	return Written{Revision: v.Revision, Changed: changed, Moved: movedOf(moves)}, nil
}

func movedOf(moves []roster.Move) []Moved {
	list := []Moved{}
	for _, m := range moves {
		list = append(list, Moved(m))
	}
	return list
}

// preview refuses a change that nobody has agreed to, as write would, and writes
// nothing.
func (c *Console) preview(ctx context.Context, change func(*roster.Roster) error) error {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return err
	}
	next := v.Clone()
	if err := change(next); err != nil && !errors.Is(err, roster.ErrUnchanged) {
		return err
	}
	return strands(v.Roster, roster.Moves(v.Roster, next))
}

// strands refuses a change that nobody has agreed to. On a box that was retired before
// it there is nothing left to strand.
func strands(before *roster.Roster, moves []roster.Move) error {
	var names string
	for _, m := range moves {
		if m.From == "" || before.Boxes[m.Enrollment].State == roster.Retired {
			continue
		}
		if names != "" {
			names += ", "
		}
		names += m.BoxID
	}
	if names == "" {
		return nil
	}
	return problem.Refusal("not-confirmed", "This moves the binding of %s: what is installed there may be stopped, and is never started again under the old one. Nothing was changed.", names).
		WithHint("say it again with --yes")
}
