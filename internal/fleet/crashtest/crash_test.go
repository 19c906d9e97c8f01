package crashtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
)

// story is what is done while a process is killed at one of its steps.
type story struct {
	name  string
	steps []string
	tell  func(h *house) (verdict string)
}

var stories = []story{
	{"run", []string{
		"console.run.note", "console.run.look-claim", "console.run.reserve", "console.run.take", "console.run.read-session",
		"console.run.put-order", "console.run.read-ack", "console.run.release-hold", "console.run.conclude",
		"agent.session", "agent.hand",
		"launch.check-inventory", "launch.commit-intended", "launch.commit-installed", "launch.check-launch", "launch.spawn",
		"launch.commit-spawned", "launch.raise", "launch.release", "launch.commit-running", "launch.answer-running",
		"shim.lock", "shim.identity", "shim.went", "shim.start",
	}, tellRun},
	{"found at its gate", []string{"launch.find"}, func(h *house) string { return tellTwice(h, "launch.commit-spawned:after") }},
	{"found let through", []string{"launch.find"}, func(h *house) string { return tellTwice(h, "launch.release:after") }},
	{"refused", []string{"launch.commit-refused", "launch.raise", "launch.answer-refused", "console.run.abandon"}, tellRefused},
	{"no hold", []string{"console.run.forgo"}, tellForgo},
	{"stop", []string{
		"console.stop.note", "console.stop.look-claim", "console.stop.settle-run", "console.stop.read-session", "console.stop.put-order",
		"console.stop.read-ack", "console.stop.read-receipt", "console.stop.release-claim", "console.stop.conclude",
		"stop.match", "stop.commit-fenced", "stop.raise", "stop.look", "stop.end", "stop.commit-receipt", "stop.put",
		"stop.answer-stopped", "stop.commit-handed",
		"shim.exit",
	}, tellRun},
	{"ended by itself", []string{"stop.look", "stop.commit-receipt", "stop.put"}, tellEnded},
	{"lingers", []string{"stop.answer-stopping"}, tellLingers},
	{"mismatched", []string{"stop.commit-refused", "stop.answer-refused"}, tellMismatched},
}

// table is what is shown in the end.
var table struct {
	sync.Mutex
	rows []string
}

// case F12. Whatever is killed at whatever step, and started again: start-up ends, the
// operation ends, there are never two of an instance, no receipt while one lives, and in the
// end nothing is alive, held or pending.
//
// Red when: a launch that was resumed is spawned again though it went (starts counts two);
// when Look takes a pid that is there for gone.
func TestACrashAtAnyStepEndsWell(t *testing.T) {
	begun := time.Now()
	t.Run("all", func(t *testing.T) {
		for _, s := range stories {
			for _, k := range kills() {
				if k.story == s.name && chosen(k) {
					t.Run(s.name+"/"+k.moment, func(t *testing.T) {
						t.Parallel()
						start := time.Now()
						h := newHouse(t, k.moment)
						verdict := s.tell(h)
						if !h.killed() {
							t.Errorf("nothing was killed\n%s", h.logs())
						}
						table.Lock()
						defer table.Unlock()
						table.rows = append(table.rows, fmt.Sprintf("%-36s %-18s %5.1f s  %s", k.moment, s.name, time.Since(start).Seconds(), verdict))
					})
				}
			}
		}
	})
	slices.Sort(table.rows)
	t.Logf("%d moments in %.0f s\n%s", len(table.rows), time.Since(begun).Seconds(), strings.Join(table.rows, "\n"))
}

// arm tells the next shim when to end, if it is the shim's moment.
func (h *house) arm() {
	if strings.HasPrefix(h.moment, "shim.") {
		h.must(os.WriteFile(filepath.Join(h.home, "box", "shim-failpoint"), []byte(h.moment), 0o600))
		h.must(os.WriteFile(h.once, nil, 0o600)) // of the shim alone: nothing else is started anew
	}
}

func (h *house) armed() bool { return exists(filepath.Join(h.home, "box", "shim-failpoint")) }

// work is a command that says when there are two of it.
func (h *house) work(rest string) []string {
	return []string{"sh", "-c", fmt.Sprintf(
		"exec 9>>%[1]s/lock; flock -n 9 || echo twice >> %[1]s/twice; echo started >> %[1]s/starts; %[2]s", h.dir, rest)}
}

// started waits until the work has come to say that it was started.
func (h *house) started() {
	h.Helper()
	for until := time.Now().Add(limit); !exists(filepath.Join(h.dir, "starts")); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			h.Fatalf("it never says that it was started\n%s", h.logs())
		}
	}
}

