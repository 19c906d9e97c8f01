package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/problem"
)

func step(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return fmt.Sprint(err)
	}
	return p.Step
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func homeIn(dir string) fleet.Home {
	return fleet.Home{Console: filepath.Join(dir, "console"), Box: filepath.Join(dir, "box"), Bucket: filepath.Join(dir, "bucket")}
}

// begin is a fleet in the home that is returned, and its console.
func begin(t *testing.T) (fleet.Home, *fleet.Console) {
	t.Helper()
	h := homeIn(t.TempDir())
	begun, err := fleet.Init(t.Context(), h, fleet.Embedded)
	must(t, err)
	if begun.Revision != 1 || begun.Console != "main" || begun.Region != "home" {
		t.Fatalf("%+v", begun)
	}
	return h, open(t, h)
}

func open(t *testing.T, h fleet.Home) *fleet.Console {
	t.Helper()
	c, err := fleet.OpenConsole(h)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func invite(t *testing.T, c *fleet.Console, i enrollment.Invitation, good time.Duration) string {
	t.Helper()
	if i.Uses == 0 {
		i.Uses = 1
	}
	word, err := c.Invite(t.Context(), i, good)
	must(t, err)
	return word.Token
}

// join asks, and lets the console answer.
func join(t *testing.T, c *fleet.Console, h fleet.Home, word string) (fleet.Joined, error) {
	t.Helper()
	if _, err := fleet.Join(t.Context(), h, word, nil); err != nil {
		return fleet.Joined{}, err
	}
	if _, err := c.Admit(t.Context()); err != nil {
		return fleet.Joined{}, err
	}
	return fleet.Status(t.Context(), h)
}

// Red when: a machine is let in without being asked for, or not at all.
func TestAMachineAsksAndIsLetIn(t *testing.T) {
	_, c := begin(t)
	h := homeIn(t.TempDir())
	word := invite(t, c, enrollment.Invitation{Box: "box-1", Role: "gpu"}, time.Hour)
	asked, err := fleet.Join(t.Context(), h, word, nil)
	if must(t, err); asked.State != fleet.Asked || asked.BoxID != "box-1" {
		t.Fatalf("%+v", asked)
	}
	if list, err := c.Boxes(t.Context()); err != nil || len(list.Boxes) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	in, err := join(t, c, h, word)
	if err != nil || in.State != "active" || in.BoxID != "box-1" || in.Enrollment != asked.Enrollment {
		t.Fatalf("%+v, %v", in, err)
	}
	list, err := c.Boxes(t.Context())
	if err != nil || len(list.Boxes) != 1 || list.Boxes[0].Binding != in.Binding || list.Boxes[0].Role != "gpu" || list.Revision != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// case F07. Red when: the enrollment is of chance, Join stops at what it finds of an
// earlier try, or Admit adds a row anew.
func TestJoiningAgainIsTheSameBox(t *testing.T) {
	_, c := begin(t)
	h := homeIn(t.TempDir())
	word := invite(t, c, enrollment.Invitation{Box: "box-1"}, time.Hour)
	must(t, os.MkdirAll(h.Box, 0o700)) // a try that ended at once
	first, err := join(t, c, h, word)
	must(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			again, err := fleet.Join(context.Background(), h, word, nil)
			if err != nil || again.Enrollment != first.Enrollment || again.State != "active" {
				t.Errorf("%+v, %v", again, err)
			}
			if _, err := c.Admit(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := c.Boxes(t.Context()); err != nil || len(list.Boxes) != 1 || list.Revision != first.Revision {
		t.Errorf("%+v, %v", list, err)
	}
}

// case F08. Red when: a refusal is not written, not read, or names another reason.
func TestAnInvitationIsGoodForOneBoxInTime(t *testing.T) {
	_, c := begin(t)
	word := invite(t, c, enrollment.Invitation{Box: "box-1"}, time.Hour)
	h := homeIn(t.TempDir())
	_, err := join(t, c, h, word)
	must(t, err)

	second := homeIn(t.TempDir())
	for range 2 { // the answer stays
		if _, err := join(t, c, second, word); step(err) != "invitation-used" {
			t.Errorf("used twice: %v", err)
		}
	}
	short := invite(t, c, enrollment.Invitation{Box: "box-2"}, time.Millisecond)
	time.Sleep(2 * time.Millisecond) // past what it says of itself
	if _, err := join(t, c, homeIn(t.TempDir()), short); step(err) != "invitation-expired" {
		t.Errorf("expired: %v", err)
	}
	_, err = c.Retire(t.Context(), "box-1", fleet.Granted)
	must(t, err)
	if j, err := fleet.Join(t.Context(), h, word, nil); err != nil || j.State != "retired" {
		t.Errorf("the box that was retired: %+v, %v", j, err)
	}
	if _, err := join(t, c, homeIn(t.TempDir()), word); step(err) != "invitation-used" {
		t.Errorf("another, after it was retired: %v", err)
	}
	if list, err := c.Boxes(t.Context()); err != nil || len(list.Boxes) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// Red when: one invitation lets in more than it says, or names two boxes alike.
func TestSeveralComeInByOneInvitation(t *testing.T) {
	_, c := begin(t)
	word := invite(t, c, enrollment.Invitation{Box: "worker", Auto: true, Uses: 3}, time.Hour)
	for range 5 {
		_, err := fleet.Join(t.Context(), homeIn(t.TempDir()), word, nil)
		must(t, err)
	}
	answers, err := c.Admit(t.Context())
	must(t, err)
	refused := 0
	for _, a := range answers {
		if a.Refused != nil {
			refused++
		}
	}
	list, err := c.Boxes(t.Context())
	if err != nil || len(list.Boxes) != 3 || refused != 2 || len(answers) != 5 {
		t.Errorf("%d boxes, %d refused of %d, %v", len(list.Boxes), refused, len(answers), err)
	}
	for _, b := range list.Boxes {
		if !strings.HasPrefix(b.BoxID, "worker-") || b.State != "active" {
			t.Errorf("%+v", b)
		}
	}
}

// Red when: garbage in one box's place keeps others from being answered.
func TestOneRequestThatCannotBeReadKeepsNobodyOut(t *testing.T) {
	h, c := begin(t)
	folder := filepath.Join(h.Bucket, "boxes", strings.Repeat("0", 32))
	must(t, os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "identity.json"), []byte("{"), 0o600))
	m := homeIn(t.TempDir())
	_, err := fleet.Join(t.Context(), m, invite(t, c, enrollment.Invitation{Box: "box-1"}, time.Hour), nil)
	must(t, err)
	answers, err := c.Admit(t.Context())
	if len(answers) != 1 || answers[0].Refused != nil || step(err) != "envelope-format" {
		t.Errorf("%+v, %v", answers, err)
	}
}

// Red when: a change that moves a binding is written before anybody agreed to it.
func TestAChangeThatStrandsWorkAsksFirst(t *testing.T) {
	_, c := begin(t)
	_, err := join(t, c, homeIn(t.TempDir()), invite(t, c, enrollment.Invitation{Box: "box-1"}, time.Hour))
	must(t, err)
	ctx := t.Context()
	for name, act := range map[string]func(fleet.Consent) (fleet.Written, error){
		"quarantine": func(y fleet.Consent) (fleet.Written, error) { return c.Quarantine(ctx, "box-1", "", y) },
		"limit": func(y fleet.Consent) (fleet.Written, error) {
			return c.ConfigureRegion(ctx, "home", "", time.Minute, y)
		},
		"floor": func(y fleet.Consent) (fleet.Written, error) {
			return c.PublishFloor(ctx, fleet.Floor{Publication: "spring", MinVersion: "v1.0.0", AllowedProofs: []string{"namespace"}}, y)
		},
	} {
		before, err := c.Boxes(ctx)
		must(t, err)
		if _, err := act(fleet.Ask); step(err) != "not-confirmed" || !strings.Contains(err.Error(), "box-1") {
			t.Errorf("%s: %v", name, err)
		}
		after, err := c.Boxes(ctx)
		if err != nil || after.Revision != before.Revision {
			t.Errorf("%s: it was written: %v", name, err)
		}
		if w, err := act(fleet.Granted); err != nil || !w.Changed || len(w.Moved) != 1 || w.Moved[0].BoxID != "box-1" {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
	if w, err := c.SetRole(ctx, "box-1", "gpu"); err != nil || len(w.Moved) != 0 {
		t.Errorf("a role asks: %+v, %v", w, err)
	}
	if f, err := c.Floor(ctx); err != nil || f.Floor == nil || f.Floor.MinVersion != "v1.0.0" {
		t.Errorf("%+v, %v", f, err)
	}
}

// Red when: Show stops at a step that moved nothing, or at one of another box.
func TestWhatMovedTheBindingIsFound(t *testing.T) {
	_, c := begin(t)
	ctx := t.Context()
	for _, b := range []string{"box-1", "box-2"} {
		_, err := join(t, c, homeIn(t.TempDir()), invite(t, c, enrollment.Invitation{Box: b}, time.Hour))
		must(t, err)
	}
	s, err := c.Show(ctx, "box-1")
	if must(t, err); s.Moved == nil || s.Moved.Revision != 2 || len(s.Moved.Facts) != len(s.Facts) || s.Writes != 1 {
		t.Errorf("enrolled: %+v", s)
	}
	_, err = c.Quarantine(ctx, "box-1", "", fleet.Granted)
	must(t, err)
	_, err1 := c.SetRole(ctx, "box-1", "gpu")
	_, err2 := c.Quarantine(ctx, "box-2", "", fleet.Granted)
	must(t, err1, err2)
	s, err = c.Show(ctx, "box-1")
	must(t, err)
	if s.Moved == nil || s.Moved.Revision != 4 || s.Writes != 2 || s.Moved.Writer != "main" ||
		fmt.Sprint(s.Moved.Facts) != "[{state active quarantined} {quarantine_revision 0 1}]" {
		t.Errorf("quarantined: %+v", s)
	}
	log, err := c.Log(ctx, 0)
	if must(t, err); len(log) != 6 || fmt.Sprint(log[2].Changes) != "[box box-1 quarantined]" || len(log[2].Moved) != 1 {
		t.Errorf("%+v", log)
	}
}

// Red when: a console is made without the root key, or a home becomes one that the
// roster does not have.
func TestASecondConsole(t *testing.T) {
	h, c := begin(t)
	ctx := t.Context()
	other := homeIn(t.TempDir())
	public, err := fleet.ConsoleKey(other)
	must(t, err)
	e, err := c.EnrollConsole(ctx, "second", public)
	must(t, err)
	third := homeIn(t.TempDir())
	if _, err := fleet.JoinConsole(ctx, third, e.Token); step(err) != "console-unknown" {
		t.Errorf("a home with another key: %v", err)
	}
	_, err = fleet.JoinConsole(ctx, other, e.Token)
	must(t, err)
	second := open(t, other)
	_, err = second.ConfigureRegion(ctx, "eu", "", 0, fleet.Ask)
	must(t, err)
	list, err := c.Boxes(ctx)
	if err != nil || list.Writer != "second" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := second.EnrollConsole(ctx, "third", strings.Repeat("ab", 32)); step(err) != "root-key" {
		t.Errorf("without the root key: %v", err)
	}
	must(t, os.Remove(filepath.Join(h.Console, "console.key")))
	if _, err := fleet.OpenConsole(h); step(err) != "console-key" {
		t.Error(err)
	}
}

// Red when: Init makes new keys, or a second roster, where a first try was cut off.
func TestABeginningThatWasCutOffIsGoneOnWith(t *testing.T) {
	for _, kept := range []string{"root.key", "console.key", "fleet.json"} {
		h := homeIn(t.TempDir())
		_, err := fleet.Init(t.Context(), h, fleet.Embedded)
		must(t, err)
		before, err := os.ReadFile(filepath.Join(h.Console, kept))
		must(t, err, os.RemoveAll(filepath.Join(h.Bucket, "control")), os.RemoveAll(filepath.Join(h.Console, "roster")))
		if _, err := fleet.Init(t.Context(), h, fleet.Embedded); err != nil {
			t.Errorf("%s: %v", kept, err)
		}
		if after, _ := os.ReadFile(filepath.Join(h.Console, kept)); string(after) != string(before) {
			t.Errorf("%s is another", kept)
		}
		if _, err := fleet.Init(t.Context(), h, fleet.Embedded); step(err) != "fleet-present" {
			t.Errorf("a fleet that is there: %v", err)
		}
	}
}

// Red when: Join writes down where a machine belongs before it has looked whether its
// word is good for anything.
func TestAWordThatIsGoodForNothingBindsNoMachine(t *testing.T) {
	away, lost := begin(t)
	gone := invite(t, lost, enrollment.Invitation{Box: "box-1"}, time.Hour)
	must(t, os.Rename(away.Bucket, away.Bucket+"-away"))
	h, c := begin(t)
	voided := invite(t, c, enrollment.Invitation{Box: "box-1"}, time.Hour)
	must(t, os.RemoveAll(filepath.Join(h.Bucket, "control/invitations")))
	m := homeIn(t.TempDir())
	for name, word := range map[string]string{"a store that is gone": gone, "an invitation that is gone": voided} {
		if j, err := fleet.Join(t.Context(), m, word, nil); err == nil {
			t.Errorf("%s: %+v", name, j)
		}
	}
	c = open(t, h)
	if in, err := join(t, c, m, invite(t, c, enrollment.Invitation{Box: "box-1"}, time.Hour)); err != nil || in.State != "active" {
		t.Errorf("the next word: %+v, %v", in, err)
	}
}

// Red when: a machine that belongs to one fleet asks another.
func TestAMachineBelongsToOneFleet(t *testing.T) {
	_, c := begin(t)
	_, d := begin(t)
	h := homeIn(t.TempDir())
	_, err := join(t, c, h, invite(t, c, enrollment.Invitation{Box: "box-1"}, time.Hour))
	must(t, err)
	for name, other := range map[string]*fleet.Console{"another fleet": d, "another invitation": c} {
		if _, err := fleet.Join(t.Context(), h, invite(t, other, enrollment.Invitation{Box: "box-9"}, time.Hour), nil); step(err) != "box-joined" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fleet.Status(t.Context(), homeIn(t.TempDir())); !errors.Is(err, fleet.ErrNoBox) {
		t.Error(err)
	}
	if _, err := fleet.OpenConsole(homeIn(t.TempDir())); !errors.Is(err, fleet.ErrNoFleet) {
		t.Error(err)
	}
}

// Red when: a floor is taken that the roster does not name.
func TestTheFloorIsTheOneThatTheRosterNames(t *testing.T) {
	h, c := begin(t)
	ctx := t.Context()
	if f, err := c.Floor(ctx); err != nil || f.Floor != nil {
		t.Errorf("%+v, %v", f, err)
	}
	publish := func(f fleet.Floor) error { _, err := c.PublishFloor(ctx, f, fleet.Granted); return err }
	spring := fleet.Floor{Publication: "spring", MinVersion: "v1.0.0", AllowedProofs: []string{"namespace"}}
	must(t, publish(spring), publish(spring))
	lower := spring
	lower.MinVersion = "v0.9.0"
	if err := publish(lower); step(err) != "object-taken" {
		t.Errorf("another floor under the same name: %v", err)
	}
	lower.Publication = "summer"
	must(t, publish(lower))
	file := func(name string) string { return filepath.Join(h.Bucket, "control/floor", name+".json") }
	must(t, os.Rename(file("spring"), file("summer")))
	if _, err := c.Floor(ctx); step(err) != "floor-digest" {
		t.Errorf("swapped: %v", err)
	}
	must(t, os.Remove(file("summer")))
	if _, err := c.Floor(ctx); step(err) != "floor-absent" {
		t.Errorf("gone: %v", err)
	}
}

// Red when: ParseFloor lets one through.
func TestAFloorThatIsNoneIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no JSON": "spring", "a member more": `{"a":1,"allowed_proofs":["weak"],"min_version":"v1.0.0","publication":"spring"}`,
		"no version": `{"allowed_proofs":["weak"],"min_version":"1","publication":"spring"}`, "no proof": `{"allowed_proofs":[],"min_version":"v1.0.0","publication":"spring"}`,
		"another proof": `{"allowed_proofs":["hope"],"min_version":"v1.0.0","publication":"spring"}`, "a proof twice": `{"allowed_proofs":["weak","weak"],"min_version":"v1.0.0","publication":"spring"}`,
		"no name": `{"allowed_proofs":["weak"],"min_version":"v1.0.0","publication":"Spring"}`,
	} {
		if _, err := fleet.ParseFloor([]byte(text)); err == nil {
			t.Errorf("%s is a floor", name)
		}
	}
	if _, err := fleet.ParseFloor([]byte(`{"publication":"spring", "min_version":"v1.20.3","allowed_proofs":["namespace","cgroup"]}`)); err != nil {
		t.Error(err)
	}
}
