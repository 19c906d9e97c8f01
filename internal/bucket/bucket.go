// Package bucket is where machines that know nothing of each other keep what
// they must agree on: objects under keys, each written only on the condition
// that it is still what its writer has seen.
//
// The model. A [Store] holds objects: some bytes under a [Key]. Whatever was
// written last is the object; nothing is ever deleted (a tombstone is an object
// like any other). Each content has a [Version], which only the store can read.
// A write names its [Condition]: that there is no such object ([Absent]) or that
// it still has the version that was read ([At]). There is no third, so a write
// that looks at nothing cannot be spelt.
//
// What a store promises:
//
//   - Of all writes on one version at most one takes effect.
//   - A read that begins after a write ended as [Done] sees it, or a later one.
//   - What a read returned or a write acknowledged outlasts a crash.
//   - A read that did not come through is an error, never "absent".
//
// What it does not: two contents of the same bytes may have the same version (on
// S3 a version is the MD5 of the bytes). A writer that must notice that the
// object was changed and changed back writes other bytes each time; [History]
// does that. Keys are not paths: but no key may be the folder of another ("a"
// beside "a/b"), since some stores keep files. How long an unacknowledged write
// may still be under way nobody knows.
//
// A write ends in one of the four ways of [Ending]. [Update] is how an object is
// changed: it reads, changes, writes, and finds out what became of it.
package bucket

import (
	"context"

	"holdfast/internal/problem"
)

// MaxObject is the most bytes that an object has: 16 MiB.
const MaxObject = 16 << 20

// Store keeps objects. Each call sends a write at most once; a read may be tried
// again inside of it. All methods are safe for concurrent use, by other
// processes too. Errors and causes carry public words (package problem) and no
// credentials.
type Store interface {
	// Get reads the object under key: [Found] or [Nothing]. An error means that
	// it could not be told which.
	Get(ctx context.Context, key Key) (Reading, error)
	// Put writes data under key if the condition holds.
	Put(ctx context.Context, key Key, data []byte, on Condition) Ending
	// List names the objects whose keys begin with prefix, in the order of their
	// bytes. What others keep there under names that are no keys is left out.
	List(ctx context.Context, prefix string) ([]Key, error)
}

// Version tells an object's content from what it was before. It is the store's
// own and comparable; the zero Version is no object's, and no condition.
type Version struct{ token string }

// NewVersion is for stores: the version that they call token.
func NewVersion(token string) Version { return Version{token} }

// Token is for stores: what [NewVersion] was given.
func (v Version) Token() string { return v.token }

// Reading is what a read found.
//
//sumtype:decl
type Reading interface {
	reading()
	// Unmoved is the condition that nobody has written since.
	Unmoved() Condition
}

// Found is an object, whole.
type Found struct {
	Data    []byte
	Version Version
}

// Nothing: there surely is no object of that key.
type Nothing struct{}

func (Found) reading()   {}
func (Nothing) reading() {}

// Unmoved is [At] the version that was found.
func (f Found) Unmoved() Condition { return At{f.Version} }

// Unmoved is [Absent].
func (Nothing) Unmoved() Condition { return Absent{} }

// Condition is what must hold for a write to take effect.
//
//sumtype:decl
type Condition interface{ condition() }

// Absent: there is no object of that key.
type Absent struct{}

// At: the object is there and has this version.
type At struct{ Version Version }

func (Absent) condition() {}
func (At) condition()     {}

// Ending is how a write ended.
//
//sumtype:decl
type Ending interface{ ending() }

// Done: it is written, and stays until the next write.
type Done struct{ Version Version }

// Refused: the store answered that the condition does not hold, or that another
// write was under way (S3's 409): read again before trying again. The store
// speaks of the request that it answered. Where something between here and there
// delivers a request twice, the first may have been written and the second be
// the one that was refused; whoever needs to know looks, as [Update] does.
type Refused struct{ Cause error }

// Failed: nothing was written, and not because of the condition: it was too
// large, forbidden, the disk was full, nobody could be reached to send it to.
type Failed struct{ Cause error }

// Unknown: it may have been written, may still be, or never.
type Unknown struct{ Cause error }

func (Done) ending()    {}
func (Refused) ending() {}
func (Failed) ending()  {}
func (Unknown) ending() {}

// CheckPut is for stores: it refuses, before anything is touched, what no store
// may write.
func CheckPut(key Key, data []byte, on Condition) error {
	if err := CheckGet(key); err != nil {
		return err
	}
	if len(data) > MaxObject {
		return problem.Refusal(problem.StepTooLarge,
			"the object %s would have %d bytes, and the most is %d; nothing was written", key, len(data), MaxObject)
	}
	switch c := on.(type) {
	case Absent:
		return nil
	case At:
		if c.Version != (Version{}) {
			return nil
		}
	}
	return problem.New(problem.Usage, "bucket-condition", "a write of %s names no version that was read; nothing was written", key)
}

// CheckGet is for stores: it refuses the zero [Key].
func CheckGet(key Key) error {
	if key == (Key{}) {
		return problem.New(problem.Usage, StepKey, "no object was named")
	}
	return nil
}
