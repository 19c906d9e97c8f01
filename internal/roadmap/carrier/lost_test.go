package carrier

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/problem"
	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/event"
)

// Red when: prepare takes settings that are there for a plan that is whole.
func TestACarrierThatWasLostIsMadeAgainByInit(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"embedded": "", "elsewhere": remotetest.Path(t).Dir} {
		t.Run(name, func(t *testing.T) {
			home := newHome(t)
			c := begin(t, home, url)
			appended(t, c, command("open", "fix-login", opened("Mend it")))
			c.Close()
			if err := os.RemoveAll(home.repository()); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), home); problem.From(err, "").Hint == "" {
				t.Errorf("without a repository it opened as %v, and nothing says what to do", err)
			}
			again := begin(t, home, url)
			wantKeys(t, again, "open")
			appended(t, again, command("more", "fix-login", event.CommentCreated{Comment: "c1", Body: "Hello"}))
		})
	}
}

// What the hint says is so. Red when: init asks for settings that can be read.
func TestSettingsThatAreDamagedAreMendedAsTheirHintSays(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	c := begin(t, home, "")
	appended(t, c, command("open", "fix-login", opened("Mend it")))
	at := filepath.Join(home.Plan, remoteFile)
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Init(t.Context(), home, ""); problem.From(err, "").Hint == "" {
		t.Errorf("it ended as %v, and nothing says what to do", err)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, begin(t, home, ""), "open")
}

// A commit is written under the lock of appending, the first one too: a lock that git
// left on the ref could be somebody's. Red when: makeRoot writes without it.
func TestTheFirstCommitIsWrittenUnderTheLockOfAppending(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), "")
	lock, err := c.plan.TryLock(appendLock, "a test")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.makeRoot(ctx); problem.From(err, "").Step != "busy" {
		t.Errorf("it ended as %v", err)
	}
}
