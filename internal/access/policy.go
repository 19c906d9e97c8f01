package access

import (
	"fmt"

	"holdfast/internal/problem"
)

// StepOtherBooth refuses a worker that reaches for a booth that is not its own.
const StepOtherBooth = "other-booth"

// Action is one thing that may be allowed. The zero Action is none, and is
// refused to everybody.
type Action uint8

const (
	ReadPublic     Action = iota + 1 // what says nothing about any booth: health, style sheets
	SignIn                           // redeem a sign-in link; sign out
	ReadContent                      // a booth's bytes at an address that carries its own token
	ReadPages                        // pages, items and their JSON
	ReadMetrics                      // counts
	RecordView                       // leave a trace that the operator looked
	Publish                          // put files into a booth
	Ask                              // ask a pick, edit its question
	Withdraw                         // take a pick back
	Note                             // write a note
	Flag                             // flag an item
	Repair                           // mend damaged marks
	Progress                         // say how far an attempt is
	Result                           // say how an attempt ended
	Answer                           // answer a pick
	Keep                             // keep a booth, and release it
	Delete                           // delete a booth
	ChangePlan                       // open, edit, assign, link and discuss what is planned
	Accept                           // accept or drop what came out
	Operate                          // stop what runs, and have proofs verified
	MintSignInLink                   // make a link that signs the operator in
)

// rule says who may, besides the operator, who may do everything.
type rule struct {
	name     string
	public   bool // everybody, always
	open     bool // everybody, unless a login is required
	worker   bool // a worker, for its own booth
	observer bool
	frame    bool // a frame, for its own booth
}

// rules is the table: the one place where rights are written down.
var rules = map[Action]rule{
	ReadPublic:     {name: "read-public", public: true},
	SignIn:         {name: "sign-in", public: true},
	ReadContent:    {name: "read-content", frame: true},
	ReadPages:      {name: "read", open: true, worker: true, observer: true},
	ReadMetrics:    {name: "read-metrics", open: true, observer: true},
	RecordView:     {name: "record-view"},
	Publish:        {name: "publish", worker: true},
	Ask:            {name: "ask", worker: true},
	Withdraw:       {name: "withdraw", worker: true},
	Note:           {name: "note", worker: true},
	Flag:           {name: "flag", worker: true},
	Repair:         {name: "repair", worker: true},
	Progress:       {name: "progress", worker: true},
	Result:         {name: "result", worker: true},
	Answer:         {name: "answer"},
	Keep:           {name: "keep"},
	Delete:         {name: "delete"},
	ChangePlan:     {name: "change-plan"},
	Accept:         {name: "accept"},
	Operate:        {name: "operate"},
	MintSignInLink: {name: "mint-sign-in-link"},
}

// String is the action's public name.
func (a Action) String() string {
	if r, ok := rules[a]; ok {
		return r.name
	}
	return fmt.Sprintf("invalid-action-%d", uint8(a))
}

// Valid says whether the table has a rule for a.
func (a Action) Valid() bool {
	_, ok := rules[a]
	return ok
}

// Actions lists every action that there is, in order.
func Actions() []Action {
	var all []Action
	for a := ReadPublic; a.Valid(); a++ {
		all = append(all, a)
	}
	return all
}

// Policy is what the operator chose about the table. Its zero value is the
// default: whoever reaches the server may read.
type Policy struct {
	// LoginRequired: nothing of any booth is shown without a credential.
	LoginRequired bool
}

// Allow decides whether p may do a to booth, which is empty where the action
// is about no booth. It answers nil, or a refusal at problem.StepNotSignedIn,
// problem.StepNotOperator or [StepOtherBooth].
func (pol Policy) Allow(p Party, a Action, booth string) error {
	r, ok := rules[a]
	if !ok {
		return problem.New(problem.Failed, problem.StepInternal, "There is no rule for %v, so nobody may do it.", a)
	}
	anyone := r.public || r.open && !pol.LoginRequired
	switch p := p.(type) {
	case Operator:
		if p.Principal == "" {
			return notSignedIn(a)
		}
		return nil
	case Anonymous:
		if anyone {
			return nil
		}
		return notSignedIn(a)
	case Worker:
		return allowWorker(p, r, anyone, a, booth)
	case Observer:
		if anyone || r.observer {
			return nil
		}
		return notOperator(a)
	case Frame:
		return pol.allowFrame(p, r, a, booth)
	default:
		return notSignedIn(a)
	}
}

func allowWorker(w Worker, r rule, anyone bool, a Action, booth string) error {
	switch {
	case anyone:
		return nil
	case !r.worker:
		return notOperator(a)
	case w.Booth == "" || w.Booth != booth:
		return problem.Refusal(StepOtherBooth, "This token is for one booth, and that is not the one it was used on. Nothing was changed.")
	default:
		return nil
	}
}

// allowFrame never asks what anyone may do: content of a booth is hostile, and
// its credential opens bytes, not pages.
func (pol Policy) allowFrame(f Frame, r rule, a Action, booth string) error {
	switch {
	case !r.frame:
		return notOperator(a)
	case f.Booth == "" || f.Booth != booth:
		return problem.Refusal(StepOtherBooth, "This address is for the files of another booth.")
	case f.Session == "", f.Session == AnonymousSession && pol.LoginRequired:
		return notSignedIn(a)
	default:
		return nil
	}
}

func notSignedIn(a Action) error {
	return problem.Refusal(problem.StepNotSignedIn, "This (%v) needs you to be signed in. Nothing was changed.", a).
		WithHint("run: holdfast open")
}

func notOperator(a Action) error {
	return problem.Refusal(problem.StepNotOperator, "Only the operator may do this (%v). Nothing was changed.", a)
}
