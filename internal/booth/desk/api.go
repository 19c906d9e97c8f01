package desk

import (
	"io"
	"net/http"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/web"
)

func (d *Desk) serveList(w http.ResponseWriter, r *http.Request) error {
	looks, err := booth.List(r.Context(), d.Data, d.terms())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, summaries(looks))
}

func (d *Desk) serveCensus(w http.ResponseWriter, r *http.Request) error {
	looks, err := booth.List(r.Context(), d.Data, d.terms())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, booth.NewCensus(looks))
}

// summaries is a list of looks as one JSON document.
func summaries(looks []booth.Look) booth.Booths {
	out := booth.Booths{Booths: []booth.Summary{}}
	for _, l := range looks {
		out.Booths = append(out.Booths, l.Summary())
	}
	return out
}

func (d *Desk) serveListing(w http.ResponseWriter, r *http.Request) error {
	l, err := d.look(r.Context(), r.PathValue("booth"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, l.Listing())
}

func (d *Desk) serveExplain(w http.ResponseWriter, r *http.Request) error {
	l, err := d.look(r.Context(), r.PathValue("booth"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, l.Explain())
}

// servePatch changes what a booth says about itself, making the booth if there
// is none.
func (d *Desk) servePatch(w http.ResponseWriter, r *http.Request) error {
	name, err := folder.ParseName(r.PathValue("booth"))
	if err != nil {
		return err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	change, err := booth.ParseChange(body)
	if err != nil {
		return err
	}
	if err := booth.Describe(r.Context(), d.Data, name, change); err != nil {
		return err
	}
	d.Changed(name.String())
	l, err := d.look(r.Context(), name.String())
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, l.Summary())
}
