package remotetest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
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
type Request struct {
	Kind   Kind
	Number int // among those of its kind, from 1
}

// Act is what a [Proxy] does with a request.
//
//sumtype:decl
type Act interface{ act() }

// Pass hands the request on, and the answer back.
type Pass struct{}

// Drop hangs up: the server never hears of the request.
type Drop struct{}

// Lose hands the request on, and hangs up in the answer: after Keep bytes of its
// body, or before anything of it when that is 0.
type Lose struct{ Keep int }

// Twice hands the request on, and once more when it is answered. The caller gets
// the first answer, or else the second.
type Twice struct{ Second bool }

// Delay keeps the request from the server until the channel is closed, and does
// Then, or [Pass] without one. It goes on when the caller has long given up, as a
// push can that is still under way.
type Delay struct {
	Until <-chan struct{}
	Then  Act
}

// Withhold hands the request on, and keeps the answer until the channel is closed.
type Withhold struct{ Until <-chan struct{} }

func (Pass) act()     {}
func (Drop) act()     {}
func (Lose) act()     {}
func (Twice) act()    {}
func (Delay) act()    {}
func (Withhold) act() {}

// Proxy stands between callers and a [Server], whose repository it shares. No
// connection is used twice: git would repeat by itself a request that was lost
// on a connection which had served before.
type Proxy struct {
	*Server
	target *url.URL
	client *http.Client
	ended  chan struct{} // closed with the test: what is kept is let go of

	mu     sync.Mutex
	plan   func(Request) Act
	counts map[Kind]int
	events map[event]chan struct{}
}

// event is a moment in the life of a request.
type event struct {
	Request
	served bool
}

// NewProxy puts a proxy before s. Everything passes until [Proxy.Plan].
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	target, err := url.Parse(s.Locked)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		target: target,
		client: &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		ended:  make(chan struct{}),
		plan:   func(Request) Act { return Pass{} },
		counts: map[Kind]int{},
		events: map[event]chan struct{}{},
	}
	front := httptest.NewUnstartedServer(p)
	front.Config.SetKeepAlivesEnabled(false)
	front.Start()
	t.Cleanup(func() {
		close(p.ended)
		front.Close()
	})
	p.Server = served(s.Repository, front.URL)
	return p
}

// Plan sets what is done with requests from now on. The function is called for
// one request at a time, in the order in which they come, and should not wait.
func (p *Proxy) Plan(plan func(Request) Act) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
}

// Came is closed when the request has come to the proxy.
func (p *Proxy) Came(kind Kind, number int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.eventLocked(event{Request{kind, number}, false})
}

// Served is closed when the server has answered the request, both times if it
// was handed on twice. It stays open for what was dropped.
func (p *Proxy) Served(kind Kind, number int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.eventLocked(event{Request{kind, number}, true})
}

// Count is how many requests of the kind have come.
func (p *Proxy) Count(kind Kind) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[kind]
}

func (p *Proxy) eventLocked(e event) chan struct{} {
	c, ok := p.events[e]
	if !ok {
		c = make(chan struct{})
		p.events[e] = c
	}
	return c
}

// ServeHTTP takes one request from a caller.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	act, served := p.decide(q)
	p.do(act, w, func(times int) []answer {
		got := p.send(q, body, times)
		served()
		return got
	})
}

// decide counts the request and asks the plan. The function it gives is to be
// called when the server has answered.
func (p *Proxy) decide(q *http.Request) (Act, func()) {
	kind, ok := kindOf(q)
	if !ok || q.Header.Get("Authorization") == "" {
		return Pass{}, func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[kind]++
	r := Request{kind, p.counts[kind]}
	act := p.plan(r)
	close(p.eventLocked(event{r, false}))
	done := p.eventLocked(event{r, true})
	return act, func() { close(done) }
}

func kindOf(q *http.Request) (Kind, bool) {
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

// do carries out one act. With send it hands the request on, so many times.
func (p *Proxy) do(act Act, w http.ResponseWriter, send func(times int) []answer) {
	switch act := act.(type) {
	case Pass:
		send(1)[0].give(w)
	case Drop:
		panic(http.ErrAbortHandler)
	case Lose:
		send(1)[0].giveSome(w, act.Keep)
		panic(http.ErrAbortHandler)
	case Twice:
		both := send(2)
		if act.Second {
			both[1].give(w)
		} else {
			both[0].give(w)
		}
	case Delay:
		p.await(act.Until)
		if act.Then == nil {
			act.Then = Pass{}
		}
		p.do(act.Then, w, send)
	case Withhold:
		got := send(1)[0]
		p.await(act.Until)
		got.give(w)
	default:
		panic("a plan gave no act")
	}
}

// await hangs up if the test ends first.
func (p *Proxy) await(until <-chan struct{}) {
	select {
	case <-until:
	case <-p.ended:
		panic(http.ErrAbortHandler)
	}
}

// answer is what the server said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send hands the request on, so many times, one after the other. It does not end
// with the caller: the server gets and answers it all the same.
func (p *Proxy) send(q *http.Request, body []byte, times int) []answer {
	var got []answer
	for range times {
		a, err := p.sendOnce(q, body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		got = append(got, a)
	}
	return got
}

func (p *Proxy) sendOnce(q *http.Request, body []byte) (answer, error) {
	to := *q.URL
	to.Scheme, to.Host = p.target.Scheme, p.target.Host
	on, err := http.NewRequest(q.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	on.Header = q.Header.Clone()
	res, err := p.client.Do(on)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, said}, err
}

// give hands the whole answer back.
func (a answer) give(w http.ResponseWriter) {
	a.head(w)
	_, _ = w.Write(a.body) // nobody may be there any more
}

// giveSome hands the head and the beginning back, or nothing at all.
func (a answer) giveSome(w http.ResponseWriter, keep int) {
	if keep == 0 {
		return
	}
	a.head(w)
	_, _ = w.Write(a.body[:max(0, min(keep, len(a.body)-1))])
	_ = http.NewResponseController(w).Flush()
}

func (a answer) head(w http.ResponseWriter) {
	for name, values := range a.header {
		if name != "Connection" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
}
