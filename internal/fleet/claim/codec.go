package claim

import (
	"holdfast/internal/bucket"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

const purpose sign.Purpose = "application/vnd.holdfast.claim.v1+json"

// Read reads the claim of an instance, which the console of r that it names has signed.
// Its refusals have the steps claim-format, console-unknown and those of an envelope.
func Read(data []byte, r *roster.Roster, instance string) (Claim, error) {
	e, err := sign.Read(data, purpose)
	if err != nil {
		return Claim{}, err
	}
	var c Claim
	if err := document.Decode(e.Claimed(), &c, stepClaim); err != nil {
		return Claim{}, err
	}
	if err := document.ByConsole(e, r, c.Console); err != nil {
		return Claim{}, err
	}
	if c.Bucket != r.Bucket || c.Instance != instance {
		return Claim{}, problem.Refusal(stepClaim, "The claim is one of another fleet, or of another instance than %.80s.", instance)
	}
	if err := c.History.Check(); err != nil {
		return Claim{}, problem.Refusal(stepClaim, "The claim's history is none: %v.", err)
	}
	return c, c.Check()
}

// Codec is how a console writes the claim of an instance, for [bucket.Update]: whatever
// console signed the version before, this one signs the next. What Update returns as the
// Value has the History and the Console as the change left them.
func Codec(r *roster.Roster, console string, key sign.Key, instance string) bucket.Codec[Claim] {
	return codec{r, console, key, instance}
}

type codec struct {
	roster   *roster.Roster
	console  string
	key      sign.Key
	instance string
}

func (k codec) Decode(data []byte) (Claim, bucket.History, error) {
	c, err := Read(data, k.roster, k.instance)
	return c, c.History, err
}

func (k codec) Encode(c Claim, h bucket.History) ([]byte, error) {
	c.Console, c.History = k.console, h
	if err := c.Check(); err != nil {
		return nil, err
	}
	data, err := document.Seal(purpose, c, k.key)
	if err != nil {
		return nil, err
	}
	// Every reader must believe it: this also asks whether the key is the console's.
	if _, err := Read(data, k.roster, k.instance); err != nil {
		return nil, err
	}
	return data, nil
}
