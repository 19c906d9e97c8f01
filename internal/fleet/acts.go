package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
)

// Quarantine takes new work from a box. With a loss id the box is given up for lost.
func (c *Console) Quarantine(ctx context.Context, box, loss string, y Consent) (Written, error) {
	return c.write(ctx, y, func(r *roster.Roster) error { return r.Quarantine(box, loss) })
}

// NewLossID is a loss id that nobody has.
func NewLossID() string { return "loss-" + randomName() }

// Readmit lets a box do new work again.
func (c *Console) Readmit(ctx context.Context, box string, y Consent) (Written, error) {
	return c.write(ctx, y, func(r *roster.Roster) error { return r.Readmit(box) })
}

// Retire ends a box, for good.
func (c *Console) Retire(ctx context.Context, box string, y Consent) (Written, error) {
	return c.write(ctx, y, func(r *roster.Roster) error { return r.Retire(box) })
}

// SetRole says what work a box is for; an empty role takes it away.
func (c *Console) SetRole(ctx context.Context, box, role string) (Written, error) {
	return c.write(ctx, Ask, func(r *roster.Roster) error { return r.SetRole(box, role) })
}

// SetGroupRole says what work each box of a group is for.
func (c *Console) SetGroupRole(ctx context.Context, group, role string) (Written, error) {
	return c.write(ctx, Ask, func(r *roster.Roster) error { return r.SetGroupRole(group, role) })
}

// SetLabel says what people call a box.
func (c *Console) SetLabel(ctx context.Context, box, label string) (Written, error) {
	return c.write(ctx, Ask, func(r *roster.Roster) error { return r.SetLabel(box, label) })
}

// SetGroup puts a box into a group; an empty group takes it out.
func (c *Console) SetGroup(ctx context.Context, box, group string) (Written, error) {
	return c.write(ctx, Ask, func(r *roster.Roster) error { return r.SetGroup(box, group) })
}

// ConfigureRegion gives the fleet a region, or changes its label and the limit of a
// request. What is empty stays.
func (c *Console) ConfigureRegion(ctx context.Context, region, label string, limit time.Duration, y Consent) (Written, error) {
	return c.write(ctx, y, func(r *roster.Roster) error {
		if limit == 0 {
			limit = time.Duration(r.RequestLimitNS)
		}
		label = or(label, r.Regions[region].Label)
		return r.ConfigureRegion(region, label, limit, c.now())
	})
}

// CancelHold ends a hold, whosever it is.
func (c *Console) CancelHold(ctx context.Context, operation string) (Written, error) {
	return c.write(ctx, Ask, func(r *roster.Roster) error { return r.CancelHold(operation) })
}

// CancelActivation ends an activation, whosever it is.
func (c *Console) CancelActivation(ctx context.Context, operation string) (Written, error) {
	return c.write(ctx, Ask, func(r *roster.Roster) error { return r.CancelActivation(operation) })
}

// Invited is an invitation, and the word that lets a machine in.
type Invited struct {
	Invitation string    `json:"invitation"`
	Box        string    `json:"box"`
	Uses       int       `json:"uses"`
	ExpiresAt  time.Time `json:"expires_at"`
	// Token is a secret until the invitation is used up or has expired.
	Token string `json:"token"`
}

