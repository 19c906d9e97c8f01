package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/fleet"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// running is the flags of run.
type running struct {
	box, role, dir, key  string
	env, envFrom, limits []string
	wait                 time.Duration
	weak, tty            bool
}

func (r *run) instance() *cobra.Command {
	var f running
	cmd := &cobra.Command{
		Use:   "run NAME [flags] -- COMMAND...",
		Short: "Run a command on a box, as an instance",
		Long: `Run a command on a box, as an instance: a name that only one incarnation has at a time.
It returns when the box has started it, or with the box's refusal. What runs goes on
without this command, and without "holdfast up"; "holdfast stop NAME" ends it.

Without --box it goes to the box that fits, if that is only one. It gets a small
environment of its own, and what --env and --env-from add. Without --dir it runs in an
empty folder of its own on the box.

Not answered in time (--wait) is exit status 9: it may still start. Saying the same again
with the same --key is safe, and waits on.`,
		Example: "  holdfast run hello -- echo hello\n  holdfast run train --box gpu-1 --env-from TOKEN --limit files=1024 --dir /data -- ./train.sh",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("run work on boxes"); err != nil {
				return err
			}
			return r.runs(cmd, args, f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.box, "box", "", "the box that it is to run on")
	fs.StringVar(&f.role, "role", "", "what the box is to be for")
	fs.StringArrayVar(&f.env, "env", nil, "a variable of its environment, K=V; may be given again")
	fs.StringArrayVar(&f.envFrom, "env-from", nil, "a variable that it gets as it is here; may be given again")
	fs.StringVar(&f.dir, "dir", "", "the folder on the box that it runs in (default: an empty one of its own)")
	fs.StringArrayVar(&f.limits, "limit", nil, "a limit, NAME=N: "+strings.Join(limitNames, ", ")+"; may be given again")
	fs.BoolVar(&f.tty, "tty", false, "give it a terminal, and attach to that at once where this is one")
	fs.BoolVar(&f.weak, "accept-weak", false, "take a box of whose stops there is only weak proof")
	fs.StringVar(&f.key, "key", "", "key of the operation: saying the same again with the same key is safe")
	fs.DurationVar(&f.wait, "wait", time.Minute, "wait so long for the box")
	return cmd
}

// runs is run, once the command line is read.
func (r *run) runs(cmd *cobra.Command, args []string, f running) error {
	if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
		return usage(cmd, "say one name, then -- and the command: holdfast run NAME -- COMMAND")
	}
	if f.wait <= 0 {
		return usage(cmd, "--wait is longer than nothing")
	}
	req := console.RunRequest{
		Key: f.key, Instance: args[0], Wish: operation.Wish{Box: f.box, Role: f.role}, AcceptWeak: f.weak,
		Work: order.Work{Command: args[1:], TTY: f.tty},
	}
	var err error
	if req.Work.Env, err = f.environment(cmd); err != nil {
		return err
	}
	if req.Work.Limits, err = f.limited(cmd); err != nil {
		return err
	}
	ran, err := r.begun(cmd.Context(), f, req)
	if err != nil {
		return err
	}
	if f.tty && !r.json && isTerminal(r.in) && isTerminal(os.Stdout) {
		return r.attachTo(cmd.Context(), ran.Instance)
	}
	return shown(r, ran, func(ran console.Ran) {
		fmt.Fprintf(r.out, "%s is running on %s (incarnation %d)\n", plain.Text(ran.Instance), plain.Text(ran.Box), ran.Incarnation)
	})
}

// begun runs an instance.
func (r *run) begun(ctx context.Context, f running, req console.RunRequest) (console.Ran, error) {
	c, err := r.console()
	if err != nil {
		return console.Ran{}, err
	}
	defer c.Close()
	if f.dir != "" {
		if req.Work.Dir, err = folderOf(ctx, c, req.Wish, f.dir); err != nil {
			return console.Ran{}, err
		}
	}
	ctx, done := context.WithTimeout(ctx, f.wait)
	defer done()
	w := r.patience()
	defer w.end()
	for {
		ran, err := c.Work(w.say).Run(ctx, req)
		if !r.isStarting(ctx, c, req.Wish, err) {
			return ran, withHint(err, req.Instance)
		}
		w.say(req.Key, "the box of this home is being started")
		time.Sleep(startingEvery)
	}
}

