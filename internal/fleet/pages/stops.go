package pages

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// How a stop goes on that was begun on a page: how long the browser waits for its end,
// and how long the proof is waited for. What is not proved by then is still ordered.
const (
	stopAtOnce = 1500 * time.Millisecond
	stopAtMost = 10 * time.Minute

	maxStopForm  = 4 << 10
	defaultGrace = 10 // seconds
	maxGrace     = 3600
)

// stops are the stops that were begun here, one of an instance at a time.
type stops struct {
	life context.Context // ends with the pages
	end  func()
	work sync.WaitGroup

	mu   sync.Mutex
	last map[string]*stopUnder // guarded by mu; by instance, and gone when it ended well
}

// stopUnder is a stop that was begun here, and is under way or ended badly.
type stopUnder struct {
	done chan struct{} // closed at its end
	why  string        // what is waited for; guarded by stops.mu
	err  error         // guarded by stops.mu
}

// stopSeen is how a stop that was begun here is shown.
type stopSeen struct {
	Under bool
	Why   string
	Err   error
}

func newStops() stops {
	life, end := context.WithCancel(context.Background())
	return stops{life: life, end: end, last: map[string]*stopUnder{}}
}

// Close waits until no stop is waited for any more. What was ordered stays so.
func (p *Pages) Close() {
	p.stops.end()
	p.stops.work.Wait()
}

// of is the stop of an instance.
func (s *stops) of(instance string) stopSeen {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.last[instance]
	if u == nil {
		return stopSeen{}
	}
	return stopSeen{u.err == nil, u.why, u.err}
}

// begin is the stop that is under way, or else a new one, which do drives.
func (s *stops) begin(instance string, do func(ctx context.Context, progress func(key, why string)) error) *stopUnder {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.last[instance]; u != nil && u.err == nil {
		return u
	}
	u := &stopUnder{done: make(chan struct{})}
	s.last[instance] = u
	s.work.Go(func() {
		defer close(u.done)
		ctx, end := context.WithTimeout(s.life, stopAtMost)
		defer end()
		err := do(ctx, func(_, why string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			u.why = why
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		if u.err = err; err == nil {
			delete(s.last, instance)
		}
	})
	return u
}

// serveStop stops an instance, and leads back to its page, which says how far that is.
func (p *Pages) serveStop(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("instance")
	if err := roster.CheckName("instance", name); err != nil {
		return err
	}
	req, err := stopOf(r, name)
	if err != nil {
		return err
	}
	if err := p.known(r, name); err != nil {
		return err
	}
	u := p.stops.begin(name, func(ctx context.Context, progress func(key, why string)) error {
		c, err := fleet.OpenConsole(p.Home)
		if err != nil {
			return err
		}
		defer c.Close()
		defer p.Changed()
		_, err = c.Work(progress).Stop(ctx, req)
		if problem.KindOf(err) == problem.Failed && err != nil {
			p.Log.Error("an instance is not stopped", "instance", plain.Text(name), "err", err)
		}
		return err
	})
	wait := time.NewTimer(stopAtOnce)
	defer wait.Stop()
	select {
	case <-u.done:
	case <-wait.C:
	case <-r.Context().Done():
	}
	http.Redirect(w, r, p.instanceURL(name), http.StatusSeeOther)
	return nil
}

// known refuses at once what is no instance, or cannot be looked up.
func (p *Pages) known(r *http.Request, name string) error {
	c, err := fleet.OpenConsole(p.Home)
	if errors.Is(err, fleet.ErrNoFleet) {
		return err
	}
	if err == nil {
		defer c.Close()
		_, err = c.Work(nil).Whole(r.Context(), name)
	}
	if err != nil && !isOfRequest(err) {
		return web.Unavailable(err)
	}
	return err
}

// stopOf reads the form.
func stopOf(r *http.Request, name string) (console.StopRequest, error) {
	if err := r.ParseForm(); err != nil {
		return console.StopRequest{}, problem.New(problem.Usage, "form", "The form cannot be read. Nothing was stopped.").Because(err)
	}
	req := console.StopRequest{Key: r.PostForm.Get("key"), Instance: name, Grace: defaultGrace * time.Second}
	if text := strings.TrimSpace(r.PostForm.Get("grace")); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n > maxGrace {
			return req, problem.New(problem.Usage, "grace", "The grace is a number of seconds from 0 to %d. Nothing was stopped.", maxGrace)
		}
		req.Grace = time.Duration(n) * time.Second
	}
	return req, nil
}
