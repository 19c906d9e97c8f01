package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/app/config"
	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// The desk's folder in the home holds the lock of whoever serves it, and where
// that one can be reached.
const (
	lockFile    = "up.lock"
	servingFile = "serving.json"
	maxServing  = 4 << 10
)

// Serving is where a desk answers, and what it decides with.
type Serving struct {
	URL    string // without a slash at the end
	SignIn string // a sign-in link, good once
	PID    int
	TTL    time.Duration
}

// served is the file. It is true while the process that it names holds the lock.
type served struct {
	PID int    `json:"pid"`
	URL string `json:"url"`
	TTL string `json:"ttl"` // as Go writes a duration
}

func writeServing(dir *durable.Dir, s Serving) error {
	data, err := canon.Encode(served{s.PID, s.URL, s.TTL.String()})
	if err != nil {
		return err
	}
	return dir.WriteFile(servingFile, append(data, '\n'), 0o600)
}

// readServing is what the holder of the lock has said, if it has.
func readServing(dir *durable.Dir, holder *durable.Holder) (served, bool) {
	data, err := dir.ReadFile(servingFile, maxServing)
	if err != nil {
		return served{}, false
	}
	var s served
	if canon.Decode(bytes.TrimSpace(data), &s) != nil {
		return served{}, false
	}
	return s, s.PID == holder.PID
}

// Who takes the lock, as its file says: a desk for as long as it serves, a
// command for the instant in which it looks whether one does.
const (
	holderUp    = "holdfast up"
	holderProbe = "holdfast looks who serves"
)

// takeHome takes the lock of the home.
func takeHome(ctx context.Context, c *config.Config, dir *durable.Dir) (*durable.Lock, error) {
	lock, held, err := contend(ctx, dir, holderUp)
	switch {
	case err != nil:
		return nil, err
	case held != nil:
		return nil, refuseServed(c, dir, held)
	default:
		return lock, nil
	}
}

// contend tries to take the lock until it has it or a desk does. A command that
// looks has it for an instant, and is waited for; whoever else has it, and does
// not say so, is not waited for for ever.
func contend(ctx context.Context, dir *durable.Dir, as string) (*durable.Lock, *durable.Held, error) {
	for range maxLooks {
		lock, err := dir.TryLock(lockFile, as)
		var held *durable.Held
		switch {
		case err == nil:
			return lock, nil, nil
		case !errors.As(err, &held):
			return nil, nil, problem.Refusal("lock", "Whether a desk serves this home cannot be told. Nothing was started.").Because(err)
		case held.Holder != nil && held.Holder.Command == holderUp:
			return nil, held, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(lookPause):
		}
	}
	return nil, nil, problem.Refusal("lock", "Something holds %s and does not say who it is. Nothing was started.", filepath.Join(dir.Name(), lockFile)).
		WithHint("find it with: fuser %s", shellQuote(filepath.Join(dir.Name(), lockFile)))
}

// How often, and how far apart, a lock is tried that no desk has.
const (
	maxLooks  = 400
	lookPause = 5 * time.Millisecond
)

// refuseServed says who serves a home.
func refuseServed(c *config.Config, dir *durable.Dir, held *durable.Held) error {
	where := ""
	if s, ok := readServing(dir, held.Holder); ok {
		where = " at " + s.URL
	}
	return problem.Refusal("lock", "The home %s is served by another holdfast (process %d, since %s)%s. Nothing was started.",
		c.Home, held.Holder.PID, held.Holder.Since.Local().Format("2006-01-02 15:04:05"), where).
		WithHint("use that one (holdfast open), end it, or name another home with --home DIR")
}

// alreadyServed refuses a home that a desk serves, without touching one that
// has never been.
func alreadyServed(c *config.Config) error {
	dir, err := durable.OpenDir(c.DeskDir())
	if err != nil {
		return nil // it is made, or found wanting, in a moment
	}
	defer dir.Close()
	held, err := probe(context.Background(), dir)
	if err != nil || held == nil {
		return err
	}
	return refuseServed(c, dir, held)
}

// probe finds who serves the home of this folder; nil for nobody. Only the lock
// says so: a file that a dead desk left says nothing.
func probe(ctx context.Context, dir *durable.Dir) (*durable.Held, error) {
	lock, held, err := contend(ctx, dir, holderProbe)
	if lock == nil {
		return held, err
	}
	return nil, lock.Release()
}

// whoServes finds the desk that serves a home.
func whoServes(ctx context.Context, c *config.Config) (served, error) {
	if err := checkHome(c); err != nil {
		return served{}, err
	}
	none := problem.Refusal("not-running", "No desk serves the home %s.", c.Home).WithHint("start one: holdfast up")
	dir, err := durable.OpenDir(c.DeskDir())
	if err != nil {
		return served{}, none.Because(err)
	}
	defer dir.Close()
	held, err := probe(ctx, dir)
	if err != nil {
		return served{}, err
	}
	if held == nil {
		return served{}, none
	}
	s, ok := readServing(dir, held.Holder)
	if !ok {
		return served{}, problem.Refusal("not-running", "A desk is starting, but does not serve yet.").WithHint("try again in a moment")
	}
	return s, nil
}

// Served is the desk that serves a home and the TTL that it decides with. Where
// none does, ok is false.
func Served(ctx context.Context, c *config.Config) (url string, ttl time.Duration, ok bool) {
	s, err := whoServes(ctx, c)
	if err != nil {
		return "", 0, false
	}
	ttl, err = time.ParseDuration(s.TTL)
	return s.URL, ttl, err == nil
}

// SignInLink asks the desk that serves this home, or the one at HOLDFAST_URL,
// for a fresh sign-in link.
func SignInLink(ctx context.Context, c *config.Config) (string, error) {
	if c.URL != nil {
		if c.Token == "" {
			return "", problem.Refusal(problem.StepNotSignedIn, "A sign-in link of %s takes a credential.", c.URL).
				WithHint("set HOLDFAST_TOKEN, or run holdfast open on the machine that runs the desk")
		}
		return askForLink(ctx, strings.TrimSuffix(c.URL.String(), "/"), c.Token)
	}
	s, err := whoServes(ctx, c)
	if err != nil {
		return "", err
	}
	key, err := access.LoadKey(c.DeskDir())
	if errors.Is(err, fs.ErrNotExist) {
		return "", problem.Refusal("key-gone", "The operator's key of %s is gone, while the desk still serves with it.", c.Home).
			WithHint("restart the desk; it makes a new one, which signs everybody out")
	}
	if err != nil {
		return "", err
	}
	return askForLink(ctx, s.URL, key.OperatorToken())
}

func askForLink(ctx context.Context, at, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/api/v1/sign-in-links", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	client := http.Client{Timeout: 30 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		return "", problem.New(problem.Failed, "server", "The desk at %s does not answer.", at).Because(err)
	}
	defer res.Body.Close()
	var doc struct{ Path, Kind, Step, Reason, Hint string }
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil {
		return "", problem.New(problem.Failed, "server", "The desk at %s answered %s.", at, res.Status).Because(err)
	}
	if kind, ok := problem.ParseKind(doc.Kind); ok {
		return "", problem.New(kind, doc.Step, "%s", doc.Reason).WithHint("%s", doc.Hint)
	}
	link, err := url.Parse(at)
	if err != nil {
		return "", err
	}
	rest, err := url.Parse(doc.Path)
	if err != nil || rest.IsAbs() || rest.Host != "" {
		return "", problem.New(problem.Failed, "server", "The desk at %s answered with something that is no link.", at)
	}
	return link.ResolveReference(rest).String(), nil
}
