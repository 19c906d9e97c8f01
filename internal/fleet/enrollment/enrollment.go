// Package enrollment is how a box comes into the fleet: invitations, what a box says
// of itself, and what it is answered.
//
// A console writes an [Invitation] and hands out its [Token]. The token has the
// invitation's private key; the object in the bucket has the public one, so that who
// can read the bucket cannot use an invitation. The box makes an evidence key, and
// writes a [Request] that both keys sign: the invitation's, since it was invited; its
// own, since it has that key. The request is the box's identity from then on, and
// is never replaced.
//
// A console checks the request against the invitation ([Invitation.Admit]) and adds
// the row. The enrollment follows from the invitation and the box's key: a box that
// asks again, since the answer was lost, is the same box. Whether an invitation is
// used up is decided by the roster alone. A request that is refused is answered in
// words ([Refusal]), in an object of its own.
//
// An invitation for several names its boxes by itself: a prefix, and the first eight
// digits of the digest of the box's key. An invitation for a machine of a cloud asks
// for a document in which that cloud says which machine it is.
//
// The objects and who writes them:
//
//	control/invitations/ID.json                      a console, create-only
//	control/invitations/ID/refused/ENROLLMENT.json   a console, create-only
//	boxes/ENROLLMENT/identity.json                   the box, create-only
//
// What a box writes stands under its enrollment, not under its name: a name may be
// given again after the box that had it was retired, and nothing of one is ever taken
// for the other's.
package enrollment

