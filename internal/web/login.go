package web

import (
	"net/http"
	"net/url"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/problem"
)

// SignInPath is the path and query of a sign-in link; an origin goes before it.
func (a *Auth) SignInPath(token string) string {
	return a.conf.Base.URL("login") + "?once=" + url.QueryEscape(token)
}

func (a *Auth) routes() []Route {
	return []Route{
		{Method: http.MethodGet, Pattern: "/login", Action: access.SignIn, Handler: a.login},
		{Method: http.MethodPost, Pattern: "/logout", Action: access.SignIn, Handler: a.logout},
	}
}

// login uses a sign-in link up. Only a person's navigation does: a browser that
// fetches ahead, a page that loads the address as a picture, or a HEAD would
// spend the link for nobody.
func (a *Auth) login(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Referrer-Policy", "no-referrer")
	next := a.next(r.URL.Query().Get("next"))
	token := r.URL.Query().Get("once")
	switch {
	case r.Method == http.MethodHead:
		return nil
	case isPrefetch(r) || !isNavigation(r):
		return problem.Refusal("prefetch", "A sign-in link is only used when it is opened in a window. It is still good.")
	case token == "" && isOperator(PartyOf(r)):
		redirect(w, http.StatusSeeOther, next, "")
		return nil
	case token == "":
		return problem.Refusal(problem.StepNotSignedIn, "Signing in takes a link, which the server's own machine makes.").
			WithHint("run: holdfast open")
	}
	if err := a.conf.Links.Redeem(token, time.Now()); err != nil {
		return err
	}
	session, err := a.conf.Key.SessionToken(access.NewSession(a.conf.Principal, time.Now()))
	if err != nil {
		return err
	}
	w.Header().Del("Set-Cookie") // an older cookie's end
	http.SetCookie(w, a.cookie(r, session, int(access.SessionLife/time.Second)))
	redirect(w, http.StatusSeeOther, next, "")
	return nil
}

// logout ends the session of this browser, and says the same to one that has
// none.
func (a *Auth) logout(w http.ResponseWriter, r *http.Request) error {
	if session, found := a.session(r); found {
		a.end(session)
	}
	w.Header().Del("Set-Cookie")
	http.SetCookie(w, a.cookie(r, "", -1))
	redirect(w, http.StatusSeeOther, a.conf.Base.String(), "")
	return nil
}

func isOperator(p access.Party) bool {
	_, ok := p.(access.Operator)
	return ok
}

// next is where to go after signing in: a path under the base, spelled again
// from its segments, or the base itself.
func (a *Auth) next(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return a.conf.Base.String()
	}
	path, err := parsePath(u)
	if err != nil {
		return a.conf.Base.String()
	}
	own := len(a.conf.Base.segments())
	rest, bare := a.conf.Base.strip(path)
	if bare || len(rest) != len(path)-own || len(rest) == 1 && rest[0] == "" {
		return a.conf.Base.String()
	}
	address := a.conf.Base.URL(rest...)
	if query, err := url.ParseQuery(u.RawQuery); err == nil && len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}
