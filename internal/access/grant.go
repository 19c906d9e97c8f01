package access

import (
	"crypto/hmac"
	"encoding/hex"
	"time"

	"holdfast/internal/problem"
)

const (
	// SessionLife is how long a browser stays signed in.
	SessionLife = 30 * 24 * time.Hour
	// contentStep is how long the address of a booth's bytes stays the same,
	// so that a browser's cache is of use; contentLife is the most that one is
	// good for.
	contentStep = 30 * time.Minute
	contentLife = time.Hour
	// AnonymousSession stands in a content token where nobody is signed in. No
	// session has this id.
	AnonymousSession = "anonymous"
)

// Session is one signed-in browser.
type Session struct {
	ID        string // 32 hex digits
	Principal string
	Expires   time.Time // whole seconds
}

// NewSession begins a session at now.
func NewSession(principal string, now time.Time) Session {
	return Session{
		ID:        hex.EncodeToString(randomBytes(16)),
		Principal: principal,
		Expires:   now.Add(SessionLife).Truncate(time.Second).UTC(),
	}
}

// SessionToken is s as a cookie's value.
func (k Key) SessionToken(s Session) (string, error) {
	if !fits(s.ID) || !fits(s.Principal) {
		return "", badGrant("a session needs an id and a principal")
	}
	payload := appendString(appendString(appendTime(nil, s.Expires), s.ID), s.Principal)
	return k.seal(purposeSession, prefixSession, payload), nil
}

// OpenSession is the session of a cookie's value that is good at now.
func (k Key) OpenSession(token string, now time.Time) (Session, error) {
	payload, ok := k.open(purposeSession, prefixSession, token)
	if !ok {
		return Session{}, notOurs("session")
	}
	f := fields{rest: payload}
	s := Session{Expires: f.time(), ID: f.string(), Principal: f.string()}
	if !f.whole() || !fits(s.ID) || !fits(s.Principal) {
		return Session{}, notOurs("session")
	}
	if !now.Before(s.Expires) {
		return Session{}, over("session", s.Expires)
	}
	return s, nil
}

// WorkerGrant is what a worker's token says.
type WorkerGrant struct {
	Booth   string // any bytes, not empty
	Issued  time.Time
	Expires time.Time
}

// WorkerToken makes the token for g, with its times in whole seconds.
func (k Key) WorkerToken(g WorkerGrant) (string, error) {
	if !fits(g.Booth) {
		return "", badGrant("a worker's token needs the name of a booth")
	}
	if !g.Expires.After(g.Issued) {
		return "", badGrant("a worker's token must end after it begins")
	}
	payload := appendString(appendTime(appendTime(nil, g.Issued), g.Expires), g.Booth)
	return k.seal(purposeWorker, prefixWorker, payload), nil
}

// OpenWorker is what a worker's token says, where it is good at now. A clock
// that was set back does not end a token: age is not evidence.
func (k Key) OpenWorker(token string, now time.Time) (WorkerGrant, error) {
	payload, ok := k.open(purposeWorker, prefixWorker, token)
	if !ok {
		return WorkerGrant{}, notOurs("worker's token")
	}
	f := fields{rest: payload}
	g := WorkerGrant{Issued: f.time(), Expires: f.time(), Booth: f.string()}
	if !f.whole() || !fits(g.Booth) {
		return WorkerGrant{}, notOurs("worker's token")
	}
	if !now.Before(g.Expires) {
		return WorkerGrant{}, over("worker's token", g.Expires)
	}
	return g, nil
}

// ContentToken is the path token for booth's bytes, shown to session (an id,
// or [AnonymousSession]). It is the same until the next half hour, and ends
// half an hour after that.
func (k Key) ContentToken(booth, session string, now time.Time) (string, error) {
	if !fits(booth) || !fits(session) {
		return "", badGrant("the address of a booth's files needs a booth and a session")
	}
	expires := now.Truncate(contentStep).Add(contentLife)
	payload := appendString(appendString(appendTime(nil, expires), booth), session)
	return k.seal(purposeContent, prefixContent, payload), nil
}

// OpenContent is whose bytes a path token opens at now.
func (k Key) OpenContent(token string, now time.Time) (Frame, error) {
	payload, ok := k.open(purposeContent, prefixContent, token)
	if !ok {
		return Frame{}, notOurs("address")
	}
	f := fields{rest: payload}
	expires := f.time()
	frame := Frame{Booth: f.string(), Session: f.string()}
	if !f.whole() || !fits(frame.Booth) || !fits(frame.Session) {
		return Frame{}, notOurs("address")
	}
	if !now.Before(expires) || expires.Sub(now) > contentLife {
		return Frame{}, over("address", expires)
	}
	return frame, nil
}

// OperatorToken is the bearer token of the operator's command line. It does
// not end; a new key does.
func (k Key) OperatorToken() string { return k.seal(purposeOperator, prefixOperator, nil) }

// ObserverToken is the bearer token of Holdfast's own tools.
func (k Key) ObserverToken() string { return k.seal(purposeObserver, prefixObserver, nil) }

// OpenBearer is the party that a bearer token proves at now. An operator gets
// the given principal: the token names none.
func (k Key) OpenBearer(token, principal string, now time.Time) (Party, error) {
	if same(token, k.OperatorToken()) {
		return Operator{Principal: principal}, nil
	}
	if same(token, k.ObserverToken()) {
		return Observer{}, nil
	}
	grant, err := k.OpenWorker(token, now)
	if err != nil {
		return nil, err
	}
	return Worker{Booth: grant.Booth}, nil
}

func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

func fits(s string) bool { return s != "" && len(s) <= maxField }

func badGrant(why string) error {
	return problem.New(problem.Usage, "token", "No token was made: %s, of at most %d bytes.", why, maxField)
}

func notOurs(what string) error {
	return problem.Refusal(problem.StepNotSignedIn, "This %s was not made by this server, or its key has changed.", what)
}

func over(what string, expires time.Time) error {
	return problem.Refusal(problem.StepNotSignedIn, "This %s is not good at this time: it ends at %s.", what, expires.Format(time.RFC3339))
}
