package desk

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"holdfast/internal/plain"
)

// A report runs in a sandbox of its own origin. Its bytes stay untouched, so what
// it will miss there is read off them beforehand and said above the frame. The
// scan may say too much (a library that could keep things, and does not); it is
// there so that a blank page is never a riddle.

// capability is something that the sandbox takes away, and the words in a
// script that show its use.
type capability struct {
	words []string
	loss  string // %s is the word that was found, and where
}

var capabilities = []capability{
	{
		[]string{"localStorage", "sessionStorage", "indexedDB", "document.cookie", "caches.open"},
		"It keeps things in the browser (%s). In this frame it can keep nothing: that part fails, and if it does not expect that, the report may stay blank.",
	},
	{[]string{"serviceWorker.register"}, "It registers a service worker (%s), which is not allowed here."},
	{[]string{"new Worker(", "new SharedWorker("}, "It starts a worker script (%s), which cannot load in this frame."},
	{[]string{"alert(", "confirm(", "prompt("}, "It opens a dialog (%s), which does not show here."},
	{[]string{"top.location", "parent.location", "parent.document", "top.document"}, "It reaches for the page around it (%s), which is closed to it."},
	{[]string{"navigator.geolocation", "getUserMedia", "navigator.clipboard", "requestFullscreen"}, "It asks for something of this device (%s), which it does not get here."},
}

// source is a piece of a report that is scanned, with the name it goes by.
type source struct {
	name string
	data []byte
}

const (
	maxScan    = 4 << 20 // bytes of one file
	maxScripts = 16      // files beside the page
)

// losses says what a page's own bytes and the scripts that it loads will miss.
// load reads a file of the same booth by its path; at is the page's own path.
func losses(page []byte, at string, load func(path string) ([]byte, bool)) []string {
	found := readPage(page, at)
	sources := found.inline
	for _, p := range found.scripts[:min(len(found.scripts), maxScripts)] {
		if data, ok := load(p); ok {
			sources = append(sources, source{p, data})
		}
	}
	out := found.losses
	for _, c := range capabilities {
		if words := c.find(sources); words != "" {
			out = append(out, fmt.Sprintf(c.loss, words))
		}
	}
	return out
}

// find names the first use of each of the words.
func (c capability) find(sources []source) string {
	var uses []string
	for _, w := range c.words {
		for _, s := range sources {
			if mentions(s.data, w) {
				uses = append(uses, strings.TrimSuffix(w, "(")+" in "+plain.Text(s.name))
				break
			}
		}
	}
	return strings.Join(uses, ", ")
}

// mentions finds word where it does not continue another one, so that
// "assert(" is no "alert(" and "onalert(" is not either.
func mentions(data []byte, word string) bool {
	for {
		i := bytes.Index(data, []byte(word))
		if i < 0 {
			return false
		}
		if i == 0 || !wordByte(data[i-1]) {
			return true
		}
		data = data[i+len(word):]
	}
}

func wordByte(b byte) bool {
	return b == '_' || b == '$' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// pageScan is what reading a page's markup found.
type pageScan struct {
	at      string
	inline  []source
	scripts []string // paths in the booth
	losses  []string
	rooted  []string // addresses from the server's root
}

func readPage(page []byte, at string) pageScan {
	s := pageScan{at: at}
	z := html.NewTokenizer(bytes.NewReader(page))
	inScript := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() == io.EOF && len(s.rooted) > 0 {
				s.add("It loads %s from the top of the server, where its folder is not. Build it with relative addresses (a base of \"./\").", strings.Join(s.rooted, ", "))
			}
			return s
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			inScript = t.DataAtom == atom.Script
			s.tag(t)
		case html.TextToken:
			if inScript {
				s.inline = append(s.inline, source{at, slices.Clone(z.Raw())})
			}
		case html.EndTagToken:
			inScript = false
		}
	}
}

func (s *pageScan) add(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !slices.Contains(s.losses, line) {
		s.losses = append(s.losses, line)
	}
}

func (s *pageScan) tag(t html.Token) {
	attr := map[string]string{}
	for _, a := range t.Attr {
		attr[a.Key] = a.Val
		if strings.HasPrefix(a.Key, "on") {
			s.inline = append(s.inline, source{s.at, []byte(a.Val)})
		}
	}
	switch t.DataAtom {
	case atom.Script:
		s.resource(attr["src"], true)
	case atom.Link:
		s.resource(attr["href"], attr["rel"] == "modulepreload")
	case atom.Img, atom.Video, atom.Audio, atom.Source, atom.Iframe:
		s.resource(attr["src"], false)
	case atom.Form:
		s.add("It has a form; forms cannot be sent from this frame.")
	case atom.Meta:
		if strings.EqualFold(attr["http-equiv"], "refresh") {
			s.refresh(attr["content"])
		}
	case atom.Base:
		s.add("It sets a base address (%s) for what it loads.", plain.Text(attr["href"]))
	}
	if target := attr["target"]; target == "_top" || target == "_parent" {
		s.add("It has links that replace the page around it (target=%q); they do nothing here.", target)
	}
}

// resource notes what the page loads: a script of the booth to be scanned, or
// an address from the server's root, which cannot be found.
func (s *pageScan) resource(ref string, script bool) {
	u, err := url.Parse(strings.TrimSpace(ref))
	if ref == "" || err != nil || u.Scheme != "" || u.Host != "" {
		return
	}
	if strings.HasPrefix(u.Path, "/") {
		if len(s.rooted) < 3 {
			s.rooted = append(s.rooted, plain.Text(u.Path))
		}
		return
	}
	if p := path.Join(path.Dir(s.at), u.Path); script && !strings.HasPrefix(p, "..") {
		s.scripts = append(s.scripts, p)
	}
}

// refresh says what a meta refresh does: within the booth it works, elsewhere
// the frame may not go.
func (s *pageScan) refresh(content string) {
	_, target, ok := strings.Cut(content, ";")
	if !ok {
		return
	}
	target = strings.TrimSpace(target)
	if len(target) > 4 && strings.EqualFold(target[:3], "url") {
		target = strings.TrimLeft(target[3:], " =")
	}
	target = strings.Trim(target, `"'`)
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.HasPrefix(u.Path, "/") {
		s.add("It sends the reader on to %s by itself; this frame only goes to pages of its own booth.", plain.Text(target))
	}
}
