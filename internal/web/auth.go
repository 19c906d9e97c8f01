package web

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/problem"
)

// AuthConfig is what the server knows of its operator.
type AuthConfig struct {
	Key       access.Key
	Principal string // that an operator signs in as
	Links     *access.Links
	Base      Base
	Secure    bool // browsers reach the server by https, through a proxy
}

// Auth tells who a request comes from.
//
// A bearer token decides alone where there is one, and a bad one is refused: a
// program that believes itself to be the operator must not be taken for nobody.
// A cookie that is no longer good is only a browser that was signed out.
type Auth struct {
	conf AuthConfig

	mu    sync.Mutex
	ended map[string]time.Time // guarded by mu; sessions signed out, until they would end by themselves
}

// NewAuth refuses a configuration in which anybody could be the operator.
func NewAuth(c AuthConfig) (*Auth, error) {
	if c.Key.IsZero() || c.Principal == "" || c.Links == nil {
		return nil, errors.New("web: sign-in needs a key, a principal and links")
	}
	return &Auth{conf: c, ended: map[string]time.Time{}}, nil
}

// identify is the sender of r. It clears a cookie that is no longer good.
func (a *Auth) identify(w http.ResponseWriter, r *http.Request) (access.Party, error) {
	token, sent, err := bearer(r)
	if err != nil {
		return nil, err
	}
	if sent {
		return a.conf.Key.OpenBearer(token, a.conf.Principal, time.Now())
	}
	session, found := a.session(r)
	if found {
		return access.Operator{Principal: session.Principal, Session: session.ID}, nil
	}
	if len(r.CookiesNamed(a.cookieName())) > 0 {
		http.SetCookie(w, a.cookie(r, "", -1))
	}
	return access.Anonymous{}, nil
}

// bearer is the token in the Authorization header. Another scheme is not ours:
// a proxy's own password comes along with every request.
func bearer(r *http.Request) (token string, sent bool, err error) {
	for _, value := range r.Header.Values("Authorization") {
		scheme, rest, _ := strings.Cut(value, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			continue
		}
		if sent {
			return "", true, problem.Refusal(problem.StepNotSignedIn, "The request carries more than one bearer token. Nothing was done.")
		}
		token, sent = strings.Trim(rest, " "), true
	}
	return token, sent, nil
}

// session is the one that r's cookie names. There may be several cookies of
// the name, as another server on this host can set one; only ours opens.
func (a *Auth) session(r *http.Request) (access.Session, bool) {
	for _, cookie := range r.CookiesNamed(a.cookieName()) {
		session, err := a.conf.Key.OpenSession(cookie.Value, time.Now())
		if err == nil && !a.hasEnded(session.ID) {
			return session, true
		}
	}
	return access.Session{}, false
}

// frame is the party of a path token.
func (a *Auth) frame(token string) (access.Party, error) {
	frame, err := a.conf.Key.OpenContent(token, time.Now())
	if err == nil && a.hasEnded(frame.Session) {
		err = problem.Refusal(problem.StepNotSignedIn, "This address was made for a session that has been signed out.")
	}
	if err != nil {
		return nil, problem.From(err, "").WithHint("reload the desk's page: it makes a new address")
	}
	return frame, nil
}

// cookieName differs from server to server: browsers send a host's cookies to
// all of its ports.
func (a *Auth) cookieName() string { return "holdfast-" + a.conf.Key.ID() }

// cookie carries value; a negative age takes it away.
func (a *Auth) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: a.cookieName(), Value: value, Path: a.conf.Base.String(), MaxAge: age,
		HttpOnly: true, Secure: a.conf.Secure || r.TLS != nil, SameSite: http.SameSiteLaxMode,
	}
}

func (a *Auth) hasEnded(session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ended := a.ended[session]
	return ended
}

// end refuses a session from now on, and what was made for it. It is kept in
// memory: after a restart, a copy of the cookie would be good again.
func (a *Auth) end(session access.Session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, expires := range a.ended {
		if !time.Now().Before(expires) {
			delete(a.ended, id)
		}
	}
	a.ended[session.ID] = session.Expires
}
