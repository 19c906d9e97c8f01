package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/problem"
)

// stream is one reader of a broker, inside a bubble.
type stream struct {
	*httptest.ResponseRecorder
	cancel context.CancelFunc
	done   chan error
	block  chan struct{} // where set, each write waits for it
	broken bool
	mu     sync.Mutex // guards Body: time alone orders nothing
}

func (s *stream) Write(b []byte) (int, error) {
	if s.block != nil {
		<-s.block
	}
	if s.broken {
		return 0, errors.New("broken pipe")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ResponseRecorder.Write(b)
}

func (s *stream) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

func open(e *Events, headers ...string) *stream {
	return start(e, &stream{}, context.Background(), headers...)
}

func start(e *Events, s *stream, ctx context.Context, headers ...string) *stream {
	s.ResponseRecorder, s.done = httptest.NewRecorder(), make(chan error, 1)
	ctx, s.cancel = context.WithCancel(ctx)
	r := httptest.NewRequestWithContext(ctx, "GET", "/events", nil)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	go func() { s.done <- e.Serve(s, r) }()
	return s
}

// said is what arrived since it was asked last.
func (s *stream) said() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.Body.String()
	s.Body.Reset()
	return text
}

func (s *stream) end(t *testing.T) {
	t.Helper()
	s.cancel()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
}

// Red when: frame leaves out a line; take puts the id on every event of a batch
// or on none; the topic is not escaped.
func TestAChangeIsFramedUnderItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents(4)
		s := open(e)
		id := func(n int) string { return fmt.Sprintf("%s-%d", e.epoch, n) }
		if got := s.said(); got != "id: "+id(0)+"\nevent: ready\ndata: \n\n" || s.Header().Get("Content-Type") != "text/event-stream" || !s.Flushed {
			t.Errorf("%q %v", got, s.Header())
		}
		e.Publish("a\n\ndata: forged")
		if got := s.said(); got != "id: "+id(1)+"\nevent: change\ndata: a%0A%0Adata:%20forged\n\n" {
			t.Errorf("%q", got)
		}
		e.mu.Lock() // two at once
		for _, r := range []string{"b", "c"} {
			for reader := range e.readers {
				reader.addLocked(r)
				e.count++
				select {
				case reader.wake <- struct{}{}:
				default:
				}
			}
		}
		e.mu.Unlock()
		if got := s.said(); got != "event: change\ndata: b\n\nid: "+id(3)+"\nevent: change\ndata: c\n\n" {
			t.Errorf("%q", got)
		}
		s.end(t)
	})
}

// Red when: Serve does not compare the ids, or the epoch is not in them.
func TestAReaderThatMissedSomethingIsToldToReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, earlier := NewEvents(4), NewEvents(4)
		old := e.Current()
		e.Publish("x")
		for id, want := range map[string]string{e.Current(): "ready", old: "resync", earlier.Current(): "resync", "junk": "resync", "": "ready"} {
			s := open(e, "Last-Event-ID: "+id)
			if got := s.said(); !strings.Contains(got, "id: "+e.Current()+"\nevent: "+want+"\n") {
				t.Errorf("after %q: %q", id, got)
			}
			s.end(t)
		}
		r := httptest.NewRequest("GET", "/events?since="+old, nil)
		if lastEventID(r) != old {
			t.Error("?since= is not read")
		}
	})
}

// Red when: Publish sends without default (the test never ends), addLocked
// keeps repetitions, or has no bound.
func TestASlowReaderDelaysNobodyAndMissesNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents(4)
		slow, quick := &stream{block: make(chan struct{})}, open(e)
		start(e, slow, context.Background())
		quick.said()
		for range 1000 {
			e.Publish("same")
			e.Publish("other")
		}
		if got := quick.said(); !strings.Contains(got, "data: same") || !strings.Contains(got, "data: other") {
			t.Errorf("%q", got)
		}
		slow.block <- struct{}{} // "ready"
		slow.block <- struct{}{}
		if got := slow.said(); strings.Count(got, "event: change") != 2 || !strings.HasSuffix(got, "id: "+e.Current()+"\nevent: change\ndata: other\n\n") {
			t.Errorf("%q", got)
		}
		// One more wakes it, and then it is away for longer than it can keep.
		e.Publish("same")
		synctest.Wait()
		for i := range maxPending + 1 {
			e.Publish(fmt.Sprint(i))
		}
		close(slow.block)
		if got := slow.said(); strings.Contains(got, "data: 3\n") || !strings.HasSuffix(got, "id: "+e.Current()+"\nevent: resync\ndata: \n\n") {
			t.Errorf("%q", got)
		}
		slow.end(t)
		quick.end(t)
	})
}

// Red when: follow has no ticker.
func TestAQuietStreamShowsThatItLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents(4)
		s := open(e)
		s.said()
		time.Sleep(2*heartbeat + time.Second)
		if got := s.said(); got != ": heartbeat\n\n: heartbeat\n\n" {
			t.Errorf("%q", got)
		}
		s.end(t)
	})
}

// Red when: follow does not watch Stopping, or goes on after a failed write;
// Serve does not leave.
func TestAStreamEndsWithTheServerAndWithItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents(4)
		stopping := make(chan struct{})
		ctx := context.WithValue(context.Background(), stoppingKey{}, (<-chan struct{})(stopping))
		s := start(e, &stream{}, ctx)
		s.said()
		close(stopping)
		if err := <-s.done; err != nil {
			t.Error(err)
		}
		gone := open(e)
		gone.said()
		gone.broken = true
		e.Publish("x")
		if err := <-gone.done; err != nil {
			t.Error(err)
		}
		if len(e.readers) != 0 {
			t.Error("a reader stays in the list")
		}
		s.cancel()
		gone.cancel()
	})
}

// Red when: Serve begins a stream for a HEAD, which would never end.
func TestAStreamsHeadEnds(t *testing.T) {
	w := httptest.NewRecorder()
	if err := NewEvents(1).Serve(w, httptest.NewRequest("HEAD", "/events", nil)); err != nil || w.Body.Len() != 0 {
		t.Error(err, w.Body)
	}
}

// Red when: join does not count, or leave does not give a place back.
func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents(2)
		a, b := open(e), open(e)
		synctest.Wait()
		full := open(e)
		if err := <-full.done; Status(problem.From(err, "")) != http.StatusServiceUnavailable {
			t.Error(err)
		}
		full.cancel()
		a.end(t)
		c := open(e)
		if got := c.said(); !strings.Contains(got, "ready") {
			t.Errorf("%q", got)
		}
		b.end(t)
		c.end(t)
	})
}
