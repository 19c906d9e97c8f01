package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/fleet"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

type instancePage struct {
	Page         page.Frame
	Version      string
	Every        int
	List         string
	Name         string
	State, About string
	// Trouble is why the claim is not believed: then only the name is known.
	Trouble  *trouble
	Claim    claimView
	Box      boxView
	Stop     *stopForm // nil: there is nothing to stop, or the reader may not
	Stopping string    // why the stop waits that was begun here
	NotDone  *trouble  // why the last one that was begun here was not seen to its end
	Receipts []receiptView
	Present  string // of an incarnation that has no receipt
	Printed  printedView
	ReadAt   when
}

// claimView is what the claim says.
type claimView struct {
	State                       string
	Held                        bool
	Box, BoxURL                 string
	Enrollment                  string
	Session, Incarnation        uint64
	Operation, Console, Binding string
	Released                    bool // by a receipt
	Fleet                       string
}

// boxView is what the box says of the instance, and how good its word is.
type boxView struct {
	Says    string // what it is doing, in a word
	Since   *when
	Exit    string
	Refusal string
	Waits   string // why a stop or a start waits
	Seen    string
	Own     bool // the root on this machine says so, now
	Mode    string
	Proof   string
	Why     string // the proof is weak
	// Isolation is what keeps the work away from the home.
	Isolation string
	Trouble   *trouble // the root of this machine's own box does not say anything
}

// stopForm asks whether the instance is to be stopped.
type stopForm struct {
	Action, Key string
	Grace       int
}

// receiptView is a receipt as a page shows it.
type receiptView struct {
	Incarnation uint64
	Key, Short  string
	Made        string
	Proof       string
	ProofWords  string
	Exit        string
	Isolation   string
	Result      string
	Limit       string
	StoppedAt   when
	Revision    uint64 // the numeral
	Binding     string
	Same        bool // as the claim's
	BoxURL      string
	Log         string
	Trouble     *trouble
	Verify      string // the address that verifies it; empty where the reader may not
	Checked     *checked
}

// checked is what came of verifying a receipt.
type checked struct {
	OK      bool
	Checks  []receipt.Check
	Trouble *trouble // it could not be verified
}

func (p *Pages) serveInstance(w http.ResponseWriter, r *http.Request, c *fleet.Console) error {
	return p.showInstance(w, r, c, 0, nil)
}

// serveVerify shows an instance, with what came of verifying one of its receipts.
func (p *Pages) serveVerify(w http.ResponseWriter, r *http.Request, c *fleet.Console) error {
	ops := c.Work(nil)
	n, err := p.asked(r, ops)
	if err != nil {
		return err
	}
	v, err := ops.Verify(r.Context(), n.Key)
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	is := checked{OK: err == nil && v.OK, Trouble: troubleOf(err)}
	for _, check := range v.Checks {
		is.Checks = append(is.Checks, receipt.Check{Name: plain.Text(check.Name), OK: check.OK, Detail: plain.Text(check.Detail)})
	}
	return p.showInstance(w, r, c, n.Incarnation, &is)
}

// asked is the receipt that a request is about: that of an incarnation, or the newest.
func (p *Pages) asked(r *http.Request, ops *console.Ops) (claim.Noted, error) {
	whole, err := ops.Whole(r.Context(), r.PathValue("instance"))
	if err == nil {
		err = whole.Trouble
	}
	if err != nil {
		return claim.Noted{}, err
	}
	text := r.URL.Query().Get("incarnation")
	if text == "" && len(whole.Receipts) > 0 {
		return whole.Receipts[len(whole.Receipts)-1], nil
	}
	var n uint64
	if text != "" {
		if n, err = incarnationOf(text); err != nil {
			return claim.Noted{}, err
		}
	}
	i := slices.IndexFunc(whole.Receipts, func(one claim.Noted) bool { return one.Incarnation == n })
	if i < 0 {
		return claim.Noted{}, problem.New(problem.Gone, stepNoReceipt, "There is no receipt of that incarnation of %s.", whole.Instance.Instance)
	}
	return whole.Receipts[i], nil
}

