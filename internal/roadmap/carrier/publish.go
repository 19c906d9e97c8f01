package carrier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/index"
	"holdfast/internal/roadmap/queue"
	"holdfast/internal/roadmap/snapshot"
)

// pending is a command that is being published.
type pending struct {
	command   event.Command
	queued    bool // it is in the queue
	others    bool // whoever waits for it, if anybody, waits for as long as they like
	abandoned bool // its caller is gone, and it may not wait
	settle    func(queue.Outcome)
}

// publication is one run of publishing: whoever holds the queue's lock, with all
// that waits. Each pending command is settled once,
// or left in the queue.
type publication struct {
	carrier  *Carrier
	waiting  []*pending
	fresh    bool // the index is as new as the remote was at some time of this run
	attempts int  // commits that were offered
	offered  map[event.Key]event.ID
	unsure   bool // a commit was offered, and what came of it is not known
	close    snapshot.Close
}

// publish settles all of list; if time runs out before, all that is not others'. The
// caller has the queue's lock.
func (c *Carrier) publish(ctx context.Context, list []pending) snapshot.Close {
	p := publication{carrier: c, offered: map[event.Key]event.ID{}, close: snapshot.NotOpened{}}
	for i := range list {
		p.waiting = append(p.waiting, &list[i])
	}
	if err := c.unmoved(); err != nil {
		p.leave()
		p.giveUp(err)
	}
	for len(p.waiting) > 0 {
		err := p.once(ctx)
		if err != nil && ctx.Err() != nil {
			p.leave()
			err = problem.New(problem.Failed, "deadline", "There was no time for it any more.").Because(err)
		}
		if err != nil {
			p.giveUp(err)
		}
	}
	return p.close
}

// unmoved refuses to publish to where the plan was kept when it was opened, if it
// is kept elsewhere by now. The caller has the queue's lock.
func (c *Carrier) unmoved() error {
	now, err := readSettings(c.plan)
	if err == nil && now != c.at {
		err = problem.Refusal("moved", "This home's plan is kept elsewhere since it was opened. Nothing was appended.").
			WithHint("the same command again appends it there; a desk that runs has to be started again")
	}
	return err
}

// once plans what waits and offers it to the remote. An error ends the run.
func (p *publication) once(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return problem.New(problem.Failed, "deadline", "The plan was not reached in time.").Because(err)
	}
	draft, err := p.plan(ctx)
	var damaged *index.Damaged
	if errors.As(err, &damaged) {
		made := p.carrier.Rebuild(ctx, damaged.Error())
		p.close, p.fresh = Worse(p.close, made.Close), false
		return made.Result.Err
	}
	if err != nil {
		return readFailed(err)
	}
	for _, d := range draft.present {
		p.settle(d.pending, d.ended)
	}
	if len(draft.refused) > 0 && !p.fresh {
		return p.refresh(ctx) // a refusal must be of what is there now
	}
	for _, d := range draft.refused {
		p.settle(d.pending, d.ended)
	}
	if len(draft.fresh) == 0 {
		return nil
	}
	return p.offer(ctx, draft)
}

// settle answers a command and lets it wait no longer.
func (p *publication) settle(w *pending, ended queue.Ended) {
	w.settle(queue.Outcome{Node: w.command.Node, Attempts: p.attempts, Ended: ended})
	p.waiting = slices.DeleteFunc(p.waiting, func(other *pending) bool { return other == w })
}

// leave leaves what is others' to them: it is our time that is up, or our disk that is
// full, and not theirs.
// It is in the queue still, and whoever publishes next looks for its key first.
func (p *publication) leave() {
	p.waiting = slices.DeleteFunc(p.waiting, func(w *pending) bool { return w.others })
}

