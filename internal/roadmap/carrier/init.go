package carrier

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/index"
	"holdfast/internal/roadmap/queue"
	"holdfast/internal/roadmap/snapshot"
)

// Started is what Init found or made.
type Started struct {
	URL     string // empty: the embedded repository
	Commit  string // the log's tip
	Created bool   // the log was begun, rather than adopted
}

// Init gives a home its plan: kept at the remote url, or in the embedded
// repository where url is empty. A log that is there is adopted; only where there
// surely is none is one begun, and of two who begin at once one adopts the
// other's. Doing it again changes nothing, and another url is refused once a log was
// read.
func Init(ctx context.Context, home Home, url string) (snapshot.Closed[Started], error) {
	if url != "" {
		if err := git.CheckURL(url); err != nil {
			return notOpened(Started{}), err
		}
	}
	plan, err := durable.OpenDir(home.Plan)
	if err != nil {
		return notOpened(Started{}), problem.Refusal("plan", "The folder of the plan cannot be opened: %s.", problem.Words(err)).Because(err)
	}
	defer plan.Close()
	lock, err := durable.Await(ctx, func() (*durable.Lock, error) { return plan.TryLock("init.lock", "beginning a plan") })
	if err != nil {
		return notOpened(Started{}), problem.New(problem.Failed, "busy", "Somebody else begins a plan here: %s.", problem.Words(err)).Because(err)
	}
	defer lock.Release()
	if err := prepare(ctx, home, plan, settings{Embedded: url == "", URL: url}); err != nil {
		return notOpened(Started{}), err
	}
	c, err := Open(ctx, home)
	if err != nil {
		return notOpened(Started{}), err
	}
	defer c.Close()
	return c.begin(ctx, url)
}

// prepare makes the repositories, and last the settings, without which there is
// no plan: killed before, all of it is found or made again.
func prepare(ctx context.Context, home Home, plan *durable.Dir, want settings) error {
	have, err := readSettings(plan)
	switch {
	case errors.Is(err, ErrNoPlan):
	case err != nil:
		return err
	case have.URL == want.URL:
		return remake(ctx, home, want)
	case have.Embedded:
		if err := forget(ctx, home, plan); err != nil {
			return err
		}
	case seen(ctx, home):
		return problem.Refusal("remote", "This home has a plan already, kept %s. Nothing was changed.", place(have.URL))
	}
	repo, err := makeRepository(ctx, home, home.repository())
	if err != nil {
		return err
	}
	if want.Embedded {
		remote, err := makeRepository(ctx, home, home.Embedded)
		if err != nil {
			return err
		}
		if err := repo.Borrow(remote); err != nil {
			return problem.New(problem.Failed, "carrier", "The plan's repository could not be set up: %s.", problem.Words(err)).Because(err)
		}
	}
	if err := writeSettings(plan, want); err != nil {
		return problem.New(problem.Failed, "remote", "Where the plan is kept could not be put down: %s.", problem.Words(err)).Because(err)
	}
	return nil
}

// forget gives up a plan that is kept in the home itself, if nothing was ever said
// in it: whoever starts a desk has such a plan, and may come to keep a real one
// elsewhere. The embedded repository stays as it is.
func forget(ctx context.Context, home Home, plan *durable.Dir) error {
	for _, name := range []string{appendLock, readLock} {
		lock, err := durable.Await(ctx, func() (*durable.Lock, error) { return plan.TryLock(name, "moving an empty plan") })
		if err != nil {
			return problem.New(problem.Failed, "busy", "The plan is in use: %s. Nothing was changed.", problem.Words(err)).Because(err)
		}
		defer lock.Release()
	}
	empty, err := untouched(ctx, home, plan)
	if err != nil {
		return problem.New(problem.Failed, "remote", "Whether the plan of this home is empty cannot be told: %s. Nothing was changed.", problem.Words(err)).Because(err)
	}
	if !empty {
		return problem.Refusal("remote", "This home has a plan already, kept in this home itself. Nothing was changed.").
			WithHint("to carry it over: holdfast roadmap export > plan.jsonl, and import that in another home that has the remote")
	}
	// Killed between these, the plan is the embedded one still, and is read anew.
	if err := index.Discard(home.Plan); err != nil {
		return indexFailed(err)
	}
	if err := os.RemoveAll(home.repository()); err != nil {
		return problem.New(problem.Failed, "carrier", "The empty plan of this home could not be given up: %s. It is there still.", problem.Words(err)).Because(err)
	}
	return nil
}

