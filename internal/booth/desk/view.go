package desk

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/prose"
	"holdfast/internal/web"
)

// maxText is how many bytes of an item its view shows as text.
const maxText = 256 << 10

type viewPage struct {
	Page           page.Frame
	Card           card
	Name           string
	About          string
	Caption        string
	Alt            string
	Back           string
	Previous, Next string
	Raw, Download  string
	Show           show
	Sandbox        string
	Losses         []string
	Notice         string
	Remarks        listed[remarkView]
	Target         string // the item's exact path
	Flag, Note     string // where a flag and a note go; empty where the reader may not
	Text           string
	Prose          template.HTML
}

func (d *Desk) serveView(w http.ResponseWriter, r *http.Request) error {
	b, err := d.open(r)
	if err != nil {
		return err
	}
	defer b.Close()
	if !r.URL.Query().Has("f") { // then it is the address of an item of this name
		r.SetPathValue("item", "view")
		return d.serveItem(w, r)
	}
	item, err := b.Find(r.URL.Query().Get("f"))
	if err != nil {
		return err
	}
	f, err := b.Open(item)
	if err != nil {
		return err
	}
	defer f.Close()
	d.viewed(r, b)
	l := booth.At(r.Context(), b, d.terms())
	p := d.viewPage(r, l, item, f)
	if err := d.present(r, b, item, f, &p); err != nil {
		return err
	}
	return d.pages.Write(w, "view.html", p)
}

func (d *Desk) viewPage(r *http.Request, l booth.Look, item folder.ItemPath, f *folder.File) viewPage {
	name, path := l.Name.String(), item.String()
	kind := mediaType(path, headOf(f))
	p := viewPage{
		Page:     d.pages.Frame(r, plain.Text(path)),
		Card:     d.card(l),
		Name:     plain.Text(path),
		About:    fmt.Sprintf("%s · %s", plain.Size(f.Size()), kind),
		Caption:  plain.Text(l.Manifest.Captions[path]),
		Back:     d.Base.URL("b", name, ""),
		Raw:      d.contentURL(r, name, path),
		Download: d.contentURL(r, name, path) + "?download=1",
		Show:     showAs(kind),
		Sandbox:  web.SandboxTokens,
	}
	p.Remarks = d.about(l, item)
	if _, ok := web.PartyOf(r).(access.Operator); ok && l.Marks.Whole() {
		p.Target = path
		p.Flag, p.Note = d.Base.URL("b", name, "marks", "flag"), d.Base.URL("b", name, "marks", "note")
	}
	p.Alt = p.Caption
	if p.Alt == "" {
		p.Alt = p.Name
	}
	at := slices.IndexFunc(l.Items, func(it folder.Item) bool { return it.Path == item })
	if at > 0 {
		p.Previous = d.viewURL(name, l.Items[at-1].Path.String())
	}
	if at >= 0 && at+1 < len(l.Items) {
		p.Next = d.viewURL(name, l.Items[at+1].Path.String())
	}
	return p
}

// present fills in what the way of showing needs.
func (d *Desk) present(r *http.Request, b *folder.Booth, item folder.ItemPath, f *folder.File, p *viewPage) error {
	switch p.Show {
	case showFrame:
		p.Losses = scanItem(b, item.String())
	case showProse:
		if f.Size() <= prose.Max {
			data, err := readOpen(f, prose.Max)
			if err != nil {
				return err
			}
			p.Prose, p.Losses = prose.Render(data, item.String(), d.places(r, b.Name().String()))
			return nil
		}
		p.Show = showText
		if err := p.readText(f); err != nil {
			return err
		}
		p.Notice = strings.TrimSpace(fmt.Sprintf("It is longer than %s, so it is shown as it was written. %s", plain.Size(prose.Max), p.Notice))
		return nil
	case showText:
		return p.readText(f)
	case showNothing:
		p.Notice = "This kind of file is not shown here. Open it alone or download it."
	case showPicture:
		if mediaType(item.String(), headOf(f)) == "image/svg+xml" && hasScript(f) {
			p.Notice = "There is a script in this picture. Shown as a picture, it does not run."
		}
	case showAudio, showVideo:
	}
	return nil
}

// hasScript says whether a drawing would do something, were it a page.
func hasScript(f *folder.File) bool {
	data, err := readOpen(f, maxScan)
	if err != nil {
		return false
	}
	found := readPage(data, "")
	return len(found.inline)+len(found.scripts) > 0
}

// readText shows the beginning of a text, and says so when there is more.
func (p *viewPage) readText(f *folder.File) error {
	data, err := readOpen(f, maxText)
	if err != nil {
		return err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		p.Show, p.Notice = showNothing, "This file is no text. Open it alone or download it."
		return nil
	}
	if f.Size() > maxText {
		p.Notice = fmt.Sprintf("The first %s of %s are shown.", plain.Size(maxText), plain.Size(f.Size()))
		data = trimRune(data)
	}
	p.Text = string(bytes.ToValidUTF8(data, []byte("\uFFFD")))
	return nil
}

// trimRune takes off a last character that was cut in two.
func trimRune(data []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if utf8.RuneStart(data[len(data)-i]) {
			if !utf8.FullRune(data[len(data)-i:]) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}

// viewURL is the view of an item.
func (d *Desk) viewURL(name, item string) string {
	return d.Base.URL("b", name, "view") + "?f=" + url.QueryEscape(item)
}
