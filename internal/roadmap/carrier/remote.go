package carrier

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/git"
)

// branch is where the log is on the remote.
const branch = "roadmap-events"

// Refs of the carrier's own repository.
const (
	refVerified = "verified" // the newest tip that was read and checked
	refFetched  = "fetched"  // the newest tip that was fetched
	refWritten  = "written"  // the newest commit that was made here
)

const (
	remoteFile   = "remote.json"
	remoteSchema = "holdfast-remote/1"
)

// settings is what remote.json holds: exactly one of the two.
type settings struct {
	Schema   string `json:"schema"`
	Embedded bool   `json:"embedded"`
	URL      string `json:"url,omitempty"`
}

// ErrNoPlan refuses what needs a plan in a home that has none yet.
var ErrNoPlan = problem.Refusal("no-plan", "This home has no plan yet. Nothing was made.").
	WithHint("holdfast roadmap init, or holdfast roadmap init --remote URL for a plan that is elsewhere")

func readSettings(plan *durable.Dir) (settings, error) {
	data, err := plan.ReadFile(remoteFile, 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return settings{}, ErrNoPlan
	}
	var s settings
	if err == nil {
		err = canon.Decode(data, &s)
	}
	if err == nil && (s.Schema != remoteSchema || s.Embedded == (s.URL != "")) {
		err = errors.New("it names no remote")
	}
	if err != nil {
		return settings{}, problem.New(problem.Failed, "remote", "Where the plan is kept cannot be read from %s: %s. Nothing was asked.", remoteFile, problem.Words(err)).
			WithHint("move %s away, and give holdfast roadmap init the same --remote as before, if it had one", remoteFile).Because(err)
	}
	return s, nil
}

func writeSettings(plan *durable.Dir, s settings) error {
	s.Schema = remoteSchema
	data, err := canon.Encode(s)
	if err != nil {
		return err
	}
	return plan.WriteFile(remoteFile, data, 0o600) // a URL may hold a password
}

// remote is where the log is kept. Its methods wait no longer than git's
// deadlines.
type remote interface {
	// Tip asks for the log's newest commit.
	Tip(ctx context.Context) git.Tip
	// Fetch brings that commit, and all it needs, and says which it was. repo is
	// the carrier's own, holding what its children are to hold.
	Fetch(ctx context.Context, repo *git.Repo) (git.ID, error)
	// Write makes a commit that Publish can offer.
	Write(ctx context.Context, c git.Commit) (git.ID, error)
	// Publish makes a commit the newest, if expected still is.
	Publish(ctx context.Context, commit, expected git.ID) git.Pushed
}

// pushed is a remote that git pushes to and fetches from.
type pushed struct {
	refs refs
	repo *git.Repo // the carrier's own
	url  string
	ref  git.Ref
}

func (p pushed) Tip(ctx context.Context) git.Tip { return p.repo.RemoteTip(ctx, p.url, p.ref) }

func (p pushed) Fetch(ctx context.Context, repo *git.Repo) (git.ID, error) {
	id, err := repo.Fetch(ctx, p.url, p.ref, own(refFetched))
	if git.LockLeft(err) {
		// Left by one that was killed. The ref is scratch: nothing is read by its name.
		if err := repo.ClearLock(own(refFetched)); err != nil {
			return git.ID{}, err
		}
		id, err = repo.Fetch(ctx, p.url, p.ref, own(refFetched))
	}
	return id, err
}

func (p pushed) Write(ctx context.Context, c git.Commit) (git.ID, error) {
	return p.refs.commit(ctx, p.repo, c)
}

func (p pushed) Publish(ctx context.Context, commit, expected git.ID) git.Pushed {
	return p.repo.Push(ctx, p.url, p.ref, commit, expected)
}

// embedded is the repository that stands in for a remote in a home that has
// none. Nobody else writes it, so it is written directly; the carrier's own
// repository reads its objects.
type embedded struct {
	refs refs
	repo *git.Repo
	ref  git.Ref
}

