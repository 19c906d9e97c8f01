package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"

	"holdfast/internal/plain"
)

// Pushed is what came of a push.
//
//sumtype:decl
type Pushed interface{ pushed() }

// Accepted: the remote says that its ref is at Tip now.
type Accepted struct{ Tip ID }

// Stale: the remote's ref was not at the expected commit when it was looked at.
// Nothing was sent.
type Stale struct{ Words string }

// Rejected: the remote refused this very ref, for a reason of its own: a hook,
// protection, somebody else who was faster after all.
type Rejected struct{ Words string }

// NotSent: git ended before it sent anything that could move a ref:
// authentication, unreachable, a deadline while it connected.
type NotSent struct{ Words string }

// Unsettled: the remote may have done it, may be doing it, or not.
type Unsettled struct{ Words string }

func (Accepted) pushed()  {}
func (Stale) pushed()     {}
func (Rejected) pushed()  {}
func (NotSent) pushed()   {}
func (Unsettled) pushed() {}

// Push moves the remote's ref from expected to tip, or makes it where expected is
// the zero ID. The remote does so only if the ref is there still: that is the whole
// check. It also permits a rewrite: a caller that wants none asserts that tip
// descends from expected.
func (r *Repo) Push(ctx context.Context, url string, ref Ref, tip, expected ID) Pushed {
	if err := CheckURL(url); err != nil {
		return NotSent{err.Error()}
	}
	w, err := startWatch()
	if err != nil {
		return NotSent{"git was not started, since it could not be watched: " + err.Error()}
	}
	c := Command{
		Args: []string{
			"push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no",
			"--no-force-if-includes",
		},
		Inherit:  []*os.File{w.write},
		Deadline: ForNetwork(),
	}
	for _, other := range namesakes {
		c.Args = append(c.Args, "--force-with-lease="+strings.Replace(other, "*", ref.name, 1)+":")
	}
	c.Args = append(c.Args, "--force-with-lease="+ref.name+":"+expected.hex, "--", url, tip.hex+":"+ref.name)
	// Descriptors are handed on from 3 up. Git takes 2 to 9 as places for its trace.
	if n := 3 + len(r.inherit); n <= 9 {
		c.env = []string{"GIT_TRACE2_EVENT=" + string(rune('0'+n))}
	}
	out, err := r.run(ctx, c)
	return settle(out, err, ref, tip, w.end())
}

// namesakes is what git pushes to instead where the remote has it and lacks the ref
// itself (a full name is also tried as a short one). With a lease that wants them
// absent they are never touched.
var namesakes = []string{"refs/*", "refs/tags/*", "refs/heads/*", "refs/remotes/*", "refs/remotes/*/HEAD"}

// settle reads how a push ended. unsent is whether it provably sent nothing.
func settle(out Output, err error, ref Ref, tip ID, unsent bool) Pushed {
	words := Words(out.Stderr)
	line, found := statusOf(out.Stdout, ref)
	var notStarted *NotStarted
	switch {
	case errors.As(err, &notStarted):
		return NotSent{err.Error()}
	case err == nil && found && line.took(tip):
		return Accepted{tip}
	case found && line.flag == '!' && strings.HasPrefix(line.summary, "[rejected]") && strings.HasSuffix(line.summary, "(stale info)"):
		return Stale{line.summary}
	case found && line.flag == '!' && (strings.HasPrefix(line.summary, "[rejected]") || strings.HasPrefix(line.summary, "[remote rejected]")):
		return Rejected{plain.Text(line.summary) + after(words)}
	case found || err == nil:
		return Unsettled{"git's answer to the push is not understood" + after(words)}
	case unsent:
		return NotSent{reasonOf(err)}
	}
	return Unsettled{reasonOf(err)}
}

// status is one line of push --porcelain.
type status struct {
	flag    byte // ' ', '+', '*', '=', '-' or '!'
	summary string
}

// statusOf finds the line about ref: FLAG TAB FROM:TO TAB SUMMARY.
func statusOf(porcelain []byte, ref Ref) (status, bool) {
	for line := range bytes.Lines(porcelain) {
		parts := strings.SplitN(strings.TrimSuffix(string(line), "\n"), "\t", 3)
		if len(parts) != 3 || len(parts[0]) != 1 {
			continue
		}
		_, to, ok := strings.Cut(parts[1], ":")
		if ok && to == ref.name {
			return status{parts[0][0], parts[2]}, true
		}
	}
	return status{}, false
}

// took reports whether the line says that the ref is at tip now.
func (s status) took(tip ID) bool {
	switch s.flag {
	case '=', '*':
		return true
	case ' ', '+':
		short, _, _ := strings.Cut(s.summary, " ") // OLD..NEW or OLD...NEW, and a note
		_, now, ok := strings.Cut(short, "..")
		now = strings.TrimPrefix(now, ".")
		return ok && now != "" && strings.HasPrefix(tip.hex, now)
	default:
		return false
	}
}