// untouched reports whether the embedded log surely has no event, and nothing waits
// to be one.
func untouched(ctx context.Context, home Home, plan *durable.Dir) (bool, error) {
	q, err := queue.Open(plan)
	if err != nil {
		return false, err
	}
	defer q.Close()
	entries, damaged, err := q.Entries()
	if err != nil || len(entries)+len(damaged) > 0 {
		return false, err
	}
	repo, err := git.Open(ctx, home.Embedded, home.git())
	if err != nil {
		return false, err
	}
	tip, ok, err := repo.Resolve(ctx, logRef())
	if err != nil || !ok {
		return false, err
	}
	files, err := repo.Files(ctx, tip)
	return err == nil && len(files) == 1 && files[0].Path == formatPath, err
}

// remake makes the carrier's own repository again where it was lost: all in it is read
// anew. The embedded one is the plan itself, and nothing makes that again.
func remake(ctx context.Context, home Home, have settings) error {
	if _, err := os.Lstat(home.repository()); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	repo, err := makeRepository(ctx, home, home.repository())
	if err != nil || !have.Embedded {
		return err
	}
	remote, err := git.Open(ctx, home.Embedded, home.git())
	if err == nil {
		err = repo.Borrow(remote)
	}
	if err != nil {
		return problem.New(problem.Failed, "embedded", "The plan's repository %s cannot be opened: %s. Nothing was read.", filepath.Base(home.Embedded), problem.Words(err)).Because(err)
	}
	return nil
}

// seen says whether a log was ever read here. Until then the settings name a remote
// that may be misspelt, and another may be named. What cannot be told counts as seen.
func seen(ctx context.Context, home Home) bool {
	repo, err := git.Open(ctx, home.repository(), home.git())
	if err != nil {
		return true
	}
	_, there, err := repo.Resolve(ctx, own(refVerified))
	return there || err != nil
}

func place(url string) string {
	if url == "" {
		return "in this home itself"
	}
	return "at " + named(url)
}

// named is a remote as people are told of it: without a password.
func named(url string) string { return git.Words([]byte(url)) }

// makeRepository makes a repository of ours, or finds it.
func makeRepository(ctx context.Context, home Home, dir string) (*git.Repo, error) {
	_, err := os.Lstat(dir)
	var repo *git.Repo
	if errors.Is(err, fs.ErrNotExist) {
		repo, err = git.Init(ctx, dir, home.git())
	} else if err == nil {
		repo, err = git.Open(ctx, dir, home.git())
	}
	if err != nil {
		return nil, problem.Refusal("carrier", "A repository for the plan could not be made: %s. Nothing was begun.", problem.Words(err)).Because(err)
	}
	return repo, nil
}

// begin adopts the log that is there, or makes its first commit.
func (c *Carrier) begin(ctx context.Context, url string) (snapshot.Closed[Started], error) {
	started := Started{URL: url}
	read := c.Refresh(ctx)
	err := read.Result.Err
	if p := problem.From(err, ""); err != nil && p.Step == "fetch" {
		err = notBegun(p, url)
	}
	if errors.Is(err, ErrNoPlan) { // surely absent, and never seen before
		started.Created, err = c.makeRoot(ctx)
		if err == nil {
			again := c.Refresh(ctx)
			err = again.Result.Err
			read.Close = Worse(read.Close, again.Close)
		}
	}
	if err == nil {
		if r, ok := read.Result.Trust.(Rewritten); ok {
			err = r.Refusal()
		}
	}
	if err == nil {
		started.Commit, err = c.readAt(ctx)
	}
	if err == nil {
		err = c.refill(ctx, started.Commit)
	}
	return snapshot.Closed[Started]{Result: started, Close: read.Close}, err
}

// refill fetches what the index was made of, where the repository that had it was lost:
// the next commit is built on it.
func (c *Carrier) refill(ctx context.Context, commit string) error {
	id, err := parse(commit)
	if err != nil {
		return readFailed(err)
	}
	has, err := c.repo.Has(ctx, id)
	if err != nil || has {
		return readFailed(err)
	}
	lock, err := c.lock(ctx, readLock, "fetching the plan again")
	if err != nil {
		return err
	}
	defer lock.Release()
	if _, err := c.remote.Fetch(ctx, c.repo); err != nil {
		return unreachable(problem.Words(err))
	}
	now, _, err := c.repo.Resolve(ctx, own(refVerified))
	if err == nil && now.IsZero() {
		err = c.moveVerified(ctx, id, now)
	}
	return readFailed(err)
}

// notBegun is the answer to whoever begins a plan at a remote that cannot be asked.
// It was put down where the plan is to be, and this says so.
func notBegun(why *problem.Error, url string) error {
	p := *why
	p.Reason = strings.TrimSuffix(p.Reason, " Nothing was changed.") + " Nothing was begun; this home goes on asking " + named(url) + "."
	return p.WithHint("the same command again, once it can be asked, or with another address")
}

