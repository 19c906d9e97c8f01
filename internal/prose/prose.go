// Package prose makes HTML of markdown that is hostile: raw HTML in it is dropped,
// no address with a scheme that could run something survives, nothing that it names
// is fetched from another site, and its headings stand below those of the page.
//
// Laying out takes time that can grow with the square of the length, so that callers
// keep texts to [Max], and one text is laid out at a time.
package prose

import (
	"bytes"
	"html/template"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"holdfast/internal/web"
)

// Group is a heading of a board and what stands under it. The first group has
// no heading when the page begins without one.
type Group struct {
	Heading string
	Body    template.HTML
}

// Grouped is rendered markdown: raw HTML in it is dropped, and no address with a
// scheme that could run something survives.
type Grouped struct {
	Groups []Group
	Links  int
	Losses []string // what of it is not shown
}

// Max is how long a text may be that is laid out, in bytes: at this size hostile
// markdown takes about a second.
const Max = 64 << 10

// Places tells where things are that a document names.
type Places struct {
	Base web.Base
	// Page and Bytes are the addresses of an item's view and content, by its path;
	// nil where there are no items.
	Page  func(item string) string
	Bytes func(item string) string
	// Under is the level of the heading that the document stands below; 0 leaves its
	// own levels.
	Under int
}

// Board groups a document by its headings and counts its links. at is the
// document's own path in the booth.
func Board(source []byte, at string, p Places) Grouped {
	md, doc := parse(source, at, p)
	out := Grouped{Losses: proseLosses(doc)}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.(type) {
		case *ast.Link, *ast.AutoLink:
			if entering {
				out.Links++
			}
		}
		return ast.WalkContinue, nil
	})
	current, heading := ast.NewDocument(), ""
	flush := func() {
		if current.HasChildren() || heading != "" {
			out.Groups = append(out.Groups, Group{heading, render(md, source, current)})
		}
	}
	for n := doc.FirstChild(); n != nil; {
		next := n.NextSibling()
		if h, ok := n.(*ast.Heading); ok {
			flush()
			current, heading = ast.NewDocument(), plainText(h, source)
		} else {
			current.AppendChild(current, n)
		}
		n = next
	}
	flush()
	return out
}

// Render renders a whole document, and says what of it is left out.
func Render(source []byte, at string, p Places) (template.HTML, []string) {
	laying.Lock()
	defer laying.Unlock()
	md, doc := parse(source, at, p)
	return render(md, source, doc), proseLosses(doc)
}

// proseLosses says what of a document the desk's page does not show.
func proseLosses(doc ast.Node) []string {
	var tags, foreign bool
	_ = ast.Walk(doc, func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.HTMLBlock, *ast.RawHTML:
			tags = true
		case *ast.Image:
			u, err := url.Parse(string(n.Destination))
			foreign = foreign || err != nil || u.Scheme != "" || u.Host != ""
		}
		return ast.WalkContinue, nil
	})
	var out []string
	if tags {
		out = append(out, "It has HTML in it, which is left out here: tags, and with them any script.")
	}
	if foreign {
		out = append(out, "It has pictures from other sites, which are not fetched: no site hears that you look.")
	}
	return out
}

func parse(source []byte, at string, p Places) (goldmark.Markdown, ast.Node) {
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(relink{at, p}, 999))),
	)
	return md, md.Parser().Parse(text.NewReader(source))
}

// laying is held while markdown is laid out: hostile markdown can take long, and
// is to take no more than one processor.
var laying sync.Mutex

// render makes HTML of a tree. The renderer writes into memory and has no
// error of its own.
func render(md goldmark.Markdown, source []byte, n ast.Node) template.HTML {
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, n); err != nil {
		return template.HTML(template.HTMLEscapeString(string(source)))
	}
	return template.HTML(accessible.Replace(b.String()))
}

// accessible adds to the renderer's own tags what screen readers and keyboards
// need. What the document itself says is escaped and cannot look like them.
var accessible = strings.NewReplacer(
	`<table>`, `<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>`, `</table>`, `</table></div>`,
	`<input checked="" disabled="" type="checkbox"`, `<input checked="" disabled="" type="checkbox" aria-label="done"`,
	`<input disabled="" type="checkbox"`, `<input disabled="" type="checkbox" aria-label="to do"`,
)

func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch t := n.(type) {
			case *ast.Text:
				b.Write(t.Segment.Value(source))
				if t.SoftLineBreak() {
					b.WriteByte(' ')
				}
			case *ast.String:
				b.Write(t.Value)
			case *ast.AutoLink:
				b.Write(t.Label(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// relink points relative addresses at the booth's own items, and opens others
// apart from the desk.
type relink struct {
	at string
	Places
}

func (r relink) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	level := r.Under
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if item, ok := r.item(n.Destination); ok {
				n.Destination = []byte(r.Page(item))
			} else {
				n.Destination = r.underBase(n.Destination)
				apart(n)
			}
		case *ast.AutoLink:
			apart(n)
		case *ast.Heading:
			if r.Under > 0 { // one below the last at most: readers go by levels
				n.Level = min(r.Under+n.Level, level+1, 6)
				level = n.Level
			}
		case *ast.Image:
			if item, ok := r.item(n.Destination); ok {
				n.Destination = []byte(r.Bytes(item))
			} else if !isForeign(n.Destination) {
				n.Destination = nil // another booth's, or a page: nothing that loads by itself
			}
		}
		return ast.WalkContinue, nil
	})
}

// meant is an address as it is meant: references such as &amp; resolved.
func meant(dest []byte) []byte {
	return util.ResolveEntityNames(util.ResolveNumericReferences(dest))
}

// underBase is an address from the top of the desk, wherever a proxy has put
// that; any other stays.
func (r relink) underBase(dest []byte) []byte {
	rest, rooted := strings.CutPrefix(string(meant(dest)), "/")
	if !rooted || strings.HasPrefix(rest, "/") || strings.HasPrefix("/"+rest, r.Base.String()) {
		return dest
	}
	return []byte(r.Base.String() + rest)
}

// isForeign says whether an address names another server.
func isForeign(dest []byte) bool {
	u, err := url.Parse(string(meant(dest)))
	return err == nil && (u.Scheme != "" || u.Host != "")
}

func apart(n ast.Node) {
	n.SetAttributeString("rel", []byte("noopener noreferrer nofollow"))
	n.SetAttributeString("target", []byte("_blank"))
}

// item is the booth's item that a relative address names.
func (r relink) item(dest []byte) (string, bool) {
	if r.Page == nil {
		return "", false
	}
	u, err := url.Parse(string(meant(dest)))
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" || strings.HasPrefix(u.Path, "/") {
		return "", false
	}
	p := path.Join(path.Dir(r.at), u.Path)
	return p, p != "." && p != ".." && !strings.HasPrefix(p, "../")
}
