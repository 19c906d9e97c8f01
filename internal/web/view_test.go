package web

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// Red when: any one of the comparisons in view.go is left out.
func TestOnlyAPageThatSomebodyAskedForIsAView(t *testing.T) {
	const nav = "Sec-Fetch-Dest: document|Sec-Fetch-Mode: navigate|"
	for headers, want := range map[string]bool{
		"":                           true, // a browser that says nothing, curl
		nav + "Sec-Fetch-Site: none": true, // typed, or a bookmark
		nav + "Sec-Fetch-Site: none|Sec-Fetch-User: ?1":        true,
		nav + "Sec-Fetch-Site: same-origin":                    true, // a reload by script
		nav + "Sec-Fetch-Site: same-origin|Sec-Fetch-User: ?1": true,
		nav + "Sec-Fetch-Site: cross-site|Sec-Fetch-User: ?1":  true, // a link in a mail
		nav + "Sec-Fetch-Site: cross-site":                     false,
		nav + "Sec-Fetch-Site: same-site":                      false, // another port of this host
		nav + "Sec-Fetch-Site: cross-site|Sec-Fetch-User: ?0":  false,
		nav: true,
		"Sec-Fetch-Dest: image|Sec-Fetch-Mode: no-cors|Sec-Fetch-Site: same-origin":                      false,
		"Sec-Fetch-Dest: iframe|Sec-Fetch-Mode: navigate|Sec-Fetch-Site: same-origin|Sec-Fetch-User: ?1": false,
		"Sec-Fetch-Dest: empty|Sec-Fetch-Mode: cors|Sec-Fetch-Site: same-origin":                         false, // fetch()
		"Sec-Fetch-Dest: document|Sec-Fetch-Mode: same-origin|Sec-Fetch-Site: same-origin":               false,
		"Sec-Fetch-Mode: cors":                                       false,
		"Sec-Fetch-Dest: document|Sec-Fetch-Dest: image":             false,
		"Sec-Fetch-Site: cross-site":                                 false,
		"Holdfast-Live: 1":                                           false,
		"Purpose: prefetch":                                          false,
		"X-Moz: prefetch":                                            false,
		nav + "Sec-Fetch-Site: none|Sec-Purpose: prefetch":           false,
		nav + "Sec-Fetch-Site: none|Sec-Purpose: prefetch;prerender": false,
		nav + "Sec-Fetch-Site: none|Sec-Purpose: Prefetch":           false,
	} {
		for method, counts := range map[string]bool{"GET": want, "HEAD": false, "POST": false} {
			r := httptest.NewRequest(method, "/b/demo/", nil)
			for header := range strings.SplitSeq(headers, "|") {
				if name, value, ok := strings.Cut(header, ": "); ok {
					r.Header.Add(name, value)
				}
			}
			if got := IsDeliberateView(r); got != counts {
				t.Errorf("%s %q: %v", method, headers, got)
			}
		}
	}
}
