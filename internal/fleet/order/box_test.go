package order_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/canon"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/sign"
)

const (
	purposeAck     sign.Purpose = "application/vnd.holdfast.ack.v1+json"
	purposeSession sign.Purpose = "application/vnd.holdfast.session.v1+json"
)

func theBox(t testing.TB) order.Box {
	b, err := order.NewBox(fleet(t), box, evidence.Public())
	must(t, err)
	return b
}

func history() bucket.History { return bucket.History{}.Next(bucket.WriteID(hex("a", 32))) }

func ack(a order.Answer) order.Ack {
	return order.Ack{
		Bucket: hex("6", 32), Enrollment: box, BoxSession: hex("5", 32), Operation: "stop-1", Instance: "train",
		Incarnation: 3, Session: 4, Answer: a, History: history(),
	}
}

var ref = receipt.Ref{Key: "evidence/" + box + "/train/3-stop-1.json", SHA256: hex("e", 64)}

func session() order.Session {
	return order.Session{
		Schema: order.SessionSchema, Bucket: hex("6", 32), Enrollment: box, ID: hex("5", 32), MachineID: hex("c", 32), BootID: "boot-1",
		Generation: 0, RosterRevision: 17, Version: "v0.1.0", Proof: "weak", ProofWhy: "namespaces are refused", Isolation: "none", StartedAt: noon,
		History: history(),
	}
}

var answers = []order.Answer{
	order.Running{},
	order.Refused{Step: "binding-moved", Reason: "quarantine_revision 3→4"},
	order.Stopping{Why: "a process does not die"},
	order.Stopped{Receipt: ref},
}

// Red when: an arm is written or read as another.
func TestAnAnswerIsReadAsItWasWritten(t *testing.T) {
	for _, a := range answers {
		want := ack(a)
		data, err := theBox(t).Acks(evidence, "stop-1").Encode(want, history())
		must(t, err)
		got, err := theBox(t).ReadAck(data, "stop-1")
		if diff := cmp.Diff(want, got); err != nil || diff != "" || !want.Same(got) {
			t.Errorf("%s: %v\n%s", order.Phase(a), err, diff)
		}
	}
}

