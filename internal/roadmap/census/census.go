// Package census writes down, once a tick, which snapshots of the plan there are.
//
// Its subject is one instance. A snapshot is seen in git's list of worktrees, as a
// folder of the full shape, or in both; whose it is, is asked of the kernel
// (package snapshot). The [Receipt] also has which of them the last census saw too,
// and the removals that failed since then.
//
// Seen twice is not a leak: an operation may take long. That list is for people to
// look at and no ground for a removal. Only what is [snapshot.Gone] is removed, by
// [Reap], which takes the owner's lock first.
//
// [Take] fails where a list cannot be read or the receipt not be written. It does not
// fail for a last receipt that cannot be read: the new one says so, and has again
// the failed removals that came after the last one that was known to be readable,
// of which a copy is kept for that. There is nothing in a receipt that could disagree
// with the rest of it, and no counts; [Decode] reads all of it or refuses it. A
// receipt that exists and is empty is unreadable; absent means not there.
package census

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/snapshot"
)

// Where the receipts are, in the plan's folder.
const (
	Folder = "receipts"
	File   = "roadmap-snapshot-census.json"
	// lastReadable is the last receipt that a census has read.
	lastReadable = "roadmap-snapshot-census.last-readable.json"
)

const maxReceipt = 16 << 20

// Receipt is what one census saw.
type Receipt struct {
	ObservedAt    time.Time // UTC, in whole seconds
	Namespace     snapshot.Namespace
	Snapshots     []Seen          // by path, each once
	PresentAcross []snapshot.Name // of Snapshots, those that the last census saw too
	CloseFailures []snapshot.Failure
	Covered       int64 // the number of the last failure that there was
	Prior         Prior
}

// Seen is one snapshot.
type Seen struct {
	Name  snapshot.Name
	Where Where
	Owner snapshot.Owner
}

// Where says by what a snapshot was seen.
type Where uint8

const (
	InGit    Where = iota + 1 // git's list alone
	InFolder                  // a folder alone
	InBoth
)

// String is the word in the receipt.
func (w Where) String() string {
	switch w {
	case InGit:
		return "git"
	case InFolder:
		return "folder"
	case InBoth:
		return "both"
	default:
		return "invalid"
	}
}

// Prior is the receipt that was there before.
//
//sumtype:decl
type Prior interface{ isPrior() }

// Read: it was read. It saw Snapshots, and told of all failures up to Covered.
type Read struct {
	Snapshots []snapshot.Name
	Covered   int64
}

// Absent: there was none.
type Absent struct{}

// Unreadable: there was one. The last that is known to have been readable told of
// all failures up to Covered, 0 if there is none; those after are told again.
type Unreadable struct {
	Reason  string
	Covered int64
}

func (Read) isPrior()       {}
func (Absent) isPrior()     {}
func (Unreadable) isPrior() {}

// Look is what a census would see now. It writes nothing.
func Look(ctx context.Context, s *snapshot.Store) ([]Seen, error) { return observe(ctx, s) }

// Take takes a census at the time now, and writes its receipt.
func Take(ctx context.Context, s *snapshot.Store, now time.Time) (Receipt, error) {
	seen, err := observe(ctx, s)
	if err != nil {
		return Receipt{}, err
	}
	receipts, err := s.Plan().MakeSub(Folder, 0o700)
	if err != nil {
		return Receipt{}, notWritten(err)
	}
	defer receipts.Close()
	_, _ = receipts.RemoveAbandoned() // of a census that was killed; they do no harm
	prior, bytes := readPrior(receipts, s.Namespace())
	failures, err := s.Failures()
	if err != nil {
		return Receipt{}, unread("census-close-failures", "The journal of snapshots that could not be removed", err)
	}
	r := compose(s.Namespace(), now, seen, prior, failures)
	data, err := Encode(r)
	if err != nil {
		return Receipt{}, notWritten(err)
	}
	if bytes != nil {
		if err := receipts.WriteFile(lastReadable, bytes, 0o600); err != nil {
			return Receipt{}, notWritten(err)
		}
	}
	// A crash here leaves the last receipt, and a copy of it.
	if err := receipts.WriteFile(File, data, 0o600); err != nil {
		return Receipt{}, notWritten(err)
	}
	return r, nil
}