// Invite writes an invitation. Its id, key, console and dates are filled in, and
// what is left out of namespace, region, pool and cloud.
func (c *Console) Invite(ctx context.Context, i enrollment.Invitation, good time.Duration) (Invited, error) {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return Invited{}, err
	}
	at := c.now()
	i.Bucket, i.Console, i.IssuedAt, i.ExpiresAt = v.Bucket, c.place.Console, at, at.Add(good)
	i.Region = or(i.Region, v.HomeRegion)
	i.Namespace, i.Pool, i.Cloud.Name = or(i.Namespace, "default"), or(i.Pool, "default"), or(i.Cloud.Name, enrollment.NoCloud)
	if _, ok := v.Regions[i.Region]; !ok {
		return Invited{}, problem.Refusal("region-unknown", "No region is called %q. Nobody was invited.", i.Region).WithHint("holdfast fleet region %s makes it", i.Region)
	}
	if _, _, taken := v.Live(i.Box); taken && !i.Auto {
		return Invited{}, problem.Refusal("box-taken", "A box called %s is enrolled. Nobody was invited.", i.Box).WithHint("retire it first, or choose another name")
	}
	i, key, err := enrollment.New(i)
	if err != nil {
		return Invited{}, err
	}
	data, err := i.Seal(c.key)
	if err != nil {
		return Invited{}, err
	}
	where, err := enrollment.Key(i.ID)
	if err != nil {
		return Invited{}, err
	}
	if err := create(ctx, c.bucket, where, data); err != nil {
		return Invited{}, err
	}
	token, err := enrollment.Token{Store: c.home.abroad(c.place.Store), Bucket: v.Bucket, Root: c.place.Root, Key: key}.Text()
	return Invited{i.ID, i.Box, i.Uses, i.ExpiresAt, token}, err
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// create writes an object once. The same bytes that are there already are fine.
func create(ctx context.Context, b bucket.Store, key bucket.Key, data []byte) error {
	var cause error
	switch e := b.Put(ctx, key, data, bucket.Absent{}).(type) {
	case bucket.Done:
		return nil
	case bucket.Failed:
		return e.Cause
	case bucket.Refused:
		cause = e.Cause
	case bucket.Unknown:
		cause = e.Cause
	}
	reading, err := b.Get(ctx, key)
	found, there := reading.(bucket.Found)
	switch {
	case err != nil:
		return problem.New(problem.Unknown, "write-unknown", "Whether %s was written cannot be told.", key).
			WithHint("ask again: the same is not written twice").Because(errors.Join(cause, err))
	case there && string(found.Data) == string(data):
		return nil
	case there:
		return problem.Refusal("object-taken", "%s is there already, and says something else. Nothing was changed.", key).Because(cause)
	}
	return problem.New(problem.Unknown, "write-unknown", "%s is not there, but may still arrive.", key).
		WithHint("ask again: the same is not written twice").Because(cause)
}

// Admitted is what came of one request of a box to come in.
type Admitted struct {
	BoxID      string `json:"box_id"`
	Enrollment string `json:"enrollment"`
	// Refused is why it may not, nil for one that is in.
	Refused error `json:"-"`
}

// Admit answers every request of a box that has none: it lets the box in, or says why
// not, for good. A request that cannot be answered now is left, and is the error;
// the others are answered all the same.
func (c *Console) Admit(ctx context.Context) ([]Admitted, error) {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return nil, err
	}
	asking, err := c.asking(ctx, v)
	if err != nil {
		return nil, err
	}
	var all []Admitted
	var troubles []error
	for _, id := range asking {
		a, err := c.answer(ctx, v, id)
		switch {
		case err != nil:
			troubles = append(troubles, err)
		case a.Enrollment != "":
			all = append(all, a)
		}
	}
	return all, told(troubles)
}

// told are troubles as one error. Whoever can write to the store can make any number.
func told(troubles []error) error {
	const most = 8
	if more := len(troubles) - most; more > 0 {
		troubles = append(troubles[:most:most], fmt.Errorf("and %d more", more))
	}
	return errors.Join(troubles...)
}

// asking are the enrollments that asked to come in and were not answered.
func (c *Console) asking(ctx context.Context, v *rosterstore.Version) ([]string, error) {
	waiting, _, err := c.outside(ctx, v)
	return waiting, err
}

// outside are the enrollments that asked to come in and are not in: those that were not
// answered, and those that were refused.
func (c *Console) outside(ctx context.Context, v *rosterstore.Version) (waiting, refused []string, err error) {
	identities, err := c.bucket.List(ctx, "boxes/")
	if err != nil {
		return nil, nil, err
	}
	var out []string
	for _, key := range identities {
		if id, ok := enrollment.OfIdentity(key); ok {
			if _, in := v.Boxes[id]; !in {
				out = append(out, id)
			}
		}
	}
	if len(out) == 0 {
		return nil, nil, nil
	}
	answers, err := c.bucket.List(ctx, enrollment.Invitations)
	if err != nil {
		return nil, nil, err
	}
	answered := enrollment.Refused(answers)
	for _, id := range out {
		if answered[id] {
			refused = append(refused, id)
		} else {
			waiting = append(waiting, id)
		}
	}
	return waiting, refused, nil
}