const startingEvery = 200 * time.Millisecond

// isStarting says whether err is that the box of this home was never heard of, while it is
// being started: a moment after the first "holdfast up".
func (r *run) isStarting(ctx context.Context, c *fleet.Console, w operation.Wish, err error) bool {
	if err == nil || ctx.Err() != nil || problem.From(err, "").Step != "box-silent" {
		return false
	}
	here, err := c.PlacedHere(ctx, w)
	if err != nil || !here {
		return false
	}
	conf, err := r.settings()
	if err != nil || conf.NoBox {
		return false
	}
	desk, _, err := app.OperatorsDesk(ctx, conf)
	return err == nil && desk != nil
}

// folderOf is the folder that work is to run in. On this machine it is meant from here, and
// has to be there; of another machine only its own root can say.
func folderOf(ctx context.Context, c *fleet.Console, w operation.Wish, dir string) (string, error) {
	here, err := c.PlacedHere(ctx, w)
	if err != nil {
		return "", err
	}
	if !here {
		if !filepath.IsAbs(dir) {
			return "", problem.New(problem.Usage, "dir", "%.200q is no absolute path, and the box is another machine than this one. Nothing was begun.", dir)
		}
		return filepath.Clean(dir), nil
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", problem.Refusal("dir", "Where %.200q is cannot be told (%s). Nothing was begun.", dir, problem.Words(err)).Because(err)
	}
	info, err := os.Stat(whole)
	switch {
	case err != nil:
		return "", problem.Refusal("dir", "The folder %.200q cannot be used (%s). Nothing was begun.", whole, problem.Words(err)).
			WithHint("make it first, or leave --dir out: then it gets an empty folder of its own")
	case !info.IsDir():
		return "", problem.Refusal("dir", "%.200q is no folder. Nothing was begun.", whole)
	}
	return whole, nil
}

// environment is what the flags add to the environment.
func (f running) environment(cmd *cobra.Command) (map[string]string, error) {
	env := map[string]string{}
	add := func(name, value string) error {
		if _, twice := env[name]; twice {
			return usage(cmd, "the variable %.80q is given twice", name)
		}
		env[name] = value
		return nil
	}
	for _, text := range f.env {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usage(cmd, "--env is NAME=VALUE, and %.80q has no value; --env-from %.80s takes it from here", text, text)
		}
		if err := add(name, value); err != nil {
			return nil, err
		}
	}
	for _, name := range f.envFrom {
		value, ok := os.LookupEnv(name)
		if !ok {
			return nil, problem.Refusal("env-from", "There is no variable %.80q in this environment. Nothing was begun.", name)
		}
		if err := add(name, value); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// limitNames are the limits that there are.
var limitNames = []string{"files", "processes", "file_size", "address_space", "cpu_seconds", "nice"}

// limited is the limits that the flags set.
func (f running) limited(cmd *cobra.Command) (order.Limits, error) {
	var l order.Limits
	to := map[string]*uint64{
		"files": &l.Files, "processes": &l.Processes, "file_size": &l.FileSize, "address_space": &l.AddressSpace, "cpu_seconds": &l.CPUSeconds,
	}
	for _, text := range f.limits {
		name, value, _ := strings.Cut(text, "=")
		name = strings.ReplaceAll(name, "-", "_")
		n, err := strconv.ParseUint(value, 10, 53)
		switch at := to[name]; {
		case name == "memory" || name == "cpu_weight" || name == "cpu":
			return l, problem.Refusal("limit-cgroup", "A limit of %s needs a cgroup of the work's own, which boxes do not make; it is not left out in silence. Nothing was begun.", name).
				WithHint("what one process may take is limited by --limit address_space=BYTES and --limit cpu_seconds=N")
		case at == nil && name != "nice":
			return l, usage(cmd, "%.80q is no limit; there are %s", name, strings.Join(limitNames, ", "))
		case err != nil || n == 0:
			return l, usage(cmd, "--limit is NAME=N with a whole number above 0: %.80q is not", text)
		case at == nil:
			l.Nice = int(min(n, 1000)) // too much is refused with the rest
		default:
			*at = n
		}
	}
	return l, nil
}

// hints are what to do about refusals of a box, which knows no hints.
var hints = map[string]string{
	"uid-0":         "after the change, on the box: holdfast down, which ends its root; holdfast up starts a new one",
	"box-user":      "mend box.user in the box's holdfast.toml; then, on the box: holdfast down, and holdfast up",
	"work-start":    "name a program that is on the box, by its full path where PATH is not enough (--env PATH=…), and say: holdfast run %s again",
	"proof-weak":    "holdfast doctor, on the box, says why; box.allow_weak = true in its holdfast.toml accepts it",
	"floor-proof":   "holdfast fleet floor show",
	"floor-version": "holdfast fleet floor show; or put the newer holdfast on the box",
}

// withHint says what to do, where the error does not.
func withHint(err error, instance string) error {
	if err == nil {
		return nil
	}
	p := problem.From(err, err.Error())
	if p.Step == "operation-unsettled" && p.Hint != "" {
		// That the time is over is no news.
		return p.Because(nil).WithHint("%s; on the box, holdfast box status says whether it is served", p.Hint)
	}
	hint, ok := hints[p.Step]
	if !ok || p.Hint != "" {
		return err
	}
	if strings.Contains(hint, "%s") {
		return p.WithHint(hint, instance)
	}
	return p.WithHint("%s", hint)
}

// saidAfter is how long a person waits before being told what for.
const saidAfter = 1500 * time.Millisecond

// patience tells a person what is waited for, if that takes long.
type patience struct {
	out   io.Writer
	timer *time.Timer

	mu   sync.Mutex
	why  string // to be said, "" for nothing
	last string // that was to be said
	late bool
}

func (r *run) patience() *patience {
	w := &patience{out: r.err}
	if r.json {
		w.out = io.Discard
	}
	w.timer = time.AfterFunc(saidAfter, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.late = true
		w.flush()
	})
	return w
}

