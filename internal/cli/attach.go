package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/fleet"
	"holdfast/internal/plain"
)

// detach is the key that leaves a terminal: Ctrl-].
const detach = 0x1d

func (r *run) attach() *cobra.Command {
	return &cobra.Command{
		Use:   "attach NAME",
		Short: "Sit down at the terminal of an instance on this box",
		Long: `Sit down at the terminal of an instance that was started with --tty, on this box. What is
typed goes there, Ctrl-C included. Ctrl-] leaves, and what runs goes on. Several may be
attached at a time. What it wrote before is in "holdfast logs NAME".`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: r.instanceNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("type into work on boxes"); err != nil {
				return err
			}
			if r.json {
				return usage(cmd, "a terminal is no JSON document; holdfast --json logs -f %s prints lines", args[0])
			}
			return r.attachTo(cmd.Context(), args[0])
		},
	}
}

func (r *run) attachTo(ctx context.Context, instance string) error {
	c, err := r.here("box")
	if err != nil {
		return err
	}
	a, err := app.Attach(ctx, c, instance)
	if err != nil {
		return err
	}
	defer a.Close()
	restore := func() {}
	if isTerminal(r.in) {
		fmt.Fprintf(r.err, "at the terminal of %s; Ctrl-] leaves it\n", plain.Text(instance))
		undo, err := raw(os.Stdin)
		if err != nil {
			return err
		}
		restore = undo
		defer sized(a)()
	}
	left := r.sit(ctx, a)
	restore()
	if left {
		fmt.Fprintf(r.err, "\nleft %s, which goes on; holdfast attach %s comes back\n", plain.Text(instance), plain.Text(instance))
		return nil
	}
	short, done := context.WithTimeout(ctx, 3*time.Second)
	defer done()
	if exit, ended := a.Ended(short); ended {
		fmt.Fprintf(r.err, "\n%s has ended: %s\n", plain.Text(instance), plain.Text(exit))
		return nil
	}
	fmt.Fprintf(r.err, "\nthe terminal of %s let this one go, which did not keep up; holdfast attach %s comes back\n", plain.Text(instance), plain.Text(instance))
	return nil
}

// sit carries between this terminal and that, until it ends or is left, and says which.
func (r *run) sit(ctx context.Context, a *fleet.Attached) (left bool) {
	over, leave := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(r.out, a) // at its end, or where nobody reads it any more
	}()
	go func() { // ends with this process: a read of a terminal cannot be called off
		buffer := make([]byte, 4096)
		for {
			n, err := r.in.Read(buffer)
			typed, _, leaves := bytes.Cut(buffer[:n], []byte{detach})
			if _, err := a.Write(typed); err != nil {
				return
			}
			if leaves {
				close(leave)
				return
			}
			if err != nil {
				return // nothing more is typed; what it writes still comes
			}
		}
	}()
	select {
	case <-over:
		return false
	case <-leave:
		return true
	case <-ctx.Done():
		return true
	}
}
