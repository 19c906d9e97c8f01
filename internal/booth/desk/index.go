package desk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// How many cards a page of the index shows in all, and of each lane at least.
const (
	indexPageSize = 100
	laneAtLeast   = 12
)

type indexPage struct {
	Page    page.Frame
	Version string // changes when what is shown changes
	Lanes   []laneView
	Pager   pager
	Age     string // of what is shown
	Folder  string // empty where the reader is not the operator
	Acts    bool   // the reader may delete
	Trash   string // address; empty where nothing is in it
	InTrash int
	Aside   int    // booths that cannot go back to their names
	Trashed string // what was just deleted
	Undo    string
}

// laneView is what a page shows of a lane.
type laneView struct {
	ID, Title, About string
	Count            int
	Cards            []card
	More             string // address of the whole lane; empty where this is it
}

func (d *Desk) serveIndex(w http.ResponseWriter, r *http.Request) error {
	live := d.Live()
	snap, err := d.snapshot(r.Context())
	if err != nil {
		return err
	}
	p := indexPage{Page: d.pages.Frame(r, "Booths"), Age: "as of " + plural(d.Now().Sub(snap.at))}
	p.Page.Live, p.Page.Here = live, d.Base.String()
	if _, ok := web.PartyOf(r).(access.Operator); ok {
		p.Folder, p.Acts = plain.Text(d.FolderPath), true
		d.trashNotice(r, &p)
	}
	if id := r.URL.Query().Get("lane"); id != "" {
		if err := d.wholeLane(r, snap, id, &p); err != nil {
			return err
		}
	} else {
		d.firstCards(r, snap, &p)
	}
	p.Version = fingerprint(p.Lanes)
	return d.pages.Write(w, "index.html", p)
}

// plural is an age in seconds, in words.
func plural(age time.Duration) string {
	return plain.Count(int(max(age, 0)/time.Second), "second") + " ago"
}

// firstCards shows the beginning of each lane, as much as one page holds.
func (d *Desk) firstCards(r *http.Request, snap *snapshot, p *indexPage) {
	room := indexPageSize
	for _, l := range snap.lanes {
		if len(l.entries) == 0 {
			continue
		}
		n := min(len(l.entries), max(room, laneAtLeast))
		room -= n
		v := d.laneView(r, l, l.entries[:n])
		if n < len(l.entries) {
			v.More = d.laneURL(l.ID, 1)
		}
		p.Lanes = append(p.Lanes, v)
	}
}

// wholeLane shows a page of one lane.
func (d *Desk) wholeLane(r *http.Request, snap *snapshot, id string, p *indexPage) error {
	for _, l := range snap.lanes {
		if l.ID != id {
			continue
		}
		n := len(l.entries)
		last := max((n+indexPageSize-1)/indexPageSize, 1)
		asked, _ := strconv.Atoi(r.URL.Query().Get("page"))
		at := min(max(asked, 1), last)
		from, to := (at-1)*indexPageSize, min(at*indexPageSize, n)
		p.Page.Here = d.laneURL(id, at)
		p.Lanes = []laneView{d.laneView(r, l, l.entries[from:to])}
		p.Pager = pager{Needed: last > 1, Words: fmt.Sprintf("%d to %d of %d", from+1, to, n)}
		if at > 1 {
			p.Pager.Previous = d.laneURL(id, at-1)
		}
		if at < last {
			p.Pager.Next = d.laneURL(id, at+1)
		}
		return nil
	}
	return problem.New(problem.Gone, problem.StepNotFound, "There is no lane %.100q.", id)
}

func (d *Desk) laneURL(id string, page int) string {
	return fmt.Sprintf("%s?lane=%s&page=%d", d.Base, url.QueryEscape(id), page)
}

func (d *Desk) laneView(r *http.Request, l lane, shown []*entry) laneView {
	v := laneView{ID: l.ID, Title: l.Title, About: l.About, Count: len(l.entries)}
	for _, e := range shown {
		c := e.card
		c.Line = plain.Text(lifetime.Line(e.state, d.Now()))
		if e.cover.String() != "" {
			c.Cover = d.contentURL(r, e.name, e.cover.String())
		}
		v.Cards = append(v.Cards, c)
	}
	return v
}

// fingerprint is short and differs when what is shown differs.
func fingerprint(shown any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%v", shown))
	return hex.EncodeToString(sum[:6])
}