import (
	"encoding/base64"
	"regexp"
	"strings"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/canon"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// What is signed here, each for one use.
const (
	purposeInvitation sign.Purpose = "application/vnd.holdfast.invitation.v1+json"
	purposeRequest    sign.Purpose = "application/vnd.holdfast.box-identity.v1+json"
	purposeRefusal    sign.Purpose = "application/vnd.holdfast.enrollment-refusal.v1+json"
)

// Invitations is where they are, and the answers to those that are refused.
const Invitations = "control/invitations/"

const (
	invitationSchema = "holdfast-invitation/1"
	requestSchema    = "holdfast-box-identity/1"
	refusalSchema    = "holdfast-enrollment-refusal/1"
	tokenPrefix      = "hfi1_"
	maxUses          = 10_000
	autoDigits       = 8
	boxes            = "boxes/"
	identity         = "/identity.json"
	refused          = "/refused/"
	maxBox           = 63 - 1 - autoDigits // bytes of a prefix, so that the name behind it fits
)

// hexID is what the id of an invitation looks like.
var hexID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Invitation is what a box, or several, may come in by.
type Invitation struct {
	Schema    string      `json:"schema"`
	ID        string      `json:"id"`
	Bucket    string      `json:"bucket"`
	PublicKey sign.Public `json:"public_key"`
	Console   string      `json:"console"` // whose it is
	// Box is what the box is called; where Uses is above 1 or Auto is set, what
	// their names begin with.
	Box       string    `json:"box"`
	Auto      bool      `json:"auto"`
	Uses      int       `json:"uses"`
	Namespace string    `json:"namespace"`
	Region    string    `json:"region"`
	Pool      string    `json:"pool"`
	Role      string    `json:"role,omitempty"`
	Group     string    `json:"group,omitempty"`
	Label     string    `json:"label,omitempty"`
	Cloud     Cloud     `json:"cloud"`
	IssuedAt  time.Time `json:"issued_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// check refuses an invitation that lets nobody in.
func (i Invitation) check() error {
	bad := func(format string, args ...any) error {
		return problem.New(problem.Usage, "invitation", format+" Nobody was invited.", args...)
	}
	for what, name := range map[string]string{"box": i.Box, "namespace": i.Namespace, "region": i.Region, "pool": i.Pool, "cloud": i.Cloud.Name} {
		if err := roster.CheckName(what, name); err != nil {
			return err
		}
	}
	for what, name := range map[string]string{"role": i.Role, "group": i.Group} {
		if name != "" {
			if err := roster.CheckName(what, name); err != nil {
				return err
			}
		}
	}
	if err := roster.CheckLabel(i.Label); err != nil {
		return err
	}
	switch {
	case i.Schema != invitationSchema:
		return bad("The schema %q is not %q.", i.Schema, invitationSchema)
	case i.Uses < 1 || i.Uses > maxUses:
		return bad("An invitation lets in between 1 and %d boxes.", maxUses)
	case i.Uses > 1 && !i.Auto:
		return bad("An invitation for several is automatic: each box is named by itself.")
	case i.Auto && len(i.Box) > maxBox:
		return bad("The names of boxes would be too long: a prefix has at most %d bytes.", maxBox)
	case !i.ExpiresAt.After(i.IssuedAt):
		return bad("The invitation would have expired before it is written.")
	}
	return i.Cloud.check()
}

// ID names an invitation by its key: the first 32 hexadecimal digits of the keyid.
func ID(public sign.Public) string { return public.ID()[:32] }

// New completes an invitation with a key of its own, and returns the key.
func New(i Invitation) (Invitation, sign.Key, error) {
	key := sign.Generate()
	i.Schema, i.PublicKey, i.ID = invitationSchema, key.Public(), ID(key.Public())
	i.IssuedAt, i.ExpiresAt = i.IssuedAt.UTC().Truncate(time.Millisecond), i.ExpiresAt.UTC().Truncate(time.Millisecond)
	return i, key, i.check()
}

// Key is where the invitation called id is. Its error is a Usage error.
func Key(id string) (bucket.Key, error) { return bucket.ParseKey(Invitations + id + ".json") }

// Seal signs the invitation by the console whose it is.
func (i Invitation) Seal(console sign.Key) ([]byte, error) {
	return document.Seal(purposeInvitation, i, console)
}

// ReadInvitation reads an invitation that one of the consoles of r signed.
func ReadInvitation(data []byte, r *roster.Roster) (Invitation, error) {
	e, err := sign.Read(data, purposeInvitation)
	if err != nil {
		return Invitation{}, err
	}
	var i Invitation
	if err := document.Decode(e.Claimed(), &i, "invitation-format"); err != nil {
		return Invitation{}, err
	}
	if err := document.ByConsole(e, r, i.Console); err != nil {
		return Invitation{}, err
	}
	if i.Bucket != r.Bucket || i.ID != ID(i.PublicKey) {
		return Invitation{}, problem.Refusal("invitation-format", "The invitation is that of another fleet, or not the one that its name says.")
	}
	return i, i.check()
}

// Token is what an invited machine is given. It is a secret until it is used.
type Token struct {
	Store  string      // the URL of the bucket
	Bucket string      // its random name
	Root   sign.Public // the fleet's root key
	Key    sign.Key    // of the invitation
}

type token struct {
	Store  string      `json:"store"`
	Bucket string      `json:"bucket"`
	Root   sign.Public `json:"root"`
	Seed   []byte      `json:"seed"`
}

// Text is the token as it is handed on: a word without spaces.
func (t Token) Text() (string, error) {
	seed := t.Key.Seed()
	text, err := canon.Encode(token{t.Store, t.Bucket, t.Root, seed[:]})
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(text), err
}

// ParseToken reads a token's text. Its refusal repeats nothing of it.
func ParseToken(text string) (Token, error) {
	bad := problem.New(problem.Usage, "invitation-token", "This is no invitation: it is cut short, changed, or something else. Nothing was done.").
		WithHint("paste the whole word that holdfast fleet invite printed; it begins with %s", tokenPrefix)
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), tokenPrefix)
	if !ok || len(rest) > 4<<10 {
		return Token{}, bad
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	var t token
	if err == nil {
		err = document.Decode(raw, &t, bad.Step)
	}
	if err != nil || len(t.Seed) != 32 || t.Store == "" || len(t.Bucket) != 32 {
		return Token{}, bad.Because(err)
	}
	return Token{t.Store, t.Bucket, t.Root, sign.FromSeed([32]byte(t.Seed))}, nil
}

// Request is what a box says of itself when it asks to come in.
type Request struct {
	Schema     string      `json:"schema"`
	Bucket     string      `json:"bucket"`
	Invitation string      `json:"invitation"`
	Box        string      `json:"box"`
	PublicKey  sign.Public `json:"public_key"` // that it signs evidence with
	Document   *Document   `json:"document,omitempty"`
}

// NewRequest is the request of the box whose evidence key is evidence, by the
// invitation i. The same invitation and key make the same bytes.
func NewRequest(i Invitation, invitation, evidence sign.Key, d *Document) (Request, []byte, error) {
	r := Request{requestSchema, i.Bucket, i.ID, i.NameFor(evidence.Public()), evidence.Public(), d}
	data, err := document.Seal(purposeRequest, r, invitation, evidence)
	return r, data, err
}

// NameFor is what the box with a key is called that comes in by i.
func (i Invitation) NameFor(evidence sign.Public) string {
	if !i.Auto {
		return i.Box
	}
	return i.Box + "-" + evidence.ID()[:autoDigits]
}

// IdentityKey is where the identity of an enrollment is.
func IdentityKey(enrollment string) (bucket.Key, error) {
	return bucket.ParseKey(boxes + enrollment + identity)
}

// OfIdentity is the enrollment whose identity stands under key, if that is what it is.
func OfIdentity(key bucket.Key) (enrollment string, ok bool) {
	rest, under := strings.CutPrefix(key.String(), boxes)
	enrollment, is := strings.CutSuffix(rest, identity)
	return enrollment, under && is && !strings.Contains(enrollment, "/")
}

// Asked is a request that was read and of which nothing is proved yet.
type Asked struct {
	Request
	envelope sign.Envelope
}

// ReadRequest reads the identity that stands under an enrollment.
func ReadRequest(data []byte, enrollment string) (Asked, error) {
	e, err := sign.Read(data, purposeRequest)
	if err != nil {
		return Asked{}, err
	}
	var r Request
	if err := document.Decode(e.Claimed(), &r, "identity-format"); err != nil {
		return Asked{}, err
	}
	asked := Asked{r, e}
	switch {
	case !asked.small():
		return Asked{}, problem.Refusal("identity-format", "What stands under the enrollment %s names no box or no invitation, or is too large.", enrollment)
	case r.Schema != requestSchema || asked.Enrollment() != enrollment:
		return Asked{}, problem.Refusal("identity-format", "What stands under the enrollment %s is the identity of another.", enrollment)
	}
	return asked, nil
}

// small says whether a request has names where they should be, and no document beyond
// what a cloud writes: they are repeated in answers and logs, whoever wrote them.
func (a Asked) small() bool {
	return a.Document.small() && hexID.MatchString(a.Invitation) && roster.CheckName("box", a.Box) == nil
}

// Prove says whether the machine wrote a that was invited by i and has the key that a
// names. Before that it is anybody's word, and is not answered.
func (a Asked) Prove(i Invitation) error {
	if _, err := a.envelope.Verify(i.PublicKey, a.PublicKey); err != nil {
		return problem.Refusal("identity-signature", "The request is not signed by the invitation's key and by the box's own.").Because(err)
	}
	return nil
}

// Enrollment is what the row of the box will be called.
func (a Asked) Enrollment() string { return roster.EnrollmentOf(a.Invitation, a.PublicKey.ID()) }

// Evidence is the digest of the key that the box signs evidence with.
func (a Asked) Evidence() string { return a.PublicKey.ID() }

// Admit checks a request against the invitation that it names, at a time, and says
// what the box comes in as. Whether the invitation is used up, the roster says.
func (i Invitation) Admit(a Asked, at time.Time) (roster.Admission, error) {
	if err := a.Prove(i); err != nil {
		return roster.Admission{}, err
	}
	switch {
	case a.Invitation != i.ID || a.Bucket != i.Bucket:
		return roster.Admission{}, problem.Refusal("identity-format", "The request is for another invitation.")
	case a.Box != i.NameFor(a.PublicKey):
		return roster.Admission{}, problem.Refusal("box-name", "The invitation is for the box %s, and %s asks.", i.NameFor(a.PublicKey), a.Box)
	case !at.Before(i.ExpiresAt):
		return roster.Admission{}, problem.Refusal("invitation-expired", "The invitation was good until %s.", i.ExpiresAt.Format(time.RFC3339)).
			WithHint("ask for a new one: holdfast fleet invite")
	}
	if err := i.Cloud.verify(a.Document, i.Region); err != nil {
		return roster.Admission{}, err
	}
	return roster.Admission{
		Invitation: i.ID, Uses: i.Uses, BoxID: a.Box, Namespace: i.Namespace, Region: i.Region, Pool: i.Pool, Cloud: i.Cloud.Name,
		Role: i.Role, Group: i.Group, Label: i.Label,
	}, nil
}

// Refusal is the answer to a request that is refused. It is final: another try needs
// another invitation.
type Refusal struct {
	Schema     string    `json:"schema"`
	Bucket     string    `json:"bucket"`
	Enrollment string    `json:"enrollment"`
	Console    string    `json:"console"`
	Step       string    `json:"step"`
	Reason     string    `json:"reason"`
	Hint       string    `json:"hint,omitempty"`
	At         time.Time `json:"at"`
}

// NewRefusal is the signed answer to a, by a console of the fleet.
func NewRefusal(a Asked, why error, console string, key sign.Key, at time.Time) ([]byte, error) {
	p := problem.From(why, "The request cannot be admitted.")
	return document.Seal(purposeRefusal, Refusal{refusalSchema, a.Bucket, a.Enrollment(), console, p.Step, p.Reason, p.Hint, at.UTC().Truncate(time.Millisecond)}, key)
}

// ReadRefusal reads the answer to the request of an enrollment, which a console of r
// signed, as the error that it is.
func ReadRefusal(data []byte, r *roster.Roster, enrollment string) error {
	e, err := sign.Read(data, purposeRefusal)
	if err != nil {
		return err
	}
	var f Refusal
	if err := document.Decode(e.Claimed(), &f, "refusal-format"); err != nil {
		return err
	}
	if err := document.ByConsole(e, r, f.Console); err != nil {
		return err
	}
	if f.Schema != refusalSchema || f.Bucket != r.Bucket || f.Enrollment != enrollment {
		return problem.Refusal("refusal-format", "The answer is one to another request.")
	}
	return &problem.Error{Kind: problem.Refused, Step: f.Step, Reason: f.Reason, Hint: f.Hint}
}

// RefusalKey is where the answer to a refused request is.
func RefusalKey(invitation, enrollment string) (bucket.Key, error) {
	return bucket.ParseKey(Invitations + invitation + refused + enrollment + ".json")
}

// Refused are the enrollments among the keys under [Invitations] whose requests were
// refused.
func Refused(keys []bucket.Key) map[string]bool {
	found := map[string]bool{}
	for _, k := range keys {
		_, last, ok := strings.Cut(strings.TrimPrefix(k.String(), Invitations), refused)
		if enrollment, is := strings.CutSuffix(last, ".json"); ok && is {
			found[enrollment] = true
		}
	}
	return found
}
