package pages

import (
	"net/http"

	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/web"
)

// document answers with what read gives, as JSON.
func (p *Pages) document(read func(*http.Request) (any, roadmap.Closing, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.Trouble != nil {
			return web.Unavailable(p.Trouble)
		}
		doc, closing, err := read(r)
		p.closed(closing)
		if isUnavailable(err) {
			return web.Unavailable(err)
		}
		if err != nil {
			return err
		}
		return web.WriteJSON(w, http.StatusOK, doc)
	}
}

func (p *Pages) list(r *http.Request) (any, roadmap.Closing, error) {
	f, err := filterOf(r.URL.Query())
	if err != nil {
		return nil, roadmap.Closing{}, err
	}
	doc, err := p.Plan.List(r.Context(), freshness(r), f)
	return doc, doc.Close, err
}

func (p *Pages) node(r *http.Request) (any, roadmap.Closing, error) {
	n, err := event.ParseNode(r.PathValue("node"))
	if err != nil {
		return nil, roadmap.Closing{}, err
	}
	doc, err := p.Plan.Show(r.Context(), freshness(r), n)
	return doc, doc.Close, err
}

func (p *Pages) log(r *http.Request) (any, roadmap.Closing, error) {
	n, err := event.ParseNode(r.PathValue("node"))
	if err != nil {
		return nil, roadmap.Closing{}, err
	}
	doc, err := p.Plan.Log(r.Context(), freshness(r), n)
	return doc, doc.Close, err
}
