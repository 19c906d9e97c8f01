package pages

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fleet"
	boxroot "holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
)

// runner is the pages of a home that is console and box one, with a root and an agent that
// run in the test.
type runner struct {
	*site

	c *fleet.Console
}

func begun(t *testing.T) *runner {
	t.Helper()
	s, c := begin(t)
	word, err := c.Invite(t.Context(), enrollment.Invitation{Box: "one", Uses: 1}, time.Hour)
	check(t, err)
	_, err = fleet.Join(t.Context(), s.home, word.Token, nil)
	check(t, err)
	_, err = c.Admit(t.Context())
	check(t, err)
	log := slog.New(slog.DiscardHandler)
	told := fleet.Running{Home: filepath.Dir(s.home.Box), AllowRoot: true, Release: "v1.0.0", Build: "v1.0.0 test", Log: log}
	ctx, end := context.WithCancel(context.Background())
	r, done, err := fleet.OpenRoot(ctx, s.home, told)
	check(t, err)
	over, carried := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		if err := r.Serve(ctx); err != nil {
			t.Error(err)
		}
	}()
	go func() {
		defer close(carried)
		err := fleet.RunAgent(ctx, s.home, told, 20*time.Millisecond, func() error { return nil })
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}()
	client, err := fleet.DialRoot(s.home)
	check(t, err)
	t.Cleanup(func() {
		ctx, enough := context.WithTimeout(context.Background(), 30*time.Second)
		defer enough()
		if _, err := client.Down(ctx, 0, 30*time.Second); err != nil {
			t.Error(err)
		}
		client.Close()
		end()
		<-carried
		<-over
		r.Close()
		done()
	})
	for {
		is, err := client.Status(t.Context(), 0)
		if errors.Is(err, boxroot.ErrNoRoot) {
			time.Sleep(time.Millisecond) // it does not answer yet
			continue
		}
		check(t, err)
		if is.Mode == boxroot.Ready {
			return &runner{s, c}
		}
		_, err = client.Status(t.Context(), time.Second)
		check(t, err)
	}
}

// run runs a shell's script as an instance.
func (r *runner) run(name, script string) {
	r.t.Helper()
	_, err := r.c.Work(nil).Run(r.t.Context(), console.RunRequest{
		Instance: name, Wish: operation.Wish{Box: "one"}, Work: order.Work{Command: []string{"sh", "-c", script}, Env: map[string]string{}},
	})
	check(r.t, err)
}

// printed waits until an instance's page says words.
func (r *runner) printed(name, words string) string {
	r.t.Helper()
	for {
		page := r.page("/desk/instances/" + name)
		if strings.Contains(textOf(page), words) {
			return page
		}
		select {
		case <-r.t.Context().Done():
			r.t.Fatal(textOf(page))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stored is the file of an object in the store.
func (s *site) stored(pattern string) string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.home.Bucket, pattern))
	if err != nil || len(found) != 1 {
		s.t.Fatal(pattern, found, err)
	}
	return found[0]
}

// spoil writes other bytes over an object.
func (s *site) spoil(pattern, with string) {
	s.t.Helper()
	check(s.t, os.WriteFile(s.stored(pattern), []byte(with), 0o600))
}
