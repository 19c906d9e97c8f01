package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// Bounds of what is put, in bytes.
const (
	maxBytes   = 16 << 10 // of an identity and of an exit
	maxPayload = 8 << 20
	maxReceipt = 1 << 20
	maxWord    = 64 // of a state, a kind and a phase
	maxOutcome = 4 << 10
)

// Installation is an incarnation of an instance on this box.
type Installation struct {
	Instance    string
	Incarnation uint64
	Enrollment  string
	Session     uint64 // of the claim under which it was installed
	Stamp       roster.Stamp
	Operation   string // that installed it
	Work        order.Work
	State       string
	Launch      uint64 // how often it was launched; never falls
	Identity    []byte // of its shim: opaque; nil for none
	Exit        []byte // how its first process ended: opaque; nil for unknown yet
}

// Intent is something of more than one step that root does or has done, by operation.
type Intent struct {
	Operation   string
	Kind        string
	Instance    string
	Incarnation uint64
	Phase       string
	Payload     []byte    // opaque; nil for none
	OpenedAt    time.Time // for people: the order of intents is that in which they were put
	Settled     bool      // for good
	Outcome     string    // in words; empty until it is settled
}

// Fence is what is to be stopped, on what authority, and what is proved of it.
type Fence struct {
	Target   receipt.Target
	Receipt  []byte // its signed bytes; nil until all has ended
	Uploaded bool   // the receipt is in the bucket
}

// Tx is the journal inside of [Journal.View] or [Journal.Commit], and good no longer.
type Tx struct {
	j                 *Journal
	view, over, wrote bool
}

var (
	errOver = errors.New("a transaction of the journal is used that has ended")
	errView = errors.New("a view of the journal cannot be written")
)

func (tx *Tx) write(statement string, args ...any) error {
	switch {
	case tx.over:
		return errOver
	case tx.view:
		return errView
	}
	tx.wrote = true
	return said(tx.j.exec(statement, args...))
}

