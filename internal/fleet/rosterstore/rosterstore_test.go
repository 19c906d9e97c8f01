package rosterstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/dirbucket"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

const bucketID = "66666666666666666666666666666666"

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func hex(c string, n int) string { return strings.Repeat(c, n) }

func step(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return fmt.Sprint(err)
	}
	return p.Step
}

// fleet is a bucket in a folder with a roster of one console and one box.
type fleet struct {
	t        *testing.T
	dir      string // the bucket's folder
	bucket   bucket.Store
	root     sign.Key
	console  sign.Key
	stranger sign.Key
}

func begin(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), root: key(1), console: key(2), stranger: key(3)}
	f.bucket = dirbucket.New(folder(t, f.dir))
	if _, err := f.party().Init(t.Context(), f.console, f.first); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fleet) first() (*roster.Roster, error) {
	r := roster.New(bucketID, time.Second)
	return r, errors.Join(f.enroll(r, "main", f.console), r.Enroll(admission("box-1"), hex("a", 64), noon))
}

func (f *fleet) enroll(r *roster.Roster, name string, k sign.Key) error {
	grant, err := rosterstore.Grant(f.root, bucketID, name, k.Public())
	return errors.Join(err, r.EnrollConsole(name, k.Public().String(), grant, noon))
}

func admission(box string) roster.Admission {
	return roster.Admission{Invitation: fmt.Sprintf("%032x", box)[:32], Uses: 1, BoxID: box, Namespace: "default", Region: "eu", Pool: "default", Cloud: "none"}
}

func key(n byte) sign.Key { return sign.FromSeed([32]byte{n}) }