// Red when: ReadAck or ReadSession believes what the box has not signed for this place.
func TestWhatTheBoxDidNotSayIsRefused(t *testing.T) {
	text := func(a order.Answer) string {
		data, err := theBox(t).Acks(evidence, "stop-1").Encode(ack(a), history())
		must(t, err)
		e, err := sign.Read(data, purposeAck)
		must(t, err)
		return string(e.Claimed())
	}
	seal := func(p sign.Purpose, by sign.Key, text, old, now string) []byte {
		if !strings.Contains(text, old) {
			t.Fatalf("no %s in %s", old, text)
		}
		data, err := sign.Seal(p, []byte(strings.ReplaceAll(text, old, now)), by)
		must(t, err)
		return data
	}
	running, refused, stopped := text(answers[0]), text(answers[1]), text(answers[3])
	for name, c := range map[string]struct {
		data []byte
		step string
	}{
		"good":                  {seal(purposeAck, evidence, running, "a", "a"), "<nil>"},
		"by a stranger":         {seal(purposeAck, stranger, running, "a", "a"), "envelope-signer"},
		"by a console":          {seal(purposeAck, console, running, "a", "a"), "envelope-signer"},
		"for another purpose":   {seal(purposeSession, evidence, running, "a", "a"), "envelope-purpose"},
		"to another operation":  {seal(purposeAck, evidence, running, "stop-1", "stop-2"), "ack-format"},
		"by another box":        {seal(purposeAck, evidence, running, box, hex("2", 32)), "ack-format"},
		"in another fleet":      {seal(purposeAck, evidence, running, hex("6", 32), hex("7", 32)), "ack-format"},
		"another schema":        {seal(purposeAck, evidence, running, "ack/1", "ack/2"), "ack-format"},
		"another phase":         {seal(purposeAck, evidence, running, `"running"`, `"parked"`), "ack-format"},
		"no phase":              {seal(purposeAck, evidence, running, `"phase":"running"`, ``), "ack-format"},
		"a phase that is none":  {seal(purposeAck, evidence, running, `"running"`, `null`), "ack-format"},
		"a member of another":   {seal(purposeAck, evidence, running, `"phase":"running"`, `"phase":"running","why":"x"`), "ack-format"},
		"a member too few":      {seal(purposeAck, evidence, refused, `,"step":"binding-moved"`, ``), "ack-format"},
		"a step that is none":   {seal(purposeAck, evidence, refused, `binding-moved`, `Binding moved`), "ack-format"},
		"a reason that is none": {seal(purposeAck, evidence, refused, `quarantine_revision 3→4`, ``), "ack-format"},
		"a reason in lines":     {seal(purposeAck, evidence, refused, `quarantine_revision`, `\n`), "ack-format"},
		"a receipt elsewhere":   {seal(purposeAck, evidence, stopped, `evidence/1`, `evidence/2`), "ack-format"},
		"an earlier receipt":    {seal(purposeAck, evidence, stopped, `train/3-`, `train/2-`), "ack-format"},
		"a receipt in a folder": {seal(purposeAck, evidence, stopped, `train/3-stop-1`, `train/3-a/b`), "ack-format"},
		"a digest that is none": {seal(purposeAck, evidence, stopped, hex("e", 64), hex("e", 63)), "ack-format"},
		"no history":            {seal(purposeAck, evidence, running, `"revision":1`, `"revision":2`), "ack-format"},
		"a space":               {seal(purposeAck, evidence, running, `"phase":`, `"phase": `), "ack-format"},
	} {
		if _, err := theBox(t).ReadAck(c.data, "stop-1"); step(err) != c.step {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Red when: NewBox takes a key that the roster does not know.
func TestABoxIsKnownByTheKeyOfItsRow(t *testing.T) {
	for name, c := range map[string]struct {
		enrollment string
		key        sign.Key
	}{"another key": {box, stranger}, "another box": {hex("2", 32), evidence}} {
		if _, err := order.NewBox(fleet(t), c.enrollment, c.key.Public()); step(err) != "evidence-key" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b := theBox(t); b.Enrollment() != box || b.Evidence() != evidence.Public() {
		t.Errorf("%+v", b)
	}
}

// Red when: a member of a session is dropped, or not looked at.
func TestASessionIsReadAsItWasWritten(t *testing.T) {
	codec := theBox(t).Sessions(evidence)
	for name, c := range map[string]struct {
		change func(*order.Session)
		ok     bool
	}{
		"as it is":           {func(*order.Session) {}, true},
		"proved by names":    {func(s *order.Session) { s.Proof, s.ProofWhy, s.Isolation = "namespace", "", "namespace" }, true},
		"a generation":       {func(s *order.Session) { s.Generation = 1<<53 - 1 }, true},
		"too high a one":     {func(s *order.Session) { s.Generation = 1 << 53 }, false},
		"schema":             {func(s *order.Session) { s.Schema = order.Schema }, false},
		"another bucket":     {func(s *order.Session) { s.Bucket = hex("7", 32) }, false},
		"another box":        {func(s *order.Session) { s.Enrollment = hex("2", 32) }, false},
		"id":                 {func(s *order.Session) { s.ID = "5" }, false},
		"machine":            {func(s *order.Session) { s.MachineID = "" }, false},
		"boot":               {func(s *order.Session) { s.BootID = "a\n" }, false},
		"no roster was read": {func(s *order.Session) { s.RosterRevision = 0 }, false},
		"version":            {func(s *order.Session) { s.Version = "" }, false},
		"proof":              {func(s *order.Session) { s.Proof = "cgroup" }, false},
		"isolation":          {func(s *order.Session) { s.Isolation = "" }, false},
		"time":               {func(s *order.Session) { s.StartedAt = noon.Add(1) }, false},
	} {
		want := session()
		c.change(&want)
		data, err := codec.Encode(want, history())
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		got, h, err := codec.Decode(data)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || h.Check() != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// Red when: an answer that says the same is taken for another one.
func TestTheSameAnswerIsNotWrittenAgain(t *testing.T) {
	store, ctx := buckettest.NewMemory(t), context.Background()
	k, err := order.AckKey(box, "stop-1")
	must(t, err)
	say := func(a order.Ack) bucket.Updated[order.Ack] {
		u, err := bucket.Update(ctx, store, k, theBox(t).Acks(evidence, "stop-1"), func(old order.Ack, exists bool) (order.Ack, error) {
			if exists && old.Same(a) {
				return old, bucket.ErrUnchanged
			}
			return a, nil
		})
		must(t, err)
		return u
	}
	for _, a := range answers {
		first := say(ack(a))
		restarted := ack(a)
		restarted.BoxSession = hex("4", 32)
		if second := say(restarted); first.WriteID == "" || second.WriteID != "" {
			t.Errorf("%+v\n%+v", first, second)
		}
	}
}

func FuzzReadAck(f *testing.F) {
	for _, a := range answers {
		payload, err := ack(a).Payload()
		must(f, err)
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		a, err := order.DecodeAck(payload)
		if err != nil {
			return
		}
		if again, err := a.Payload(); err != nil || !bytes.Equal(again, payload) {
			t.Errorf("%s\nis read, and would be written as %s, %v", payload, again, err)
		}
	})
}

func FuzzReadSession(f *testing.F) {
	payload, err := canon.Encode(session())
	must(f, err)
	f.Add(payload)
	f.Fuzz(func(t *testing.T, payload []byte) {
		s, err := order.DecodeSession(payload)
		if err != nil {
			return
		}
		if again, err := canon.Encode(s); err != nil || !bytes.Equal(again, payload) {
			t.Errorf("%s\nis read, and would be written as %s, %v", payload, again, err)
		}
	})
}
