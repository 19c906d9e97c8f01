// Package git runs the git program: on one bare repository of Holdfast's own, and
// against the remotes that people name. It knows nothing of plans.
//
// The git program does everything that touches refs or the network, so that
// credentials, proxies and ssh work as their user has set them up. What it is
// given is decided here and nowhere else:
//
//   - Its environment is an allow-list (package variable passed). No GIT_* variable
//     comes through, not even GIT_ASKPASS or GIT_SSH_COMMAND: an inherited GIT_DIR
//     wins over any option, GIT_NAMESPACE makes a remote answer "absent", and a rule
//     without exceptions can be tested. Who needs those two says core.askPass,
//     core.sshCommand or SSH_ASKPASS, which are heeded.
//   - Settings of the user that would change what is written or run (hooks,
//     signing, templates, tags pushed along, automatic maintenance) are overruled
//     for each command; see the variable overruled.
//   - It has a session of its own, without a terminal: nothing can ask there, and
//     the whole group is stopped together, and killed if it does not end.
//   - Every command has a deadline. [Deadline] has no value that means none.
//
// A [Repo] is only made by [Init], which marks it, and [Open], which looks for the
// mark: a repository of somebody else is never written. Refs are written below
// refs/holdfast/ only ([OwnRef]); nothing is checked out; no hook of ours runs,
// while those of a remote do, since remotes are pushed to, paths too.
//
// What comes of asking a remote is a closed sum ([Tip], [Pushed]), so that "I could
// not ask" is never taken for "there is none".
//
// Object ids are SHA-1 or SHA-256, whichever the repository has ([Format]).
//
// Errors are [*NotStarted], [*PastDeadline], [*Exited] and [*Unclear], and those of
// the context. All that is git's own word has been made fit to show, without the
// passwords that a URL may hold.
package git

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// Mark is the value of holdfast.made in the configuration of a repository that
// Holdfast made. A repository of another make has another value.
const Mark = "holdfast-repository/1"

// Options is how a repository is made and used.
type Options struct {
	Format Format // of the objects; SHA1 where it is not given. Open does not ask it
	Limits Limits
}

// Limits is how long a command may take; zero stands for the default.
type Limits struct {
	Local   time.Duration // for what stays on this machine: DefaultLocal
	Network time.Duration // for what asks a remote: DefaultNetwork
}

// The default limits.
const (
	DefaultLocal   = 30 * time.Second
	DefaultNetwork = 60 * time.Second
)

// Repo is a bare repository that Holdfast made. Its methods may be called
// concurrently.
type Repo struct {
	dir     string // absolute, no link in it
	format  Format
	limits  Limits
	inherit []*os.File
}

// Dir is the repository's canonical path.
func (r *Repo) Dir() string { return r.dir }

// Format is what its object ids are made with.
func (r *Repo) Format() Format { return r.format }

// Holding is r, with every git process that it starts holding files open until it
// ends, beside those that r hands on already. A lock (flock) on one of them is free
// only when owner and children are gone.
func (r *Repo) Holding(files ...*os.File) *Repo {
	c := *r
	c.inherit = append(append([]*os.File(nil), r.inherit...), files...)
	return &c
}

// Init makes a bare repository at dir, of which the parent must be there and dir
// itself must not. It is put in place whole, in one step.
func Init(ctx context.Context, dir string, o Options) (*Repo, error) {
	if o.Format == 0 {
		o.Format = SHA1
	}
	if _, err := os.Lstat(dir); err == nil {
		return nil, problem.Refusal("repository-exists", "%s is there already. Nothing was changed.", shownPath(dir)).Because(fs.ErrExist)
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil, notMade(dir, err)
	}
	var random [8]byte
	rand.Read(random[:]) // never fails
	making := filepath.Join(parent, ".making-"+hex.EncodeToString(random[:]))
	r := &Repo{dir: making, format: o.Format, limits: o.Limits}
	if err := r.make(ctx); err != nil {
		_ = os.RemoveAll(making) // at worst a folder stays that nothing reads
		return nil, notMade(dir, err)
	}
	// A crash up to here leaves .making-*, which nothing reads.
	if err := os.Rename(making, filepath.Join(parent, filepath.Base(dir))); err != nil {
		_ = os.RemoveAll(making)
		return nil, notMade(dir, err)
	}
	return Open(ctx, dir, o)
}

func (r *Repo) make(ctx context.Context) error {
	_, err := r.run(ctx, Command{Args: []string{
		"init", "--bare", "--quiet", "--template=", "--object-format=" + r.format.String(), "--initial-branch=none", "--", r.dir,
	}, outside: true})
	for _, s := range [][2]string{{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"core.logAllRefUpdates", "false"}, {"holdfast.made", Mark}} {
		if err == nil {
			_, err = r.run(ctx, Command{Args: []string{"config", "--local", s[0], s[1]}})
		}
	}
	return err
}

func notMade(dir string, cause error) error {
	return problem.New(problem.Failed, "repository-not-made", "The repository %s could not be made: %s.", shownPath(dir), strings.TrimSuffix(problem.Words(cause), ".")).Because(cause)
}

// Open opens the repository at dir, which may be reached through links. One that
// does not bear our mark is refused.
func Open(ctx context.Context, dir string, o Options) (*Repo, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		kind := problem.Failed
		if errors.Is(err, fs.ErrNotExist) {
			kind = problem.Gone
		}
		return nil, problem.New(kind, "repository", "There is no repository at %s that can be opened: %s.", shownPath(dir), problem.Words(err)).Because(err)
	}
	r := &Repo{dir: real, format: SHA1, limits: o.Limits}
	out, err := r.run(ctx, Command{Args: []string{"config", "--local", "--list", "-z"}})
	if err != nil {
		var exited *Exited
		if errors.As(err, &exited) {
			return nil, notOurs(dir, "git cannot read its configuration").Because(err)
		}
		return nil, err
	}
	for setting := range bytes.SplitSeq(out.Stdout, []byte{0}) {
		if err := r.take(string(setting)); err != nil {
			return nil, notOurs(dir, err.Error())
		}
	}
	if !bytes.Contains(append([]byte{0}, out.Stdout...), []byte("\x00holdfast.made\n"+Mark+"\x00")) {
		return nil, notOurs(dir, "its configuration does not say holdfast.made = "+Mark)
	}
	return r, nil
}

// take takes one setting of the repository in.
func (r *Repo) take(setting string) error {
	key, value, _ := strings.Cut(setting, "\n")
	switch key {
	case "extensions.objectformat":
		f, ok := parseFormat(value)
		if !ok {
			return errors.New("its objects have the format " + plain.Text(value) + ", which is not known here")
		}
		r.format = f
	case "core.bare":
		if value != "true" {
			return errors.New("it is not bare")
		}
	}
	return nil
}

func notOurs(dir, why string) *problem.Error {
	return problem.Refusal("repository-not-ours", "%s is no repository that Holdfast made: %s. Nothing was changed.", shownPath(dir), why)
}

func shownPath(path string) string { return plain.Text(path) }
