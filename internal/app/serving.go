package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// Serving is where a desk answers.
type Serving struct {
	URL    string // without a slash at the end
	SignIn string // a sign-in link, good once
	PID    int
}

// served is the file: what may be read by whoever may read the folder. It is
// true while the process that it names holds the lock.
type served struct {
	PID int    `json:"pid"`
	URL string `json:"url"`
}

func writeServing(dir *durable.Dir, s Serving) error {
	data, err := canon.Encode(served{s.PID, s.URL})
	if err != nil {
		return err
	}
	return dir.WriteFile(servingFile, append(data, '\n'), 0o600)
}

// readServing is where the holder of the lock can be reached, if it has said so.
func readServing(dir *durable.Dir, held *durable.Held) (served, bool) {
	data, err := dir.ReadFile(servingFile, maxServing)
	if err != nil || held.Holder == nil {
		return served{}, false
	}
	var s served
	if canon.Decode(bytes.TrimSpace(data), &s) != nil {
		return served{}, false
	}
	return s, s.PID == held.Holder.PID
}

// SignInLink asks the desk that serves this home for a fresh sign-in link.
func SignInLink(ctx context.Context, c *config.Config) (string, error) {
	at, token := "", c.Token
	if c.URL != nil {
		at = strings.TrimSuffix(c.URL.String(), "/")
	} else {
		s, err := whoServes(c)
		if err != nil {
			return "", err
		}
		key, err := access.LoadOrCreateKey(c.DeskDir())
		if err != nil {
			return "", err
		}
		at, token = s.URL, key.OperatorToken()
	}
	return askForLink(ctx, at, token)
}

// whoServes finds the desk that serves a home. Only the lock says whether there
// is one; a file that a dead one left says nothing.
func whoServes(c *config.Config) (served, error) {
	if err := checkHome(c); err != nil {
		return served{}, err
	}
	none := problem.Refusal("not-running", "No desk serves the home %s.", c.Home).WithHint("start one: holdfast up")
	dir, err := durable.OpenDir(c.DeskDir())
	if err != nil {
		return served{}, none.Because(err)
	}
	defer dir.Close()
	lock, err := dir.TryLock(lockFile, "holdfast open")
	var held *durable.Held
	switch {
	case err == nil:
		return served{}, errors.Join(none, lock.Release())
	case !errors.As(err, &held):
		return served{}, problem.Refusal("lock", "Whether a desk serves %s cannot be told.", c.Home).Because(err)
	}
	s, ok := readServing(dir, held)
	if !ok {
		return served{}, problem.Refusal("not-running", "A desk is starting, but does not serve yet.").WithHint("try again in a moment")
	}
	return s, nil
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
