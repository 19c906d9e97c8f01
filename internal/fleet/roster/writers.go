package roster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
)

// ErrUnchanged is what a writer returns that finds its work done: there is nothing
// to write.
var ErrUnchanged = errors.New("the roster says so already")

// New is what the first version is a change of: the roster of the store that is called
// bucket, in which nothing stands.
func New(bucket string, limit time.Duration) *Roster {
	return &Roster{
		Schema: Schema, Bucket: bucket, RequestLimitNS: int64(limit),
		Boxes: map[string]Box{}, Holds: map[string]Hold{}, Activations: map[string]Activation{},
		EnrollmentAttempts: map[string]Attempt{}, Consoles: map[string]Console{}, Regions: map[string]Region{},
	}
}

func refuse(step, format string, args ...any) *problem.Error {
	return problem.Refusal(step, format+" Nothing was changed.", args...)
}

// box finds the live row that a writer is about.
func (r *Roster) box(id string) (string, Box, error) {
	enrollment, b, ok := r.Live(id)
	if ok {
		return enrollment, b, nil
	}
	for _, b := range r.Boxes {
		if b.BoxID == id {
			return "", Box{}, refuse("box-retired", "Box %s is retired, for good.", id)
		}
	}
	return "", Box{}, problem.New(problem.Gone, "box-unknown", "No box is called %q. Nothing was changed.", id).
		WithHint("holdfast fleet boxes lists those that are enrolled")
}

// Admission is what an invitation lets in: everything of a row that the box itself
// does not choose.
type Admission struct {
	Invitation string
	Uses       int    // how many boxes it lets in
	BoxID      string // what the box is to be called
	Namespace  string
	Region     string
	Pool       string
	Cloud      string
	Role       string
	Group      string
	Label      string
}

