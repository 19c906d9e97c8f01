package roster

import (
	"maps"
	"slices"
	"time"

	"holdfast/internal/problem"
)

// Bounds of what stands in a roster.
const (
	MaxBoxes   = 10_000 // rows, the retired ones too
	maxText    = 200    // bytes of a label
	maxLossIDs = 64
	maxGrant   = 4 << 10
)

// A roster has thousands of these, and each is looked at before each write.

func every(text string, least, most int, is func(c byte) bool) bool {
	if len(text) < least || len(text) > most {
		return false
	}
	for i := range len(text) {
		if !is(text[i]) {
			return false
		}
	}
	return true
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

func isName(text string) bool {
	return every(text, 1, 63, func(c byte) bool { return isLower(c) || c == '-' }) && text[0] != '-' && text[len(text)-1] != '-'
}

func isKey(text string) bool {
	return every(text, 1, 128, func(c byte) bool { return isLower(c) || 'A' <= c && c <= 'Z' || c == '_' || c == '-' })
}

// isHex says whether text is n lower-case hexadecimal digits.
func isHex(text string, n int) bool {
	return every(text, n, n, func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' })
}

// isLabel says whether text may be shown beside a name.
func isLabel(text string) bool {
	return every(text, 0, maxText, func(c byte) bool { return c >= ' ' && c != 0x7f })
}

// CheckName refuses what is no name of a box, region, console, role, pool, cloud,
// namespace, group or publication: lower-case letters, digits and hyphens inside,
// at most 63.
func CheckName(what, text string) error {
	if isName(text) {
		return nil
	}
	return problem.New(problem.Usage, what, "%q is no name of a %s: 1 to 63 lower-case letters, digits, and hyphens between them. Nothing was changed.", text, what)
}

// CheckLabel refuses what may not be shown beside a name.
func CheckLabel(text string) error {
	if isLabel(text) {
		return nil
	}
	return problem.New(problem.Usage, "label", "A label has at most %d bytes, and no control characters. Nothing was changed.", maxText)
}

// checker keeps the first complaint.
type checker struct{ err error }

func malformed(format string, args ...any) *problem.Error {
	e := problem.Refusal("roster-format", format, args...)
	e.Reason = "The roster cannot be read: " + e.Reason + "."
	return e
}

func (c *checker) must(ok bool, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = malformed(format, args...)
	}
}

func (c *checker) names(where string, list ...string) {
	for _, n := range list {
		c.must(isName(n), "%s has %q where a name should be", where, n)
	}
}

// optional checks names that may be left out.
func (c *checker) optional(where string, list ...string) {
	c.names(where, slices.DeleteFunc(list, func(n string) bool { return n == "" })...)
}

func (c *checker) label(where, text string) {
	c.must(isLabel(text), "%s has a label that is over %d bytes or has control characters", where, maxText)
}

func (c *checker) time(where string, t time.Time) {
	c.must(t.Equal(stamp(t)) && t.Location() == time.UTC && t.Year() >= 1970 && t.Year() <= 9999,
		"%s has a time that is not UTC, to the millisecond, in the years 1970 to 9999", where)
}

// check says what is wrong with one version.
func (r *Roster) check() error {
	var c checker
	c.head(r)
	c.rows(r)
	c.reservations(r)
	for n, p := range r.Consoles {
		c.names("consoles", n)
		c.must(isHex(p.PublicKey, 64), "console %s has no public key", n)
		c.must(p.Grant != "" && len(p.Grant) <= maxGrant, "console %s has no grant", n)
		c.time("console "+n, p.EnrolledAt)
	}
	for n, g := range r.Regions {
		c.names("regions", n)
		c.label("region "+n, g.Label)
		c.time("region "+n, g.ConfiguredAt)
	}
	return c.err
}

func (c *checker) head(r *Roster) {
	c.must(r.Schema == Schema, "its schema is %q, not %q", r.Schema, Schema)
	c.must(r.Revision >= 1, "its revision is 0")
	c.must(uint64(len(r.Writes)) == min(r.Revision, maxWrites), "it names %d writes at revision %d", len(r.Writes), r.Revision)
	for i, w := range r.Writes {
		c.must(isHex(w, 32), "%q is no id of a write", w)
		c.must(!slices.Contains(r.Writes[:i], w), "the write %s is named twice", w)
	}
	c.time("the roster", r.WrittenAt)
	c.must((r.PrevSHA256 == "") == (r.Revision == 1), "its revision is %d, and prev_sha256 is %q", r.Revision, r.PrevSHA256)
	c.must(r.PrevSHA256 == "" || isHex(r.PrevSHA256, 64), "prev_sha256 is no digest")
	c.must(isHex(r.Bucket, 32), "bucket is no random name of 32 hexadecimal digits")
	c.must(r.RequestLimitNS >= int64(time.Millisecond) && r.RequestLimitNS <= int64(time.Hour), "request_limit_ns is not between a millisecond and an hour")
	c.optional("the roster", r.HomeRegion, r.Publication)
	_, configured := r.Regions[r.HomeRegion]
	c.must(r.HomeRegion == "" || configured, "the home region %s is not among the regions", r.HomeRegion)
	c.must(r.FloorSHA256 == "" || isHex(r.FloorSHA256, 64), "floor_sha256 is no digest")
	c.must(r.FloorSHA256 == "" || r.Publication != "", "it has a floor and no publication")
	c.must(len(r.Boxes) <= MaxBoxes, "it has more than %d boxes", MaxBoxes)
}

func (c *checker) rows(r *Roster) {
	live, evidence := map[string]string{}, map[string]string{}
	for _, enrollment := range slices.Sorted(maps.Keys(r.Boxes)) {
		b := r.Boxes[enrollment]
		where := "box " + enrollment
		c.must(isHex(enrollment, 32), "%q is no enrollment", enrollment)
		c.names(where, b.BoxID, b.Namespace, b.Region, b.Pool, b.Cloud)
		c.optional(where, b.Role, b.Group)
		c.label(where, b.Label)
		c.must(isHex(b.EvidenceSHA256, 64), "%s has no digest of an evidence key", where)
		c.must(b.CensusPublicKey == "" || isHex(b.CensusPublicKey, 64), "%s has a census key that is none", where)
		c.must(isHex(b.Invitation, 32), "%s has no invitation", where)
		c.must(len(b.LossIDs) <= maxLossIDs && uint64(len(b.LossIDs)) <= b.QuarantineRevision, "%s was lost more often than quarantined", where)
		for i, id := range b.LossIDs {
			c.must(isKey(id) && !slices.Contains(b.LossIDs[:i], id), "%s has the loss id %q, which is none or is there twice", where, id)
		}
		c.must(b.State != Quarantined || b.QuarantineRevision > 0, "%s is quarantined and never was", where)
		c.time(where, b.EnrolledAt)
		if b.State == Retired {
			continue
		}
		c.must(live[b.BoxID] == "", "box %s is enrolled twice", b.BoxID)
		c.must(evidence[b.EvidenceSHA256] == "", "%s and %s have one evidence key", b.BoxID, evidence[b.EvidenceSHA256])
		live[b.BoxID], evidence[b.EvidenceSHA256] = enrollment, b.BoxID
	}
	for enrollment, a := range r.EnrollmentAttempts {
		where := "attempt " + enrollment
		_, enrolled := r.Boxes[enrollment]
		c.must(isHex(enrollment, 32) && !enrolled, "%s is no enrollment, or has ended", where)
		c.names(where, a.BoxID)
		c.must(isHex(a.Invitation, 32) && isHex(a.EvidenceSHA256, 64), "%s has no invitation or key", where)
		c.time(where, a.BegunAt)
	}
}

func (c *checker) reservations(r *Roster) {
	activations := slices.Sorted(maps.Keys(r.Activations))
	for i, id := range activations {
		a := r.Activations[id]
		c.reservation(id, a.Console, a.Scope, a.ReservedAt)
		for _, other := range activations[:i] {
			c.must(!r.overlap(a.Scope, r.Activations[other].Scope), "activations %s and %s overlap", other, id)
		}
	}
	for id, h := range r.Holds {
		c.reservation(id, h.Console, h.Scope, h.ReservedAt)
		c.must(h.Instance == "" || isName(h.Instance), "hold %s names the instance %q", id, h.Instance)
		for _, other := range activations {
			c.must(!r.overlap(h.Scope, r.Activations[other].Scope), "hold %s and activation %s overlap", id, other)
		}
	}
}

func (c *checker) reservation(id, console string, s Scope, at time.Time) {
	c.must(isKey(id), "%q is no key of an operation", id)
	c.names(id, console)
	_, err := ParseScope(s.String())
	c.must(err == nil, "%s has no scope", id)
	c.time(id, at)
}
