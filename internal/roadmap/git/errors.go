package git

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// NotStarted: there was no process, so nothing has happened.
type NotStarted struct{ Err error }

func (e *NotStarted) Error() string { return "git could not be started: " + e.Err.Error() }

func (e *NotStarted) Unwrap() []error {
	return []error{problem.Refusal("git-not-started", "The git program could not be started. Nothing was changed.").
		WithHint("Install git, or put it on the PATH of this service."), e.Err}
}

// PastDeadline: git took longer than it may, and was killed with all that it had
// started. What it was doing may be half done.
type PastDeadline struct {
	Command string
	Limit   time.Duration
	Words   string // what it had said by then
}

func (e *PastDeadline) Error() string {
	return fmt.Sprintf("%s took more than %s and was stopped%s", e.Command, e.Limit, after(e.Words))
}

func (e *PastDeadline) Unwrap() error {
	return problem.New(problem.Unknown, "git-deadline", "%s.", sentence(e.Error()))
}

// Exited: git ended by itself and says that it failed.
type Exited struct {
	Command string
	Code    int // from 1
	Words   string
}

func (e *Exited) Error() string {
	return fmt.Sprintf("%s ended with exit status %d%s", e.Command, e.Code, after(e.Words))
}

func (e *Exited) Unwrap() error {
	return problem.New(problem.Failed, "git", "%s.", sentence(e.Error()))
}

// Unclear: git was killed by somebody else, or said what is not understood here.
type Unclear struct {
	Command string
	Reason  string
	Err     error // nil, or why
}

func (e *Unclear) Error() string { return e.Command + ": " + e.Reason }

func (e *Unclear) Unwrap() []error {
	public := problem.New(problem.Unknown, "git-unclear", "%s.", sentence(e.Error()))
	if e.Err == nil {
		return []error{public}
	}
	return []error{public, e.Err}
}

// cut: the caller's context ended first.
type cut struct {
	command string
	cause   error
}

func (e *cut) Error() string { return e.command + " was stopped: " + e.cause.Error() }

func (e *cut) Unwrap() error { return e.cause }

// address is a URL from its scheme on.
var address = regexp.MustCompile(`://\S+`)

// withoutPassword takes out of a URL what stands before its host. A password may
// have an @ in it, and one that somebody did not escape a slash: what would be a host
// then has no port that is a number.
func withoutPassword(url string) string {
	rest := strings.TrimPrefix(url, "://")
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		return "://" + rest[i+1:]
	}
	_, port, has := strings.Cut(authority, ":")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 && has && strings.Trim(port, "0123456789") != "" && rest[0] != '[' {
		return "://" + rest[i+1:]
	}
	return url
}

// withoutQuery is a URL without what stands after a question mark, where some hosts
// take a token.
func withoutQuery(url string) string {
	before, _, _ := strings.Cut(url, "?")
	return before
}

// Words is what git said on its standard error, fit to show: its lines, without
// what a URL may hold of passwords, at most [maxWords] bytes.
func Words(stderr []byte) string {
	text := strings.TrimSpace(strings.ReplaceAll(string(stderr), "\r", "\n"))
	text = address.ReplaceAllStringFunc(text, func(url string) string { return withoutQuery(withoutPassword(url)) }) // before it is cut, which could leave half of one
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "…"
	}
	return plain.Lines(text)
}

const maxWords = 4096

func after(words string) string {
	if words == "" {
		return ""
	}
	return ": " + words
}

func sentence(s string) string {
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".")
}
