package root

import (
	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

// record is an act as the journal keeps it, with what of its order it needs.
type record struct {
	Kind        intent.Kind  `json:"kind"`
	Operation   string       `json:"operation"`
	BoxID       string       `json:"box_id"`
	Instance    string       `json:"instance"`
	Incarnation uint64       `json:"incarnation"`
	Session     uint64       `json:"session"`
	Stamp       roster.Stamp `json:"stamp"`
	Installer   roster.Stamp `json:"installer,omitzero"` // of a launch
	Phase       intent.Phase `json:"phase"`
	Launch      uint64       `json:"launch"`
	Refused     *refused     `json:"refused,omitempty"`
	Receipt     *receipt.Ref `json:"receipt,omitempty"`
	Work        *order.Work  `json:"work,omitempty"`
	GraceNS     int64        `json:"grace_ns"`
	Local       bool         `json:"local"` // ordered on the box itself: nobody is answered
}

// refused is [order.Refused] as it is written.
type refused struct {
	Step   string `json:"step"`
	Reason string `json:"reason"`
}

func (r record) subject() intent.Subject {
	return intent.Subject{Operation: r.Operation, Instance: r.Instance, Incarnation: r.Incarnation, Session: r.Session, Stamp: r.Stamp}
}

func (r record) row() intent.Row {
	row := intent.Row{Kind: r.Kind, Subject: r.subject(), Phase: r.Phase, Launch: r.Launch}
	if r.Refused != nil {
		row.Why = order.Refused(*r.Refused)
	}
	if r.Receipt != nil {
		row.Receipt = *r.Receipt
	}
	return row
}

// take makes r say what the row says.
func (r *record) take(row intent.Row) {
	r.Phase, r.Launch, r.Refused, r.Receipt = row.Phase, row.Launch, nil, nil
	if row.Why != (order.Refused{}) {
		why := refused(row.Why)
		r.Refused = &why
	}
	if row.Receipt != (receipt.Ref{}) {
		ref := row.Receipt
		r.Receipt = &ref
	}
}

// same says whether two records are of the same order.
func (r record) same(o record) bool {
	return r.Kind == o.Kind && r.Operation == o.Operation && r.Instance == o.Instance && r.Incarnation == o.Incarnation && r.Session == o.Session &&
		r.Stamp.Same(o.Stamp) && (r.Work == nil) == (o.Work == nil) && (r.Work == nil || r.Work.Same(*o.Work))
}
