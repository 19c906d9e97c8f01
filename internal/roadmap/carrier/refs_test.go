package carrier

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/queue"
)

// A ref's lock may be that of a git which outlived its killed parent. Red when:
// refs.write clears it without having the plan's own lock.
func TestALockThatAGitMayStillHoldIsNotTakenAway(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), remotetest.Path(t).Dir)
	held, err := c.plan.TryLock(refsLock, "a git that lives on")
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(c.home.repository(), "refs", "holdfast", refWritten+".lock")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	closed, err := c.Append(ctx, command("k", "fix-login", opened("Mend it")))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := closed.Result[0].Ended.(queue.Appended); ok {
		t.Error("it was appended by taking away the lock of somebody who may still write")
	}
	if _, err := os.Lstat(left); err != nil {
		t.Errorf("the lock is gone: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	switch e := end(t, c, command("k", "fix-login", opened("Mend it"))).(type) {
	case queue.Appended, queue.AlreadyPresent:
	default:
		t.Errorf("once nobody writes any more, it ended as %#v", e)
	}
}
