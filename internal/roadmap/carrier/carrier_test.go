package carrier

import (
	"context"
	"fmt"
	"testing"
	"time"

	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
	"holdfast/internal/roadmap/queue"
)

const ada = event.Principal("principal:local/studio/ada")

func newHome(t testing.TB) Home {
	t.Helper()
	return homeIn(t, t.TempDir())
}

// begin is a carrier on a plan that was begun at url. Where nothing was begun yet, or
// nothing said since, it is a copy of what Init made once; what Init itself does is
// the claim of tests that use initial.
func begin(t testing.TB, h Home, url string) *Carrier {
	t.Helper()
	return beginAt(t, h, url, url)
}

// beginAt is begin at the url of a repository that is served from dir.
func beginAt(t testing.TB, h Home, url, dir string) *Carrier {
	t.Helper()
	if copied(t, h, url, dir) {
		return reopen(t, h)
	}
	if h.Format == 0 && isEmpty(h.Plan) {
		notYetBegun.Copy(t, ".", h.Plan)
	}
	return initial(t, h, url)
}

// initial is a carrier on a plan that Init itself begins at url.
func initial(t testing.TB, h Home, url string) *Carrier {
	t.Helper()
	if _, err := Init(t.Context(), h, url); err != nil {
		t.Fatal(err)
	}
	return reopen(t, h)
}

func reopen(t testing.TB, h Home) *Carrier {
	t.Helper()
	c, err := Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func command(key string, node event.Node, body event.Body) event.Command {
	return event.Command{Key: event.Key(key), Node: node, Author: ada, At: time.Now(), Body: body}
}

func appended(t testing.TB, c *Carrier, cmd event.Command) queue.Appended {
	t.Helper()
	closed, err := c.Append(context.WithoutCancel(t.Context()), cmd)
	if err != nil {
		t.Fatal(err)
	}
	a, ok := closed.Result[0].Ended.(queue.Appended)
	if !ok {
		t.Fatalf("%s ended as %#v", cmd.Key, closed.Result[0].Ended)
	}
	return a
}

func opened(title string) event.Body { return event.Opened{Card: event.Card{Title: title}} }

func TestAppendEmbedded(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), "")
	for i := range 3 {
		start := time.Now()
		appended(t, c, command(fmt.Sprintf("k%d", i), event.Node(fmt.Sprintf("node-%d", i)), opened("A node")))
		t.Log(time.Since(start))
	}
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	states, err := v.States()
	if err != nil || len(states) != 3 {
		t.Fatal(states, err)
	}
	read := c.Refresh(t.Context())
	t.Logf("%#v %#v", read, v.Position())
}

// Red when a comment is admitted by its own name alone.
func TestACommentAnswersAnother(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), "")
	appended(t, c, command("k1", "paint", opened("Paint it")))
	appended(t, c, command("k2", "paint", event.CommentCreated{Comment: "c1", Body: "Which colour?"}))
	appended(t, c, command("k3", "paint", event.CommentCreated{Comment: "c2", Body: "Green", Parent: "c1"}))
	if p := refused(t, c, command("k4", "paint", event.CommentCreated{Comment: "c3", Body: "Why?", Parent: "c9"})); p.Step != history.StepComment {
		t.Errorf("an answer to a comment that is not there was refused at %s: %s", p.Step, p.Reason)
	}
}