// answer answers one request. What is no request of anybody is left alone: there is
// nobody to answer.
func (c *Console) answer(ctx context.Context, v *rosterstore.Version, id string) (Admitted, error) {
	asked, err := c.request(ctx, id)
	if err != nil {
		return Admitted{}, err
	}
	is := Admitted{BoxID: asked.Box, Enrollment: id}
	err = c.enroll(ctx, v, asked)
	var no denied
	if !errors.As(err, &no) {
		return is, err // in, or not to be told now
	}
	is.Refused = no.error
	data, err := enrollment.NewRefusal(asked, no.error, c.place.Console, c.key, c.now())
	if err != nil {
		return is, err
	}
	at, err := enrollment.RefusalKey(asked.Invitation, id)
	if err != nil {
		return is, err
	}
	return is, create(ctx, c.bucket, at, data)
}

// denied is an answer for good: no to this request, whoever asks again. Any other
// error is that it could not be answered.
type denied struct{ error }

func (d denied) Unwrap() error { return d.error }

// judge makes an answer of a writer's refusal.
func judge(err error) error {
	if err == nil || errors.Is(err, roster.ErrUnchanged) {
		return err
	}
	return denied{err}
}

func (c *Console) request(ctx context.Context, id string) (enrollment.Asked, error) {
	key, err := enrollment.IdentityKey(id)
	if err != nil {
		return enrollment.Asked{}, err
	}
	data, err := bucket.Read(ctx, c.bucket, key)
	if err != nil {
		return enrollment.Asked{}, err
	}
	return enrollment.ReadRequest(data, id)
}

// enroll lets the box in that asked. An invitation for several puts the attempt down
// first.
func (c *Console) enroll(ctx context.Context, v *rosterstore.Version, asked enrollment.Asked) error {
	key, err := enrollment.Key(asked.Invitation)
	if err != nil {
		return err
	}
	data, err := bucket.Read(ctx, c.bucket, key)
	if errors.Is(err, fs.ErrNotExist) {
		// Nobody can prove that they were invited by it, and so nobody is answered.
		return problem.Refusal("invitation-unknown", "The enrollment %s asks by the invitation %s, which is not in the store.", asked.Enrollment(), asked.Invitation)
	}
	if err != nil {
		return err
	}
	i, err := enrollment.ReadInvitation(data, v.Roster)
	if err != nil {
		return err // what is damaged or forged is the operator's to look at, and no answer
	}
	if err := asked.Prove(i); err != nil {
		return err // whoever wrote it was not invited, and must not have another refused
	}
	admission, err := i.Admit(asked, c.now())
	if err != nil {
		return denied{err}
	}
	if i.Auto {
		if _, err := c.roster.Update(ctx, c.key, func(r *roster.Roster) error {
			return judge(r.BeginAttempt(admission, asked.Evidence(), c.now()))
		}); err != nil {
			return err
		}
		// A crash here leaves the attempt: the box's next request, or the next look,
		// goes on with it.
	}
	_, err = c.roster.Update(ctx, c.key, func(r *roster.Roster) error {
		return judge(r.Enroll(admission, asked.Evidence(), c.now()))
	})
	return err
}

// Restore makes an old version of the roster good again, by the root key, which must be
// in this home. Digest names the version, or the beginning of its name; above is the
// highest revision that any box reports.
func (c *Console) Restore(ctx context.Context, digest string, above uint64) (Written, error) {
	root, err := c.root()
	if err != nil {
		return Written{}, err
	}
	old, err := c.candidate(ctx, digest)
	if err != nil {
		return Written{}, err
	}
	before, _ := c.roster.Read(ctx) // nil where it cannot be believed, which is why it is restored
	v, err := c.roster.Restore(ctx, root, old, above)
	if err != nil {
		return Written{}, err
	}
	w := Written{Revision: v.Revision, Changed: true, Moved: []Moved{}}
	if before != nil {
		w.Moved = movedOf(roster.Moves(before.Roster, v.Roster))
	}
	return w, nil
}

// candidate is the one version that digest begins, or is.
func (c *Console) candidate(ctx context.Context, digest string) (*rosterstore.Version, error) {
	var found *rosterstore.Version
	several := false
	if err := c.roster.Candidates(ctx, func(v *rosterstore.Version) bool {
		if digest == "" || !strings.HasPrefix(v.Digest, digest) {
			return true
		}
		several = found != nil
		found = v
		return !several
	}); err != nil {
		return nil, err
	}
	switch {
	case several:
		return nil, problem.New(problem.Usage, "version", "Several versions begin with %q. Nothing was changed.", digest)
	case found == nil:
		return nil, problem.New(problem.Gone, "version", "No version of the log begins with %q. Nothing was changed.", digest).WithHint("holdfast fleet log --candidates lists those that can be restored")
	}
	return found, nil
}
