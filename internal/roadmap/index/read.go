package index

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

// querier is a database or a transaction.
type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
}

// View is one state of the index: all that is read through it belongs together.
type View struct {
	tx *sql.Tx
	at Position
}

// View opens a view. Close it.
func (x *Index) View(ctx context.Context) (*View, error) {
	tx, err := x.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, said(err)
	}
	at, err := position(tx)
	if err != nil {
		_ = tx.Rollback()
		return nil, said(err)
	}
	return &View{tx: tx, at: at}, nil
}

// Close ends the view.
func (v *View) Close() { _ = v.tx.Rollback() }

// Position is how far the log was read.
func (v *View) Position() Position { return v.at }

// position is where the index stands, its Commit empty where nothing was read.
func position(q querier) (Position, error) {
	var p Position
	var committed, read string
	err := q.QueryRow(`SELECT commit_id, committed, read, seq, sealed, sealed_seq FROM position`).
		Scan(&p.Commit, &committed, &read, &p.Seq, &p.Sealed, &p.SealedSeq)
	if errors.Is(err, sql.ErrNoRows) {
		return Position{}, nil
	}
	if err != nil {
		return Position{}, err
	}
	if p.Committed, err = unstamp(committed); err != nil {
		return Position{}, err
	}
	p.Read, err = unstamp(read)
	return p, err
}

// ByKey is the first event that the operation appended, if it did.
func (v *View) ByKey(key event.Key) (event.Envelope, bool, error) {
	var seq int64
	var data []byte
	err := v.tx.QueryRow(`SELECT seq, bytes FROM event WHERE key = ? ORDER BY seq LIMIT 1`, string(key)).Scan(&seq, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return event.Envelope{}, false, nil
	}
	if err != nil {
		return event.Envelope{}, false, said(err)
	}
	e, err := decode(data)
	return event.Envelope{Seq: seq, Key: key, Event: e}, err == nil, err
}

// Events are the events of a node whose bytes have text in them, in the order of
// the log. Every event has the empty text.
func (v *View) Events(n event.Node, text string) ([]event.Event, error) {
	list, err := events(v.tx, n, text)
	return list, said(err)
}

func events(q querier, n event.Node, text string) ([]event.Event, error) {
	rows, err := q.Query(`SELECT bytes FROM event WHERE node = ? AND (? = '' OR instr(bytes, CAST(? AS BLOB)) > 0) ORDER BY seq`, string(n), text, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []event.Event{}
	for rows.Next() {
		var data sql.RawBytes
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		e, err := decode(append([]byte(nil), data...))
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

func decode(data []byte) (event.Event, error) {
	e, err := event.Decode(data)
	if err != nil {
		return e, &Damaged{Reason: "it holds an event that is none", Err: err}
	}
	return e, nil
}

// Envelopes gives the log from a place on, in its order, to each.
func (v *View) Envelopes(from int64, each func(event.Envelope) error) error {
	rows, err := v.tx.Query(`SELECT seq, key, bytes FROM event WHERE seq >= ? ORDER BY seq`, from)
	if err != nil {
		return said(err)
	}
	defer rows.Close()
	for rows.Next() {
		var env event.Envelope
		var key string
		var data []byte
		if err := rows.Scan(&env.Seq, &key, &data); err != nil {
			return said(err)
		}
		if env.Event, err = decode(data); err != nil {
			return err
		}
		env.Key = event.Key(key)
		if err := each(env); err != nil {
			return err
		}
	}
	return said(rows.Err())
}

// State is the state of a node; false where it has no event.
func (v *View) State(n event.Node) (history.State, bool, error) {
	s, err := stateIn(v.tx.QueryRow(stateQuery, string(n)))
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	return s, err == nil, said(err)
}

const stateQuery = `SELECT state FROM node WHERE node = ?`

func stateIn(row *sql.Row) (history.State, error) {
	var data []byte
	if err := row.Scan(&data); err != nil {
		return history.State{}, err
	}
	return unmarshal(data)
}

func unmarshal(data []byte) (history.State, error) {
	s, err := history.DecodeState(data)
	if err != nil {
		return s, &Damaged{Reason: "it holds a state that is none", Err: err}
	}
	return s, nil
}

// States are the states of all nodes, by name.
func (v *View) States() ([]history.State, error) {
	rows, err := v.tx.Query(`SELECT state FROM node ORDER BY node`)
	if err != nil {
		return nil, said(err)
	}
	defer rows.Close()
	list := []history.State{}
	for rows.Next() {
		var data sql.RawBytes
		if err := rows.Scan(&data); err != nil {
			return nil, said(err)
		}
		s, err := unmarshal(data)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, said(rows.Err())
}

// Refusals is what could not be read, in the order of the log.
func (v *View) Refusals() ([]Refusal, error) {
	list, err := refusals(v.tx)
	return list, said(err)
}

func refusals(q querier) ([]Refusal, error) {
	rows, err := q.Query(`SELECT place, node, step, reason FROM refusal ORDER BY rowid`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []Refusal{}
	for rows.Next() {
		var r Refusal
		var node string
		if err := rows.Scan(&r.Place, &node, &r.Step, &r.Reason); err != nil {
			return nil, err
		}
		r.Node = event.Node(node)
		list = append(list, r)
	}
	return list, rows.Err()
}

// RefusedNodes is which nodes cannot be trusted to be whole, each with the first
// thing of it that could not be read.
func RefusedNodes(list []Refusal) map[event.Node]Refusal {
	nodes := map[event.Node]Refusal{}
	for _, r := range list {
		if _, ok := nodes[r.Node]; !ok && r.Node != "" {
			nodes[r.Node] = r
		}
	}
	return nodes
}

// Segments are the sealed files, in order.
func (v *View) Segments() ([]Segment, error) {
	rows, err := v.tx.Query(`SELECT number, object FROM segment ORDER BY number`)
	if err != nil {
		return nil, said(err)
	}
	defer rows.Close()
	list := []Segment{}
	for rows.Next() {
		var s Segment
		if err := rows.Scan(&s.Number, &s.Object); err != nil {
			return nil, said(err)
		}
		list = append(list, s)
	}
	return list, said(rows.Err())
}

// Mentioning is the nodes of which some event holds a text of ASCII, in whatever
// member and case; text is as canonical JSON writes it. Every node holds the empty one.
func (v *View) Mentioning(text string) ([]event.Node, error) {
	rows, err := v.tx.Query(`SELECT DISTINCT node FROM event WHERE instr(lower(CAST(bytes AS TEXT)), ?) > 0 ORDER BY node`, strings.ToLower(text))
	if err != nil {
		return nil, said(err)
	}
	defer rows.Close()
	list := []event.Node{}
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, said(err)
		}
		list = append(list, event.Node(n))
	}
	return list, said(rows.Err())
}

// fileURL is the path of a file as SQLite takes it, whatever is in it.
func fileURL(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
