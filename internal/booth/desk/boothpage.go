package desk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/prose"
	"holdfast/internal/web"
)

// pageSize is how many items one page of a booth shows.
const pageSize = 96

// maxBoard is the most that a board's links.md may hold, in bytes.
const maxBoard = prose.Max

type boothPage struct {
	Page      page.Frame
	Head      headView
	Version   string
	Marks     string // address of the marks page
	Said      string // in words
	Open      listed[pickView]
	Newest    string
	Links     string // boards: how many links
	Summary   string
	Alone     string // reports: the report by itself
	Zip       string
	Problems  []string
	Losses    []string
	Frame     string
	Sandbox   string
	Groups    []prose.Group
	Tiles     []tile
	Files     bool // tiles stand under a fold, beside the main thing
	FilesOpen bool
	Pager     pager
	Empty     bool
	Unserved  []unserved
}

// tile is an item on a booth's page.
type tile struct {
	Name, URL, Type, Size, Caption string
	Picture                        string // address to show; empty for none
}

type unserved struct{ Path, Why string }

// pager walks through more items than one page shows.
type pager struct {
	Needed         bool
	Previous, Next string
	Words          string
}

// open opens the booth that a request names.
func (d *Desk) open(r *http.Request) (*folder.Booth, error) {
	return d.openNamed(r.PathValue("booth"))
}

func (d *Desk) openNamed(name string) (*folder.Booth, error) {
	n, err := folder.Existing(name)
	if err != nil {
		return nil, err
	}
	return d.Data.Booth(n)
}

func (d *Desk) serveBooth(w http.ResponseWriter, r *http.Request) error {
	b, err := d.open(r)
	if err != nil {
		return err
	}
	defer b.Close()
	if r.URL.Query().Get("download") == "1" {
		return d.serveZip(w, r, b)
	}
	live := d.Live()
	d.viewed(r, b)
	l := booth.At(r.Context(), b, d.terms())
	p := d.boothPage(r, l)
	p.Page.Live, p.Page.Here = live, d.Base.URL("b", l.Name.String(), "")
	if page := r.URL.Query().Get("page"); page != "" {
		p.Page.Here += "?page=" + url.QueryEscape(page)
	}
	switch l.Kind {
	case booth.Report:
		d.report(r, b, &p)
	case booth.Board:
		d.board(r, b, &p)
	case booth.Gallery:
	}
	return d.pages.Write(w, "booth.html", p)
}

// viewed records a deliberate look by the operator. It cannot fail the request.
func (d *Desk) viewed(r *http.Request, b *folder.Booth) {
	if !web.IsDeliberateView(r) || d.Policy.Allow(web.PartyOf(r), access.RecordView, b.Name().String()) != nil {
		return
	}
	if there, err := d.Data.Standing(b.Name().Place()); err != nil || there != b.ID() {
		return // it was deleted meanwhile, and a look does not bring it back
	}
	if err := b.RecordView(d.Now()); err != nil {
		d.Log.Warn("view not recorded", "booth", plain.Text(b.Name().String()), "err", err)
	}
}

func (d *Desk) boothPage(r *http.Request, l booth.Look) boothPage {
	p := boothPage{
		Page:    d.pages.Frame(r, plain.Text(l.Title())),
		Head:    d.head(r, l, "booth"),
		Marks:   d.Base.URL("b", l.Name.String(), "marks"),
		Said:    saidWords(l),
		Summary: plain.Text(l.Manifest.Summary),
		Sandbox: web.SandboxTokens,
		Files:   l.Kind != booth.Gallery,
		Empty:   len(l.Items) == 0,
	}
	if n := l.Newest(); n.Clock != 0 {
		p.Newest = "last touched " + ago(n.At, l.At)
	}
	if len(l.Items) > 0 {
		p.Zip = d.Base.URL("b", l.Name.String(), "") + "?download=1"
	}
	p.Open = d.pickViews(r, l, true, "booth", nil)
	p.Version = fingerprint([]any{p.Head.Card.Line, p.Head.Card.Count, l.Marks.Rev, p.Said, p.Open})
	p.Problems = problems(l)
	for i, u := range l.Survey.Unserved {
		if i == pageSize {
			p.Unserved = append(p.Unserved, unserved{fmt.Sprintf("and %d more", len(l.Survey.Unserved)-i), "holdfast booth show lists them"})
			break
		}
		p.Unserved = append(p.Unserved, unserved{plain.Text(u.Path), u.Why.String()})
	}
	d.fillTiles(r, l, &p)
	return p
}

// saidWords is the way to the marks page, with how much is on it.
func saidWords(l booth.Look) string {
	const words = "Questions and notes"
	if n := len(l.Marks.Marks); n > 0 {
		return fmt.Sprintf("%s (%d)", words, n)
	}
	return words
}

