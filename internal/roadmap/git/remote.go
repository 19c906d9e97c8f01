package git

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// Tip is what a remote has under a ref.
//
//sumtype:decl
type Tip interface{ tip() }

// Present: the remote has it, at Commit.
type Present struct{ Commit ID }

// Absent: the remote answered whole, and has no such ref.
type Absent struct{}

// Unreachable: the remote could not be asked. What it has is not known.
type Unreachable struct{ Words string }

func (Present) tip()     {}
func (Absent) tip()      {}
func (Unreachable) tip() {}

// noMatch is how ls-remote --exit-code says that it asked and found none.
const noMatch = 2

// RemoteTip asks the remote at url for ref. Whatever is neither "there it is" nor
// "there is none", a deadline that passed included, is [Unreachable].
func (r *Repo) RemoteTip(ctx context.Context, url string, ref Ref) Tip {
	if err := CheckURL(url); err != nil {
		return Unreachable{err.Error()}
	}
	out, err := r.run(ctx, Command{
		Args:     []string{"ls-remote", "--exit-code", "--quiet", "--", url, ref.name},
		Deadline: ForNetwork(),
	})
	var exited *Exited
	if errors.As(err, &exited) && exited.Code == noMatch {
		return Absent{}
	}
	if err != nil {
		return Unreachable{reasonOf(err)}
	}
	return exactTip(out.Stdout, ref)
}

// exactTip looks for ref in what ls-remote printed: it also prints each ref that
// ends in the one that was asked for, such as refs/tags/refs/heads/x.
func exactTip(list []byte, ref Ref) Tip {
	for line := range bytes.Lines(list) {
		id, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\t")
		commit, valid := ParseID(id)
		if !ok || !valid {
			return Unreachable{"git printed a line that is not understood: " + plain.Text(string(line))}
		}
		if name == ref.name {
			return Present{commit}
		}
	}
	return Absent{}
}

// Fetch gets ref, and all that it needs, from the remote at url, and lets the ref
// into point to it, wherever that pointed before. It returns where. Nothing else of
// the remote is taken.
func (r *Repo) Fetch(ctx context.Context, url string, ref, into Ref) (ID, error) {
	if err := errors.Join(CheckURL(url), checkOwn(into)); err != nil {
		return ID{}, err
	}
	// Git says "done" of a ref that it refused to take (from a shallow clone, say), and
	// leaves what was there: so it fetches to where nothing was.
	var random [8]byte
	rand.Read(random[:]) // never fails
	fresh, err := OwnRef("fetch/" + hex.EncodeToString(random[:]))
	if err != nil {
		return ID{}, err
	}
	out, err := r.run(ctx, Command{
		Args: []string{
			"fetch", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules",
			"--refmap=", "--", url, "+" + ref.name + ":" + fresh.name,
		},
		Deadline: ForNetwork(),
	})
	if err != nil {
		return ID{}, err
	}
	id, ok, err := r.Resolve(ctx, fresh)
	if err == nil && !ok {
		err = &Unclear{Command: "git fetch", Reason: "it did not take " + ref.name + after(Words(out.Stderr))}
	}
	if err != nil {
		return ID{}, err
	}
	// A crash here leaves a ref that only keeps what it points to.
	_, err = r.run(ctx, Command{
		Args:  []string{"update-ref", "--no-deref", "--stdin"},
		Stdin: strings.NewReader("update " + into.name + " " + id.hex + "\ndelete " + fresh.name + " " + id.hex + "\n"),
	})
	return id, err
}

// maxURL is how long the address of a remote is at most, in bytes.
const maxURL = 4096

// CheckURL refuses what git would take for something else than where a remote is.
func CheckURL(url string) error {
	odd := func(r rune) bool { return r < ' ' || r == 0x7f }
	if url == "" || len(url) > maxURL || strings.HasPrefix(url, "-") || strings.ContainsFunc(url, odd) {
		line := strings.Map(func(r rune) rune {
			if odd(r) {
				return ' ' // the end of a line would end what Words takes for a password
			}
			return r
		}, url)
		return problem.New(problem.Usage, "remote-url", "%q is no place of a remote. Nothing was asked.", Words([]byte(line)))
	}
	return nil
}

// checkOwn refuses to write a ref that is not one of ours.
func checkOwn(ref Ref) error {
	if !ref.own() {
		return fmt.Errorf("%s is no ref that is written here", ref.name)
	}
	return nil
}

// reasonOf is why git could not do it, in its own words where it had some.
func reasonOf(err error) string {
	var exited *Exited
	if errors.As(err, &exited) && exited.Words != "" {
		return exited.Words
	}
	return err.Error()
}
