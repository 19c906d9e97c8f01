package pages

import (
	"fmt"
	"net/http"

	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/observation"
)

// dailyName is where the observation is, below the plan's root.
const dailyName = "daily"

// maxDaily is how much of a surface is shown within a page.
const maxDaily = 256 << 10

type dailyPage struct {
	Page       page.Frame
	Board      string
	ObservedAt string
	Commit     string // empty where the plan was not seen
	Digest     string
	Older      string // than the newest event that is known; in words
	Text       string
	Cut        bool
	Surfaces   []surfaceView
}

type surfaceView struct{ Name, URL, Size string }

// serveDaily shows the observation that was written last: within a page, or with
// ?surface=NAME its bytes alone. The remote is not asked.
func (p *Pages) serveDaily(w http.ResponseWriter, r *http.Request) error {
	asked := r.URL.Query().Get("surface")
	name := asked
	if name == "" {
		name = observation.Daily
	}
	o, body, err := p.Observations.Read(name)
	if err != nil {
		return err
	}
	if asked != "" {
		w.Header().Set("Content-Type", body.MediaType)
		w.Header().Set("ETag", fmt.Sprintf("%q", observation.Digest(body.Data)))
		_, _ = w.Write(body.Data) // an error here is the reader's leaving
		return nil
	}
	v := dailyPage{
		Page: p.pages.Frame(r, "Daily"), Board: p.boardURL(nil), ObservedAt: stamp(o.ObservedAt), Digest: observation.Digest(body.Data)[:12],
		Text: plain.Unicode(head(string(body.Data), maxDaily)), Cut: len(body.Data) > maxDaily,
	}
	for _, s := range o.Surfaces {
		v.Surfaces = append(v.Surfaces, surfaceView{s.Name, p.Base.URL(root, dailyName) + "?surface=" + s.Name, plain.Size(s.Bytes)})
	}
	switch of := o.Of.(type) {
	case observation.Seen:
		v.Commit = of.Commit[:12]
		v.Older = p.older(r, of)
	case observation.Unseen:
	}
	return p.pages.Write(w, "daily.html", v)
}

// older says that there are events which the observation does not have, as far as is
// known here.
func (p *Pages) older(r *http.Request, of observation.Seen) string {
	n := 0
	_, head, err := p.Plan.Since(r.Context(), roadmap.AsOf, of.Seq, func(event.Envelope) error { n++; return nil })
	switch {
	case err != nil:
		return "whether it is older than the newest event cannot be told: " + plain.Text(problem.Words(err))
	case n > 0:
		return "it is older than the newest event that is known: " + plain.Count(n, "event") + " came since"
	case head.AsOf.Commit != of.Commit:
		return "it is of another commit than the newest that is known"
	}
	return ""
}
