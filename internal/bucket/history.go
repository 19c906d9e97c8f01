package bucket

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// MaxWrites is how many writes a [History] remembers.
const MaxWrites = 64

// WriteID names one attempt to write an object: 32 lower-case hexadecimal digits
// of chance. Two attempts never share one.
type WriteID string

// NewWriteID is a write id that nobody has.
func NewWriteID() WriteID {
	var random [16]byte
	rand.Read(random[:]) // never fails
	return WriteID(hex.EncodeToString(random[:]))
}

// check refuses what no [NewWriteID] made.
func (id WriteID) check() error {
	raw, err := hex.DecodeString(string(id))
	if err != nil || len(raw) != 16 || hex.EncodeToString(raw) != string(id) {
		return fmt.Errorf("%.64q is no write id", string(id))
	}
	return nil
}

// Write is one write of an object.
type Write struct {
	WriteID  WriteID `json:"write_id"`
	Revision uint64  `json:"revision"` // 1 for the first, then one more each time
}

// History is what an object says of how it came to be. It stands inside the
// object's own bytes (signed with them, where they are signed), and so every
// write has other bytes than each one before it, also where all else is as it
// was: versions never come back.
//
// The zero History is that of an object that is not there.
type History struct {
	// WriteID is that of the write that made these bytes.
	WriteID WriteID `json:"write_id"`
	// Writes are the last writes, the oldest first, and this one is the last of
	// them: all of them up to MaxWrites.
	Writes []Write `json:"writes"`
}

// Revision is the number of the write that made this, 0 for the zero History.
func (h History) Revision() uint64 {
	if len(h.Writes) == 0 {
		return 0
	}
	return h.Writes[len(h.Writes)-1].Revision
}

// Next is the history after one more write, whose id is id.
func (h History) Next(id WriteID) History {
	writes := append(slices.Clone(h.Writes), Write{WriteID: id, Revision: h.Revision() + 1})
	return History{WriteID: id, Writes: writes[max(0, len(writes)-MaxWrites):]}
}

// Check refuses what no series of calls of Next makes. A decoder calls it on what
// it read: the zero History is refused too, as an object that is there has one.
func (h History) Check() error {
	if len(h.Writes) == 0 {
		return errors.New("it names no write")
	}
	if want := min(h.Revision(), MaxWrites); uint64(len(h.Writes)) != want {
		return fmt.Errorf("it names %d writes at revision %d, which should be %d", len(h.Writes), h.Revision(), want)
	}
	seen := map[WriteID]bool{}
	for i, w := range h.Writes {
		if err := w.WriteID.check(); err != nil {
			return err
		}
		if seen[w.WriteID] {
			return fmt.Errorf("it names the write %s twice", w.WriteID)
		}
		seen[w.WriteID] = true
		if i > 0 && w.Revision != h.Writes[i-1].Revision+1 {
			return fmt.Errorf("revision %d stands behind revision %d", w.Revision, h.Writes[i-1].Revision)
		}
	}
	if last := h.Writes[len(h.Writes)-1]; last.WriteID != h.WriteID {
		return errors.New("its last write is not its own")
	}
	return nil
}

// same reports whether h and other are of the very same write.
func (h History) same(other History) bool {
	return h.Revision() == other.Revision() && h.WriteID == other.WriteID
}
