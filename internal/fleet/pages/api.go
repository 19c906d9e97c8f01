package pages

import (
	"errors"
	"net/http"
	"strconv"

	"holdfast/internal/fleet"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// document answers with what read gives, as JSON.
func (p *Pages) document(read func(*http.Request, *fleet.Console) (any, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := fleet.OpenConsole(p.Home)
		switch {
		case errors.Is(err, fleet.ErrNoFleet):
			return err
		case err != nil:
			return web.Unavailable(err)
		}
		defer c.Close()
		doc, err := read(r, c)
		switch {
		case err == nil:
			return web.WriteJSON(w, http.StatusOK, doc)
		case isOfRequest(err):
			return err
		default:
			return web.Unavailable(err)
		}
	}
}

func (p *Pages) boxes(r *http.Request, c *fleet.Console) (any, error) { return c.Boxes(r.Context()) }

func (p *Pages) box(r *http.Request, c *fleet.Console) (any, error) {
	return c.Show(r.Context(), r.PathValue("box"))
}

// versions is the document of the log.
type versions struct {
	Versions []fleet.Version `json:"versions"`
	Verified bool            `json:"verified"` // back to the first
}

func (p *Pages) versions(r *http.Request, c *fleet.Console) (any, error) {
	limit, err := limitOf(r)
	if err != nil {
		return nil, err
	}
	list, err := c.Log(r.Context(), limit)
	return versions{list, err == nil && isWhole(list)}, err
}

// How many versions are shown, and at most.
const (
	someVersions = 100
	maxVersions  = 1000
)

func limitOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return someVersions, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxVersions {
		return 0, problem.New(problem.Usage, "limit", "The limit is a number from 1 to %d.", maxVersions).
			WithHint("holdfast fleet log --verify walks the whole log")
	}
	return n, nil
}

// isWhole says whether a log goes back to the first version.
func isWhole(list []fleet.Version) bool { return len(list) > 0 && list[len(list)-1].Revision == 1 }