// makeRoot begins the log, by a push that only succeeds where there is no branch.
// Chance is in the commit, so that no two plans begin with the same one.
// It is false, without an error, where somebody else began it.
func (c *Carrier) makeRoot(ctx context.Context) (bool, error) {
	lock, err := c.lock(ctx, appendLock, "beginning a plan") // who joins what another began may append already
	if err != nil {
		return false, err
	}
	defer lock.Release()
	commit, err := c.remote.Write(ctx, git.Commit{
		Time: time.Now().UTC().Truncate(time.Second), Message: "Begin a plan\n\nPlan: " + rand.Text() + "\n",
		Changes: []git.Change{{Path: formatPath, Data: []byte(formatText)}},
	})
	if err != nil {
		return false, problem.New(problem.Failed, "write", "The plan's first commit could not be written: %s. Nothing was begun.", problem.Words(err)).Because(err)
	}
	switch answer := c.remote.Publish(ctx, commit, git.ID{}).(type) {
	case git.Accepted:
		return true, nil
	case git.Stale:
		return false, nil
	case git.Rejected:
		return c.lostRoot(ctx, commit, answer.Words)
	case git.NotSent:
		return c.lostRoot(ctx, commit, answer.Words)
	case git.Unsettled:
		return c.lostRoot(ctx, commit, answer.Words)
	default:
		return false, publicationRefused("git's answer is not understood")
	}
}

// lostRoot reads what is there after a first push that was not accepted.
func (c *Carrier) lostRoot(ctx context.Context, commit git.ID, words string) (bool, error) {
	switch tip := c.remote.Tip(ctx).(type) {
	case git.Present:
		return tip.Commit == commit, nil
	case git.Absent:
		return false, publicationRefused(words)
	case git.Unreachable:
		return false, problem.New(problem.Unknown, "publication", "Whether the plan was begun at the remote cannot be told: %s; then %s.", words, tip.Words).
			WithHint("the same command again tells")
	default:
		return false, publicationRefused(words)
	}
}

// AcceptRewrite takes the remote's tip, which must be the named one, for the log
// from now on, although it does not continue what was read. The old tip stays in
// the plan's own repository, under refs/holdfast/rewritten-COMMIT.
func (c *Carrier) AcceptRewrite(ctx context.Context, commit string) (snapshot.Closed[Read], error) {
	named, ok := git.ParseID(commit)
	if !ok {
		return notOpened(Read{}), problem.New(problem.Usage, "commit", "%q is no whole id of a commit.", commit)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	appending, err := c.lock(ctx, appendLock, "accepting a rewrite")
	if err != nil {
		return notOpened(Read{}), err
	}
	defer appending.Release()
	reading, err := c.lock(ctx, readLock, "accepting a rewrite")
	if err != nil {
		return notOpened(Read{}), err
	}
	defer reading.Release()
	read := c.refreshLocked(ctx)
	rewritten, ok := read.Result.Trust.(Rewritten)
	switch {
	case read.Result.Err != nil:
		return read, read.Result.Err
	case !ok:
		return read, problem.Refusal("rewritten", "The plan's branch was not rewritten. Nothing was changed.")
	case rewritten.Is != commit:
		return read, problem.Refusal("rewritten", "The plan's branch is at %s now, and not at %s. Nothing was changed.", tipWords(rewritten.Is), short(commit))
	}
	if err := c.forsake(ctx, rewritten, named); err != nil {
		return read, err
	}
	again := c.refreshLocked(ctx)
	if again.Result.Err == nil {
		c.remember(again.Result.Trust)
	}
	again.Close = Worse(read.Close, again.Close)
	return again, again.Result.Err
}

func tipWords(commit string) string {
	if commit == "" {
		return "no commit at all"
	}
	return short(commit)
}

// forsake gives up what was read before.
func (c *Carrier) forsake(ctx context.Context, r Rewritten, named git.ID) error {
	was, err := parse(r.Was)
	if err != nil {
		return err
	}
	keep, err := git.OwnRef("rewritten-" + r.Was)
	if err != nil {
		return err
	}
	_, there, err := c.repo.Resolve(ctx, keep)
	if err == nil && !there {
		err = c.repo.UpdateRef(ctx, keep, was, git.ID{})
	}
	if err != nil {
		return problem.New(problem.Failed, "carrier", "The old log could not be kept aside: %s. Nothing was changed.", problem.Words(err)).Because(err)
	}
	// The ref first: an index that is lost or older is made anew from it.
	now, _, err := c.repo.Resolve(ctx, own(refVerified))
	if err == nil {
		err = c.moveVerified(ctx, named, now)
	}
	if err != nil {
		return problem.New(problem.Failed, "carrier", "The new log could not be taken: %s. Nothing was changed.", problem.Words(err)).Because(err)
	}
	return c.renewIndex(ctx, "the plan's log was rewritten, and the new one was accepted")
}
