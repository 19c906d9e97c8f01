package carrier

import (
	"context"
	"errors"
	"testing"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/queue"
)

// full is a remote for which nothing can be written here.
type full struct{ remote }

func (full) Write(context.Context, git.Commit) (git.ID, error) {
	return git.ID{}, errors.New("no space left on device")
}

// case R11: whoever asks is told that it failed; what somebody else asked for earlier
// waits on. Red when: giveUp settles what is others'.
func TestAFailureHereRefusesNothingThatOthersLeftInTheQueue(t *testing.T) {
	t.Parallel()
	c, _, back := queued(t, "k")
	back()
	there := c.remote
	c.remote = full{there}
	if _, err := c.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	mine, ok := end(t, c, command("mine", "fix-login", event.CommentCreated{Comment: "c2", Body: "Hello"})).(queue.Refused)
	if !ok || mine.Problem.Kind != problem.Failed || mine.Problem.Step != "write" {
		t.Errorf("who asked was told %+v", mine)
	}
	if waiting, _, err := c.Queue().Entries(); err != nil || len(waiting) != 1 || waiting[0].Command.Key != "k" {
		t.Errorf("%+v, %v wait", waiting, err)
	}
	c.remote = there
	if _, err := c.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c, "open", "k")
}