// observe looks which snapshots there are, and whose.
func observe(ctx context.Context, s *snapshot.Store) ([]Seen, error) {
	places, err := look(ctx, s)
	if err != nil {
		return nil, err
	}
	seen := make([]Seen, 0, len(places))
	doubtful := false
	for name, where := range places {
		owner := s.Judge(name)
		_, unknown := owner.(snapshot.Unknown)
		doubtful = doubtful || unknown
		seen = append(seen, Seen{name, where, owner})
	}
	slices.SortFunc(seen, func(a, b Seen) int { return strings.Compare(a.Name.String(), b.Name.String()) })
	if !doubtful {
		return seen, nil
	}
	// The owner's file goes last: without one a snapshot may just have been closed.
	still, err := look(ctx, s)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(seen, func(x Seen) bool {
		_, unknown := x.Owner.(snapshot.Unknown)
		return unknown && still[x.Name] == 0
	}), nil
}

// look is the union of git's list and of the folders.
func look(ctx context.Context, s *snapshot.Store) (map[snapshot.Name]Where, error) {
	places := map[snapshot.Name]Where{}
	listed, err := s.Worktrees(ctx)
	if err != nil {
		return nil, unread("census-worktrees", "Git's list of worktrees", err)
	}
	folders, err := s.Folders()
	if err != nil {
		return nil, unread("census-folders", "The folder of the plan's snapshots", err)
	}
	for _, n := range listed {
		places[n] = InGit
	}
	for _, n := range folders {
		if places[n] == InGit {
			places[n] = InBoth
		} else {
			places[n] = InFolder
		}
	}
	return places, nil
}

// readPrior reads the receipt that is there, and its bytes if it can be read.
func readPrior(receipts *durable.Dir, ns snapshot.Namespace) (Prior, []byte) {
	r, data, err := read(receipts, File, ns)
	if errors.Is(err, fs.ErrNotExist) {
		return Absent{}, nil
	}
	if err == nil {
		return Read{names(r.Snapshots), r.Covered}, data
	}
	var covered int64 // where there is no copy either, all is told again
	if last, _, lost := read(receipts, lastReadable, ns); lost == nil {
		covered = last.Covered
	}
	return Unreadable{plain.Unicode(problem.Words(err)), covered}, nil
}

func read(receipts *durable.Dir, name string, ns snapshot.Namespace) (Receipt, []byte, error) {
	data, err := receipts.ReadFile(name, maxReceipt)
	if err != nil {
		return Receipt{}, nil, err
	}
	r, err := Decode(ns, data)
	return r, data, err
}

// compose makes the receipt out of what was seen and read.
func compose(ns snapshot.Namespace, now time.Time, seen []Seen, prior Prior, failures []snapshot.Failure) Receipt {
	covered := int64(len(failures))
	return Receipt{
		ObservedAt: now.UTC().Truncate(time.Second), Namespace: ns, Snapshots: seen, PresentAcross: presentAcross(seen, prior),
		CloseFailures: failures[told(prior, covered):], Covered: covered, Prior: prior,
	}
}

// presentAcross is which of seen were seen by the census before.
func presentAcross(seen []Seen, prior Prior) []snapshot.Name {
	across := []snapshot.Name{}
	last, ok := prior.(Read)
	if !ok {
		return across
	}
	for _, n := range names(seen) {
		if slices.Contains(last.Snapshots, n) {
			across = append(across, n)
		}
	}
	return across
}

// told is how many of the failures, of which there are covered, need not be told
// again. A journal that is shorter than what was told of is another one.
func told(prior Prior, covered int64) int64 {
	var before int64
	switch p := prior.(type) {
	case Read:
		before = p.Covered
	case Unreadable:
		before = p.Covered
	case Absent:
	}
	if before > covered {
		return 0
	}
	return before
}

func names(seen []Seen) []snapshot.Name {
	all := make([]snapshot.Name, len(seen))
	for i, s := range seen {
		all[i] = s.Name
	}
	return all
}

func unread(step, what string, err error) error {
	return problem.New(problem.Failed, step, "%s cannot be read, so that no census was taken: %s.", what, strings.TrimSuffix(problem.Words(err), ".")).Because(err)
}

func notWritten(err error) error {
	return problem.New(problem.Failed, "census-receipt", "The receipt of the census of snapshots was not written: %s.", strings.TrimSuffix(problem.Words(err), ".")).Because(err)
}
