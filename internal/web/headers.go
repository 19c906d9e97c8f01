package web

import "net/http"

// deskPolicy is what a page of the desk may load and do: its own files, and
// nothing written into the page.
const deskPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; " +
	"font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// SandboxTokens is what content of a booth may do: for the header, and for the
// sandbox attribute of a frame that shows it.
//
// Never allow-same-origin (it would be the desk, with the operator's cookie),
// allow-top-navigation (it could put another page in the desk's place) or
// allow-forms (with it a click could post). Links out of a report open in a
// tab of their own, and that tab is no sandbox: inside one the page behind the
// link would be signed out and half broken, and what a hostile report gains is
// what any link on any site has. A file of the booth that is opened so is in
// the sandbox again by its own header.
const SandboxTokens = "allow-scripts allow-downloads allow-popups allow-popups-to-escape-sandbox"

// strictHeaders is what each response carries until its handler says
// otherwise. Referrer-Policy is not no-referrer: with that, a browser sends
// "Origin: null" with the desk's own forms, and such writes are refused.
func strictHeaders(h http.Header) {
	h.Set("Content-Security-Policy", deskPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Sandbox gives a response the headers for bytes that came out of a booth.
// Call it before the first byte. Routes of access.ReadContent have it already,
// with shared set.
//
// shared is for addresses that carry their own token. A document in the
// sandbox has an origin that equals no other, not even its own: its modules
// and data load only with Access-Control-Allow-Origin: null, and its pictures
// only with Cross-Origin-Resource-Policy: cross-origin ("same-origin" blocks
// every load without CORS whose origin is opaque). Both open the bytes to any
// page that knows the address, so the address has to be a secret; elsewhere
// leave shared off, and only the desk's own pages can load the bytes. Nor does
// frame-ancestors stand there: a report has no origin that could be named, and
// would be kept from framing its own pages.
func Sandbox(w http.ResponseWriter, shared bool) {
	h := w.Header()
	policy := "sandbox " + SandboxTokens
	if !shared {
		policy += "; frame-ancestors 'self'"
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Del("X-Frame-Options")
	h.Del("Cross-Origin-Opener-Policy") // in a tab that is a sandbox itself, a page that asks for one is not shown
	h.Del("Access-Control-Allow-Credentials")
	if shared {
		h.Set("Access-Control-Allow-Origin", "null")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	} else {
		h.Del("Access-Control-Allow-Origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
	}
}
