package web

import (
	"net/http"
	"strings"
)

// IsDeliberateView says whether somebody asked to see this page, as far as the
// request can tell: a GET, no prefetch, and where the browser says how the
// request came about, a navigation of a whole window, begun by the desk itself,
// by nobody else's page, or by a person's own act. A client that sends none of
// these headers counts, unless it says itself that it only keeps a page up to date
// ([LiveHeader]). Whether it was the operator, and whether the page was
// served, the caller knows.
func IsDeliberateView(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get(LiveHeader) == "" && !isPrefetch(r) && isNavigation(r) && isOwnAct(r)
}

// LiveHeader is what the desk's own script sends where it fetches a page again. A
// browser says so by itself only over TLS and on the machine's own address.
const LiveHeader = "Holdfast-Live"

func isPrefetch(r *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Moz"} {
		for _, value := range r.Header.Values(name) {
			if strings.Contains(strings.ToLower(value), "prefetch") {
				return true
			}
		}
	}
	return false
}

// isNavigation: what the headers say, where they are there, is a whole window.
func isNavigation(r *http.Request) bool {
	return absentOr(r, "Sec-Fetch-Dest", "document") && absentOr(r, "Sec-Fetch-Mode", "navigate")
}

func isOwnAct(r *http.Request) bool {
	return absentOr(r, "Sec-Fetch-Site", "none", "same-origin") || r.Header.Get("Sec-Fetch-User") == "?1"
}

// absentOr says whether the header is not there, or once with a value from the
// list.
func absentOr(r *http.Request, name string, values ...string) bool {
	sent := r.Header.Values(name)
	if len(sent) == 0 {
		return true
	}
	for _, value := range values {
		if len(sent) == 1 && sent[0] == value {
			return true
		}
	}
	return false
}
