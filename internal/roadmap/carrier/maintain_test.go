package carrier

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/snapshot"
)

// Red when: Maintain does not repack, or the note of when it did is not heeded.
func TestRepositoriesArePackedOnceADay(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"embedded": "", "path": remotetest.Path(t).Dir} {
		t.Run(name, func(t *testing.T) {
			c := begin(t, newHome(t), url)
			for i := range 3 {
				appended(t, c, command(fmt.Sprintf("k%d", i), event.Node(fmt.Sprintf("n%d", i)), opened("A node")))
			}
			now := time.Now()
			if did, err := c.Maintain(t.Context(), now); err != nil || !did.Due || !did.Pruned {
				t.Fatalf("%+v, %v", did, err)
			}
			stored, err := c.Stored(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			loose := 0
			for _, s := range stored {
				loose += s.Loose
			}
			if loose != 0 {
				t.Errorf("%+v: loose objects are left", stored)
			}
			if did, err := c.Maintain(t.Context(), now.Add(time.Hour)); err != nil || did.Due {
				t.Errorf("an hour later: %+v, %v", did, err)
			}
			if did, err := c.Maintain(t.Context(), now.Add(25*time.Hour)); err != nil || !did.Due {
				t.Errorf("a day later: %+v, %v", did, err)
			}
			appended(t, c, command("after", "after", opened("After it")))
			if got := keys(t, c); len(got) != 4 {
				t.Errorf("the log has %v", got)
			}
		})
	}
}

// Red when: prune does not ask whose the snapshots are.
func TestNothingIsPrunedWhileASnapshotMayNeedIt(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), remotetest.Path(t).Dir)
	appended(t, c, command("k", "n", opened("A node")))
	at, err := c.position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	commit, err := parse(at.Commit)
	if err != nil {
		t.Fatal(err)
	}
	closed := snapshot.With(t.Context(), c.store, snapshot.Operation[Maintained]{
		Name: "test",
		Find: findIt(commit),
		Do: func(ctx context.Context, _ *snapshot.Snapshot) Maintained {
			did, err := c.Maintain(ctx, time.Now())
			if err != nil {
				t.Error(err)
			}
			return did
		},
		Refuse: func(err error) Maintained { t.Error(err); return Maintained{} },
	})
	if !closed.Result.Due || closed.Result.Pruned {
		t.Errorf("%+v", closed.Result)
	}
	// One of which nothing can be told counts too.
	stray := filepath.Join(c.home.Plan, "snapshots", "holdfast-roadmap-snapshot."+c.store.Namespace().String()+".ABCDEFGHIJ")
	if err := os.Mkdir(stray, 0o700); err != nil {
		t.Fatal(err)
	}
	if did, err := c.Maintain(t.Context(), time.Now().Add(48*time.Hour)); err != nil || did.Pruned {
		t.Errorf("%+v, %v", did, err)
	}
}

func findIt(commit git.ID) func(context.Context, *git.Repo) (git.ID, error) {
	return func(context.Context, *git.Repo) (git.ID, error) { return commit, nil }
}
