package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
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

// takeHome takes the lock of the home. One that a command has for an instant is
// waited for.
func takeHome(ctx context.Context, c *config.Config, dir *durable.Dir) (*durable.Lock, error) {
	for {
		lock, err := dir.TryLock(lockFile, holderUp)
		var held *durable.Held
		if !errors.As(err, &held) {
			if err != nil {
				err = problem.Refusal("lock", "The home %s cannot be locked. Nothing was started.", c.Home).Because(err)
			}
			return lock, err
		}
		if err := refuseServed(c, dir, held); err != nil {
			return nil, err
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// refuseServed says who serves a home, nil where a command only looks.
func refuseServed(c *config.Config, dir *durable.Dir, held *durable.Held) error {
	if held.Holder == nil || held.Holder.Command != holderUp {
		return nil
	}
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
	for {
		lock, err := dir.TryLock(lockFile, holderProbe)
		var held *durable.Held
		switch {
		case err == nil:
			return nil, lock.Release()
		case !errors.As(err, &held):
			return nil, problem.Refusal("lock", "Whether a desk serves this home cannot be told.").Because(err)
		case held.Holder != nil && held.Holder.Command == holderUp:
			return held, nil
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// pause lets another command finish its look.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Millisecond):
		return nil
	}
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
