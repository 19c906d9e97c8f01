package rosterstore

import (
	"holdfast/internal/canon"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// grant is what the root key says of a console's key.
type grant struct {
	Schema    string      `json:"schema"`
	Bucket    string      `json:"bucket"`
	Console   string      `json:"console"`
	PublicKey sign.Public `json:"public_key"`
}

const grantSchema = "holdfast-console-grant/1"

// Grant is the envelope in which the root key says that a key is that of a console
// of the fleet whose bucket it names.
func Grant(root sign.Key, bucket, console string, public sign.Public) (string, error) {
	if err := roster.CheckName("console", console); err != nil {
		return "", err
	}
	payload, err := canon.Encode(grant{grantSchema, bucket, console, public})
	if err != nil {
		return "", err
	}
	envelope, err := sign.Seal(purposeGrant, payload, root)
	return string(envelope), err
}

// granted verifies the grant in a console's row, and returns the console's key.
func (s *Store) granted(name string, c roster.Console) (sign.Public, error) {
	public, err := sign.ParsePublic(c.PublicKey)
	if err != nil {
		return sign.Public{}, err
	}
	e, err := sign.Read([]byte(c.Grant), purposeGrant)
	if err != nil {
		return sign.Public{}, ungranted(name, err)
	}
	payload, err := e.Verify(s.trust.Root)
	if err != nil {
		return sign.Public{}, ungranted(name, err)
	}
	var g grant
	if err := canon.Decode(payload, &g); err != nil {
		return sign.Public{}, ungranted(name, err)
	}
	if g != (grant{grantSchema, s.trust.Bucket, name, public}) {
		return sign.Public{}, ungranted(name, nil)
	}
	return public, nil
}

func ungranted(name string, cause error) error {
	return problem.Refusal("roster-signer", "The root key has not granted the console %s the key that it has in the roster. Nothing was believed of it.", name).Because(cause)
}
