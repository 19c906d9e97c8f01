package carrier

import (
	"errors"
	"io/fs"

	"holdfast/internal/canon"
)

const (
	rewrittenFile   = "rewritten.json"
	rewrittenSchema = "holdfast-rewritten/1"
)

type wireRewritten struct {
	Schema string `json:"schema"`
	Was    string `json:"was"`
	Is     string `json:"is,omitempty"`
}

// remember puts down that the log was rewritten, or that it is not any more, for
// those who ask no remote. The caller has the lock of reading.
func (c *Carrier) remember(t Trust) {
	before := c.Remembered()
	if before == t {
		return
	}
	var err error
	switch t := t.(type) {
	case Trusted:
		err = c.plan.Remove(rewrittenFile)
	case Rewritten:
		var data []byte
		if data, err = canon.Encode(wireRewritten{Schema: rewrittenSchema, Was: t.Was, Is: t.Is}); err == nil {
			err = c.plan.WriteFile(rewrittenFile, data, 0o600)
		}
	}
	if err != nil {
		// Whoever asks the remote is told all the same.
		c.log.Warn("whether the plan was rewritten could not be put down", "because", err)
	}
}

// Remembered is what was found when the remote was asked last. A note that cannot
// be read says that something was: it names the tip that was read.
func (c *Carrier) Remembered() Trust {
	data, err := c.plan.ReadFile(rewrittenFile, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return Trusted{}
	}
	var w wireRewritten
	if err == nil {
		err = canon.Decode(data, &w)
	}
	if err != nil || w.Schema != rewrittenSchema {
		c.log.Warn("whether the plan was rewritten cannot be read", "because", err)
	}
	return Rewritten{Was: w.Was, Is: w.Is}
}