func (e embedded) Tip(ctx context.Context) git.Tip {
	id, ok, err := e.repo.Resolve(ctx, e.ref)
	switch {
	case err != nil:
		return git.Unreachable{Words: problem.Words(err)}
	case !ok:
		return git.Absent{}
	default:
		return git.Present{Commit: id}
	}
}

func (e embedded) Fetch(ctx context.Context, _ *git.Repo) (git.ID, error) {
	switch tip := e.Tip(ctx).(type) {
	case git.Present:
		return tip.Commit, nil
	case git.Absent:
		return git.ID{}, errors.New("the branch is not there any more")
	case git.Unreachable:
		return git.ID{}, errors.New(tip.Words)
	default:
		return git.ID{}, errors.New("the branch cannot be told")
	}
}

func (e embedded) Write(ctx context.Context, c git.Commit) (git.ID, error) {
	return e.refs.commit(ctx, e.repo, c)
}

func (e embedded) Publish(ctx context.Context, commit, expected git.ID) git.Pushed {
	err := e.refs.write(ctx, e.repo, e.ref, func(repo *git.Repo) error { return repo.MoveBranch(ctx, e.ref, commit, expected) })
	var moved *git.Moved
	var exited *git.Exited
	switch {
	case err == nil:
		return git.Accepted{Tip: commit}
	case errors.As(err, &moved):
		return git.Stale{Words: moved.Error()}
	case errors.As(err, &exited):
		return git.NotSent{Words: problem.Words(err)}
	default:
		return git.Unsettled{Words: problem.Words(err)}
	}
}

// refs is how refs of the plan's repositories are written on this host.
type refs struct{ plan *durable.Dir }

// write runs what writes a ref, and once more where a git that was killed has left
// the ref locked. Every git that writes one holds the plan's lock of refs open, so
// that the lock is free only when owner and children are gone: whoever has it knows
// that a ref's own lock is nobody's any more.
func (r refs) write(ctx context.Context, repo *git.Repo, ref git.Ref, do func(*git.Repo) error) error {
	lock, err := durable.Await(ctx, func() (*durable.Lock, error) { return r.plan.TryLock(refsLock, "writing a ref of the plan") })
	if err != nil {
		return err
	}
	defer lock.Release()
	repo = repo.Holding(lock.File())
	err = do(repo)
	if !git.LockLeft(err) {
		return err
	}
	if err := repo.ClearLock(ref); err != nil {
		return err
	}
	return do(repo)
}

// commit makes a commit that the newest written one points to.
func (r refs) commit(ctx context.Context, repo *git.Repo, c git.Commit) (id git.ID, err error) {
	c.Ref = own(refWritten)
	err = r.write(ctx, repo, c.Ref, func(repo *git.Repo) error {
		id, err = repo.Write(ctx, c)
		return err
	})
	return id, err
}

// own is one of the carrier's refs, by a name that is one.
func own(name string) git.Ref {
	ref, err := git.OwnRef(name)
	if err != nil {
		panic(err) // the names are constants
	}
	return ref
}

func logRef() git.Ref {
	ref, err := git.Branch(branch)
	if err != nil {
		panic(err) // a constant, too
	}
	return ref
}

// openRemote opens what the settings name.
func (c *Carrier) openRemote(ctx context.Context, s settings) (remote, error) {
	if !s.Embedded {
		return pushed{refs: refs{c.plan}, repo: c.repo, url: s.URL, ref: logRef()}, nil
	}
	repo, err := git.Open(ctx, c.home.Embedded, c.home.git())
	if err != nil {
		return nil, problem.New(problem.Failed, "embedded", "The plan's repository %s cannot be opened: %s. Nothing was read.", filepath.Base(c.home.Embedded), problem.Words(err)).Because(err)
	}
	return embedded{refs: refs{c.plan}, repo: repo, ref: logRef()}, nil
}
