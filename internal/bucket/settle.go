package bucket

// Verdict is what became of a write whose answer was lost or says little, as far
// as the object itself can tell.
//
//sumtype:decl
type Verdict interface{ verdict() }

// Landed: the object's history names the write. It took effect, as Revision,
// whatever was written since.
type Landed struct{ Revision uint64 }

// Passed: the history goes back to what the write was based on, and does not name
// it. Others have written since; the write's condition holds no more and, since
// versions never come back, never will: it has not taken effect, and cannot.
type Passed struct{}

// Pending: the object is still what the write was based on. It has not taken
// effect yet, which is no promise: a request that was thought lost may arrive
// later, and its condition would hold. Only a write by somebody (by the same
// writer, of the same bytes, best) ends that.
type Pending struct{}

// Beyond: it cannot be told any more. So many writes came since that the history
// does not go back so far, or the object is older than, or another than, what the
// write was based on, as after a restore.
type Beyond struct{}

func (Landed) verdict()  {}
func (Passed) verdict()  {}
func (Pending) verdict() {}
func (Beyond) verdict()  {}

// Settle says what became of the write id, which was to follow base, by what the
// object is now, read after the write was sent. The zero History is that of no
// object.
func Settle(id WriteID, base, now History) Verdict {
	for _, w := range now.Writes {
		if w.WriteID == id {
			return Landed{Revision: w.Revision}
		}
	}
	if now.same(base) {
		return Pending{}
	}
	if !follows(base, now) {
		return Beyond{}
	}
	return Passed{}
}

// follows reports whether now's history names every write since base, and base
// itself if it goes back so far.
func follows(base, now History) bool {
	if now.Check() != nil || now.Revision() <= base.Revision() {
		return false
	}
	oldest := now.Writes[0].Revision
	if oldest > base.Revision() {
		return oldest == base.Revision()+1
	}
	return now.Writes[base.Revision()-oldest].WriteID == base.WriteID
}