func folder(t testing.TB, path string) *durable.Dir {
	t.Helper()
	d, err := durable.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// party is somebody with a memory of their own.
func (f *fleet) party() *rosterstore.Store { return f.partyAt(f.t.TempDir()) }

func (f *fleet) partyAt(memory string) *rosterstore.Store { return f.partyIn(f.t, memory) }

func (f *fleet) partyIn(t testing.TB, memory string) *rosterstore.Store {
	return rosterstore.New(f.bucket, rosterstore.Trust{Root: f.root.Public(), Bucket: bucketID}, rosterstore.NewMemory(folder(t, memory)))
}

func (f *fleet) update(s *rosterstore.Store, change func(*roster.Roster) error) *rosterstore.Version {
	f.t.Helper()
	v, err := s.Update(f.t.Context(), f.console, change)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

// file is the roster as it stands in the bucket.
func (f *fleet) file() string { return filepath.Join(f.dir, "control/roster.json") }

func (f *fleet) bytes() []byte {
	f.t.Helper()
	data, err := os.ReadFile(f.file())
	if err != nil {
		f.t.Fatal(err)
	}
	return data
}

func (f *fleet) put(data []byte) {
	f.t.Helper()
	if err := os.WriteFile(f.file(), data, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func label(text string) func(*roster.Roster) error {
	return func(r *roster.Roster) error { return r.SetLabel("box-1", text) }
}

// Red when: Update does not write, or returns what it was asked and not what is there.
func TestWhatIsUpdatedIsRead(t *testing.T) {
	f := begin(t)
	s := f.party()
	v := f.update(s, label("one"))
	read, err := f.party().Read(t.Context())
	if err != nil || read.Digest != v.Digest || read.Revision != 2 || read.Signer != "main" || read.Restored {
		t.Fatalf("%+v, %v", read, err)
	}
	if _, b, _ := read.Live("box-1"); b.Label != "one" {
		t.Errorf("%+v", b)
	}
	same, err := s.Update(t.Context(), f.console, label("one"))
	if err != nil || same.Revision != 2 {
		t.Errorf("nothing to do: revision %d, %v", same.Revision, err)
	}
	if _, err := s.Update(t.Context(), f.console, func(r *roster.Roster) error { return r.Retire("nobody") }); step(err) != "box-unknown" {
		t.Errorf("a refusal: %v", err)
	}
	if now, err := s.Read(t.Context()); err != nil || now.Revision != 2 {
		t.Errorf("after a refusal: %v", err)
	}
}

// case F05. Red when: memory is not asked, not written, or compares only the revision.
func TestAnOldOrAnotherRosterIsRefused(t *testing.T) {
	f := begin(t)
	old := f.bytes()
	memory := t.TempDir()
	f.update(f.partyAt(memory), label("one"))
	twin := f.bytes()
	f.put(old)
	f.update(f.party(), label("two")) // by a party that never saw the first
	other := f.bytes()
	f.update(f.party(), label("three"))
	third := f.bytes()
	for name, c := range map[string]struct {
		data []byte
		step string
	}{
		"older":                      {old, "roster-rollback"},
		"the same revision":          {other, "roster-fork"},
		"the next of another branch": {third, "roster-fork"},
		"itself":                     {twin, "<nil>"},
	} {
		f.put(c.data)
		s := f.partyAt(memory) // as after a restart
		if v, err := s.Read(t.Context()); step(err) != c.step || (v == nil) != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
		if c.step == "<nil>" {
			continue // an update would be one
		}
		if _, err := s.Update(t.Context(), f.console, label("x")); step(err) != c.step {
			t.Errorf("%s, an update: %v", name, err)
		}
	}
	if err := os.Remove(f.file()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.partyAt(memory).Read(t.Context()); step(err) != "roster-rollback" {
		t.Errorf("gone: %v", err)
	}
	if _, err := f.partyAt(memory).Init(t.Context(), f.console, f.first); step(err) != "roster-rollback" {
		t.Errorf("a beginning where one was: %v", err)
	}
	if _, err := f.party().Read(t.Context()); step(err) != "fleet-absent" {
		t.Errorf("gone, for one who never saw it: %v", err)
	}
}

// Red when: a signer, a grant, a purpose or the bucket is not asked for.
func TestARosterThatNobodyMaySignIsRefused(t *testing.T) {
	f := begin(t)
	f.update(f.party(), func(r *roster.Roster) error { return f.enroll(r, "second", key(4)) })
	good := f.bytes()
	payload := func() []byte {
		var e struct{ Payload []byte }
		if err := json.Unmarshal(good, &e); err != nil {
			t.Fatal(err)
		}
		return e.Payload
	}()
	const rosterPurpose, restorePurpose = "application/vnd.holdfast.roster.v1+json", "application/vnd.holdfast.roster-restored.v1+json"
	sealed := func(purpose, text string, k ...sign.Key) []byte {
		data, err := sign.Seal(sign.Purpose(purpose), []byte(text), k...)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	swap := func(old, new string) string {
		if !strings.Contains(string(payload), old) {
			t.Fatalf("no %s in %s", old, payload)
		}
		return strings.Replace(string(payload), old, new, 1)
	}
	forged, err := rosterstore.Grant(f.stranger, bucketID, "second", key(4).Public())
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := rosterstore.Grant(f.root, hex("7", 32), "second", key(4).Public())
	if err != nil {
		t.Fatal(err)
	}
	genuine, err := rosterstore.Grant(f.root, bucketID, "second", key(4).Public())
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(text string) string { q, _ := json.Marshal(text); return strings.Trim(string(q), `"`) }
	for name, c := range map[string]struct {
		data []byte
		step string
	}{
		"a stranger":                 {sealed(rosterPurpose, string(payload), f.stranger), "roster-signer"},
		"the root, for a roster":     {sealed(rosterPurpose, string(payload), f.root), "roster-signer"},
		"two consoles":               {sealed(rosterPurpose, string(payload), f.console, key(4)), "roster-signer"},
		"a console, as restored":     {sealed(restorePurpose, string(payload), f.console), "envelope-signer"},
		"another purpose":            {sealed("application/vnd.holdfast.console-grant.v1+json", string(payload), f.console), "envelope-purpose"},
		"a grant by a stranger":      {sealed(rosterPurpose, swap(quoted(genuine), quoted(forged)), f.console), "roster-signer"},
		"a grant of another fleet":   {sealed(rosterPurpose, swap(quoted(genuine), quoted(elsewhere)), f.console), "roster-signer"},
		"a grant of another console": {sealed(rosterPurpose, swap(`"second":{`, `"third":{`), f.console), "roster-signer"},
		"a console's key swapped":    {sealed(rosterPurpose, swap(key(4).Public().String(), key(5).Public().String()), key(5)), "roster-signer"},
		"another bucket":             {sealed(rosterPurpose, swap(bucketID, hex("7", 32)), f.console), "roster-bucket"},
		"a bit":                      {[]byte(strings.Replace(string(good), `"sig":"`, `"sig":"A`, 1)), "envelope-format"},
		"another payload":            {[]byte(strings.Replace(string(good), payloadOf(good), payloadOf(sealed(rosterPurpose, swap(`"request_limit_ns":1`, `"request_limit_ns":2`), f.console)), 1)), "envelope-signature"},
		"empty":                      {nil, "envelope-format"},
		"no envelope":                {payload, "envelope-format"},
		"an unknown member":          {sealed(rosterPurpose, swap(`{"activations"`, `{"a":1,"activations"`), f.console), "roster-format"},
		"a member twice":             {sealed(rosterPurpose, swap(`"revision":2`, `"revision":2,"revision":2`), f.console), "roster-format"},
		"as it is":                   {good, "<nil>"},
	} {
		f.put(c.data)
		if v, err := f.party().Read(t.Context()); step(err) != c.step || (v == nil) != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.put(good)
	if _, err := f.party().Update(t.Context(), f.stranger, label("x")); step(err) != "roster-signer" {
		t.Errorf("a stranger writes: %v", err)
	}
	if _, err := f.party().Update(t.Context(), f.console, func(r *roster.Roster) error {
		return r.EnrollConsole("third", key(6).Public().String(), forged, noon)
	}); step(err) != "roster-signer" {
		t.Errorf("a console without a grant is enrolled: %v", err)
	}
	if string(f.bytes()) != string(good) {
		t.Error("a refused writer wrote")
	}
}

func payloadOf(envelope []byte) string {
	_, rest, _ := strings.Cut(string(envelope), `"payload":"`)
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

// Red when: a version is swapped in without being in the log, or the log is not
// walked to its beginning.
func TestEveryVersionIsInTheLog(t *testing.T) {
	f := begin(t)
	s := f.party()
	for i := range 70 { // past what a roster names of its writes
		f.update(s, label(fmt.Sprint(i)))
	}
	want := uint64(71)
	err := s.Log(t.Context(), func(e rosterstore.Entry) bool {
		if e.Revision != want || (e.Before == nil) != (want == 1) {
			t.Errorf("revision %d, want %d", e.Revision, want)
		}
		want--
		return true
	})
	if err != nil || want != 0 {
		t.Errorf("%d are missing: %v", want, err)
	}
}

// Red when: Log does not verify entries, compare digests, or judge steps.
func TestABrokenLogIsSaid(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, f *fleet, entries []string){
		"one is gone":    func(t *testing.T, f *fleet, e []string) { must(t, os.Remove(e[1])) },
		"one is torn":    func(t *testing.T, f *fleet, e []string) { must(t, os.Truncate(e[1], 100)) },
		"one is another": func(t *testing.T, f *fleet, e []string) { must(t, os.Remove(e[1]), os.Link(e[0], e[1])) },
		"a step is none": func(t *testing.T, f *fleet, e []string) { f.forge(e) },
	} {
		f := begin(t)
		s := f.party()
		f.update(s, label("one"))
		f.update(s, label("two"))
		entries, err := filepath.Glob(filepath.Join(f.dir, "control/roster/log/*.json"))
		if err != nil || len(entries) != 3 {
			t.Fatal(entries, err)
		}
		spoil(t, f, entries)
		if err := f.party().Log(t.Context(), func(rosterstore.Entry) bool { return true }); step(err) != "roster-log" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// forge writes, by direct signed write, a roster that no writer makes.
func (f *fleet) forge([]string) {
	v, err := f.party().Read(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	r := v.Clone()
	enrollment, b, _ := r.Live("box-1")
	b.Pool = "other"
	r.Boxes[enrollment] = b
	r.Advance(v.Digest, hex("9", 32), noon)
	text, err := r.Encode()
	must(f.t, err)
	data, err := sign.Seal("application/vnd.holdfast.roster.v1+json", text, f.console)
	must(f.t, err)
	old := f.bytes()
	f.put(data)
	must(f.t, os.WriteFile(filepath.Join(f.dir, fmt.Sprintf("control/roster/log/%010d.%s.json", v.Revision, v.Digest)), old, 0o600))
}

// Red when: a restored roster has a revision that was seen, keeps what came after,
// or is refused by those who saw more.
func TestARestoredRosterIsAboveAllThatWereSeen(t *testing.T) {
	f := begin(t)
	memory := t.TempDir()
	s := f.partyAt(memory)
	f.update(s, label("one"))
	backup := f.bytes()
	f.update(s, label("two"))
	f.update(s, label("three"))
	f.put(backup) // the store is put back
	if _, err := s.Read(t.Context()); step(err) != "roster-rollback" {
		t.Fatal(err)
	}
	var candidates []*rosterstore.Version
	err := s.Candidates(t.Context(), func(v *rosterstore.Version) bool { candidates = append(candidates, v); return true })
	if err != nil || len(candidates) != 4 || candidates[0].Revision != 4 {
		t.Fatalf("%v, %v", candidates, err)
	}
	if _, err := s.Restore(t.Context(), f.console, candidates[1], 0); step(err) != "envelope-signer" {
		t.Errorf("restored by a console: %v", err)
	}
	v, err := f.party().Restore(t.Context(), f.root, candidates[1], 9)
	if err != nil || v.Revision != 10 || !v.Restored {
		t.Fatalf("%+v, %v", v, err)
	}
	for name, party := range map[string]*rosterstore.Store{"one who saw more": s, "after a restart": f.partyAt(memory), "a new one": f.party()} {
		read, err := party.Read(t.Context())
		if err != nil || read.Revision != 10 {
			t.Fatalf("%s: %v", name, err)
		}
		if _, b, _ := read.Live("box-1"); b.Label != "two" {
			t.Errorf("%s: %q", name, b.Label)
		}
	}
	f.update(s, label("four"))
	var seen []uint64
	err = s.Log(t.Context(), func(e rosterstore.Entry) bool { seen = append(seen, e.Revision); return true })
	if err != nil || fmt.Sprint(seen) != "[11 10 3 2 1]" {
		t.Errorf("%v, %v", seen, err)
	}
	must(t, os.Remove(f.file())) // and over nothing
	if v, err := s.Restore(t.Context(), f.root, candidates[0], 0); err != nil || v.Revision != 12 {
		t.Errorf("%v", err)
	}
	f.put([]byte("garbage")) // and over what is none
	if v, err := s.Restore(t.Context(), f.root, candidates[0], 0); err != nil || v.Revision != 13 {
		t.Errorf("%v", err)
	}
}

// Red when: Restore takes over nothing of the newest version: a box that was retired
// is active again, and what a quarantine ended goes on.
func TestRestoringBringsNoBoxBack(t *testing.T) {
	f := begin(t)
	s := f.party()
	f.update(s, func(r *roster.Roster) error { return r.Enroll(admission("box-2"), hex("b", 64), noon) })
	old, err := s.Read(t.Context())
	must(t, err)
	enrollment, _, _ := old.Live("box-1")
	was, _ := old.Actor(enrollment)
	f.update(s, func(r *roster.Roster) error { return r.SetRole("box-1", "gpu") })
	f.update(s, func(r *roster.Roster) error { return r.Quarantine("box-1", "loss-1") })
	f.update(s, func(r *roster.Roster) error { return r.Retire("box-2") })
	f.update(s, func(r *roster.Roster) error { return r.Enroll(admission("box-3"), hex("c", 64), noon) })
	v, err := s.Restore(t.Context(), f.root, old, 0)
	must(t, err)
	is, _ := v.Actor(enrollment)
	_, one, _ := v.Live("box-1")
	_, _, two := v.Live("box-2")
	_, _, three := v.Live("box-3")
	if one.State != roster.Quarantined || one.Role != "" || two || !three || len(v.Boxes) != 3 {
		t.Errorf("box-1 %+v, box-2 live %v, box-3 live %v, %d rows", one, two, three, len(v.Boxes))
	}
	if was.Binding.Stamp().Current(is.Binding) {
		t.Error("what was installed before the quarantine is current again")
	}
	if v := f.update(s, func(r *roster.Roster) error { return r.Readmit("box-1") }); roster.SameBinding(was, actor(v, enrollment)) {
		t.Error("readmission brings the old binding back")
	}
}

func actor(v *rosterstore.Version, enrollment string) roster.Actor {
	a, _ := v.Actor(enrollment)
	return a
}

// Red when: what a memory says is passed over because it cannot be read.
func TestADamagedMemoryBelievesNothing(t *testing.T) {
	f := begin(t)
	for name, text := range map[string]string{"empty": "", "torn": `{"bucket"`, "another schema": `{"bucket":"x","revision":1,"schema":"x","sha256":"x"}`} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "verified.json"), []byte(text), 0o600))
		s := f.partyAt(dir)
		if _, err := s.Read(t.Context()); step(err) != "memory-damaged" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Update(t.Context(), f.console, label("x")); step(err) != "memory-damaged" {
			t.Errorf("%s, an update: %v", name, err)
		}
		if now, _ := os.ReadFile(filepath.Join(dir, "verified.json")); string(now) != text {
			t.Errorf("%s: it was replaced", name)
		}
	}
}

// A read that was under way while another process learnt of a newer version is no
// rollback.
//
// Red when: the floor is taken after the read.
func TestAReadThatWasOvertakenIsNoRollback(t *testing.T) {
	f := begin(t)
	memory := t.TempDir()
	behind := f.partyAt(memory)
	f.bucket = overtaken{f.bucket, func() { f.update(f.partyAt(memory), label("newer")) }}
	s := f.partyAt(memory)
	f.bucket = f.bucket.(overtaken).Store
	if v, err := s.Read(t.Context()); err != nil || v.Revision != 1 {
		t.Errorf("%v", err)
	}
	if v, err := behind.Read(t.Context()); err != nil || v.Revision != 2 {
		t.Errorf("%v", err)
	}
}

// overtaken lets something happen between a read and its answer.
type overtaken struct {
	bucket.Store
	meanwhile func()
}

func (o overtaken) Get(ctx context.Context, key bucket.Key) (bucket.Reading, error) {
	r, err := o.Store.Get(ctx, key)
	o.meanwhile()
	return r, err
}

// Red when: a conflict is not read again, or a change is lost.
func TestWritersDoNotLoseEachOther(t *testing.T) {
	f := begin(t)
	memory := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		s := f.partyAt(memory)
		all.Go(func() {
			for n := range 3 {
				op := fmt.Sprintf("op-%d-%d", i, n)
				if _, err := s.Update(t.Context(), f.console, func(r *roster.Roster) error {
					return r.ReserveHold(op, roster.Hold{Console: "main", Scope: roster.OneBox("box-1"), ReservedAt: noon})
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if v, err := f.party().Read(t.Context()); err != nil || len(v.Holds) != 24 || v.Revision != 25 {
		t.Errorf("%d holds at revision %d, %v", len(v.Holds), v.Revision, err)
	}
}
