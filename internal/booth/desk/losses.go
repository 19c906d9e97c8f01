package desk

import (
	"bytes"
	"fmt"
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
	{[]string{"window.open("}, "It opens windows (%s); in them it is not signed in, and nothing that it does counts as yours."},
	{
		[]string{"api/v1/", `"POST"`, `'POST'`, `"PUT"`, `'PUT'`, `"PATCH"`, `"DELETE"`, "sendBeacon"},
		"It talks to a server (%s). This desk tells a report nothing but its own files, and takes nothing from it.",
	},
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
	maxLosses  = 12      // sentences
	maxNamed   = 3       // addresses in one line
)

// losses says what a page's own bytes and the scripts that it loads will miss.
// load reads a file of the same booth by its path; at is the page's own path.
func losses(page []byte, at string, load func(path string) ([]byte, bool)) []string {
	found := readPage(page, at)
	sources := found.follow(load)
	out := found.lines()
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

// lines is what was found, in words.
func (s *pageScan) lines() []string {
	if len(s.rooted) > 0 {
		s.add("It loads %s from the top of the server, where its folder is not. Build it with relative addresses (a base of \"./\").", some(s.rooted))
	}
	return s.losses
}

// some names the first few addresses.
func some(addresses []string) string {
	if more := len(addresses) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(addresses[:maxNamed], ", "), more)
	}
	return strings.Join(addresses, ", ")
}

func readPage(page []byte, at string) pageScan {
	s := pageScan{at: at}
	z := html.NewTokenizer(bytes.NewReader(page))
	inScript := false
	for {
		switch z.Next() {
		case html.ErrorToken:
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

// add says a loss once; beyond maxLosses nobody reads on.
func (s *pageScan) add(format string, args ...any) {
	if len(s.losses) >= maxLosses {
		return
	}
	line := fmt.Sprintf(format, args...)
	if !slices.Contains(s.losses, line) {
		s.losses = append(s.losses, line)
	}
}

func (s *pageScan) tag(t html.Token) {
	attr := map[string]string{}
	for _, a := range t.Attr {
		if _, twice := attr[a.Key]; !twice { // as in a browser, the first one counts
			attr[a.Key] = a.Val
		}
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
	p, where := place(ref, s.at)
	switch where {
	case fromRoot:
		s.root(p)
	case inBooth:
		if script {
			s.scripts = append(s.scripts, p)
		}
	case elsewhere:
	}
}

func (s *pageScan) root(p string) {
	if p = plain.Text(p); !slices.Contains(s.rooted, p) {
		s.rooted = append(s.rooted, p)
	}
}

// whereabouts is where an address leads.
type whereabouts uint8

const (
	elsewhere whereabouts = iota + 1 // another server, outside of the booth, nowhere
	fromRoot                         // the server's root
	inBooth
)

// place is the path that an address in a file of the booth names.
func place(ref, at string) (string, whereabouts) {
	u, err := url.Parse(strings.TrimSpace(ref))
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" {
		return "", elsewhere
	}
	if strings.HasPrefix(u.Path, "/") {
		return u.Path, fromRoot
	}
	p := path.Join(path.Dir(at), u.Path)
	if p == ".." || strings.HasPrefix(p, "../") {
		return p, elsewhere
	}
	return p, inBooth
}

// refresh says what a meta refresh does: within the booth it works, elsewhere
// the frame may not go.
func (s *pageScan) refresh(content string) {
	target := refreshTarget(content)
	if target == "" {
		return
	}
	if _, where := place(target, s.at); where != inBooth && !strings.HasPrefix(target, "#") && !strings.HasPrefix(target, "?") {
		s.add("It sends the reader on to %s by itself; this frame only goes to pages of its own booth.", plain.Text(target))
	}
}

// refreshTarget is the address in a refresh, read as browsers do: a number, then
// a semicolon, a comma or a space, then the address, with "url=" and quotes or
// without. It is empty where the page only loads itself again.
func refreshTarget(content string) string {
	const space = " \t\n\f\r"
	rest := strings.TrimLeft(strings.TrimLeft(content, space), "0123456789.")
	rest = strings.TrimLeft(rest, space+";,")
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if after, ok := strings.CutPrefix(strings.TrimLeft(rest[3:], space), "="); ok {
			rest = strings.TrimLeft(after, space)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		rest, _, _ = strings.Cut(rest[1:], rest[:1])
	}
	return strings.TrimSpace(rest)
}
