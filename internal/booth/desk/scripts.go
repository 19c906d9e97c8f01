package desk

import (
	"regexp"
)

// What a script loads is read off its text: an address that is put together at
// run time is not seen.
var (
	imported = regexp.MustCompile(`\b(?:from|import)\s*\(?\s*["']((?:\.{1,2})?/[^"'\s]+)["']`)
	fetched  = regexp.MustCompile("\\b(?:fetch\\(|open\\(\\s*[\"']GET[\"']\\s*,)\\s*[\"'`](/[^/\"'`\\s][^\"'`\\s]*)[\"'`]")
)

// follow reads the page's scripts and what they import, and notes the addresses
// from the server's root that they load.
func (s *pageScan) follow(load func(path string) ([]byte, bool)) []source {
	sources := s.inline
	for _, in := range sources {
		s.script(in)
	}
	read := map[string]bool{}
	for i := 0; i < len(s.scripts) && len(read) < maxScripts; i++ {
		p := s.scripts[i]
		if read[p] {
			continue
		}
		read[p] = true
		if data, ok := load(p); ok {
			sources = append(sources, source{p, data})
			s.script(source{p, data})
		}
	}
	return sources
}

// script notes what one script imports and fetches.
func (s *pageScan) script(in source) {
	for _, m := range imported.FindAllSubmatch(in.data, -1) {
		switch p, where := place(string(m[1]), in.name); where {
		case fromRoot:
			s.root(p)
		case inBooth:
			s.scripts = append(s.scripts, p)
		case elsewhere:
		}
	}
	for _, m := range fetched.FindAllSubmatch(in.data, -1) {
		if p, where := place(string(m[1]), s.at); where == fromRoot {
			s.root(p)
		}
	}
}
