package carrier

import (
	"context"
	"errors"

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
	for i, command := range commands {
		var err error
		if entries[i], err = c.queue.Put(command); err != nil {
			return notOpened[[]queue.Outcome](nil), err
		}
	}
	// Killed from here on, the commands are in the queue, and whoever publishes
	// next publishes them.
	outcomes := make([]queue.Outcome, len(commands))
	closed := snapshot.Close(snapshot.NotOpened{})
	for i, entry := range entries {
		one := c.see(ctx, entry)
		outcomes[i], closed = one.Result, Worse(closed, one.Close)
	}
	return snapshot.Closed[[]queue.Outcome]{Result: outcomes, Close: closed}, nil
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
	return c.publishQueue(ctx, entry)
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
		settled, ok, err := c.settled(entry)
		if err != nil {
			return nil, err
		}
		if ok {
			outcome = settled
			return nil, nil
		}
		return c.plan.TryLock(appendLock, "appending to the plan")
	})
	if err != nil || lock == nil {
		return nil, outcome, err
	}
	settled, ok, err := c.settled(entry) // by whoever had the lock until now
	if err != nil || ok {
		lock.Release()
		return nil, settled, err
	}
	return lock, outcome, nil
}

// settled is the outcome of an entry, if there is one. A later one under the same
// key, for the same command, is as good.
func (c *Carrier) settled(entry queue.Entry) (queue.Outcome, bool, error) {
	s, ok, err := c.queue.Outcome(entry.Command.Key)
	if err != nil || !ok {
		return queue.Outcome{}, false, err
	}
	if s.Ticket == entry.Ticket {
		return s.Outcome, true, nil
	}
	waits, err := c.queue.Waits(entry)
	if err != nil || waits {
		return queue.Outcome{}, false, err
	}
	s, ok, err = c.queue.Outcome(entry.Command.Key)
	return s.Outcome, ok, err
}

// left is the outcome of a command that was left in the queue.
func (c *Carrier) left(command event.Command, err error) queue.Outcome {
	why := problem.From(err, err.Error())
	if queue.MayWait(command.Body) {
		return queue.Outcome{Node: command.Node, Ended: queue.Queued{Why: why.Reason}}
	}
	return queue.Outcome{Node: command.Node, Ended: queue.Unknown{Why: why.Reason}}
}

// publishQueue publishes all that waits, and says what became of one entry. The
// caller has the queue's lock.
func (c *Carrier) publishQueue(ctx context.Context, mine queue.Entry) snapshot.Closed[queue.Outcome] {
	entries, _, err := c.queue.Entries()
	if err != nil {
		return notOpened(c.left(mine.Command, err))
	}
	outcome := c.left(mine.Command, errors.New("it was taken out of the queue meanwhile"))
	closed := c.publishEntries(ctx, entries, func(e queue.Entry, o queue.Outcome) {
		if e.Ticket == mine.Ticket {
			outcome = o
		}
	})
	return snapshot.Closed[queue.Outcome]{Result: outcome, Close: closed}
}

// publishEntries publishes entries and says of each what became of it. The caller
// has the queue's lock.
func (c *Carrier) publishEntries(ctx context.Context, entries []queue.Entry, tell func(queue.Entry, queue.Outcome)) snapshot.Close {
	list := make([]pending, len(entries))
	for i, e := range entries {
		list[i] = pending{command: e.Command, settle: func(o queue.Outcome) {
			tell(e, o)
			if err := c.queue.Settle(e, o); err != nil {
				// The entry stays, and its key tells whoever publishes it again.
				c.log.Warn("what became of a command could not be put down", "key", e.Command.Key, "because", err)
			}
		}}
	}
	return c.publish(ctx, list)
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
	entries, _, err := c.queue.Entries()
	if err != nil {
		return notOpened(0), problem.New(problem.Failed, "queue", "The queue cannot be read: %s.", problem.Words(err)).Because(err)
	}
	closed := c.publishEntries(ctx, entries, func(queue.Entry, queue.Outcome) {})
	return snapshot.Closed[int]{Result: len(entries), Close: closed}, nil
}

// batch is how many events a commit has at most where many are appended at once.
const batch = 1024

// AppendAll appends many commands in few commits, without the queue: a command
// whose outcome is not final was not appended, and is not remembered. The keys
// are each another. The outcomes are in the order of the commands.
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
