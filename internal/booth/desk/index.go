package desk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/plain"
	"holdfast/internal/web"
)

type indexPage struct {
	Page    page
	Version string // changes when what is shown changes
	Lanes   []lane
	Folder  string // empty where the reader is not the operator
}

func (d *Desk) serveIndex(w http.ResponseWriter, r *http.Request) error {
	live := d.Live()
	looks, err := booth.List(r.Context(), d.Data, d.terms())
	if err != nil {
		return err
	}
	p := indexPage{Page: d.pages.page(r, "Booths")}
	p.Page.Live = live
	if _, ok := web.PartyOf(r).(access.Operator); ok {
		p.Folder = plain.Text(d.FolderPath)
	}
	p.Lanes = d.lanes(looks, func(l booth.Look) string {
		item, ok := cover(l.Items)
		if !ok {
			return ""
		}
		return d.contentURL(r, l.Name.String(), item.String())
	})
	p.Version = fingerprint(p.Lanes)
	return d.pages.write(w, "index.html", p)
}

// fingerprint is short and differs when what is shown differs.
func fingerprint(lanes []lane) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%v", lanes))
	return hex.EncodeToString(sum[:6])
}