func (h *house) run(key string, work ...string) (int, string) {
	h.Helper()
	return h.says(append([]string{"run", h.mark, "--key", key, "--"}, work...)...)
}

func (h *house) stop(key string) (int, string) {
	h.Helper()
	return h.says("--json", "stop", h.mark, "--key", key, "--grace", "1s")
}

func tellRun(h *house) string {
	h.arm()
	h.serve()
	verdict := ""
	switch code, out := h.run("run-1", h.work("exec sleep 1000")...); {
	case code == 0:
		verdict = "running"
	case strings.HasPrefix(h.moment, "shim."):
		// Refused: the shim died at its gate. The next run is another.
		verdict = "refused"
		h.noneAlive()
		if code, out = h.run("run-2", h.work("exec sleep 1000")...); code != 0 {
			h.Fatalf("a second run: %d %s", code, out)
		}
		verdict += ", run again"
	default:
		h.Fatalf("run: %d %s\n%s", code, out, h.logs())
	}
	died := h.moment == "shim.start:after" || h.moment == "shim.start:before" || h.moment == "shim.went:after"
	if !died {
		h.started() // before that what looks for a second one is alive beside it
		if n := h.alive(); n != 1 {
			h.Errorf("%d are alive", n)
		}
	}
	return verdict + h.stopped("stop-1")
}

// stopped stops the instance, and looks at all that must hold in the end.
func (h *house) stopped(key string) string {
	h.Helper()
	code, out := h.stop(key)
	if code != 0 {
		h.Fatalf("stop: %d %s\n%s", code, out, h.logs())
	}
	var said struct {
		Receipt struct {
			Key   string `json:"key"`
			Proof string `json:"proof"`
		} `json:"receipt"`
	}
	h.must(json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &said))
	h.noneAlive()
	v, err := h.ops.Verify(h.Context(), said.Receipt.Key)
	h.must(err)
	if !v.OK {
		h.Errorf("%+v", v)
	}
	h.settled()
	return ", stopped (" + said.Receipt.Proof + ")"
}

func (h *house) noneAlive() {
	h.Helper()
	if n := h.alive(); n != 0 {
		h.Errorf("%d are alive", n)
	}
}

// settled waits until nothing is pending, and looks whether anything was left or done twice.
func (h *house) settled() {
	h.Helper()
	for until := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		s := h.ready()
		if len(s.Intents) == 0 {
			break
		}
		if time.Now().After(until) {
			h.Fatalf("it is never settled: %+v", s.Intents)
		}
	}
	holds, _, err := h.console.Holds(h.Context())
	h.must(err)
	if len(holds) != 0 {
		h.Errorf("held: %+v", holds)
	}
	if exists(filepath.Join(h.dir, "twice")) {
		h.Error("two of the instance were alive at once")
	}
	if h.armed() {
		h.Error("the shim's moment never came")
	}
}

// tellTwice kills twice: once so that the second moment is come to at all.
func tellTwice(h *house, first string) string {
	second, once := h.moment, h.once
	h.moment, h.once = first, filepath.Join(h.dir, "first")
	h.begin()
	h.ready()
	cmd := h.command(h.Context(), append([]string{"run", h.mark, "--key", "run-1", "--"}, h.work("exec sleep 1000")...)...)
	h.must(cmd.Start())
	for !h.killed() {
		time.Sleep(3 * time.Millisecond)
	}
	h.moment, h.once = second, once
	h.restart()
	for !h.killed() {
		time.Sleep(3 * time.Millisecond)
	}
	h.restart()
	h.must(cmd.Wait())
	return "running" + h.stopped("stop-1")
}

func tellRefused(h *house) string {
	h.serve()
	verdict := "refused"
	code, out := h.run("run-1", "/no/such/program")
	switch {
	case code == 0 && h.moment == "launch.commit-refused:before":
		// Whoever comes after finds that it went, and not that it came to nothing.
		verdict = "running, ended" + h.stopped("stop-0")
	case code == 0 || !strings.Contains(out, "/no/such/program"):
		h.Errorf("run: %d %s", code, out)
	}
	h.settled()
	h.noneAlive()
	if code, out := h.run("run-2", h.work("exec sleep 1000")...); code != 0 {
		h.Fatalf("a second run: %d %s", code, out)
	}
	return verdict + ", run again" + h.stopped("stop-1")
}

