// Package observation keeps what the plan looked like when it was last observed, as
// files that outlive whoever looked.
//
// An [Observation] is an index, which names one body for each surface by the digest
// of its bytes. A body is never rewritten while it is what its name says; the index
// is written last, so that a crash leaves the old one with all of its bodies; and
// a body goes only when neither the current index nor the one before it names it.
// A plan that could not be read is observed as [Unseen], which says why, and never as
// an old one passed off as new.
//
// What is read is checked whole: the index strictly, each body against its digest and
// its size. Four things are told apart: no index, one that cannot be read, a
// body that is not there, and one that is another.
package observation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"holdfast/internal/canon"
)

// Schema is the index's. A member is never given another meaning: that is a new
// schema.
const Schema = "holdfast.served-observation/v1"

// Observation is what was observed, without the bodies.
type Observation struct {
	ObservedAt time.Time // UTC, in whole seconds
	Of         Of
	Surfaces   []Surface // by name, each once
}

// Of is what there was to observe: [Seen] or [Unseen].
//
//sumtype:decl
type Of interface{ of() }

// Seen is a plan that was read.
type Seen struct {
	Commit string // the log's tip
	Seq    int64  // the place of its newest event
}

// Unseen is a plan that could not be read.
type Unseen struct{ Step, Reason string }

func (Seen) of()   {}
func (Unseen) of() {}

// Surface is one way in which it was shown.
type Surface struct {
	Name      string
	MediaType string
	Digest    string // SHA-256 of the body, in lower-case hexadecimal digits
	Bytes     int64
}

// Body is the bytes of a surface.
type Body struct {
	Name, MediaType string
	Data            []byte
}

func (b Body) surface() Surface {
	return Surface{Name: b.Name, MediaType: b.MediaType, Digest: Digest(b.Data), Bytes: int64(len(b.Data))}
}

// Digest names a body: the SHA-256 of its bytes in lower-case hexadecimal digits.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// document is an Observation in canonical JSON.
type document struct {
	Schema     string    `json:"schema"`
	ObservedAt string    `json:"observed_at"`
	Plan       planned   `json:"plan"`
	Surfaces   []surface `json:"surfaces"`
}

type planned struct {
	Standing string  `json:"standing"` // seen or unseen
	Commit   *string `json:"commit,omitempty"`
	Seq      *int64  `json:"seq,omitempty"`
	Step     *string `json:"step,omitempty"`
	Reason   *string `json:"reason,omitempty"`
}

type surface struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Digest    string `json:"digest"`
	Bytes     int64  `json:"bytes"`
}

// encode writes o. It refuses what decode would not read.
func encode(o Observation) ([]byte, error) {
	doc := document{Schema: Schema, ObservedAt: o.ObservedAt.Format(time.RFC3339), Surfaces: make([]surface, len(o.Surfaces))}
	switch of := o.Of.(type) {
	case Seen:
		doc.Plan = planned{Standing: "seen", Commit: &of.Commit, Seq: &of.Seq}
	case Unseen:
		doc.Plan = planned{Standing: "unseen", Step: &of.Step, Reason: &of.Reason}
	}
	for i, s := range o.Surfaces {
		doc.Surfaces[i] = surface(s)
	}
	data, err := canon.Encode(doc)
	if err != nil {
		return nil, err
	}
	if _, err := decode(data); err != nil {
		return nil, err
	}
	return data, nil
}

// decode reads an index, all of it.
func decode(data []byte) (Observation, error) {
	var doc document
	if err := canon.Decode(data, &doc); err != nil {
		return Observation{}, err
	}
	if doc.Schema != Schema {
		return Observation{}, errors.New("its schema is not " + Schema)
	}
	var o Observation
	var err error
	if o.ObservedAt, err = time.Parse(time.RFC3339, doc.ObservedAt); err != nil || o.ObservedAt.UTC().Format(time.RFC3339) != doc.ObservedAt {
		return o, errors.New("its time is not in whole seconds of UTC")
	}
	if o.Of, err = doc.Plan.check(); err != nil {
		return o, err
	}
	if len(doc.Surfaces) == 0 || len(doc.Surfaces) > maxSurfaces {
		return o, fmt.Errorf("it has %d surfaces, and 1 to %d are allowed", len(doc.Surfaces), maxSurfaces)
	}
	for i, s := range doc.Surfaces {
		if err := s.check(); err != nil {
			return o, err
		}
		if i > 0 && doc.Surfaces[i-1].Name >= s.Name {
			return o, errors.New("its surfaces are not in their order, each once")
		}
		o.Surfaces = append(o.Surfaces, Surface(s))
	}
	return o, nil
}

var (
	commitShape = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	digestShape = regexp.MustCompile(`^[0-9a-f]{64}$`)
	nameShape   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)
)

// maxSurfaces is how many surfaces an observation has at most.
const maxSurfaces = 16

// mediaTypes are those that a surface may have: none that a browser would run.
var mediaTypes = []string{"application/json", "text/plain; charset=utf-8"}

func (p planned) check() (Of, error) {
	seen, unseen := p.Commit != nil && p.Seq != nil, p.Step != nil && p.Reason != nil
	switch {
	case p.Standing == "seen" && seen && p.Step == nil && p.Reason == nil:
		if !commitShape.MatchString(*p.Commit) || *p.Seq < 0 {
			return nil, errors.New("it names no commit and place of a log")
		}
		return Seen{*p.Commit, *p.Seq}, nil
	case p.Standing == "unseen" && unseen && p.Commit == nil && p.Seq == nil:
		if *p.Step == "" || *p.Reason == "" {
			return nil, errors.New("it does not say why the plan was not seen")
		}
		return Unseen{*p.Step, *p.Reason}, nil
	}
	return nil, errors.New("its plan is neither seen, with commit and place, nor unseen, with step and reason")
}

func (s surface) check() error {
	switch {
	case !nameShape.MatchString(s.Name):
		return errors.New("a surface has no name")
	case !slices.Contains(mediaTypes, s.MediaType):
		return fmt.Errorf("the surface %s has a media type that none has", s.Name)
	case !digestShape.MatchString(s.Digest):
		return fmt.Errorf("the surface %s has no digest", s.Name)
	case s.Bytes < 0 || s.Bytes > maxBody:
		return fmt.Errorf("the surface %s has a size that none has", s.Name)
	}
	return nil
}
