package census

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/plain"
	"holdfast/internal/roadmap/snapshot"
)

// Schema is the receipt's. A member is never given another meaning: that is a new
// schema.
const Schema = "holdfast.roadmap-snapshot-census/v1"

// receipt is a Receipt in canonical JSON.
type receipt struct {
	Schema        string             `json:"schema"`
	ObservedAt    string             `json:"observed_at"`
	Namespace     string             `json:"namespace"`
	Snapshots     []seen             `json:"snapshots"`
	PresentAcross []string           `json:"present_across_censuses"`
	CloseFailures []snapshot.Failure `json:"close_failures"`
	Covered       int64              `json:"close_failures_covered"`
	Prior         prior              `json:"prior"`
}

type seen struct {
	Path  string `json:"path"`
	Seen  string `json:"seen"`
	Owner owner  `json:"owner"`
}

type owner struct {
	Standing string  `json:"standing"`           // alive, gone or unknown
	Evidence *string `json:"evidence,omitempty"` // of gone
	Reason   *string `json:"reason,omitempty"`   // of unknown
}

type prior struct {
	Standing  string    `json:"standing"` // read, absent or unreadable
	Snapshots *[]string `json:"snapshots,omitempty"`
	Reason    *string   `json:"reason,omitempty"`
	Covered   *int64    `json:"close_failures_covered,omitempty"` // not of absent
}

// Encode writes r. It refuses what [Decode] would not read.
func Encode(r Receipt) ([]byte, error) {
	doc := receipt{
		Schema: Schema, ObservedAt: r.ObservedAt.Format(time.RFC3339), Namespace: r.Namespace.String(),
		Snapshots: []seen{}, PresentAcross: paths(r.PresentAcross),
		CloseFailures: append([]snapshot.Failure{}, r.CloseFailures...), Covered: r.Covered,
	}
	for _, s := range r.Snapshots {
		doc.Snapshots = append(doc.Snapshots, seen{s.Name.String(), s.Where.String(), encodeOwner(s.Owner)})
	}
	switch p := r.Prior.(type) {
	case Read:
		list := paths(p.Snapshots)
		doc.Prior = prior{Standing: "read", Snapshots: &list, Covered: &p.Covered}
	case Absent:
		doc.Prior = prior{Standing: "absent"}
	case Unreadable:
		doc.Prior = prior{Standing: "unreadable", Reason: &p.Reason, Covered: &p.Covered}
	}
	data, err := canon.Encode(doc)
	if err != nil {
		return nil, err
	}
	if len(data) > maxReceipt {
		return nil, fmt.Errorf("it would have %d bytes, over %d", len(data), maxReceipt)
	}
	if _, err := Decode(r.Namespace, data); err != nil {
		return nil, err
	}
	return data, nil
}

func encodeOwner(o snapshot.Owner) owner {
	switch o := o.(type) {
	case snapshot.Alive:
		return owner{Standing: "alive"}
	case snapshot.Gone:
		return owner{Standing: "gone", Evidence: &o.Evidence}
	case snapshot.Unknown:
		reason := plain.Unicode(o.Reason)
		return owner{Standing: "unknown", Reason: &reason}
	}
	return owner{}
}

// Decode reads a receipt of the namespace ns, all of it. What contradicts itself is
// refused.
func Decode(ns snapshot.Namespace, data []byte) (Receipt, error) {
	var doc receipt
	if err := canon.Decode(data, &doc); err != nil {
		return Receipt{}, fmt.Errorf("the census receipt is damaged: %w", err)
	}
	r, err := doc.check(ns)
	if err != nil {
		return Receipt{}, fmt.Errorf("the census receipt is damaged: %w", err)
	}
	return r, nil
}

