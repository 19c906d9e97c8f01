package roster_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 123_000_000, time.UTC)

func hex(c string, n int) string { return strings.Repeat(c, n) }

func step(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return fmt.Sprint(err)
	}
	return p.Step
}

// Red when: a member, its name or its spelling changes; the format has one name.
func TestTheRosterHasTheseBytes(t *testing.T) {
	r := golden(t)
	if have, err := r.Encode(); string(have) != goldenRoster || err != nil {
		t.Errorf("%v\n%s", err, cmp.Diff(goldenRoster, string(have)))
	}
	if have, err := r.Clone().Encode(); string(have) != goldenRoster || err != nil {
		t.Errorf("a clone differs: %v\n%s", err, cmp.Diff(goldenRoster, string(have)))
	}
}

// Red when: Decode lets one of them through.
func TestARosterThatIsNotOneIsRefused(t *testing.T) {
	swap := func(old, new string) string {
		if strings.Count(goldenRoster, old) == 0 {
			t.Fatalf("no %s", old)
		}
		return strings.Replace(goldenRoster, old, new, 1)
	}
	for name, text := range map[string]string{
		"empty": "", "blank": "\n", "torn": goldenRoster[:len(goldenRoster)-1], "null": "null",
		"a space":                 swap(`,`, `, `),
		"an unknown member":       swap(`{"activations"`, `{"a":1,"activations"`),
		"an unknown row member":   swap(`"box_id":"render-1"`, `"az":"x","box_id":"render-1"`),
		"a missing member":        swap(`"request_limit_ns":30000000000,`, ``),
		"a member twice":          swap(`"revision":9`, `"revision":9,"revision":9`),
		"another schema":          swap(`holdfast-roster/1`, `holdfast-roster/2`),
		"revision 0":              swap(`"revision":9`, `"revision":0`),
		"more writes than were":   swap(`"revision":9`, `"revision":8`),
		"fewer writes than were":  swap(`"revision":9`, `"revision":10`),
		"a write twice":           swap("00003000", "00003001"),
		"no writes":               swap(goldenRoster[strings.Index(goldenRoster, `"writes":`):strings.Index(goldenRoster, `,"written_at"`)], `"writes":[]`),
		"no version before":       swap(`"prev_sha256":"`+hex("5", 64)+`",`, ``),
		"an empty optional":       swap(`"home_region":"eu",`, `"home_region":"",`),
		"a home nowhere":          swap(`"home_region":"eu"`, `"home_region":"mars"`),
		"no bucket":               swap(hex("6", 32), ``),
		"a floor of nothing":      swap(`"publication":"spring",`, ``),
		"no limit":                swap(`30000000000`, `0`),
		"another zone":            swap(`2026-11-30T12:00:00.123Z`, `2026-11-30T13:00:00.123+01:00`),
		"finer than milliseconds": swap(`2026-11-30T12:00:00.123Z`, `2026-11-30T12:00:00.1234Z`),
		"a box twice":             swap(`"box_id":"render-2"`, `"box_id":"render-1"`),
		"a key twice":             swap(hex("d", 64), hex("a", 64)),
		"an attempt that ended":   swap(`{"`+hex("8", 32), `{"`+hex("1", 32)),
		"no state":                swap(`"state":"active"`, `"state":"Active"`),
		"never quarantined":       swap(`"quarantine_revision":1`, `"quarantine_revision":0`),
		"lost oftener":            swap(`"quarantine_revision":2`, `"quarantine_revision":0`),
		"a hold under activation": swap(`"region/us"`, `"region/eu"`),
		"everything activated":    swap(`"region/us"`, `"all"`),
		"half a scope":            swap(`"region/us"`, `"region/"`),
		"another scope":           swap(`"region/us"`, `"zone/us"`),
		"a name in capitals":      swap(`"pool":"default"`, `"pool":"Default"`),
		"a path for a name":       swap(`"pool":"default"`, `"pool":"../x"`),
		"a label of controls":     swap(`the big one`, `\u001b[2J`),
		"a console without grant": swap(`"grant":"{}"`, `"grant":""`),
	} {
		if r, err := roster.Decode([]byte(text)); step(err) != "roster-format" || r != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// begin is a fleet of one console, two regions and a box.
func begin(t testing.TB) *roster.Roster {
	t.Helper()
	r := roster.New(hex("6", 32), time.Second)
	must(t, r.EnrollConsole("main", hex("1", 64), "{}", noon), r.EnrollConsole("second", hex("2", 64), "{}", noon),
		r.ConfigureRegion("eu", "", time.Second, noon), r.ConfigureRegion("us", "", time.Second, noon), r.SetHome("eu"),
		r.Enroll(invitation("box-1"), hex("a", 64), noon))
	r.Advance("", hex("0", 32), noon)
	return r
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
}

func invitation(box string) roster.Admission {
	sum := fmt.Sprintf("%032x", box)
	return roster.Admission{Invitation: sum[len(sum)-32:], Uses: 1, BoxID: box, Namespace: "default", Region: "eu", Pool: "default", Cloud: "none"}
}

// The table of writers: what each changes, and whether a box's binding moves.
//
// Red when: a writer's line does not hold any more.
func TestEachWriterMovesTheBindingOrNot(t *testing.T) {
	box := func(r *roster.Roster) string { e, _, _ := r.Live("box-1"); return e }
	for _, w := range []struct {
		name  string
		first func(*roster.Roster) error // what must be so before
		write func(*roster.Roster) error
		moves bool
	}{
		{"enroll another", nil, func(r *roster.Roster) error { return r.Enroll(invitation("box-2"), hex("b", 64), noon) }, false},
		{"begin attempt", nil, func(r *roster.Roster) error { return r.BeginAttempt(invitation("box-2"), hex("b", 64), noon) }, false},
		{"quarantine", nil, func(r *roster.Roster) error { return r.Quarantine("box-1", "") }, true},
		{"quarantine as lost", nil, func(r *roster.Roster) error { return r.Quarantine("box-1", "loss-1") }, true},
		{"readmit", func(r *roster.Roster) error { return r.Quarantine("box-1", "") }, func(r *roster.Roster) error { return r.Readmit("box-1") }, true},
		{"retire", nil, func(r *roster.Roster) error { return r.Retire("box-1") }, true},
		{"set role", nil, func(r *roster.Roster) error { return r.SetRole("box-1", "gpu") }, false},
		{"set group", nil, func(r *roster.Roster) error { return r.SetGroup("box-1", "rack") }, false},
		{"set group role", func(r *roster.Roster) error { return r.SetGroup("box-1", "rack") }, func(r *roster.Roster) error { return r.SetGroupRole("rack", "gpu") }, false},
		{"set label", nil, func(r *roster.Roster) error { return r.SetLabel("box-1", "the old one") }, false},
		{"publish", nil, func(r *roster.Roster) error { return r.Publish("spring") }, true},
		{"pin floor", func(r *roster.Roster) error { return r.Publish("spring") }, func(r *roster.Roster) error { return r.PinFloor("spring", hex("7", 64)) }, true},
		{"bind census key", nil, func(r *roster.Roster) error { return r.BindCensusKey("box-1", hex("7", 64)) }, true},
		{"reserve hold", nil, hold("op", roster.OneBox("box-1")), false},
		{"release hold", hold("op", roster.OneBox("box-1")), func(r *roster.Roster) error { return r.ReleaseHold("op", "main") }, false},
		{"cancel hold", hold("op", roster.OneBox("box-1")), func(r *roster.Roster) error { return r.CancelHold("op") }, false},
		{"reserve activation", nil, activation("op", roster.InRegion("eu")), false},
		{"complete activation", activation("op", roster.All()), func(r *roster.Roster) error { return r.CompleteActivation("op", "main") }, false},
		{"cancel activation", activation("op", roster.All()), func(r *roster.Roster) error { return r.CancelActivation("op") }, false},
		{"configure region", nil, func(r *roster.Roster) error { return r.ConfigureRegion("ap", "", time.Second, noon) }, false},
		{"request limit", nil, func(r *roster.Roster) error { return r.ConfigureRegion("eu", "", time.Minute, noon) }, true},
		{"home region", func(r *roster.Roster) error { r.HomeRegion = ""; return nil }, func(r *roster.Roster) error { return r.SetHome("us") }, true},
		{"enroll console", nil, func(r *roster.Roster) error { return r.EnrollConsole("third", hex("3", 64), "{}", noon) }, false},
	} {
		r := begin(t)
		if w.first != nil {
			must(t, w.first(r))
		}
		prev, enrollment := r.Clone(), box(r)
		was := bindingOf(t, r, enrollment)
		must(t, w.write(r))
		r.Advance(hex("5", 64), hex("9", 32), noon)
		if err := roster.Transition(prev, r); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		if moved := !was.Stamp().Current(bindingOf(t, r, enrollment)); moved != w.moves {
			t.Errorf("%s moves the binding: %v", w.name, moved)
		}
		moves := roster.Moves(prev, r)
		if named := slices.ContainsFunc(moves, func(m roster.Move) bool { return m.Enrollment == enrollment }); named != w.moves {
			t.Errorf("%s: announced as moving %v", w.name, moves)
		}
		before := r.Clone()
		if err := w.write(r); !errors.Is(err, roster.ErrUnchanged) || !reflect.DeepEqual(r, before) {
			t.Errorf("%s, again: %v", w.name, err)
		}
	}
}

func hold(op string, s roster.Scope) func(*roster.Roster) error {
	return func(r *roster.Roster) error {
		return r.ReserveHold(op, roster.Hold{Console: "main", Scope: s, ReservedAt: noon})
	}
}

func activation(op string, s roster.Scope) func(*roster.Roster) error {
	return func(r *roster.Roster) error {
		return r.ReserveActivation(op, roster.Activation{Console: "main", Scope: s, ReservedAt: noon})
	}
}

// case F02: reserve and release leave the same facts, and other bytes: a swap that
// was prepared before both is stale.
//
// Red when: Advance leaves the revision where it is, or names no write.
func TestReserveAndReleaseAreNotTheFirstVersionAgain(t *testing.T) {
	r := begin(t)
	first, err := r.Encode()
	must(t, err)
	must(t, hold("op", roster.All())(r))
	r.Advance(hex("5", 64), hex("8", 32), noon)
	must(t, r.ReleaseHold("op", "main"))
	r.Advance(hex("5", 64), hex("9", 32), noon)
	again, err := r.Encode()
	must(t, err)
	if string(first) == string(again) || r.Revision != 3 {
		t.Errorf("revision %d\n%s", r.Revision, again)
	}
}

// Red when: a readmitted box gets a binding back that it had.
func TestReadmissionNeverBringsABindingBack(t *testing.T) {
	r := begin(t)
	enrollment, _, _ := r.Live("box-1")
	seen := map[string]int{}
	for i := range 5 {
		if was, twice := seen[bindingOf(t, r, enrollment).String()]; twice {
			t.Fatalf("the binding of round %d is that of round %d", i, was)
		}
		seen[bindingOf(t, r, enrollment).String()] = i
		must(t, r.Quarantine("box-1", ""), r.Readmit("box-1"))
	}
}

// case F08. Red when: admits leaves out one of the questions, or asks in another
// order so that a refusal names the wrong reason.
func TestAnInvitationIsGoodOnce(t *testing.T) {
	r := begin(t)
	evidence := hex("a", 64)
	if err := r.Enroll(invitation("box-1"), evidence, noon.Add(time.Hour)); !errors.Is(err, roster.ErrUnchanged) { // case F07
		t.Errorf("the same box asks again: %v", err)
	}
	if len(r.Boxes) != 1 {
		t.Errorf("%d rows", len(r.Boxes))
	}
	other := invitation("box-1")
	other.Invitation = hex("f", 32)
	for name, c := range map[string]struct {
		a        roster.Admission
		evidence string
		step     string
	}{
		"used, with another key":        {invitation("box-1"), hex("b", 64), "invitation-used"},
		"the name is taken":             {other, hex("b", 64), "box-taken"},
		"the key is that of a live box": {invitation("box-2"), evidence, "key-taken"},
	} {
		if err := r.Clone().Enroll(c.a, c.evidence, noon); step(err) != c.step {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, r.Retire("box-1"))
	if err := r.Enroll(invitation("box-1"), evidence, noon); step(err) != "invitation-retired" {
		t.Errorf("after the box was retired: %v", err)
	}
	if err := r.Enroll(other, evidence, noon); step(err) != "key-retired" {
		t.Errorf("a retired box's key, a new invitation: %v", err)
	}
	must(t, r.Enroll(other, hex("b", 64), noon)) // a new key by a new invitation is a new box
	if _, b, ok := r.Live("box-1"); !ok || b.EvidenceSHA256 != hex("b", 64) || len(r.Boxes) != 2 {
		t.Errorf("%v %v, %d rows", b, ok, len(r.Boxes))
	}
}

// Red when: BeginAttempt does not count attempts beside rows, or an enrollment does
// not consume its own.
func TestAnInvitationForSeveralLetsInThatMany(t *testing.T) {
	r := begin(t)
	by := func(n int) (roster.Admission, string) {
		a := invitation("auto")
		a.BoxID, a.Uses = fmt.Sprint("auto-", n), 2
		return a, hex(fmt.Sprint(n), 64)
	}
	a1, k1 := by(1)
	a2, k2 := by(2)
	a3, k3 := by(3)
	must(t, r.BeginAttempt(a1, k1, noon), r.BeginAttempt(a2, k2, noon))
	if err := r.BeginAttempt(a3, k3, noon); step(err) != "invitation-used" {
		t.Errorf("a third begins: %v", err)
	}
	must(t, r.Enroll(a1, k1, noon))
	if len(r.EnrollmentAttempts) != 1 {
		t.Errorf("%d attempts are left", len(r.EnrollmentAttempts))
	}
	if err := r.Enroll(a3, k3, noon); step(err) != "invitation-used" {
		t.Errorf("a third enrolls: %v", err)
	}
	must(t, r.Enroll(a2, k2, noon))
	if len(r.EnrollmentAttempts) != 0 || len(r.Boxes) != 3 {
		t.Errorf("%d attempts, %d rows", len(r.EnrollmentAttempts), len(r.Boxes))
	}
}

// Red when: overlap leaves out a pair of kinds, or one of the two reservations does
// not ask.
func TestHoldsAndActivationsDoNotOverlap(t *testing.T) {
	scopes := []roster.Scope{roster.All(), roster.InRegion("eu"), roster.InRegion("us"), roster.OneBox("box-1"), roster.OneBox("box-2")}
	overlap := func(a, b roster.Scope) bool { // by the boxes that are meant: box-1 in eu, box-2 in us
		boxes := map[roster.Scope]string{scopes[0]: "12", scopes[1]: "1", scopes[2]: "2", scopes[3]: "1", scopes[4]: "2"}
		return strings.ContainsAny(boxes[a], boxes[b])
	}
	two := invitation("box-2")
	two.Region = "us"
	for _, a := range scopes {
		for _, b := range scopes {
			r := begin(t)
			must(t, r.Enroll(two, hex("b", 64), noon), activation("one", a)(r))
			want := map[bool]string{true: "scope-activating", false: fmt.Sprint(nil)}[overlap(a, b)]
			if err := hold("two", b)(r.Clone()); step(err) != want {
				t.Errorf("activation of %s, hold of %s: %v", a, b, err)
			}
			if err := activation("two", b)(r.Clone()); step(err) != want {
				t.Errorf("activations of %s and %s: %v", a, b, err)
			}
			must(t, r.CancelActivation("one"), hold("one", a)(r))
			want = strings.Replace(want, "activating", "held", 1)
			if err := activation("two", b)(r.Clone()); step(err) != want {
				t.Errorf("hold of %s, activation of %s: %v", a, b, err)
			}
			must(t, hold("two", b)(r)) // holds do not keep each other out
		}
	}
}

// Red when: a writer takes what it must refuse, or changes something before it does.
func TestWritersRefuseAndChangeNothing(t *testing.T) {
	for name, c := range map[string]struct {
		write func(*roster.Roster) error
		step  string
	}{
		"an unknown box":          {func(r *roster.Roster) error { return r.Quarantine("nobody", "") }, "box-unknown"},
		"a retired box":           {func(r *roster.Roster) error { return r.Readmit("gone") }, "box-retired"},
		"a loss id that is none":  {func(r *roster.Roster) error { return r.Quarantine("box-1", "a b") }, "loss-id"},
		"a role in capitals":      {func(r *roster.Roster) error { return r.SetRole("box-1", "GPU") }, "role"},
		"a label of controls":     {func(r *roster.Roster) error { return r.SetLabel("box-1", "a\x1bb") }, "label"},
		"a group of nobody":       {func(r *roster.Roster) error { return r.SetGroupRole("rack", "gpu") }, "group-unknown"},
		"the empty group":         {func(r *roster.Roster) error { return r.SetGroupRole("", "gpu") }, "group-unknown"},
		"a floor before its turn": {func(r *roster.Roster) error { return r.PinFloor("spring", hex("7", 64)) }, "floor-publication"},
		"a floor that is none":    {func(r *roster.Roster) error { return r.PinFloor("", "x") }, "floor-digest"},
		"another home":            {func(r *roster.Roster) error { return r.SetHome("us") }, "home-fixed"},
		"a home nowhere":          {func(r *roster.Roster) error { return r.SetHome("mars") }, "region-unknown"},
		"no limit":                {func(r *roster.Roster) error { return r.ConfigureRegion("eu", "", 0, noon) }, "request-limit"},
		"a hold by a stranger": {func(r *roster.Roster) error {
			return r.ReserveHold("op", roster.Hold{Console: "nobody", Scope: roster.All()})
		}, "console-unknown"},
		"a hold of an unknown box":  {hold("op", roster.OneBox("nobody")), "box-unknown"},
		"a hold of nothing":         {hold("op", roster.Scope{}), "scope"},
		"a key with a slash":        {hold("a/b", roster.All()), "operation-invalid"},
		"another hold under a key":  {hold("held", roster.All()), "operation-conflict"},
		"another console's hold":    {func(r *roster.Roster) error { return r.ReleaseHold("held", "second") }, "hold-elsewhere"},
		"a console's name, another": {func(r *roster.Roster) error { return r.EnrollConsole("main", hex("9", 64), "{}", noon) }, "console-taken"},
		"a console called root":     {func(r *roster.Roster) error { return r.EnrollConsole("root", hex("9", 64), "{}", noon) }, "console"},
		"a console's key, another":  {func(r *roster.Roster) error { return r.EnrollConsole("third", hex("1", 64), "{}", noon) }, "console-taken"},
	} {
		r := begin(t)
		must(t, r.Enroll(invitation("gone"), hex("c", 64), noon), r.Retire("gone"), hold("held", roster.OneBox("box-1"))(r))
		before := r.Clone()
		if err := c.write(r); step(err) != c.step {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, r, cmp.AllowUnexported(roster.Scope{})); diff != "" {
			t.Errorf("%s: it was changed\n%s", name, diff)
		}
	}
}

// Red when: the rule is taken out of Transition.
func TestNoStepMayDoThis(t *testing.T) {
	row := func(change func(*roster.Box)) func(*roster.Roster) {
		return func(r *roster.Roster) {
			e, b, _ := r.Live("box-1")
			change(&b)
			r.Boxes[e] = b
		}
	}
	for name, byHand := range map[string]func(*roster.Roster){
		"skip a revision":                 func(r *roster.Roster) { r.Revision++ },
		"keep the revision":               func(r *roster.Roster) { r.Revision-- },
		"forget its writes":               func(r *roster.Roster) { r.Writes = r.Writes[len(r.Writes)-1:] },
		"no write of its own":             func(r *roster.Roster) { r.Writes = r.Writes[:len(r.Writes)-1] },
		"name no version before":          func(r *roster.Roster) { r.PrevSHA256 = "" },
		"another bucket":                  func(r *roster.Roster) { r.Bucket = hex("9", 32) },
		"another home":                    func(r *roster.Roster) { r.HomeRegion = "us" },
		"no home":                         func(r *roster.Roster) { r.HomeRegion = "" },
		"another floor":                   func(r *roster.Roster) { r.FloorSHA256 = hex("9", 64) },
		"no floor":                        func(r *roster.Roster) { r.FloorSHA256 = "" },
		"publication and floor at once":   func(r *roster.Roster) { r.Publication, r.FloorSHA256 = "summer", hex("9", 64) },
		"take back the publication":       func(r *roster.Roster) { r.Publication, r.FloorSHA256 = "", "" },
		"remove a row":                    func(r *roster.Roster) { e, _, _ := r.Live("box-1"); delete(r.Boxes, e) },
		"a box with a past":               func(r *roster.Roster) { r.Boxes[hex("f", 32)] = roster.Box{State: roster.Quarantined} },
		"another namespace":               row(func(b *roster.Box) { b.Namespace = "other" }),
		"another name":                    row(func(b *roster.Box) { b.BoxID = "other" }),
		"another region":                  row(func(b *roster.Box) { b.Region = "us" }),
		"another pool":                    row(func(b *roster.Box) { b.Pool = "other" }),
		"another cloud":                   row(func(b *roster.Box) { b.Cloud = "other" }),
		"another evidence key":            row(func(b *roster.Box) { b.EvidenceSHA256 = hex("9", 64) }),
		"another invitation":              row(func(b *roster.Box) { b.Invitation = hex("9", 32) }),
		"another date":                    row(func(b *roster.Box) { b.EnrolledAt = noon.Add(time.Hour) }),
		"another census key":              row(func(b *roster.Box) { b.CensusPublicKey = hex("9", 64) }),
		"no census key":                   row(func(b *roster.Box) { b.CensusPublicKey = "" }),
		"forget a loss":                   row(func(b *roster.Box) { b.LossIDs = []string{} }),
		"lose it without quarantine":      row(func(b *roster.Box) { b.LossIDs = append(slices.Clone(b.LossIDs), "loss-2") }),
		"quarantine without its revision": row(func(b *roster.Box) { b.State = roster.Quarantined }),
		"two quarantines at once":         row(func(b *roster.Box) { b.State = roster.Quarantined; b.QuarantineRevision += 2 }),
		"count a quarantine of none":      row(func(b *roster.Box) { b.QuarantineRevision++ }),
		"take a quarantine back":          row(func(b *roster.Box) { b.QuarantineRevision-- }),
		"bring a retired box back":        func(r *roster.Roster) { revive(r, "gone") },
		"another hold under its key":      func(r *roster.Roster) { h := r.Holds["held"]; h.Instance = "x"; r.Holds["held"] = h },
		"another activation":              func(r *roster.Roster) { a := r.Activations["act"]; a.Console = "second"; r.Activations["act"] = a },
		"another attempt":                 func(r *roster.Roster) { swapAttempt(r) },
		"remove a console":                func(r *roster.Roster) { delete(r.Consoles, "second") },
		"another console's key":           func(r *roster.Roster) { c := r.Consoles["main"]; c.PublicKey = hex("9", 64); r.Consoles["main"] = c },
		"remove a region":                 func(r *roster.Roster) { delete(r.Regions, "us") },
	} {
		r := begin(t)
		must(t, r.Publish("spring"), r.PinFloor("spring", hex("7", 64)), r.Enroll(invitation("gone"), hex("c", 64), noon), r.Retire("gone"),
			r.Quarantine("box-1", "loss-1"), r.Readmit("box-1"), r.BindCensusKey("box-1", hex("b", 64)), hold("held", roster.OneBox("box-1"))(r),
			activation("act", roster.InRegion("us"))(r), r.BeginAttempt(invitation("box-3"), hex("d", 64), noon))
		r.Advance(hex("5", 64), hex("1", 32), noon)
		r.Advance(hex("5", 64), hex("2", 32), noon)
		next := r.Clone()
		next.Advance(hex("5", 64), hex("9", 32), noon)
		must(t, roster.Transition(r, next))
		byHand(next)
		if err := roster.Transition(r, next); step(err) != "roster-transition" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func revive(r *roster.Roster, id string) {
	for e, b := range r.Boxes {
		if b.BoxID == id {
			b.State = roster.Active
			r.Boxes[e] = b
		}
	}
}

func swapAttempt(r *roster.Roster) {
	for e, a := range r.EnrollmentAttempts {
		a.BoxID = "other"
		r.EnrollmentAttempts[e] = a
	}
}

// Red when: a writer makes a step that Transition refuses, or one that cannot be
// read again; Clone shares something.
func TestWhateverWritersDoIsAStepAndIsReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := roster.New(hex("6", 32), time.Second)
		r.Advance("", hex("0", 32), noon)
		for i := range rapid.IntRange(1, 90).Draw(t, "steps") {
			prev, text := r.Clone(), encode(t, r)
			anyWriter(t, r)
			r.Advance(hex("5", 64), fmt.Sprintf("%032x", i+1), noon)
			if err := roster.Transition(prev, r); err != nil {
				t.Fatal(err)
			}
			if again, err := roster.Decode(encode(t, r)); err != nil || !reflect.DeepEqual(again, r) {
				t.Fatal(err)
			}
			if encode(t, prev) != nil && string(encode(t, prev)) != string(text) {
				t.Fatal("a change of the clone changed the original")
			}
		}
	})
}

func encode(t *rapid.T, r *roster.Roster) []byte {
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// anyWriter lets some writer do something; refusals are as good.
func anyWriter(t *rapid.T, r *roster.Roster) {
	box := rapid.SampledFrom([]string{"box-1", "box-2", "box-3"}).Draw(t, "box")
	op := rapid.SampledFrom([]string{"op-1", "op-2"}).Draw(t, "op")
	region := rapid.SampledFrom([]string{"eu", "us"}).Draw(t, "region")
	digit := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "digit")
	scope := rapid.SampledFrom([]roster.Scope{roster.All(), roster.InRegion(region), roster.OneBox(box)}).Draw(t, "scope")
	in := invitation(box)
	in.Invitation, in.Region, in.Uses = hex(digit, 32), region, rapid.IntRange(1, 2).Draw(t, "uses")
	writers := map[string]func() error{
		"enroll": func() error { return r.Enroll(in, hex(digit, 64), noon) }, "attempt": func() error { return r.BeginAttempt(in, hex(digit, 64), noon) },
		"quarantine": func() error { return r.Quarantine(box, "") }, "lose": func() error { return r.Quarantine(box, op) },
		"readmit": func() error { return r.Readmit(box) }, "retire": func() error { return r.Retire(box) },
		"role": func() error { return r.SetRole(box, region) }, "group": func() error { return r.SetGroup(box, region) },
		"group role": func() error { return r.SetGroupRole(region, digit) }, "label": func() error { return r.SetLabel(box, digit) },
		"publish": func() error { return r.Publish(op) }, "pin": func() error { return r.PinFloor(op, hex(digit, 64)) },
		"census": func() error { return r.BindCensusKey(box, hex(digit, 64)) },
		"hold":   func() error { return hold(op, scope)(r) }, "release": func() error { return r.ReleaseHold(op, "main") }, "cancel": func() error { return r.CancelHold(op) },
		"activate": func() error { return activation(op, scope)(r) }, "complete": func() error { return r.CompleteActivation(op, "main") },
		"cancel activation": func() error { return r.CancelActivation(op) },
		"configure":         func() error { return r.ConfigureRegion(region, digit, time.Minute, noon) }, "home": func() error { return r.SetHome(region) },
		"console": func() error { return r.EnrollConsole("main", hex("1", 64), "{}", noon) },
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(writers))).Draw(t, "writer")
	before := r.Clone()
	if err := writers[name](); err != nil && !reflect.DeepEqual(before, r) {
		t.Fatalf("%s refused, %v, and changed something", name, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(goldenRoster))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := roster.Decode(data)
		if err != nil {
			return
		}
		if again, err := r.Encode(); string(again) != string(data) || err != nil {
			t.Errorf("%v\n%s\n%s", err, data, again)
		}
		for enrollment := range r.Boxes {
			if a, ok := r.Actor(enrollment); !ok || !a.Bound().Binding.Current(a.Binding) {
				t.Errorf("%+v", a)
			}
		}
	})
}
