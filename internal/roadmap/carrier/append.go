package carrier

import (
	"context"
	"errors"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/queue"
	"holdfast/internal/roadmap/snapshot"
)

// Append appends what commands state, or says what became of each, in their
// order. A command that was asked before under its key is not done again. They
// are published together, each on top of those before it; one that is refused
// does not keep the others back, unless they expect its event. The error is a
// [*problem.Error] from before anything was queued; everything later is in the
// outcomes.
func (c *Carrier) Append(ctx context.Context, commands ...event.Command) (snapshot.Closed[[]queue.Outcome], error) {
	for _, command := range commands {
		if err := check(command); err != nil {
			return notOpened[[]queue.Outcome](nil), err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	entries := make([]queue.Entry, len(commands))
	outcomes := make([]queue.Outcome, len(commands))
	for i, command := range commands {
		var err error
		if entries[i], err = c.queue.Put(command); err == nil {
			continue
		}
		if i == 0 {
			return notOpened[[]queue.Outcome](nil), err
		}
		outcomes[i] = notPut(command, err) // those before it are in the queue
	}
	// Killed from here on, the commands are in the queue, and whoever publishes
	// next publishes them.
	closed := snapshot.Close(snapshot.NotOpened{})
	for i, entry := range entries {
		if outcomes[i].Ended != nil {
			continue
		}
		one := c.see(ctx, entry)
		outcomes[i], closed = one.Result, Worse(closed, one.Close)
	}
	return snapshot.Closed[[]queue.Outcome]{Result: outcomes, Close: closed}, nil
}

// notPut is the outcome of a command that could not be queued.
func notPut(command event.Command, err error) queue.Outcome {
	why := problem.From(err, err.Error())
	if why.Kind == problem.Unknown {
		return queue.Outcome{Node: command.Node, Ended: queue.Unknown{Why: why.Reason}}
	}
	return queue.Outcome{Node: command.Node, Ended: queue.Refused{Problem: why}}
}

// see waits for what becomes of an entry, or publishes the queue itself.
func (c *Carrier) see(ctx context.Context, entry queue.Entry) snapshot.Closed[queue.Outcome] {
	lock, outcome, err := c.turn(ctx, entry)
	if err != nil {
		return notOpened(c.left(entry.Command, err))
	}
	if lock == nil {
		return notOpened(outcome)
	}
	defer lock.Release()
	return c.publishFor(ctx, entry)
}

// check refuses what can never be appended, before anything exists.
func check(command event.Command) error {
	if _, err := event.ParseKey(string(command.Key)); err != nil {
		return err
	}
	err := command.Check()
	var f *event.Fault
	if errors.As(err, &f) {
		return problem.New(problem.Usage, f.Step, "It cannot become an event: %s. Nothing was appended.", f.Reason)
	}
	return err
}

// turn waits until either somebody else has settled the entry, or the queue's
// lock is ours.
func (c *Carrier) turn(ctx context.Context, entry queue.Entry) (*durable.Lock, queue.Outcome, error) {
	var outcome queue.Outcome
	lock, err := durable.Await(ctx, func() (*durable.Lock, error) {
		var settled bool
		if outcome, settled = c.queue.Answer(entry); settled {
			return nil, nil
		}
		return c.plan.TryLock(appendLock, "appending to the plan")
	})
	if err != nil || lock == nil {
		return nil, outcome, err
	}
	outcome, settled := c.queue.Answer(entry) // by whoever had the lock until now
	if settled {
		lock.Release()
		return nil, outcome, nil
	}
	return lock, outcome, nil
}

// left is the outcome of a command that was left in the queue.
func (c *Carrier) left(command event.Command, err error) queue.Outcome {
	why := problem.From(err, err.Error())
	if queue.MayWait(command.Body) {
		return queue.Outcome{Node: command.Node, Ended: queue.Queued{Why: why.Reason}}
	}
	return queue.Outcome{Node: command.Node, Ended: queue.Unknown{Why: why.Reason}}
}

// publishFor publishes all that waits, and says what became of one entry. The
// caller has the queue's lock.
func (c *Carrier) publishFor(ctx context.Context, mine queue.Entry) snapshot.Closed[queue.Outcome] {
	entries, err := c.queue.Take()
	if err != nil {
		return notOpened(c.left(mine.Command, err))
	}
	var outcome queue.Outcome
	list := make([]pending, len(entries))
	waits := false
	for i, e := range entries {
		if e.Ticket != mine.Ticket {
			list[i] = c.pendingEntry(e)
			continue
		}
		waits = true
		list[i] = pending{command: e.Command, queued: true, settle: func(o queue.Outcome) { outcome = c.settleMine(e, o) }}
	}
	if !waits {
		// It was answered, and another command under its key put its own answer in
		// the place of that. The log tells what became of it.
		list = append(list, pending{command: mine.Command, settle: func(o queue.Outcome) { outcome = o }})
	}
	closed := c.publish(ctx, list)
	return snapshot.Closed[queue.Outcome]{Result: outcome, Close: closed}
}

// pendingEntry is an entry for which nobody waits here. Where its outcome cannot be
// put down it stays, and is decided again by whoever publishes next: nobody was
// told anything.
func (c *Carrier) pendingEntry(e queue.Entry) pending {
	return pending{command: e.Command, queued: true, others: true, abandoned: abandoned(e), settle: func(o queue.Outcome) {
		if err := c.queue.Settle(e, o); err != nil {
			c.log.Warn("what became of a command could not be put down", "key", e.Command.Key, "because", err)
		}
	}}
}

// settleMine settles the entry whose caller is told the outcome right away. It is
// taken out of the queue even where the outcome cannot be put down: published
// again, it might come out otherwise.
func (c *Carrier) settleMine(e queue.Entry, o queue.Outcome) queue.Outcome {
	err := c.queue.Settle(e, o)
	if err == nil {
		return o
	}
	c.log.Warn("what became of a command could not be put down", "key", e.Command.Key, "because", err)
	no, refused := o.Ended.(queue.Refused)
	if !refused && queue.MayWait(e.Command.Body) {
		return o // it waits, or is found by its key
	}
	if err := c.queue.Remove(e); err != nil && refused {
		o.Ended = queue.Unknown{Why: "it was refused (" + no.Problem.Reason + "), but could not be taken out of the queue: " + problem.Words(err)}
	}
	return o
}

// abandoned says that an entry may not wait and that its caller is surely gone: a
// caller waits no longer than its patience.
func abandoned(e queue.Entry) bool {
	return !queue.MayWait(e.Command.Body) && time.Since(e.At).Abs() > 2*patience
}

// Publish publishes what waits in the queue. It returns how many commands were
// tried.
func (c *Carrier) Publish(ctx context.Context) (snapshot.Closed[int], error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := c.lock(ctx, appendLock, "publishing the plan's queue")
	if err != nil {
		return notOpened(0), err
	}
	defer lock.Release()
	entries, err := c.queue.Take()
	if err != nil {
		return notOpened(0), problem.New(problem.Failed, "queue", "The queue cannot be read: %s.", problem.Words(err)).Because(err)
	}
	list := make([]pending, len(entries))
	for i, e := range entries {
		list[i] = c.pendingEntry(e)
	}
	return snapshot.Closed[int]{Result: len(entries), Close: c.publish(ctx, list)}, nil
}

// batch is how many events a commit has at most where many are appended at once.
const batch = 1024

// AppendAll appends many commands in few commits, without the queue: what cannot
// be appended now is refused, and nothing is remembered of it. The keys are each
// another. The outcomes are in the order of the commands.
func (c *Carrier) AppendAll(ctx context.Context, commands []event.Command) (snapshot.Closed[[]queue.Outcome], error) {
	seen := map[event.Key]bool{}
	for _, command := range commands {
		if err := check(command); err != nil {
			return notOpened[[]queue.Outcome](nil), err
		}
		if seen[command.Key] {
			return notOpened[[]queue.Outcome](nil), queue.Conflict(command.Key)
		}
		seen[command.Key] = true
	}
	lock, err := c.lock(ctx, appendLock, "appending to the plan")
	if err != nil {
		return notOpened[[]queue.Outcome](nil), err
	}
	defer lock.Release()
	outcomes := make([]queue.Outcome, len(commands))
	closed := snapshot.Close(snapshot.NotOpened{})
	for from := 0; from < len(commands); from += batch {
		to := min(from+batch, len(commands))
		list := make([]pending, 0, to-from)
		for i := from; i < to; i++ {
			list = append(list, pending{command: commands[i], settle: func(o queue.Outcome) { outcomes[i] = o }})
		}
		within, cancel := context.WithTimeout(ctx, patience)
		closed = Worse(closed, c.publish(within, list))
		cancel()
	}
	return snapshot.Closed[[]queue.Outcome]{Result: outcomes, Close: closed}, nil
}

// Queue is the commands that wait and the outcomes that are kept.
func (c *Carrier) Queue() *queue.Queue { return c.queue }

// Withdraw takes a command out of the queue, by its key.
func (c *Carrier) Withdraw(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := c.lock(ctx, appendLock, "withdrawing from the plan's queue")
	if err != nil {
		return err
	}
	defer lock.Release()
	return c.queue.Withdraw(key)
}

// AskedAt is when the command of a key was asked for, if it waits in the queue or
// is in the log as it was read last.
func (c *Carrier) AskedAt(ctx context.Context, key event.Key) (time.Time, bool) {
	entries, _, err := c.queue.Entries()
	if err == nil {
		for _, e := range entries {
			if e.Command.Key == key {
				return e.Command.At, true
			}
		}
	}
	view, err := c.View(ctx)
	if err != nil {
		return time.Time{}, false
	}
	defer view.Close()
	env, ok, err := view.ByKey(key)
	if err != nil || !ok {
		return time.Time{}, false
	}
	return env.Event.At(), true
}
