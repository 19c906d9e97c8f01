package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"holdfast/internal/canon"
)

func draft() Draft {
	return Draft{
		Node: "fix-login", Author: "principal:local/studio/ada", Parents: []ID{},
		At:   time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Body: Opened{Card{Title: "Mend the sign-in page", Body: "It forgets who\nsigned in.", Labels: []string{"bug", "web"}, Priority: "p1"}},
	}
}

// sealed is whatever anybody might state, sealed.
func sealed(t *rapid.T) (Draft, Event) {
	d := drawDraft(t)
	e, err := d.Seal()
	if err != nil {
		t.Fatalf("%+v: %v", d, err)
	}
	return d, e
}

// TestTheFastBytesAreTheCanonicalOnes. Red when appendString escapes < as
// encoding/json does, or canonical swaps two members.
func TestTheFastBytesAreTheCanonicalOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, e := sealed(t)
		slow, err := canon.Encode(d.wire())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(slow, e.Bytes()) {
			t.Errorf("%s\n%s", slow, e.Bytes())
		}
		sum := sha256.Sum256(slow)
		if hex.EncodeToString(sum[:]) != string(e.ID()) {
			t.Errorf("id = %s", e.ID())
		}
	})
}

// TestWhatIsSealedIsWhatIsRead. Red when a write or a reader of a kind forgets a
// member, and when Seal keeps finer times than it writes.
func TestWhatIsSealedIsWhatIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, e := sealed(t)
		read, err := Decode(e.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(draftOf(e), draftOf(read)); diff != "" || e.ID() != read.ID() {
			t.Errorf("sealed and read differ:\n%s", diff)
		}
		if diff := cmp.Diff(d, draftOf(read), cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("drafted and read differ:\n%s", diff)
		}
		if !Same(d.Body, read.Body()) {
			t.Error("the body is not the same as itself")
		}
	})
}

func TestAnEnvelopeIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, e := sealed(t)
		env := Envelope{
			Seq: rapid.Int64Range(1, MaxSeq).Draw(t, "seq"),
			Key: Key(rapid.StringMatching(`[A-Za-z0-9_-]{1,128}`).Draw(t, "key")), Event: e,
		}
		read, err := DecodeEnvelope(env.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if read.Seq != env.Seq || read.Key != env.Key || read.Event.ID() != e.ID() {
			t.Errorf("read %d %s %s", read.Seq, read.Key, read.Event.ID())
		}
		var w wireEnvelope
		if err := canon.Decode(env.Bytes(), &w); err != nil {
			t.Error(err)
		}
		again, err := canon.Encode(w)
		if err != nil || !bytes.Equal(again, env.Bytes()) {
			t.Errorf("canonical:\n%s\n%s\n%v", again, env.Bytes(), err)
		}
	})
}

// TestAnEventSharesNothingWithItsDraft. Red when Seal keeps the draft instead of
// reading its own bytes.
func TestAnEventSharesNothingWithItsDraft(t *testing.T) {
	labels, parents, picks := []string{"a", "b"}, []ID{ID(vectors[0].id)}, []string{"b/1"}
	opened := Draft{Node: "n", Author: draft().Author, At: draft().At, Body: Opened{Card{Title: "t", Labels: labels}}}
	waits := Draft{
		Node: "n", Author: draft().Author, At: draft().At, Parents: parents,
		Body: ResultReturned{Attempt: "0123456789abcdef", Claim: vectors[0].id, Outcome: Waiting{picks}},
	}
	var events []Event
	for _, d := range []Draft{opened, waits} {
		e, err := d.Seal()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	labels[0], parents[0], picks[0] = "0", "", "c/2"
	for _, e := range events {
		if again, err := draftOf(e).Seal(); err != nil || again.ID() != e.ID() {
			t.Errorf("%s changed with its draft: %v", e.Kind(), err)
		}
	}
}

// case R13. The id does not depend on the
// zone in which the author's clock is shown.
func TestTimesAreCutToTheMillisecondInUTC(t *testing.T) {
	here, there := draft(), draft()
	here.At = here.At.Add(999_999)
	there.At = there.At.In(time.FixedZone("east", 5*3600))
	a, errA := here.Seal()
	b, errB := there.Seal()
	if err := errors.Join(errA, errB); err != nil || a.ID() != b.ID() {
		t.Errorf("%s, %s: %v", a.ID(), b.ID(), err)
	}
}

func TestSameIgnoresWhoAndWhenAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawDraft(t).Body, drawDraft(t).Body
		equal := cmp.Equal(a, b, cmpopts.EquateEmpty())
		if Same(a, b) != equal {
			t.Errorf("Same(%#v, %#v) = %v", a, b, !equal)
		}
	})
	if Same(Accepted{"x"}, Dropped{"x"}) {
		t.Error("accepting is the same as dropping")
	}
}

func BenchmarkSeal(b *testing.B) {
	for b.Loop() {
		if _, err := draft().Seal(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeEnvelope(b *testing.B) {
	e, err := draft().Seal()
	if err != nil {
		b.Fatal(err)
	}
	data := Envelope{Seq: 1, Key: "k", Event: e}.Bytes()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := DecodeEnvelope(data); err != nil {
			b.Fatal(err)
		}
	}
}
