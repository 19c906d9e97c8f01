//go:build perm

package carrier

import (
	"os"
	"testing"

	"holdfast/internal/permtest"
	"holdfast/internal/problem"
	"holdfast/internal/remotetest"
)

// case R11. Red when: Append goes on without having queued the command.
func TestPermAHomeThatCannotBeWrittenAppendsNothing(t *testing.T) {
	permtest.Ordinary(t)
	repo := remotetest.Path(t)
	h := newHome(t)
	c := begin(t, h, repo.Dir)
	appended(t, c, command("k1", "fix-login", opened("Mend it")))
	queue := h.Plan + "/queue"
	if err := os.Chmod(queue, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(queue, 0o700) })
	_, err := c.Append(t.Context(), command("k2", "paint", opened("Paint it")))
	if p := problem.From(err, ""); err == nil || p.Step != "queue" {
		t.Errorf("it ended with %v", err)
	}
	if names, err := c.Store().Worktrees(t.Context()); len(names) != 0 || err != nil {
		t.Errorf("the list of snapshots is %v, %v", names, err)
	}
	wantKeys(t, c, "k1")
}
