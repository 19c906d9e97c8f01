package desk

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// maxWait is the longest that a request waits for a change, and lookEvery how
// often it looks although no bell rang: a booth need not be watched.
const (
	maxWait   = 60 * time.Second
	lookEvery = 10 * time.Second
)

// serveMarksJSON gives the marks of a booth. With since=REV and wait=DUR it waits
// until the rev differs, a lower one included; when the time is over it gives
// what there is. Marks that are damaged are a 409, with what hydrated.
func (d *Desk) serveMarksJSON(w http.ResponseWriter, r *http.Request) error {
	name, err := folder.Existing(r.PathValue("booth"))
	if err != nil {
		return err
	}
	p, err := parsePoll(r)
	if err != nil {
		return err
	}
	read, err := d.await(r, name, p)
	if err != nil {
		return err
	}
	return writeReading(w, read)
}

// poll is what a request for marks waits for.
type poll struct {
	since   int64 // -1 for none
	wait    time.Duration
	waiting []string
}

func parsePoll(r *http.Request) (poll, error) {
	q := r.URL.Query()
	p := poll{since: -1}
	var err error
	if s := q.Get("since"); s != "" {
		if p.since, err = strconv.ParseInt(s, 10, 64); err != nil || p.since < 0 {
			return p, problem.New(problem.Usage, "since", "since is a rev, a whole number; %q is none.", s)
		}
	}
	if s := q.Get("wait"); s != "" {
		if p.wait, err = time.ParseDuration(s); err != nil || p.wait < 0 {
			return p, problem.New(problem.Usage, "wait", "wait is a duration, as in 30s; %q is none.", s)
		}
		p.wait = min(p.wait, maxWait)
	}
	if s := q.Get("waiting"); s != "" {
		p.waiting = strings.Split(s, ",")
	}
	return p, nil
}

// await reads the marks of a booth until they are what the poll waits for.
func (d *Desk) await(r *http.Request, name folder.Name, p poll) (marks.Reading, error) {
	b, err := d.Data.Booth(name) // no bell hangs for what is not there
	if err != nil {
		return marks.Reading{}, err
	}
	b.Close()
	select {
	case d.polls <- struct{}{}:
		defer func() { <-d.polls }()
	default:
		return marks.Reading{}, problem.Refusal(web.StepBusy, "%d requests wait for answers already, and no more can. Ask again in a moment.", maxPolls)
	}
	over := time.NewTimer(p.wait)
	defer over.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		bell := d.bells.wait(name.String())
		read, err := booth.Marks(d.Data, name)
		if err != nil || !read.Whole() || p.since < 0 || read.Rev != p.since {
			return read, err
		}
		d.noteWaiting(r, name, read.Asked(p.waiting))
		select {
		case <-bell:
			pause(r.Context(), settleDown)
		case <-tick.C:
		case <-over.C:
			return read, nil
		case <-web.Stopping(r.Context()):
			return read, nil
		case <-r.Context().Done():
			return read, r.Context().Err()
		}
	}
}

// settleDown is how long a poll lets a bell ring on before it reads: who rings it
// without end costs a read each time, and no more.
const settleDown = 10 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// noteWaiting notes that an asker still waits for questions. It cannot fail the
// request.
func (d *Desk) noteWaiting(r *http.Request, name folder.Name, picks []string) {
	switch web.PartyOf(r).(type) {
	case access.Operator, access.Worker:
	default:
		return
	}
	if err := d.Ledger.Waiting(name, picks, d.Now()); err != nil {
		d.Log.Warn("who waits was not noted", "booth", plain.Text(name.String()), "err", err)
	}
}

func writeReading(w http.ResponseWriter, read marks.Reading) error {
	shown, err := read.Show()
	if err != nil {
		return err
	}
	if read.Whole() {
		return web.WriteJSON(w, http.StatusOK, shown)
	}
	p := marks.RefuseDamaged(read)
	h := w.Header()
	body, err := json.Marshal(struct {
		web.Problem
		booth.Damage
		Rev int64 `json:"rev"`
	}{web.NewProblem(p), booth.Damage{Error: read.Why(), Salvaged: shown.Marks}, shown.Rev})
	if err != nil {
		return err
	}
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusConflict)
	_, _ = w.Write(append(body, '\n'))
	return nil
}