// one reads a row, if there is one.
func (tx *Tx) one(query string, args []any, to ...any) (bool, error) {
	if tx.over {
		return false, errOver
	}
	err := tx.j.conn.QueryRowContext(context.Background(), query, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, said(err)
}

// list reads rows, each by read.
func list[T any](tx *Tx, read func(scan func(...any) error) (T, error), query string) ([]T, error) {
	if tx.over {
		return nil, errOver
	}
	rows, err := tx.j.conn.QueryContext(context.Background(), query)
	if err != nil {
		return nil, said(err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		row, err := read(rows.Scan)
		if err != nil {
			return nil, said(err)
		}
		all = append(all, row)
	}
	return all, said(rows.Err())
}

// find reads the row that a query is for.
func find[T any](tx *Tx, read func(scan func(...any) error) (T, error), query string, args ...any) (T, bool, error) {
	var row T
	if tx.over {
		return row, false, errOver
	}
	row, err := read(tx.j.conn.QueryRowContext(context.Background(), query, args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, said(err)
}

// Generation is how often something was begun.
func (tx *Tx) Generation() (uint64, error) {
	var n uint64
	ok, err := tx.one("SELECT generation FROM head", nil, &n)
	if err == nil && !ok {
		err = damaged("it has no generation")
	}
	return n, err
}

// Raise raises the generation by one, and returns it.
func (tx *Tx) Raise() (uint64, error) {
	n, err := tx.Generation()
	if err != nil {
		return 0, err
	}
	if n >= document.MaxCount {
		return 0, conflict("the generation is at its end")
	}
	return n + 1, tx.write("UPDATE head SET generation = ?", int64(n+1))
}

func conflict(why string) *problem.Error {
	return problem.Refusal("journal-conflict", "The journal does not let go of what it knows: %s. Nothing was changed.", why)
}

func checker() document.Checker { return document.Checker{Step: "journal-row"} }

func some(data []byte) []byte { // NULL is no value of the tables
	if data == nil {
		return []byte{}
	}
	return data
}

func none(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	return data
}

const installed = `SELECT instance, incarnation, enrollment, session, stamp, operation, work, state, launch, identity, exit FROM installed `

func readInstallation(scan func(...any) error) (Installation, error) {
	var n Installation
	var stamp string
	var work []byte
	err := scan(&n.Instance, &n.Incarnation, &n.Enrollment, &n.Session, &stamp, &n.Operation, &work, &n.State, &n.Launch, &n.Identity, &n.Exit)
	if err != nil {
		return Installation{}, err
	}
	if err := canon.Decode(work, &n.Work); err != nil {
		return Installation{}, damaged("the work of " + n.Instance + " cannot be read").Because(err)
	}
	if n.Stamp, err = roster.ParseStamp(stamp); err != nil {
		return Installation{}, damaged("the binding of " + n.Instance + " cannot be read").Because(err)
	}
	n.Identity, n.Exit = none(n.Identity), none(n.Exit)
	return n, nil
}

// Installation is that of an incarnation, if there is one.
func (tx *Tx) Installation(instance string, incarnation uint64) (Installation, bool, error) {
	return find(tx, readInstallation, installed+"WHERE instance = ? AND incarnation = ?", instance, int64(incarnation))
}

// Inventory is all that is or was installed, by instance and incarnation.
func (tx *Tx) Inventory() ([]Installation, error) {
	return list(tx, readInstallation, installed+"ORDER BY instance, incarnation")
}

// PutInstallation puts down an installation, or how it is now. It stays under the
// enrollment and the session under which it was put first.
func (tx *Tx) PutInstallation(n Installation) error {
	c := checker()
	c.Names("instance", n.Instance)
	c.Count("incarnation", n.Incarnation)
	c.ID("enrollment", n.Enrollment)
	c.Count("session", n.Session)
	c.Stamp("stamp", n.Stamp)
	c.Operation("operation", n.Operation)
	c.Line("state", n.State, maxWord)
	c.Must(n.Launch <= document.MaxCount, "launch is %d, which is above 2^53-1", n.Launch)
	c.Must(len(n.Identity) <= maxBytes && len(n.Exit) <= maxBytes, "the identity or the exit has over %d bytes", maxBytes)
	if err := errors.Join(c.Err(), n.Work.Check()); err != nil {
		return err
	}
	was, ok, err := tx.Installation(n.Instance, n.Incarnation)
	if err != nil {
		return err
	}
	if ok && (was.Enrollment != n.Enrollment || was.Session != n.Session || was.Launch > n.Launch) {
		return conflict("incarnation of " + n.Instance + " is installed under another enrollment or session, or was launched more often")
	}
	work, err := canon.Encode(n.Work)
	if err != nil {
		return err
	}
	return tx.write("INSERT OR REPLACE INTO installed VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		n.Instance, int64(n.Incarnation), n.Enrollment, int64(n.Session), n.Stamp.String(), n.Operation, work, n.State, int64(n.Launch), some(n.Identity), some(n.Exit))
}

const intents = `SELECT operation, kind, instance, incarnation, phase, payload, opened_at, settled, outcome FROM intent `

func readIntent(scan func(...any) error) (Intent, error) {
	var i Intent
	var opened int64
	err := scan(&i.Operation, &i.Kind, &i.Instance, &i.Incarnation, &i.Phase, &i.Payload, &opened, &i.Settled, &i.Outcome)
	i.OpenedAt, i.Payload = time.UnixMilli(opened).UTC(), none(i.Payload)
	return i, err
}

// Intent is that of an operation, if there is one.
func (tx *Tx) Intent(operation string) (Intent, bool, error) {
	return find(tx, readIntent, intents+"WHERE operation = ?", operation)
}

// Pending are the intents that are not settled, in the order in which they were put first.
func (tx *Tx) Pending() ([]Intent, error) {
	return list(tx, readIntent, intents+"WHERE settled = 0 ORDER BY seq")
}

// PutIntent puts down an intent, or how far it is. What it is of, and when it was opened,
// stays as it was put first; once it is settled, all does.
func (tx *Tx) PutIntent(i Intent) error {
	c := checker()
	c.Operation("operation", i.Operation)
	c.Line("kind", i.Kind, maxWord)
	c.Names("instance", i.Instance)
	c.Count("incarnation", i.Incarnation)
	c.Line("phase", i.Phase, maxWord)
	c.Must(len(i.Payload) <= maxPayload, "the payload has over %d bytes", maxPayload)
	c.Time("opened_at", i.OpenedAt)
	c.Must(i.Settled == (i.Outcome != ""), "an intent has an outcome when it is settled, and not before")
	c.Text("outcome", i.Outcome, maxOutcome)
	if err := c.Err(); err != nil {
		return err
	}
	was, ok, err := tx.Intent(i.Operation)
	switch {
	case err != nil:
		return err
	case !ok:
		return tx.write("INSERT INTO intent (operation, kind, instance, incarnation, phase, payload, opened_at, settled, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			i.Operation, i.Kind, i.Instance, int64(i.Incarnation), i.Phase, some(i.Payload), i.OpenedAt.UnixMilli(), i.Settled, i.Outcome)
	case was.Kind != i.Kind || was.Instance != i.Instance || was.Incarnation != i.Incarnation || !was.OpenedAt.Equal(i.OpenedAt):
		return conflict("the operation " + i.Operation + " was begun as another")
	case was.Settled && (was.Phase != i.Phase || was.Outcome != i.Outcome || !bytes.Equal(was.Payload, i.Payload)):
		return conflict("the operation " + i.Operation + " is settled")
	}
	return tx.write("UPDATE intent SET phase = ?, payload = ?, settled = ?, outcome = ? WHERE operation = ?", i.Phase, some(i.Payload), i.Settled, i.Outcome, i.Operation)
}

const fences = `SELECT instance, incarnation, target, receipt, uploaded FROM fence `

func readFence(scan func(...any) error) (Fence, error) {
	var f Fence
	var instance string
	var incarnation uint64
	var target []byte
	if err := scan(&instance, &incarnation, &target, &f.Receipt, &f.Uploaded); err != nil {
		return Fence{}, err
	}
	var err error
	if f.Target, err = receipt.Decode(target); err != nil || f.Target.Instance != instance || f.Target.Incarnation != incarnation {
		return Fence{}, damaged("the fence of " + instance + " cannot be read").Because(err)
	}
	f.Receipt = none(f.Receipt)
	return f, nil
}

// Fence is that of an incarnation, if there is one.
func (tx *Tx) Fence(instance string, incarnation uint64) (Fence, bool, error) {
	return find(tx, readFence, fences+"WHERE instance = ? AND incarnation = ?", instance, int64(incarnation))
}

// Fences are all that there ever were, by instance and incarnation.
func (tx *Tx) Fences() ([]Fence, error) {
	return list(tx, readFence, fences+"ORDER BY instance, incarnation")
}

// PutFence puts down a fence, its receipt, or that this was uploaded. The target and the
// receipt stay as they were put first, to the byte.
func (tx *Tx) PutFence(f Fence) error {
	target, err := f.Target.Encode()
	if err != nil {
		return err
	}
	c := checker()
	c.Must(len(f.Receipt) <= maxReceipt, "the receipt has over %d bytes", maxReceipt)
	c.Must(!f.Uploaded || len(f.Receipt) > 0, "a receipt was uploaded that there is not")
	if err := c.Err(); err != nil {
		return err
	}
	was, ok, err := tx.Fence(f.Target.Instance, f.Target.Incarnation)
	switch {
	case err != nil:
		return err
	case ok && was.Target != f.Target:
		return conflict(f.Target.Instance + " is fenced under another target")
	case ok && was.Receipt != nil && !bytes.Equal(was.Receipt, f.Receipt):
		return conflict("there is a receipt of " + f.Target.Instance + " already, of other bytes")
	case ok && was.Uploaded && !f.Uploaded:
		return conflict("the receipt of " + f.Target.Instance + " was uploaded")
	}
	return tx.write("INSERT OR REPLACE INTO fence VALUES (?, ?, ?, ?, ?)",
		f.Target.Instance, int64(f.Target.Incarnation), target, some(f.Receipt), f.Uploaded)
}
