package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
)

// Red when: JoinConsole remembers, under this home, the roster of a fleet that did not
// make it a console.
func TestAWordOfAnotherFleetLeavesNoTrace(t *testing.T) {
	_, stranger := begin(t)
	_, c := begin(t)
	ctx := t.Context()
	enrolled := func(c *fleet.Console, h fleet.Home) string {
		public, err := fleet.ConsoleKey(h)
		must(t, err)
		e, err := c.EnrollConsole(ctx, "second", public)
		must(t, err)
		return e.Token
	}
	wrong := enrolled(stranger, homeIn(t.TempDir())) // with the key of another home
	h := homeIn(t.TempDir())
	if _, err := fleet.JoinConsole(ctx, h, wrong); step(err) != "console-unknown" {
		t.Fatal(err)
	}
	if _, err := fleet.JoinConsole(ctx, h, enrolled(c, h)); err != nil {
		t.Errorf("the right word after a wrong one: %v", err)
	}
	if _, err := fleet.JoinConsole(ctx, h, wrong); step(err) != "fleet-present" {
		t.Errorf("a console of one fleet, by the word of another: %v", err)
	}
	if list, err := open(t, h).Boxes(ctx); err != nil || list.Revision != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// Red when: Init makes keys, or fleet.json, in a home that cannot begin a fleet there.
func TestARefusedBeginningLeavesNothing(t *testing.T) {
	h, c := begin(t)
	ctx := t.Context()
	second := homeIn(t.TempDir())
	public, err := fleet.ConsoleKey(second)
	must(t, err)
	e, err := c.EnrollConsole(ctx, "second", public)
	must(t, err)
	_, err = fleet.JoinConsole(ctx, second, e.Token)
	must(t, err)
	store := "file://" + h.Bucket
	for _, address := range []string{store, "file://" + t.TempDir()} {
		if _, err := fleet.Init(ctx, second, address); step(err) != "fleet-present" {
			t.Errorf("a home that is a console: %v", err)
		}
	}
	if _, err := os.Lstat(filepath.Join(second.Console, "root.key")); err == nil {
		t.Error("a second root key was made")
	}
	third := homeIn(t.TempDir())
	if _, err := fleet.Init(ctx, third, store); step(err) != "fleet-present" {
		t.Errorf("a store that has a fleet: %v", err)
	}
	if _, err := fleet.Init(ctx, third, "file://"+t.TempDir()); err != nil {
		t.Errorf("another store, after that: %v", err)
	}
}

// Red when: a console signs an answer to a request that the invited machine did not
// sign, so that whoever can write to the store has that machine refused for good.
func TestAForgedRequestIsNotAnswered(t *testing.T) {
	h, c := begin(t)
	m := homeIn(t.TempDir())
	word := invite(t, c, enrollment.Invitation{Box: "box-1"}, time.Hour)
	j, err := fleet.Join(t.Context(), m, word, nil)
	must(t, err)
	file := filepath.Join(h.Bucket, "boxes", j.Enrollment, "identity.json")
	real, err := os.ReadFile(file)
	must(t, err)
	// The last signature is the first one's: the envelope is well spelt, and forged.
	parts := strings.Split(string(real), `"sig":"`)
	forged := parts[0] + `"sig":"` + parts[1] + `"sig":"` + parts[1][:88] + parts[2][88:]
	must(t, os.WriteFile(file, []byte(forged), 0o600))
	if all, err := c.Admit(t.Context()); len(all) != 0 || step(err) != "identity-signature" {
		t.Errorf("%+v, %v", all, err)
	}
	must(t, os.WriteFile(file, real, 0o600))
	if _, err := c.Admit(t.Context()); err != nil {
		t.Error(err)
	}
	if j, err = fleet.Status(t.Context(), m); err != nil || j.State != "active" {
		t.Errorf("%+v, %v", j, err)
	}
}

// Red when: what is said of requests that cannot be read grows with their number.
func TestManyRequestsThatCannotBeReadAreOneTrouble(t *testing.T) {
	h, c := begin(t)
	for i := range 50 {
		folder := filepath.Join(h.Bucket, "boxes", strings.Repeat("0", 30)+string(rune('a'+i/10))+string(rune('0'+i%10)))
		must(t, os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "identity.json"), []byte("{"), 0o600))
	}
	_, err := c.Admit(t.Context())
	if err == nil || strings.Count(err.Error(), "\n") > 8 || !strings.HasSuffix(err.Error(), "and 42 more") {
		t.Errorf("%v", err)
	}
}

// Red when: an invitation is written whose box no roster can hold.
func TestALabelThatNoRosterHoldsIsRefusedAtOnce(t *testing.T) {
	_, c := begin(t)
	for _, label := range []string{"two\nlines", strings.Repeat("x", 201)} {
		if _, err := c.Invite(t.Context(), enrollment.Invitation{Box: "box-1", Uses: 1, Label: label}, time.Hour); step(err) != "label" {
			t.Errorf("an invitation: %v", err)
		}
		if _, err := c.ConfigureRegion(t.Context(), "eu", label, 0, fleet.Ask); step(err) != "label" {
			t.Errorf("a region: %v", err)
		}
	}
}

// Red when: only the console that began a publication can go on with it.
func TestAnotherConsoleGoesOnWithAPublication(t *testing.T) {
	_, c := begin(t)
	ctx := t.Context()
	other := homeIn(t.TempDir())
	public, err := fleet.ConsoleKey(other)
	must(t, err)
	e, err := c.EnrollConsole(ctx, "second", public)
	must(t, err)
	_, err = fleet.JoinConsole(ctx, other, e.Token)
	must(t, err)
	spring := fleet.Floor{Publication: "spring", MinVersion: "v1.0.0", AllowedProofs: []string{"namespace"}}
	_, err = c.PublishFloor(ctx, spring, fleet.Ask)
	must(t, err)
	if w, err := open(t, other).PublishFloor(ctx, spring, fleet.Ask); err != nil || w.Changed {
		t.Errorf("%+v, %v", w, err)
	}
}

// case F07. Red when: a machine that asks again with a newer document of its cloud, or
// without one, is refused.
func TestAskingAgainWithAnotherDocumentIsTheSameRequest(t *testing.T) {
	_, c := begin(t)
	h := homeIn(t.TempDir())
	word := invite(t, c, enrollment.Invitation{Box: "box-1"}, time.Hour)
	for _, text := range []string{"one", "two", ""} {
		d := &enrollment.Document{Text: []byte(text), Signature: []byte{1}}
		if text == "" {
			d = nil
		}
		if j, err := fleet.Join(t.Context(), h, word, d); err != nil || j.State != fleet.Asked {
			t.Errorf("%q: %+v, %v", text, j, err)
		}
	}
}