func (p *Pages) showInstance(w http.ResponseWriter, r *http.Request, c *fleet.Console, of uint64, is *checked) error {
	name := r.PathValue("instance")
	whole, err := c.Work(nil).Whole(r.Context(), name)
	if err != nil {
		return err
	}
	under := p.stops.of(name)
	v := instancePage{
		Every: everyInstance, List: p.Base.URL(instancesRoot), Name: plain.Text(name), State: p.stateOf(whole.Instance), Trouble: troubleOf(whole.Trouble),
		Stopping: sentence(under.Why), NotDone: troubleOf(under.Err),
	}
	v.About = meaning(v.State)
	if v.State == console.StateStopped {
		v.NotDone = nil // another has stopped it meanwhile
	}
	if whole.Trouble == nil {
		p.fill(r, c, &v, whole)
	}
	_, operator := web.PartyOf(r).(access.Operator)
	for _, proved := range slices.Backward(whole.Proofs) {
		one := p.receiptOf(proved, whole)
		if operator {
			one.Verify = verifyURL(p.instanceURL(name, "verify"), proved.Incarnation)
		}
		if is != nil && of == proved.Incarnation {
			one.Checked = is
		}
		v.Receipts = append(v.Receipts, one)
	}
	if v.Version, err = fingerprint(v); err != nil || unchanged(w, r, v.Version) {
		return err
	}
	if operator && whole.Claim == string(claim.Held) && !under.Under {
		v.Stop = &stopForm{p.instanceURL(name, "stop"), console.NewKey(), defaultGrace}
	}
	v.ReadAt, v.Page = at(p.Now()), p.frameIn(p.instances, r, v.Name)
	return p.instances.Write(w, "instance.html", v)
}

// fill fills in what is known of an instance whose claim is believed.
func (p *Pages) fill(r *http.Request, c *fleet.Console, v *instancePage, w console.Whole) {
	v.Claim = claimView{
		State: w.Claim, Held: w.Claim == string(claim.Held), Box: plain.Text(w.Box), BoxURL: p.rowURL(w.Enrollment), Enrollment: w.Enrollment, Session: w.Session,
		Incarnation: w.Incarnation, Operation: plain.Text(w.Operation), Console: plain.Text(w.Console), Binding: w.Binding, Fleet: p.fleetURL(),
	}
	v.Claim.Released = slices.ContainsFunc(w.Receipts, func(n claim.Noted) bool { return n.Incarnation == w.Incarnation })
	if !v.Claim.Released {
		v.Present = present(v.State)
	}
	v.Box = p.boxSays(r, w)
	v.Printed = p.printedOf(r, c, w.Enrollment, w.Instance.Instance, w.Incarnation)
}

// boxSays is what the box says of an instance: the root on this machine, where it is this
// machine's, and else the beat and the answers in the store.
func (p *Pages) boxSays(r *http.Request, w console.Whole) boxView {
	v := boxView{Says: w.State, Since: started(w.Started), Exit: plain.Text(w.Exit), Refusal: sentence(w.Refusal), Seen: seen(w.Instance)}
	if s := w.BoxSession; s != nil {
		v.Proof, v.Why, v.Isolation = s.Proof, sentence(s.ProofWhy), s.Isolation
	}
	own := fleet.OwnBox(r.Context(), p.Home)
	if own == nil || own.Enrollment != w.Enrollment {
		return v
	}
	v.Own, v.Trouble = true, troubleOf(own.Trouble)
	if own.Trouble != nil {
		return v
	}
	v.Mode = modeWords(own)
	if i := own.Of(w.Instance.Instance, w.Incarnation); i != nil {
		v.Says, v.Since, v.Exit, v.Seen = plain.Text(i.State), started(i.Started), plain.Text(i.Exit), ""
		if i.Refusal != "" {
			v.Refusal = sentence(i.Refusal)
		}
	}
	for _, i := range own.Intents {
		if i.Instance == w.Instance.Instance && i.Incarnation == w.Incarnation {
			v.Waits = sentence(i.Waits)
		}
	}
	return v
}

