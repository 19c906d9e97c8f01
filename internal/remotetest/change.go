package remotetest

import (
	"fmt"
	"strings"
)

// Change is a change of one path in the tree of a commit.
type Change struct{ command string }

// Put writes a file. Where a folder was, the file takes its place, and the other
// way about.
func Put(path, body string) Change { return entry("100644", path, body) }

// Link writes a symbolic link.
func Link(path, target string) Change { return entry("120000", path, target) }

// Remove removes a file, or a folder with all below.
func Remove(path string) Change { return Change{fmt.Sprintf("D %q\n", path)} }

func entry(mode, path, body string) Change {
	return Change{fmt.Sprintf("M %s inline %q\ndata %d\n%s\n", mode, path, len(body), body)}
}

// Commit puts a commit with the changes on top of branch, or begins the branch
// with it, and gives the commit. No hook is asked.
func (r *Repository) Commit(branch string, changes ...Change) string {
	r.t.Helper()
	return r.commit(branch, r.Tip(branch), "from", changes)
}

// Rewrite replaces the whole history of branch by one commit without a parent.
// Its tree is that of the tip with the changes: without any, only the history
// is another. It gives the commit.
func (r *Repository) Rewrite(branch string, changes ...Change) string {
	r.t.Helper()
	tip := r.Tip(branch)
	if tip == "" {
		r.t.Fatalf("there is no branch %s to be rewritten", branch)
	}
	return r.commit(branch, tip, "tree", changes)
}

// Move sets branch to a commit, whatever it stood at.
func (r *Repository) Move(branch, commit string) {
	r.t.Helper()
	r.Git("update-ref", "refs/heads/"+branch, commit)
}

// Delete removes a branch.
func (r *Repository) Delete(branch string) {
	r.t.Helper()
	r.Git("update-ref", "-d", "refs/heads/"+branch)
}

// commit makes a commit on base, which is its parent ("from") or only where its
// tree comes from ("tree"), and moves branch to it.
func (r *Repository) commit(branch, base, role string, changes []Change) string {
	r.t.Helper()
	const scratch = "refs/remotetest/new"
	var stream strings.Builder
	// Each import has another message, so that no two commits are the same one.
	message := fmt.Sprintf("change of %s at %q", branch, base)
	fmt.Fprintf(&stream, "reset %s\ncommit %s\nmark :1\ncommitter Remote <remote@example.org> now\ndata %d\n%s\n",
		scratch, scratch, len(message), message)
	switch {
	case base == "":
	case role == "from":
		fmt.Fprintf(&stream, "from %s\n", base)
	default:
		fmt.Fprintf(&stream, "M 040000 %s \"\"\n", r.Git("rev-parse", base+"^{tree}"))
	}
	for _, c := range changes {
		stream.WriteString(c.command)
	}
	stream.WriteString("get-mark :1\ndone\n")
	made := r.run(r.Dir, strings.NewReader(stream.String()), "fast-import", "--quiet", "--done", "--force", "--date-format=now")
	r.Move(branch, made)
	return made
}