// giveUp answers all that waits: nothing more can be done now.
func (p *publication) giveUp(err error) {
	why := problem.From(err, err.Error())
	if why.Kind == problem.Failed {
		p.leave() // something is wrong here, and says nothing of what others asked for
	}
	for _, w := range slices.Clone(p.waiting) {
		_, tried := p.offered[w.command.Key]
		switch {
		case tried && p.unsure:
			p.settle(w, queue.Unknown{Why: why.Reason})
		case !waits(why) && why.Kind != problem.Unknown:
			p.settle(w, queue.Refused{Problem: why})
		case !w.queued:
			p.settle(w, queue.Refused{Problem: problem.Refusal("unreachable", "The plan's remote could not be reached. Nothing was appended, and nothing waits in the queue: %s", why.Reason).Because(err)})
		case queue.MayWait(w.command.Body):
			p.settle(w, queue.Queued{Why: why.Reason})
		default:
			p.settle(w, queue.Refused{Problem: problem.Refusal("unreachable", "The plan's remote could not be reached, and this may not wait in the queue, since nobody would know meanwhile who holds the node. Nothing was appended: %s", why.Reason).Because(err)})
		}
	}
}

// waits says whether a reason to give up may go away by itself.
func waits(e *problem.Error) bool {
	return e.Step == "fetch" || e.Step == "deadline" || e.Step == "busy"
}

// refresh reads what the remote has.
func (p *publication) refresh(ctx context.Context) error {
	read := p.carrier.Refresh(ctx)
	p.close = Worse(p.close, read.Close)
	if read.Result.Err != nil {
		return read.Result.Err
	}
	if r, ok := read.Result.Trust.(Rewritten); ok {
		return r.Refusal()
	}
	p.fresh = true
	return nil
}

// offer makes a commit of the draft and publishes it.
func (p *publication) offer(ctx context.Context, d draft) error {
	base, err := parse(d.at.Commit)
	if err != nil {
		return err
	}
	commit, update, err := p.write(ctx, d, base)
	if err != nil {
		return err
	}
	p.attempts++
	for _, e := range d.fresh {
		p.offered[e.pending.command.Key] = e.envelope.Event.ID()
	}
	switch answer := p.carrier.remote.Publish(ctx, commit, base).(type) {
	case git.Accepted:
		p.accepted(ctx, d, update)
		return nil
	case git.Stale:
		return p.again(ctx, base, nil)
	case git.Rejected:
		if raced(answer.Words) {
			// By somebody else, or by ourselves: something on the way may have sent
			// the push twice, and this is the answer to the second.
			p.unsure = true
			return p.again(ctx, base, nil)
		}
		return p.again(ctx, base, publicationRefused(answer.Words))
	case git.NotSent:
		return p.again(ctx, base, publicationRefused(answer.Words))
	case git.Unsettled:
		p.unsure = true
		return p.again(ctx, base, problem.New(problem.Unknown, "publication", "Whether it was appended cannot be told: %s.", answer.Words))
	default:
		return problem.New(problem.Failed, "publication", "git's answer to the push is not understood.")
	}
}

// raced says whether a remote refused because another push was at the same ref:
// it may not be seen there yet. Which words a server has for it is git's habit; one
// with other words costs a refusal that says so, and nothing else.
func raced(words string) bool {
	for _, habit := range []string{"cannot lock ref", "failed to update ref", "incorrect old value", "reference already exists", "fetch first", "stale info"} {
		if strings.Contains(words, habit) {
			return true
		}
	}
	return false
}

func publicationRefused(words string) error {
	return problem.Refusal("publication-refused", "The plan's remote does not take it: %s. Nothing was appended.", words)
}

// accepted: the remote has the commit. Whoever waits is answered as soon as the
// index has it too, and so will not be asked again.
func (p *publication) accepted(ctx context.Context, d draft, u index.Update) {
	c := p.carrier
	lock, err := c.lock(ctx, readLock, "appending to the plan")
	if err == nil {
		defer lock.Release()
		err = c.index().Apply(ctx, u)
	}
	p.fresh = err == nil
	for _, e := range d.fresh {
		p.settle(e.pending, queue.Appended{ID: e.envelope.Event.ID(), Commit: u.To.Commit})
	}
	if err == nil {
		err = c.noteVerified(ctx, u)
	}
	if err != nil && !errors.Is(err, index.ErrMoved) {
		// It is in the log all the same; the next reader reads it there.
		c.log.Warn("what was appended is not in the index yet", "because", err)
	}
}