func (p *Pages) receiptOf(n console.Proved, w console.Whole) receiptView {
	v := receiptView{
		Incarnation: n.Incarnation, Key: plain.Text(n.Key), Short: short(n.SHA256), BoxURL: p.rowURL(n.Enrollment), Trouble: troubleOf(n.Trouble),
		Log: logURL(p.instanceURL(w.Instance.Instance, "log"), n.Incarnation),
	}
	if n.Trouble != nil {
		return v
	}
	g := n.Receipt
	v.Made, v.Proof, v.ProofWords, v.Exit = string(g.Made), receipt.Kind(g.Proof), proofWords(g.Proof), exitWords(g.Exit)
	v.Isolation, v.Result, v.Limit, v.StoppedAt = g.Isolation, plain.Lines(g.Result), g.Limit(), at(g.StoppedAt)
	v.Revision, v.Binding = g.RosterRevision, g.Binding.String()
	v.Same = n.Incarnation == w.Incarnation && v.Binding == w.Binding
	return v
}

// instanceDoc is the document of an instance.
type instanceDoc struct {
	console.Shown
	Evidence []evidence `json:"evidence"` // what the receipts say, in their order
}

// evidence is what a receipt says, or why it cannot be read.
type evidence struct {
	Key               string    `json:"key"`
	Incarnation       uint64    `json:"incarnation"`
	Made              string    `json:"made,omitempty"`
	Proof             string    `json:"proof,omitempty"`
	Exit              string    `json:"exit,omitempty"`
	Isolation         string    `json:"isolation,omitempty"`
	DirectoryRevision string    `json:"directory_revision,omitempty"`
	Binding           string    `json:"binding,omitempty"`
	StoppedAt         time.Time `json:"stopped_at,omitzero"`
	Trouble           string    `json:"trouble,omitempty"`
}

func (p *Pages) instance(r *http.Request, c *fleet.Console) (any, error) {
	w, err := c.Work(nil).Whole(r.Context(), r.PathValue("instance"))
	doc := instanceDoc{w.Shown, []evidence{}}
	for _, n := range w.Proofs {
		e := evidence{Key: n.Key, Incarnation: n.Incarnation}
		if n.Trouble != nil {
			e.Trouble = problem.Words(n.Trouble)
		} else {
			g := n.Receipt
			e.Made, e.Proof, e.Exit, e.Isolation = string(g.Made), receipt.Kind(g.Proof), exitWords(g.Exit), g.Isolation
			e.DirectoryRevision, e.Binding, e.StoppedAt = strconv.FormatUint(g.RosterRevision, 10), g.Binding.String(), g.StoppedAt
		}
		doc.Evidence = append(doc.Evidence, e)
	}
	return doc, err
}

// verification is the document of a receipt that is verified.
func (p *Pages) verification(r *http.Request, c *fleet.Console) (any, error) {
	ops := c.Work(nil)
	n, err := p.asked(r, ops)
	if err != nil {
		return nil, err
	}
	return ops.Verify(r.Context(), n.Key)
}

// verifyURL leads to the receipt, below what came of it.
func verifyURL(address string, incarnation uint64) string {
	return fmt.Sprintf("%s?incarnation=%d#incarnation-%d", address, incarnation, incarnation)
}

func exitWords(e receipt.Exit) string {
	switch e := e.(type) {
	case receipt.Exited:
		return fmt.Sprintf("exit status %d", e.Status)
	case receipt.Signalled:
		return fmt.Sprintf("ended by signal %d", e.Signal)
	case receipt.Unknown:
		return "not known: " + plain.Text(e.Why)
	}
	return ""
}

func proofWords(proof receipt.Proof) string {
	switch proof := proof.(type) {
	case receipt.Namespace:
		return fmt.Sprintf("The first process of its namespace, %d, has ended, and the kernel ends all others before that one.", proof.PID)
	case receipt.Weak:
		return fmt.Sprintf("Process %d and all of its descendants that could be found have ended.", proof.PID)
	case receipt.Reboot:
		return "It ran in another boot of the same machine."
	case receipt.NothingStarted:
		return "No process of it was ever started."
	}
	return ""
}