// tellForgo lets nobody hold the box.
func tellForgo(h *house) string {
	h.serve()
	change := func(f func(*roster.Roster) error) {
		_, err := h.ops.Roster.Update(h.Context(), h.ops.Key, f)
		h.must(err)
	}
	change(func(r *roster.Roster) error {
		return r.ReserveActivation("act", roster.Activation{Scope: roster.All(), Console: h.ops.Name, ReservedAt: time.Now().UTC().Truncate(time.Second)})
	})
	code, out := h.run("run-1", h.work("exec sleep 1000")...)
	if code == 0 {
		h.Errorf("run: %d %s", code, out)
	}
	change(func(r *roster.Roster) error { return r.CancelActivation("act") })
	h.settled()
	h.noneAlive()
	if code, out := h.run("run-2", h.work("exec sleep 1000")...); code != 0 {
		h.Fatalf("a second run: %d %s", code, out)
	}
	return "refused, run again" + h.stopped("stop-1")
}

func tellEnded(h *house) string {
	h.serve()
	if code, out := h.run("run-1", h.work("exit 3")...); code != 0 {
		h.Fatalf("run: %d %s", code, out)
	}
	for h.alive() != 0 {
		time.Sleep(3 * time.Millisecond)
	}
	return "ended" + h.stopped("stop-1")
}

// tellLingers ends the shim, whose lock somebody has all the same.
func tellLingers(h *house) string {
	h.serve()
	if code, out := h.run("run-1", h.work("exec sleep 1000")...); code != 0 {
		h.Fatalf("run: %d %s", code, out)
	}
	found, err := filepath.Glob(filepath.Join(h.home, "box", "instances", h.mark, "1", "shim-*", "identity"))
	if err != nil || len(found) != 1 {
		h.Fatal(found, err)
	}
	var who struct {
		PID int `json:"pid"`
	}
	data, err := os.ReadFile(found[0])
	h.must(err)
	h.must(json.Unmarshal(data, &who))
	h.must(syscall.Kill(who.PID, syscall.SIGKILL))
	lock, err := os.OpenFile(filepath.Join(filepath.Dir(found[0]), "lock"), os.O_RDWR, 0)
	h.must(err)
	h.must(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	go func() {
		for !h.killed() {
			time.Sleep(3 * time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
		if exists(filepath.Join(h.home, "bucket", "evidence")) {
			h.Error("a receipt of what is not known to have ended")
		}
		lock.Close()
	}()
	return "ended" + h.stopped("stop-1")
}

// tellMismatched orders a stop of something else than what is installed, in the console's
// own hand.
func tellMismatched(h *house) string {
	h.serve()
	if code, out := h.run("run-1", h.work("exec sleep 1000")...); code != 0 {
		h.Fatalf("run: %d %s", code, out)
	}
	v, err := h.ops.Roster.Read(h.Context())
	h.must(err)
	is := claimOf(h, v.Roster)
	put := func() {
		o := order.Order{
			Schema: order.Schema, Bucket: is.Bucket, Console: h.ops.Name, Operation: "stop-0", Kind: order.Stop, BoxID: is.BoxID, Enrollment: is.Enrollment,
			BoxSession: h.ready().Session, Instance: is.Instance, Incarnation: is.Incarnation, Session: is.Session + 1, Binding: is.Binding,
			IssuedAt: time.Now().UTC().Truncate(time.Millisecond),
		}
		data, err := o.Seal(h.ops.Key)
		h.must(err)
		key, err := order.Key(h.id, o.BoxSession, o.Operation)
		h.must(err)
		h.ops.Bucket.Put(h.Context(), key, data, bucket.Absent{})
	}
	put()
	for !h.killed() {
		time.Sleep(3 * time.Millisecond)
	}
	h.restart()
	put() // as a console does under a new session
	ack, err := order.AckKey(h.id, "stop-0")
	h.must(err)
	for !exists(filepath.Join(h.home, "bucket", ack.String())) {
		time.Sleep(3 * time.Millisecond)
	}
	h.started()
	if n := h.alive(); n != 1 {
		h.Errorf("%d are alive", n)
	}
	return "refused" + h.stopped("stop-1")
}

func claimOf(h *house, r *roster.Roster) claim.Claim {
	h.Helper()
	key, err := claim.Key(h.mark)
	h.must(err)
	reading, err := h.ops.Bucket.Get(h.Context(), key)
	h.must(err)
	c, err := claim.Read(reading.(bucket.Found).Data, r, h.mark)
	h.must(err)
	return c
}