func (doc receipt) check(ns snapshot.Namespace) (r Receipt, err error) {
	if doc.Schema != Schema {
		return r, errors.New("its schema is not " + Schema)
	}
	if doc.Namespace != ns.String() {
		return r, errors.New("it is of another namespace")
	}
	r = Receipt{Namespace: ns, CloseFailures: doc.CloseFailures, Covered: doc.Covered}
	if r.ObservedAt, err = time.Parse(time.RFC3339, doc.ObservedAt); err != nil || r.ObservedAt.UTC().Format(time.RFC3339) != doc.ObservedAt {
		return r, errors.New("its time is not in whole seconds of UTC")
	}
	if r.Snapshots, err = doc.snapshots(ns); err != nil {
		return r, err
	}
	if r.Prior, err = doc.Prior.check(ns); err != nil {
		return r, fmt.Errorf("its prior: %w", err)
	}
	if r.PresentAcross, err = owned(ns, doc.PresentAcross); err != nil {
		return r, err
	}
	if !slices.Equal(r.PresentAcross, presentAcross(r.Snapshots, r.Prior)) {
		return r, errors.New("the snapshots present across censuses are not exactly those that it and its prior have")
	}
	return r, checkFailures(r)
}

// checkFailures refuses failures that are not all from the first that is to be told
// to the last that is covered.
func checkFailures(r Receipt) error {
	if r.Covered < 0 {
		return errors.New("it covers a negative number of failures")
	}
	first := told(r.Prior, r.Covered)
	if int64(len(r.CloseFailures)) != r.Covered-first {
		return errors.New("its failures are not exactly those after what its prior covers")
	}
	for i, f := range r.CloseFailures {
		if f.Seq != first+int64(i)+1 {
			return errors.New("its failures are not in their order, without a gap")
		}
	}
	return nil
}

func (doc receipt) snapshots(ns snapshot.Namespace) ([]Seen, error) {
	all := make([]Seen, len(doc.Snapshots))
	list := make([]string, len(doc.Snapshots))
	for i, s := range doc.Snapshots {
		where := InGit
		for where != InBoth && where.String() != s.Seen {
			where++
		}
		if where.String() != s.Seen {
			return nil, fmt.Errorf("%s was seen in no way that is known", plain.Text(s.Path))
		}
		owner, err := s.Owner.check()
		if err != nil {
			return nil, fmt.Errorf("the owner of %s: %w", plain.Text(s.Path), err)
		}
		all[i], list[i] = Seen{Where: where, Owner: owner}, s.Path
	}
	names, err := owned(ns, list)
	for i, n := range names {
		all[i].Name = n
	}
	return all, err
}

func (o owner) check() (snapshot.Owner, error) {
	switch {
	case o.Standing == "alive" && o.Evidence == nil && o.Reason == nil:
		return snapshot.Alive{}, nil
	case o.Standing == "gone" && o.Evidence != nil && *o.Evidence != "" && o.Reason == nil:
		return snapshot.Gone{Evidence: *o.Evidence}, nil
	case o.Standing == "unknown" && o.Evidence == nil && o.Reason != nil && *o.Reason != "":
		return snapshot.Unknown{Reason: *o.Reason}, nil
	}
	return nil, errors.New("it is neither alive, nor gone with evidence, nor unknown with a reason")
}

func (p prior) check(ns snapshot.Namespace) (Prior, error) {
	counted := p.Covered != nil && *p.Covered >= 0
	switch {
	case p.Standing == "absent" && p.Snapshots == nil && p.Reason == nil && p.Covered == nil:
		return Absent{}, nil
	case p.Standing == "read" && p.Snapshots != nil && p.Reason == nil && counted:
		list, err := owned(ns, *p.Snapshots)
		return Read{list, *p.Covered}, err
	case p.Standing == "unreadable" && p.Snapshots == nil && p.Reason != nil && *p.Reason != "" && counted:
		return Unreadable{*p.Reason, *p.Covered}, nil
	}
	return nil, errors.New("it is neither absent, nor read with its snapshots, nor unreadable with a reason")
}

// owned is the snapshots at list, which must all have the shape, in order, each once.
func owned(ns snapshot.Namespace, list []string) ([]snapshot.Name, error) {
	all := make([]snapshot.Name, len(list))
	for i, path := range list {
		n, ok := ns.Owned(path)
		if !ok {
			return nil, fmt.Errorf("%s has not the shape of a snapshot of this instance", plain.Text(path))
		}
		if i > 0 && strings.Compare(list[i-1], path) >= 0 {
			return nil, fmt.Errorf("%s stands there twice, or out of order", plain.Text(path))
		}
		all[i] = n
	}
	return all, nil
}

func paths(all []snapshot.Name) []string {
	list := make([]string, len(all))
	for i, n := range all {
		list[i] = n.String()
	}
	return list
}
