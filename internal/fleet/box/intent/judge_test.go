package intent

import (
	"testing"
	"time"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

const box = "0123456789abcdef0123456789abcdef"

// world is what an order is judged by that may run; change makes one thing of it wrong.
func world(t *testing.T) (Subject, *Authority) {
	t.Helper()
	at := time.Unix(1, 0).UTC()
	r := roster.New("bucket", time.Second)
	r.Revision = 1
	if err := r.ConfigureRegion("home", "", time.Second, at); err != nil {
		t.Fatal(err)
	}
	r.Boxes[box] = roster.Box{BoxID: "one", Namespace: "default", Region: "home", Pool: "default", Cloud: "none", EvidenceSHA256: "e", State: roster.Active}
	r.Consoles["main"] = roster.Console{PublicKey: "p", Grant: "g", EnrolledAt: at}
	actor, _ := r.Actor(box)
	s := Subject{Operation: "op", Instance: "web", Incarnation: 3, Session: 5, Stamp: actor.Binding.Stamp()}
	return s, &Authority{
		Roster: r, Enrollment: box, Installer: s.Stamp,
		Claim: &claim.Claim{State: claim.Held, Operation: "op", Enrollment: box, Session: 5, Incarnation: 3},
	}
}

// Red when: any of the questions is not asked, at either site.
func TestWhatMayNotStartIsRefusedByName(t *testing.T) {
	rewritten := func(change func(r *roster.Roster) error) func(*testing.T, *Subject, *Authority) []Installation {
		return func(t *testing.T, _ *Subject, a *Authority) []Installation {
			if err := change(a.Roster); err != nil {
				t.Fatal(err)
			}
			return nil
		}
	}
	cases := map[string]func(*testing.T, *Subject, *Authority) []Installation{
		"": func(*testing.T, *Subject, *Authority) []Installation { return nil },
		"box-unknown": func(_ *testing.T, _ *Subject, a *Authority) []Installation {
			a.Enrollment = "ffffffffffffffffffffffffffffffff"
			return nil
		},
		"box-quarantined": rewritten(func(r *roster.Roster) error { return r.Quarantine("one", "") }),
		"box-retired":     rewritten(func(r *roster.Roster) error { return r.Retire("one") }),
		"moved": rewritten(func(r *roster.Roster) error {
			if err := r.Quarantine("one", ""); err != nil {
				return err
			}
			return r.Readmit("one")
		}),
		"floor-announced": func(t *testing.T, s *Subject, a *Authority) []Installation {
			if err := a.Roster.Publish("spring"); err != nil {
				t.Fatal(err)
			}
			actor, _ := a.Roster.Actor(box)
			s.Stamp, a.Installer = actor.Binding.Stamp(), actor.Binding.Stamp()
			return nil
		},
		"floor-version": func(_ *testing.T, _ *Subject, a *Authority) []Installation {
			a.Floor = &Denied{Step: "floor-version", Reason: "It is too old."}
			return nil
		},
		"claim-absent": func(_ *testing.T, _ *Subject, a *Authority) []Installation { a.Claim = nil; return nil },
		"claim-moved":  func(_ *testing.T, _ *Subject, a *Authority) []Installation { a.Claim.Session++; return nil },
		"claim-elsewhere": func(_ *testing.T, _ *Subject, a *Authority) []Installation {
			a.Claim.State = claim.Released
			return nil
		},
		"instance-present": func(_ *testing.T, s *Subject, _ *Authority) []Installation {
			before := *s
			before.Incarnation--
			return []Installation{{Subject: before, Identified: true}}
		},
		"fenced": func(_ *testing.T, s *Subject, _ *Authority) []Installation {
			return []Installation{{Subject: *s, Fenced: true}}
		},
		"installation": func(_ *testing.T, s *Subject, _ *Authority) []Installation {
			other := *s
			other.Operation = "another"
			return []Installation{{Subject: other}}
		},
	}
	for want, change := range cases {
		for _, at := range []Site{AtInventory, AtLaunch} {
			s, a := world(t)
			here := change(t, &s, a)
			if at == AtLaunch && want != "installation" && want != "fenced" {
				here = append(here, Installation{Subject: s})
			}
			got := ""
			switch e := Judge(at, s, *a, here).(type) {
			case Denied:
				got = e.Step
			case Moved:
				got = "moved"
			}
			if got != want {
				t.Errorf("at %s: want %q, got %q", at, want, got)
			}
		}
	}
}

// What was proved to have ended keeps nothing from starting, nor what never had a process.
// Red when: present counts a receipt, or an identity, for nothing.
func TestWhatEndedKeepsNothingFromStarting(t *testing.T) {
	s, a := world(t)
	before, older := s, s
	before.Incarnation, older.Incarnation = 2, 1
	here := []Installation{{Subject: older}, {Subject: before, Identified: true, Fenced: true, Receipted: true}}
	if e := Judge(AtInventory, s, *a, here); e != (Allowed{}) {
		t.Errorf("%+v", e)
	}
}

// An agent that started under another binding installs nothing; what is installed is
// started all the same. Red when: the installer is compared at the launch, or nowhere.
func TestAnOldPinInstallsNothing(t *testing.T) {
	s, a := world(t)
	a.Installer = roster.Stamp{}
	if e, ok := Judge(AtInventory, s, *a, nil).(Denied); !ok || e.Step != "agent-pinned" {
		t.Errorf("%+v", e)
	}
	if e := Judge(AtLaunch, s, *a, []Installation{{Subject: s}}); e != (Allowed{}) {
		t.Errorf("%+v", e)
	}
}

// What was allowed before a pause is asked again after it, and what waits at its gate then
// is dropped. Red when: Again keeps what was allowed, or a refusal forgets the gate.
func TestWhatWaitedIsAskedAgain(t *testing.T) {
	s, _ := world(t)
	var act Act = NewLaunch(s)
	for _, e := range []Event{
		Allowed{}, Committed{}, Committed{}, Allowed{}, Waiting{Identity: []byte("who")}, Full{}, Again{},
	} {
		act = act.After(e)
	}
	if next, ok := act.Next().(Check); !ok || next.At != AtLaunch {
		t.Fatalf("%+v", act.Next())
	}
	act = act.After(Denied{Step: "box-quarantined", Reason: "It is."})
	if _, ok := act.Next().(Drop); !ok {
		t.Fatalf("%+v", act.Next())
	}
	act = act.After(NeverWent{})
	commit, ok := act.Next().(Commit)
	if !ok || commit.Row.Phase != Refused || commit.Row.Why != (order.Refused{Step: "box-quarantined", Reason: "It is."}) {
		t.Fatalf("%+v", act.Next())
	}
}

// At the gate too: what waits there because the store is away is let through only by what is
// allowed then. Red when: a shim that is in the journal is released whatever became of the
// authority meanwhile.
func TestWhatWaitedAtTheGateIsAskedAgain(t *testing.T) {
	s, _ := world(t)
	var act Act = NewLaunch(s)
	for _, e := range []Event{
		Allowed{}, Committed{}, Committed{}, Allowed{}, Waiting{Identity: []byte("who")}, Committed{}, Unreachable{Why: "away"}, Again{}, Raised{},
	} {
		act = act.After(e)
	}
	if next, ok := act.Next().(Check); !ok || next.At != AtLaunch {
		t.Fatalf("%+v", act.Next())
	}
	if next, ok := act.After(Allowed{}).Next().(Release); !ok {
		t.Fatalf("%+v", next)
	}
	if _, ok := act.After(Denied{Step: "box-quarantined", Reason: "It is."}).Next().(Drop); !ok {
		t.Fatalf("%+v", act.Next())
	}
}

// A root whose session another has taken ends what it sees alive, and no more. Red when:
// Superseded keeps a fenced stop from looking.
func TestASupersededRootEndsWhatItSees(t *testing.T) {
	s, _ := world(t)
	act := NewStop(s).After(Matched{}).After(Committed{}).After(Superseded{})
	if _, ok := act.Next().(Look); !ok {
		t.Fatalf("%+v", act.Next())
	}
}

// Each end that is found can be made a receipt of. Red when: work with weak proof that ended
// by itself counts as a namespace that is gone, of which no receipt is made.
func TestEveryEndThatIsFoundHasItsConstructor(t *testing.T) {
	s, _ := world(t)
	for _, c := range []struct {
		proof receipt.Proof
		want  receipt.Made
	}{
		{receipt.Namespace{}, receipt.NamespaceGone},
		{receipt.Weak{}, receipt.Normal},
		{receipt.Reboot{}, receipt.NoProcess},
		{receipt.NothingStarted{}, receipt.NoProcess},
	} {
		act := NewStop(s).After(Matched{}).After(Committed{}).After(Raised{}).After(Gone{Proof: c.proof, Exit: receipt.Exited{}})
		if commit, ok := act.Next().(CommitReceipt); !ok || commit.Made != c.want {
			t.Errorf("%T: %+v", c.proof, act.Next())
		}
	}
}