// EnrollmentOf is the enrollment of the box that signs with the key whose digest is
// evidence, by an invitation: whoever asks again gets the same, so that a box whose
// answer was lost joins once. It is the first 32 hexadecimal digits of the SHA-256 of
// the canonical JSON list of the words holdfast.enrollment and v1, the invitation and
// the digest.
func EnrollmentOf(invitation, evidence string) string {
	text, err := canon.Encode([]string{"holdfast.enrollment", "v1", invitation, evidence})
	if err != nil { // both are checked where they come in; what is no text names nothing
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// BeginAttempt puts down that a box begins to enroll by an invitation that lets in
// several, before anything else is done for it.
func (r *Roster) BeginAttempt(a Admission, evidence string, at time.Time) error {
	enrollment := EnrollmentOf(a.Invitation, evidence)
	if _, begun := r.EnrollmentAttempts[enrollment]; begun {
		return ErrUnchanged
	}
	if err := r.admits(enrollment, a, evidence); err != nil {
		return err
	}
	r.EnrollmentAttempts[enrollment] = Attempt{a.Invitation, a.BoxID, evidence, stamp(at)}
	return nil
}

// Enroll adds the row of a box that comes in by an invitation, and consumes its
// attempt. A box that is in by the same invitation and key is ErrUnchanged.
func (r *Roster) Enroll(a Admission, evidence string, at time.Time) error {
	enrollment := EnrollmentOf(a.Invitation, evidence)
	if err := r.admits(enrollment, a, evidence); err != nil {
		return err
	}
	delete(r.EnrollmentAttempts, enrollment)
	r.Boxes[enrollment] = Box{
		BoxID: a.BoxID, Namespace: a.Namespace, Region: a.Region, Pool: a.Pool, Cloud: a.Cloud, EvidenceSHA256: evidence,
		State: Active, LossIDs: []string{}, Role: a.Role, Label: a.Label, Group: a.Group, Invitation: a.Invitation, EnrolledAt: stamp(at),
	}
	return nil
}

// admits says whether an invitation is good for one box more.
func (r *Roster) admits(enrollment string, a Admission, evidence string) error {
	if b, in := r.Boxes[enrollment]; in {
		if b.State == Retired {
			return refuse("invitation-retired", "The box that came in by this invitation, %s, is retired, and the invitation is spent.", b.BoxID).
				WithHint("ask for a new one: holdfast fleet invite")
		}
		return ErrUnchanged
	}
	uses := 0
	for _, b := range r.Boxes {
		if b.Invitation == a.Invitation {
			uses++
		}
	}
	for id, t := range r.EnrollmentAttempts {
		if t.Invitation == a.Invitation && id != enrollment {
			uses++
		}
	}
	if uses >= a.Uses {
		return refuse("invitation-used", "The invitation lets in %d, and that many came in by it, with other keys.", a.Uses).
			WithHint("ask for a new one: holdfast fleet invite")
	}
	for _, b := range r.Boxes {
		switch {
		case b.State == Retired && b.EvidenceSHA256 == evidence:
			return refuse("key-retired", "This key is that of the box %s, which is retired.", b.BoxID).
				WithHint("a box that comes back needs a new key: begin with an empty folder")
		case b.State == Retired:
		case b.BoxID == a.BoxID:
			return refuse("box-taken", "A box called %s is enrolled, with another key or by another invitation.", b.BoxID).
				WithHint("retire it first, or choose another name")
		case b.EvidenceSHA256 == evidence:
			return refuse("key-taken", "This key is enrolled already, as the box %s.", b.BoxID).
				WithHint("if this machine is a copy of that one, begin with an empty folder here")
		}
	}
	for id, t := range r.EnrollmentAttempts {
		if t.BoxID == a.BoxID && id != enrollment {
			return refuse("box-taken", "A box called %s is about to be enrolled, with another key.", t.BoxID)
		}
	}
	if len(r.Boxes) >= MaxBoxes {
		return refuse("fleet-full", "The roster has %d rows, which is the most.", MaxBoxes)
	}
	return nil
}

// Quarantine takes new work from a box: what it has may be finished and stopped,
// and nothing that it was given before is ever started again, not after it is
// readmitted either. With a loss id the box is given up for lost as well. A box that
// is in quarantine is ErrUnchanged, unless the loss is new.
func (r *Roster) Quarantine(id, loss string) error {
	enrollment, b, err := r.box(id)
	if err != nil {
		return err
	}
	if loss == "" && b.State == Quarantined || loss != "" && slices.Contains(b.LossIDs, loss) {
		return ErrUnchanged
	}
	if loss != "" {
		if !isKey(loss) {
			return problem.New(problem.Usage, "loss-id", "%q is no loss id. Nothing was changed.", loss)
		}
		if len(b.LossIDs) >= maxLossIDs {
			return refuse("box-lost", "Box %s was given up for lost %d times, which is the most.", id, maxLossIDs).WithHint("retire it")
		}
		b.LossIDs = append(slices.Clone(b.LossIDs), loss)
	}
	b.State = Quarantined
	b.QuarantineRevision++
	r.Boxes[enrollment] = b
	return nil
}

// Readmit lets a box do new work again. Its binding is new, never one that it had.
func (r *Roster) Readmit(id string) error {
	enrollment, b, err := r.box(id)
	if err != nil {
		return err
	}
	if b.State == Active {
		return ErrUnchanged
	}
	b.State = Active
	r.Boxes[enrollment] = b
	return nil
}

// Retire ends a box, for good.
func (r *Roster) Retire(id string) error {
	enrollment, b, err := r.box(id)
	var p *problem.Error
	switch {
	case errors.As(err, &p) && p.Step == "box-retired":
		return ErrUnchanged
	case err != nil:
		return err
	}
	b.State = Retired
	r.Boxes[enrollment] = b
	return nil
}

// SetRole says what work a box is for. An empty role takes it away.
func (r *Roster) SetRole(id, role string) error {
	return r.place(id, role, "role", func(b *Box) *string { return &b.Role })
}

// SetGroup puts a box into a group. An empty group takes it out.
func (r *Roster) SetGroup(id, group string) error {
	return r.place(id, group, "group", func(b *Box) *string { return &b.Group })
}

// SetLabel says what people call a box.
func (r *Roster) SetLabel(id, label string) error {
	if err := CheckLabel(label); err != nil {
		return err
	}
	return r.set(id, label, func(b *Box) *string { return &b.Label })
}

func (r *Roster) place(id, value, what string, member func(*Box) *string) error {
	if value != "" {
		if err := CheckName(what, value); err != nil {
			return err
		}
	}
	return r.set(id, value, member)
}

func (r *Roster) set(id, value string, member func(*Box) *string) error {
	enrollment, b, err := r.box(id)
	if err != nil {
		return err
	}
	if *member(&b) == value {
		return ErrUnchanged
	}
	*member(&b) = value
	r.Boxes[enrollment] = b
	return nil
}

// SetGroupRole says what work each box of a group is for, in one write.
func (r *Roster) SetGroupRole(group, role string) error {
	members, changed := 0, 0
	for _, b := range r.Boxes {
		if b.State == Retired || b.Group != group || group == "" {
			continue
		}
		members++
		switch err := r.SetRole(b.BoxID, role); {
		case errors.Is(err, ErrUnchanged):
		case err != nil:
			return err
		default:
			changed++
		}
	}
	switch {
	case members == 0:
		return problem.New(problem.Gone, "group-unknown", "No box is in a group %q. Nothing was changed.", group)
	case changed == 0:
		return ErrUnchanged
	}
	return nil
}

// BindCensusKey says with which key a box signs its census. It is set once.
func (r *Roster) BindCensusKey(id, public string) error {
	enrollment, b, err := r.box(id)
	switch {
	case err != nil:
		return err
	case !isHex(public, 64):
		return problem.New(problem.Usage, "census-key", "A census key is 64 lower-case hexadecimal digits. Nothing was changed.")
	case b.CensusPublicKey == public:
		return ErrUnchanged
	case b.CensusPublicKey != "":
		return refuse("census-key", "Box %s has a census key, and keeps it.", id)
	}
	b.CensusPublicKey = public
	r.Boxes[enrollment] = b
	return nil
}