// problems are the things about a booth that somebody should know and mend.
func problems(l booth.Look) []string {
	var out []string
	if !l.Marks.Whole() {
		out = append(out, fmt.Sprintf("The marks of this booth (.marks.json) cannot be read: %s. Nothing was changed.", plain.Text(l.Marks.Why())))
	}
	if l.Manifest.Damage != "" {
		out = append(out, fmt.Sprintf("The booth's title and order (.booth.json) cannot be read: %s.", plain.Text(l.Manifest.Damage)))
	}
	if f := l.Survey.Failure; f != nil {
		out = append(out, fmt.Sprintf("Part of this booth cannot be read: %s. What is below may be incomplete.", plain.Text(booth.Where(f.Path))))
	}
	if n := l.Survey.Future; n > 0 {
		out = append(out, fmt.Sprintf("%s dated in the future (%s first); each counts as touched now.", things(n), plain.Text(l.Survey.FuturePath)))
	}
	return out
}

func things(n int) string {
	if n == 1 {
		return "1 thing here is"
	}
	return fmt.Sprintf("%d things here are", n)
}

func (d *Desk) fillTiles(r *http.Request, l booth.Look, p *boothPage) {
	last := max((len(l.Items)+pageSize-1)/pageSize, 1)
	asked, err := strconv.Atoi(r.URL.Query().Get("page"))
	at := min(max(asked, 1), last)
	p.FilesOpen = err == nil
	from, to := (at-1)*pageSize, min(at*pageSize, len(l.Items))
	for _, it := range l.Items[from:to] {
		p.Tiles = append(p.Tiles, d.tile(r, l, it))
	}
	here := d.Base.URL("b", l.Name.String(), "")
	p.Pager = pager{Needed: last > 1, Words: fmt.Sprintf("%d to %d of %d", from+1, to, len(l.Items))}
	if at > 1 {
		p.Pager.Previous = fmt.Sprintf("%s?page=%d", here, at-1)
	}
	if at < last {
		p.Pager.Next = fmt.Sprintf("%s?page=%d", here, at+1)
	}
}

func (d *Desk) tile(r *http.Request, l booth.Look, it folder.Item) tile {
	path := it.Path.String()
	t := tile{
		Name:    plain.Text(path),
		URL:     d.viewURL(l.Name.String(), path),
		Type:    plain.Text(label(path)),
		Size:    plain.Size(it.Size),
		Caption: plain.Text(l.Manifest.Captions[path]),
	}
	if isPicture(path) && it.Size <= maxTile {
		t.Picture = d.contentURL(r, l.Name.String(), path)
	}
	return t
}

// report fills in the frame, and above it what the report will miss there.
func (d *Desk) report(r *http.Request, b *folder.Booth, p *boothPage) {
	p.Frame = d.contentURL(r, b.Name().String(), booth.ReportFile)
	p.Alone = p.Frame
	p.Losses = scanItem(b, booth.ReportFile)
}

// scanItem reads what a page of the booth will miss in its frame.
func scanItem(b *folder.Booth, path string) []string {
	data, err := readItem(b, path, maxScan)
	if err != nil && !errors.Is(err, folder.ErrTooLarge) {
		return []string{fmt.Sprintf("It cannot be read: %s.", plain.Text(problem.Words(err)))}
	}
	if err != nil {
		return []string{fmt.Sprintf("It is larger than %s, so it was not looked through for what this frame takes away.", plain.Size(maxScan))}
	}
	return losses(data, path, func(p string) ([]byte, bool) {
		script, err := readItem(b, p, maxScan)
		return script, err == nil
	})
}

// board fills in the groups of links.
func (d *Desk) board(r *http.Request, b *folder.Booth, p *boothPage) {
	data, err := readItem(b, booth.BoardFile, maxBoard)
	if err != nil {
		why := plain.Text(problem.Words(err))
		if errors.Is(err, folder.ErrTooLarge) {
			why = "it is larger than " + plain.Size(maxBoard)
		}
		p.Problems = append(p.Problems, fmt.Sprintf("The board's links.md cannot be read: %s.", why))
		return
	}
	out := prose.Board(data, booth.BoardFile, d.places(r, b.Name().String()))
	p.Groups, p.Links, p.Losses = out.Groups, plain.Count(out.Links, "link"), out.Losses
}

func (d *Desk) places(r *http.Request, name string) prose.Places {
	return prose.Places{
		Page:  func(item string) string { return d.viewURL(name, item) },
		Bytes: func(item string) string { return d.contentURL(r, name, item) },
		Base:  d.Base,
	}
}

// look looks at the booth that a request names and lets go of it.
func (d *Desk) look(ctx context.Context, name string) (booth.Look, error) {
	b, err := d.openNamed(name)
	if err != nil {
		return booth.Look{}, err
	}
	defer b.Close()
	return booth.At(ctx, b, d.terms()), nil
}
