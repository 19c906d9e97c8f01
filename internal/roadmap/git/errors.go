package git

import (
	"fmt"
	"strings"
	"time"
	"unicode"

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

// withoutSecrets takes out of each URL in a text what stands before its host, and a
// query, where some hosts take a token.
func withoutSecrets(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "://")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("://")
		line, _, _ := strings.Cut(after, "\n")
		rest := after[hostIn(line):]
		url := rest[:len(firstOf(rest, unicode.IsSpace))]
		shown, _, asks := strings.Cut(url, "?")
		if i := strings.Index(shown, "://"); i >= 0 { // another one, in its turn
			shown, asks = shown[:i], false
		}
		b.WriteString(shown)
		if asks {
			shown = url
		}
		text = rest[len(shown):]
	}
}

// hostIn is where the host begins in a line that follows a "://". A password may have
// an @ in it, and one that somebody did not escape a slash: what would be a host then
// has no port that is a number. One with a space in it ends at the line's last @:
// rather too much is left out than a part of it shown.
func hostIn(line string) int {
	url := firstOf(line, unicode.IsSpace)
	authority := firstOf(url, func(r rune) bool { return strings.ContainsRune("/?#", r) })
	_, port, has := strings.Cut(authority, ":")
	odd := has && strings.Trim(port, "0123456789") != "" && authority[0] != '['
	switch {
	case authority == url, odd && !strings.Contains(url, "@"):
		return strings.LastIndexByte(line, '@') + 1
	case !odd || strings.Contains(authority, "@"):
		return strings.LastIndexByte(authority, '@') + 1
	}
	return strings.LastIndexByte(url, '@') + 1
}

// firstOf is what stands before the first rune that ends it, or all.
func firstOf(s string, ends func(rune) bool) string {
	if i := strings.IndexFunc(s, ends); i >= 0 {
		return s[:i]
	}
	return s
}

// Words is what git said on its standard error, fit to show: its lines, without
// what a URL may hold of passwords, at most [maxWords] bytes.
func Words(stderr []byte) string {
	text := strings.TrimSpace(strings.ReplaceAll(string(stderr), "\r", "\n"))
	text = withoutSecrets(text) // before it is cut, which could leave half of one
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