// say is told what is waited for, whenever that changes.
func (w *patience) say(key, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := "waiting: " + why
	if key != "" {
		text += " (the operation's key is " + key + ")"
	}
	if text == w.last {
		return
	}
	w.why, w.last = text, text
	w.flush()
}

func (w *patience) flush() {
	if w.late && w.why != "" {
		fmt.Fprintln(w.out, plain.Text(w.why))
		w.why = ""
	}
}

// end is the end of it.
func (w *patience) end() {
	w.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = false
}

func (r *run) stopInstance() *cobra.Command {
	var key string
	var grace, wait time.Duration
	cmd := &cobra.Command{
		Use:   "stop NAME",
		Short: "Stop an instance, and prove it",
		Long: `Stop an instance, and prove it: its box fences it, tells it to end (TERM), kills it when
the grace is over, and signs a receipt that nothing of it is alive. What was stopped
already is answered with the receipt that there is. It works in quarantine, too.

Without a proof in time (--wait) the exit status is 9: it goes on being stopped. Saying
the same again is safe.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: r.instanceNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("stop work on boxes"); err != nil {
				return err
			}
			if grace < 0 || wait <= 0 {
				return usage(cmd, "--grace is not less than nothing, and --wait is longer")
			}
			return asConsole(r, func(c *fleet.Console) (console.Stopped, error) {
				ctx, done := context.WithTimeout(cmd.Context(), wait)
				defer done()
				w := r.patience()
				defer w.end()
				s, err := c.Work(w.say).Stop(ctx, console.StopRequest{Key: key, Instance: args[0], Grace: grace})
				return s, withHint(err, args[0])
			}, func(s console.Stopped) {
				fmt.Fprintf(r.out, "%s is stopped, proved by %s: %s\n", plain.Text(args[0]), s.Receipt.Proof, s.Receipt.Key)
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "key of the operation: saying the same again with the same key is safe")
	cmd.Flags().DurationVar(&grace, "grace", 10*time.Second, "time from TERM to KILL")
	cmd.Flags().DurationVar(&wait, "wait", time.Minute, "wait so long for the proof")
	return cmd
}
