package root

import (
	"context"
	"maps"
	"slices"
	"sync"

	"holdfast/internal/failpoint"
	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/problem"
)

// lane is the acts of one instance, which run one after the other.
type lane struct {
	mu    sync.Mutex
	tasks []*task // the first is under way
	wake  chan struct{}
}

// task is an act and what goes with it. All but asked is its lane's goroutine's alone, and
// pause is under the root's lock.
type task struct {
	asked record // as it was when the task was made
	record
	act   intent.Act
	gate  *gate  // of a shim that waits
	pause string // why nothing can be done now
}

func newTask(is record, act intent.Act) *task {
	return &task{asked: is, record: is, act: act}
}

func (l *lane) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *lane) first() *task {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tasks) == 0 {
		return nil
	}
	return l.tasks[0]
}

// stopWaits says whether a stop waits behind the first.
func (l *lane) stopWaits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.tasks[1:], func(t *task) bool { return t.asked.Kind == intent.KindStop })
}

// next drops the first, and puts again in its place at the end where it is not nil.
func (l *lane) next(again *task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks = l.tasks[1:]
	if again != nil {
		l.tasks = append(l.tasks, again)
	}
}

// add puts a task into its instance's lane, unless one of the same operation is there.
func (r *Root) add(ctx context.Context, t *task) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending {
		return problem.New(problem.Failed, "root-ending", "The box's root is about to end. Nothing was changed.").WithHint("ask again in a moment")
	}
	l, ok := r.lanes[t.Instance]
	if !ok {
		l = &lane{wake: make(chan struct{}, 1)}
		r.lanes[t.Instance] = l
		r.work.Go(func() { r.drive(ctx, l) })
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, is := range l.tasks {
		if is.asked.Operation == t.asked.Operation {
			return nil
		}
	}
	l.tasks = append(l.tasks, t)
	l.poke()
	return nil
}

// drive runs the acts of a lane until ctx is done: the step under way is finished.
func (r *Root) drive(ctx context.Context, l *lane) {
	for ctx.Err() == nil {
		t := l.first()
		if t == nil {
			select {
			case <-ctx.Done():
			case <-l.wake:
			}
			continue
		}
		r.step(ctx, l, t)
	}
	if t := l.first(); t != nil && t.gate != nil {
		t.gate.drop()
	}
}

// step does one effect of the first act of a lane.
func (r *Root) step(ctx context.Context, l *lane, t *task) {
	e := t.act.Next()
	name := intent.Name(t.Kind, e)
	if _, over := e.(intent.Finished); over {
		l.next(nil)
		r.said()
		return
	}
	if p, waits := e.(intent.Pause); waits {
		r.pause(ctx, l, t, p.Why)
		return
	}
	failpoint.Here(name + failpoint.Before)
	// A step that was begun is finished, whoever wants this root to end.
	ev := r.do(context.WithoutCancel(ctx), t, e)
	failpoint.Here(name + failpoint.After)
	r.Log.Debug("step", "operation", t.Operation, "instance", t.Instance, "did", name, "came", ev)
	t.act = t.act.After(ev)
	if ev == (intent.Committed{}) {
		r.paused(t, "") // it came further
	}
	r.said()
}

// pause waits until it is worth trying again. A launch that can do nothing now does not
// keep a stop waiting: it goes behind, and is gone on with from its row.
func (r *Root) pause(ctx context.Context, l *lane, t *task, why string) {
	if r.paused(t, why) {
		r.Log.Warn("waits", "operation", t.Operation, "instance", t.Instance, "why", why)
	}
	launch, is := t.act.(intent.Launch)
	if is && l.stopWaits() {
		if t.gate != nil {
			t.gate.drop()
			t.gate = nil
		}
		l.next(newTask(t.record, intent.Resume(launch.Row())))
		return
	}
	r.wait(ctx, l.wake)
	t.act = t.act.After(intent.Again{})
}

// paused notes why a task does nothing now, and says whether that is new.
func (r *Root) paused(t *task, why string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.pause == why {
		return false
	}
	t.pause = why
	r.tell()
	return true
}

// ordered are the acts in the lanes of which nothing was in the journal when they were asked
// for.
func (r *Root) ordered() []Intent {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Intent
	for _, instance := range slices.Sorted(maps.Keys(r.lanes)) {
		l := r.lanes[instance]
		l.mu.Lock()
		for _, t := range l.tasks {
			if is := t.asked; is.Phase == intent.Ordered {
				list = append(list, Intent{is.Operation, is.Kind, is.Instance, is.Incarnation, is.Stamp.String(), is.Phase, t.pause})
			}
		}
		l.mu.Unlock()
	}
	return list
}

// said wakes who waits for a change of the status.
func (r *Root) said() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell()
}
