// Package faultproxy stands between HTTP clients and a server in tests, and
// loses, delays, doubles and falsifies what goes through it, by a plan.
//
// It knows nothing of what is spoken: whoever uses it says which requests count,
// and of what kind they are. Each happens at a moment that a test can wait for.
package faultproxy

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// Request is one request that came to a [Proxy].
type Request[K comparable] struct {
	Kind   K
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

// Say answers in the server's place. Where After is set the server has got the
// request first, and answered it, and nobody hears what.
type Say struct {
	Status int
	Body   string
	After  bool
}

func (Say) act()      {}
func (Pass) act()     {}
func (Drop) act()     {}
func (Lose) act()     {}
func (Twice) act()    {}
func (Delay) act()    {}
func (Withhold) act() {}

// Proxy is a server of HTTP that hands requests on to another. No connection is
// used twice: some clients repeat by themselves a request that was lost on one
// which had served before.
type Proxy[K comparable] struct {
	// Address is where the proxy listens: http, a host and a port.
	Address string

	target *url.URL
	kindOf func(*http.Request) (K, bool)
	client *http.Client
	ended  chan struct{} // closed with the test: what is kept is let go of

	mu     sync.Mutex
	plan   func(Request[K]) Act
	counts map[K]int
	events map[event[K]]chan struct{}
}

// event is a moment in the life of a request.
type event[K comparable] struct {
	Request[K]
	served bool
}

// New puts a proxy before the server at address, for the length of the test.
// Requests that kindOf disowns are passed on and not counted. Everything passes
// until [Proxy.Plan].
func New[K comparable](t testing.TB, address string, kindOf func(*http.Request) (K, bool)) *Proxy[K] {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy[K]{
		target: target,
		kindOf: kindOf,
		client: &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		ended:  make(chan struct{}),
		plan:   func(Request[K]) Act { return Pass{} },
		counts: map[K]int{},
		events: map[event[K]]chan struct{}{},
	}
	front := httptest.NewUnstartedServer(p)
	front.Config.SetKeepAlivesEnabled(false)
	front.Start()
	t.Cleanup(func() {
		close(p.ended)
		front.Close()
	})
	p.Address = front.URL
	return p
}

// Plan sets what is done with requests from now on. The function is called for
// one request at a time, in the order in which they come, and should not wait.
func (p *Proxy[K]) Plan(plan func(Request[K]) Act) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
}

// Came is closed when the request has come to the proxy.
func (p *Proxy[K]) Came(kind K, number int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.eventLocked(event[K]{Request[K]{kind, number}, false})
}

// Served is closed when the server has answered the request, both times if it
// was handed on twice. It stays open for what was dropped.
func (p *Proxy[K]) Served(kind K, number int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.eventLocked(event[K]{Request[K]{kind, number}, true})
}

// Count is how many requests of the kind have come.
func (p *Proxy[K]) Count(kind K) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[kind]
}

func (p *Proxy[K]) eventLocked(e event[K]) chan struct{} {
	c, ok := p.events[e]
	if !ok {
		c = make(chan struct{})
		p.events[e] = c
	}
	return c
}

// ServeHTTP takes one request from a caller.
func (p *Proxy[K]) ServeHTTP(w http.ResponseWriter, q *http.Request) {
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
func (p *Proxy[K]) decide(q *http.Request) (Act, func()) {
	kind, ok := p.kindOf(q)
	if !ok {
		return Pass{}, func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[kind]++
	r := Request[K]{kind, p.counts[kind]}
	act := p.plan(r)
	close(p.eventLocked(event[K]{r, false}))
	done := p.eventLocked(event[K]{r, true})
	return act, func() { close(done) }
}

// do carries out one act. With send it hands the request on, so many times.
func (p *Proxy[K]) do(act Act, w http.ResponseWriter, send func(times int) []answer) {
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
	case Say:
		if act.After {
			send(1)
		}
		answer{act.Status, http.Header{"Content-Type": {"application/xml"}}, []byte(act.Body)}.give(w)
	default:
		panic("a plan gave no act")
	}
}

// await hangs up if the test ends first.
func (p *Proxy[K]) await(until <-chan struct{}) {
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
func (p *Proxy[K]) send(q *http.Request, body []byte, times int) []answer {
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

func (p *Proxy[K]) sendOnce(q *http.Request, body []byte) (answer, error) {
	to := *q.URL
	to.Scheme, to.Host = p.target.Scheme, p.target.Host
	on, err := http.NewRequest(q.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	on.Header = q.Header.Clone()
	on.Host = q.Host // which some signatures are over
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
