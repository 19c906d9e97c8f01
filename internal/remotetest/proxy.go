package remotetest

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/faultproxy"
)

// Kind is what a request of git asks for.
type Kind uint8

// A fetch begins with FetchRefs, a push with PushRefs. A push whose PushRefs
// shows that nothing is to be done has no Push.
const (
	FetchRefs Kind = iota + 1 // what is there, to fetch it; git ls-remote too
	Fetch                     // git-upload-pack: a list first, then objects
	PushRefs                  // what is there, to push
	Push                      // git-receive-pack: objects, and branches to be moved
)

// Request is one request that came to a [Proxy] with a user's name. Those
// without are not counted and passed on: git knocks so, to be asked for it.
type Request = faultproxy.Request[Kind]

// What a [Proxy] does with a request.
type (
	Act      = faultproxy.Act
	Pass     = faultproxy.Pass
	Drop     = faultproxy.Drop
	Lose     = faultproxy.Lose
	Twice    = faultproxy.Twice
	Delay    = faultproxy.Delay
	Withhold = faultproxy.Withhold
)

// Proxy stands between callers and a [Server], whose repository it shares.
type Proxy struct {
	*Server
	*faultproxy.Proxy[Kind]
}

// NewProxy puts a proxy before s. Everything passes until [faultproxy.Proxy.Plan].
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	p := faultproxy.New(t, s.Locked, kindOf)
	return &Proxy{Server: served(s.Repository, p.Address), Proxy: p}
}

func kindOf(q *http.Request) (Kind, bool) {
	if q.Header.Get("Authorization") == "" {
		return 0, false
	}
	service := q.URL.Query().Get("service")
	switch {
	case strings.HasSuffix(q.URL.Path, "/info/refs") && service == "git-upload-pack":
		return FetchRefs, true
	case strings.HasSuffix(q.URL.Path, "/info/refs") && service == "git-receive-pack":
		return PushRefs, true
	case strings.HasSuffix(q.URL.Path, "/git-upload-pack"):
		return Fetch, true
	case strings.HasSuffix(q.URL.Path, "/git-receive-pack"):
		return Push, true
	}
	return 0, false
}