// again follows a commit that was not accepted. The tip is read: one that moved
// is built on in another round, and whether our commit is in it the keys tell. One
// that did not move leaves the reason; nil stands for a lease that was lost, and
// then to somebody whose push is not seen yet.
func (p *publication) again(ctx context.Context, base git.ID, reason error) error {
	p.fresh = false
	if err := p.refresh(ctx); err != nil {
		if p.unsure || reason == nil {
			return err
		}
		return errors.Join(err, reason)
	}
	at, err := p.carrier.readAt(ctx)
	var damaged *index.Damaged
	switch {
	case errors.As(err, &damaged): // which the next round mends
		return p.pause(ctx)
	case err != nil:
		return err
	case at == base.String() && reason != nil:
		return reason
	}
	p.unsure = p.unsure && at == base.String()
	return p.pause(ctx)
}

// pause waits for a time by chance, longer after each attempt, so that writers
// who collide do not collide again.
func (p *publication) pause(ctx context.Context) error {
	most := min(20*time.Millisecond<<min(p.attempts, 7), 2*time.Second)
	select {
	case <-ctx.Done():
		return problem.New(problem.Failed, "deadline", "Others were faster, %d times; there was no time for another try.", p.attempts).Because(ctx.Err())
	case <-time.After(rand.N(most)):
		return nil
	}
}

// write makes the commit of a draft on top of base, and the update of the index
// that it will be.
func (p *publication) write(ctx context.Context, d draft, base git.ID) (git.ID, index.Update, error) {
	c := p.carrier
	u := index.Update{From: d.at.Commit, To: d.at}
	u.To.Committed, u.To.Read = later(d.at.Committed), time.Now()
	changes, err := c.changes(&u, d)
	if err != nil {
		return git.ID{}, u, err
	}
	commit, err := c.remote.Write(ctx, git.Commit{Parent: base, Time: u.To.Committed, Message: message(d), Changes: changes})
	if err != nil {
		return git.ID{}, u, problem.New(problem.Failed, "write", "The commit could not be written: %s. Nothing was appended.", problem.Words(err)).Because(err)
	}
	u.To.Commit = commit.String()
	return commit, u, nil
}

// later is now, or the newest commit's time where that is later: git is slow when
// times of commits go backwards.
func later(than time.Time) time.Time {
	now := time.Now().UTC().Truncate(time.Second)
	if now.Before(than) {
		return than
	}
	return now
}

// message says in git's own log what a commit has.
func message(d draft) string {
	if len(d.fresh) == 1 {
		e := d.fresh[0].envelope.Event
		return fmt.Sprintf("%s: %s\n", e.Node(), e.Kind())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d events\n\n", len(d.fresh))
	for _, f := range d.fresh[:min(len(d.fresh), 100)] {
		fmt.Fprintf(&b, "%s: %s\n", f.envelope.Event.Node(), f.envelope.Event.Kind())
	}
	return b.String()
}

// changes puts the new events into the tail, and seals it where it would have
// more than it may.
func (c *Carrier) changes(u *index.Update, d draft) ([]git.Change, error) {
	tail := d.tail
	written := len(tail)
	for _, f := range d.fresh {
		tail = append(tail, f.envelope)
		u.Events = append(u.Events, f.envelope)
		u.To.Seq = f.envelope.Seq
	}
	var changes []git.Change
	from := 0
	for ; len(tail)-from > maxTail; from += maxTail {
		if u.To.Sealed == maxSegments {
			return nil, problem.Refusal("log-full", "The plan's log is full. Nothing was appended.")
		}
		u.To.Sealed++
		u.To.SealedSeq = tail[from+maxTail-1].Seq
		data := lines(tail[from : from+maxTail])
		path := segmentPath(u.To.Sealed)
		changes = append(changes, git.Change{Path: path, Data: data})
		u.Segments = append(u.Segments, index.Segment{Number: u.To.Sealed, Object: c.repo.Format().Blob(data).String()})
	}
	for i, e := range tail {
		switch {
		case i < from && i < written:
			changes = append(changes, git.Change{Path: tailPath(e), Delete: true})
		case i >= from && i >= written:
			changes = append(changes, git.Change{Path: tailPath(e), Data: e.Bytes()})
		}
	}
	return changes, nil
}

// lines is a segment.
func lines(list []event.Envelope) []byte {
	var b []byte
	for _, e := range list {
		b = append(append(b, e.Bytes()...), '\n')
	}
	return b
}
