package desk

import (
	"io"
	"net/http"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/web"
)

// Booths is the answer to a request for all booths, by name.
type Booths struct {
	Booths []booth.Summary `json:"booths"`
}

func (d *Desk) serveList(w http.ResponseWriter, r *http.Request) error {
	looks, _, err := booth.List(r.Context(), d.Data, d.Now(), d.TTL)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, Summaries(looks))
}

// Summaries is a list of looks as one JSON document.
func Summaries(looks []booth.Look) Booths {
	out := Booths{Booths: []booth.Summary{}}
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
	b, err := d.Data.Create(name)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := booth.Describe(b, change); err != nil {
		return err
	}
	l := booth.At(r.Context(), b, d.Now(), d.TTL)
	return web.WriteJSON(w, http.StatusOK, l.Summary())
}
