package web

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/internal/problem"
)

const (
	heartbeat  = 15 * time.Second
	maxPending = 64 // topics that wait for one slow reader; more, and it is told to read all again
)

// Events tells pages what has changed, as server-sent events. An event says
// only that a topic changed, so two of one topic are as good as one: a reader
// that is slow misses repetitions, never a change, and nobody waits for it.
//
//	event: ready    the stream has begun; what was shown under this id is current
//	event: change   data: the topic, path-escaped
//	event: resync   changes were missed; read everything again
//
// The id of each names the state after it. A reader that comes back with
// another id than the current one (Last-Event-ID, or ?since= for a page that
// was rendered under [Events.Current]) is told to resync.
type Events struct {
	epoch string // tells this process's ids from an earlier one's
	limit int

	mu      sync.Mutex
	count   uint64           // guarded by mu; changes so far
	readers map[*reader]bool // guarded by mu
}

// reader is one open stream.
type reader struct {
	wake    chan struct{} // holds one token while there is something to take
	pending []string      // guarded by Events.mu; distinct topics, oldest first
	missed  bool          // guarded by Events.mu
}

// NewEvents serves at most limit streams at once.
func NewEvents(limit int) *Events {
	return &Events{epoch: strings.ToLower(rand.Text()[:8]), limit: limit, readers: map[*reader]bool{}}
}

// Current is the id of the state as it is now.
func (e *Events) Current() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.currentLocked()
}

func (e *Events) currentLocked() string { return e.epoch + "-" + strconv.FormatUint(e.count, 10) }

// Publish says that topic has changed. It never waits.
func (e *Events) Publish(topic string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count++
	for r := range e.readers {
		r.addLocked(topic)
		select {
		case r.wake <- struct{}{}:
		default: // it has been woken and has not come yet
		}
	}
}

func (r *reader) addLocked(topic string) {
	switch {
	case r.missed || slices.Contains(r.pending, topic):
	case len(r.pending) == maxPending:
		r.missed, r.pending = true, nil
	default:
		r.pending = append(r.pending, topic)
	}
}

// Serve is the handler of the stream. It ends when the client leaves, when it
// cannot be written to, or when the server stops.
func (e *Events) Serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil
	}
	reader, current, err := e.join()
	if err != nil {
		return err
	}
	defer e.leave(reader)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // or a proxy holds the events back
	first := "ready"
	if since := lastEventID(r); since != "" && since != current {
		first = "resync"
	}
	if !push(w, frame(first, "", current)) {
		return nil
	}
	e.follow(w, r, reader)
	return nil
}

func (e *Events) follow(w http.ResponseWriter, r *http.Request, reader *reader) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		var text string
		select {
		case <-r.Context().Done():
			return
		case <-Stopping(r.Context()):
			return
		case <-tick.C:
			text = ": heartbeat\n\n"
		case <-reader.wake:
			text = e.take(reader)
		}
		if !push(w, text) {
			return
		}
	}
}

// take empties what waits for r. Only the last event has the id: a stream that
// is cut before it must not be believed to have had them all.
func (e *Events) take(r *reader) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	topics, missed, current := r.pending, r.missed, e.currentLocked()
	r.pending, r.missed = nil, false
	if missed {
		return frame("resync", "", current)
	}
	var text strings.Builder
	for i, topic := range topics {
		id := ""
		if i == len(topics)-1 {
			id = current
		}
		text.WriteString(frame("change", url.PathEscape(topic), id))
	}
	return text.String()
}

func (e *Events) join() (*reader, string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.readers) >= e.limit {
		return nil, "", problem.Refusal(StepBusy, "%d pages already listen for changes, and no more can. Reload to see what changed.", e.limit)
	}
	r := &reader{wake: make(chan struct{}, 1)}
	e.readers[r] = true
	return r, e.currentLocked(), nil
}

func (e *Events) leave(r *reader) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.readers, r)
}

// Heard says whether anybody listens.
func (e *Events) Heard() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.readers) > 0
}

func lastEventID(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return r.URL.Query().Get("since")
}

// frame is one event. A browser drops one without data, so there is always a
// line of it.
func frame(event, data, id string) string {
	if id != "" {
		id = "id: " + id + "\n"
	}
	return fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, event, data)
}

func push(w http.ResponseWriter, text string) bool {
	if _, err := io.WriteString(w, text); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}
