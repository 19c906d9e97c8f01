package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"regexp"

	"holdfast/internal/bucket"
	"holdfast/internal/canon"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

const purposeFloor sign.Purpose = "application/vnd.holdfast.publication-floor.v1+json"

// Floor is a publication floor: what a root must be, to start anything new. It is
// written by people as JSON, and kept in the bucket signed by a console.
type Floor struct {
	Publication string `json:"publication"`
	// MinVersion is the lowest version of holdfast, such as v1.4.0.
	MinVersion string `json:"min_version"`
	// AllowedProofs are the proofs of a stop that count: namespace, cgroup, weak.
	AllowedProofs []string `json:"allowed_proofs"`
}

var version = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)

// ParseFloor reads a floor as people write it.
func ParseFloor(text []byte) (Floor, error) {
	var f Floor
	bad := func(why string) (Floor, error) {
		return Floor{}, problem.New(problem.Usage, "floor", "This is no publication floor: %s. Nothing was changed.", why).
			WithHint(`it looks like {"publication":"spring","min_version":"v1.0.0","allowed_proofs":["namespace"]}`)
	}
	if err := canon.Decode(text, &f); err != nil {
		return bad(problem.Words(err))
	}
	if err := roster.CheckName("publication", f.Publication); err != nil {
		return Floor{}, err
	}
	if !version.MatchString(f.MinVersion) {
		return bad("min_version is no version such as v1.4.0")
	}
	known := map[string]bool{"namespace": true, "cgroup": true, "weak": true}
	for _, proof := range f.AllowedProofs {
		if !known[proof] {
			return bad("allowed_proofs has one that is none of namespace, cgroup and weak, or has one twice")
		}
		delete(known, proof)
	}
	if len(f.AllowedProofs) == 0 {
		return bad("allowed_proofs is empty, and nothing could ever be stopped")
	}
	return f, nil
}

func floorKey(publication string) (bucket.Key, error) {
	return bucket.ParseKey("control/floor/" + publication + ".json")
}

// PublishFloor publishes a floor: its object, then the two writes of the roster. What
// was cut off is gone on with by publishing the same again.
func (c *Console) PublishFloor(ctx context.Context, f Floor, y Consent) (Written, error) {
	payload, err := canon.Encode(f)
	if err != nil {
		return Written{}, err
	}
	data, err := sign.Seal(purposeFloor, payload, c.key)
	if err != nil {
		return Written{}, err
	}
	key, err := floorKey(f.Publication)
	if err != nil {
		return Written{}, err
	}
	publish := func(r *roster.Roster) error { return r.Publish(f.Publication) }
	if y == Ask { // nothing is written, the floor's object neither, before somebody agreed
		if err := c.preview(ctx, publish); err != nil {
			return Written{}, err
		}
	}
	if err := create(ctx, c.bucket, key, data); err != nil && !c.says(ctx, key, payload) {
		return Written{}, err
	}
	first, err := c.write(ctx, y, publish)
	if err != nil {
		return Written{}, err
	}
	// A crash here: the publication is announced, and nothing new starts until it is
	// published again.
	sum := sha256.Sum256(payload)
	second, err := c.write(ctx, y, func(r *roster.Roster) error { return r.PinFloor(f.Publication, hex.EncodeToString(sum[:])) })
	second.Moved = since(first.Moved, second.Moved)
	return second, err
}

// says reports whether the floor under key is this one already, which another console
// may have signed: it is the roster that makes it good, by its digest.
func (c *Console) says(ctx context.Context, key bucket.Key, payload []byte) bool {
	data, err := bucket.Read(ctx, c.bucket, key)
	if err != nil {
		return false
	}
	e, err := sign.Read(data, purposeFloor)
	return err == nil && bytes.Equal(e.Claimed(), payload)
}

// since are the moves of two writes as one: from before the first.
func since(first, second []Moved) []Moved {
	from := map[string]string{}
	for _, m := range first {
		from[m.Enrollment] = m.From
	}
	for i, m := range second {
		if was, ok := from[m.Enrollment]; ok {
			second[i].From = was
		}
	}
	return second
}

// InForce is the floor that is in force.
type InForce struct {
	// Floor is nil where none is published, or where the publication is announced and
	// not yet fixed: then nothing new starts.
	Floor       *Floor `json:"floor"`
	Publication string `json:"publication"`
	SHA256      string `json:"floor_sha256"`
	At
}

// Floor reads the floor that is in force, and verifies that it is the one that the
// roster names.
func (c *Console) Floor(ctx context.Context) (InForce, error) {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return InForce{}, err
	}
	return c.floorOf(ctx, v)
}

// floorOf is the floor that v names. What v says of it is returned beside an error.
func (c *Console) floorOf(ctx context.Context, v *rosterstore.Version) (in InForce, err error) {
	in = InForce{Publication: v.Publication, SHA256: v.FloorSHA256, At: at(v)}
	in.Floor, err = c.readFloor(ctx, v.Roster)
	return in, err
}

// readFloor reads the floor that r names, nil where it names none.
func (p *party) readFloor(ctx context.Context, r *roster.Roster) (*Floor, error) {
	if r.FloorSHA256 == "" {
		return nil, nil
	}
	key, err := floorKey(r.Publication)
	if err != nil {
		return nil, err
	}
	data, err := bucket.Read(ctx, p.bucket, key)
	if errors.Is(err, fs.ErrNotExist) {
		err = problem.Refusal("floor-absent", "The floor %s that the roster names is not in the store.", r.Publication)
	}
	if err != nil {
		return nil, err
	}
	e, err := sign.Read(data, purposeFloor)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(e.Claimed())
	if hex.EncodeToString(sum[:]) != r.FloorSHA256 {
		return nil, problem.Refusal("floor-digest", "The floor %s in the store is not the one that the roster names.", r.Publication)
	}
	// The roster is signed, and names these very bytes: whose signature they have
	// beside it says no more.
	f, err := ParseFloor(e.Claimed())
	if err != nil {
		return nil, err
	}
	return &f, nil
}
