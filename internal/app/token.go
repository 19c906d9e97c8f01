package app

import (
	"errors"
	"io/fs"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/app/config"
	"holdfast/internal/booth/folder"
	"holdfast/internal/problem"
)

// workerTokenLife is how long a worker's token is good.
const workerTokenLife = 7 * 24 * time.Hour

// WorkerToken is a worker's token in JSON.
type WorkerToken struct {
	Token   string    `json:"token"`
	Booth   string    `json:"booth"`
	Expires time.Time `json:"expires"` // whole seconds
}

// NewWorkerToken makes a token with the operator's key of a home, for a booth
// that need not be there yet.
func NewWorkerToken(c *config.Config, booth string) (WorkerToken, error) {
	if c.URL != nil {
		return WorkerToken{}, problem.Refusal("home", "A token is made with the operator's key, which lies in the home and not at %s.", c.URL).
			WithHint("run it on the machine that runs the desk, without HOLDFAST_URL")
	}
	name, err := folder.ParseName(booth)
	if err != nil {
		return WorkerToken{}, err
	}
	if err := checkHome(c); err != nil {
		return WorkerToken{}, err
	}
	key, err := access.LoadKey(c.DeskDir())
	if errors.Is(err, fs.ErrNotExist) {
		return WorkerToken{}, problem.Refusal("key-gone", "The home %s has no operator's key yet.", c.Home).
			WithHint("start the desk once, which makes it: holdfast up")
	}
	if err != nil {
		return WorkerToken{}, err
	}
	now := time.Now().UTC().Truncate(time.Second)
	t := WorkerToken{Booth: name.String(), Expires: now.Add(workerTokenLife)}
	t.Token, err = key.WorkerToken(access.WorkerGrant{Booth: t.Booth, Issued: now, Expires: t.Expires})
	return t, err
}
