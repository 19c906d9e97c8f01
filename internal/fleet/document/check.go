package document

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// MaxCount is the highest that a counter goes: what a double holds exactly.
const MaxCount = 1<<53 - 1

var (
	operation = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	step      = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

// IsOperation says whether text is the key of an operation: 1 to 64 of a-z, 0-9 and
// hyphen, a letter or digit first.
func IsOperation(text string) bool { return operation.MatchString(text) }

// OfBox says whether a key is that of an operation which a box began by itself. No console
// makes one.
func OfBox(operation string) bool { return strings.HasPrefix(operation, BoxPrefix) }

// BoxPrefix begins the keys of such operations.
const BoxPrefix = "box-"

// CheckOperation refuses what is no key of an operation.
func CheckOperation(text string) error {
	if IsOperation(text) {
		return nil
	}
	return problem.New(problem.Usage, "operation-key", "%.64q is no key of an operation: 1 to 64 of a-z, 0-9 and hyphen, a letter or digit first. Nothing was changed.", text)
}

// CheckID refuses what is no random name, enrollment or box session: 32 lower-case
// hexadecimal digits.
func CheckID(what, text string) error {
	if isHex(text, 32) {
		return nil
	}
	return problem.New(problem.Usage, what, "%.64q is no %s: 32 lower-case hexadecimal digits. Nothing was changed.", text, what)
}

// Checker keeps the first complaint about a document.
type Checker struct {
	Step string // of the refusal, such as order-format
	err  error
}

// Err is the first complaint, or nil.
func (c *Checker) Err() error { return c.err }

// Must complains, in a clause, unless ok.
func (c *Checker) Must(ok bool, format string, args ...any) {
	if ok || c.err != nil {
		return
	}
	e := problem.Refusal(c.Step, format, args...)
	e.Reason = "The document is refused: " + e.Reason + "."
	c.err = e
}

// Names wants names of boxes, instances or consoles.
func (c *Checker) Names(member string, names ...string) {
	for _, name := range names {
		c.Must(roster.CheckName(member, name) == nil, "%s is %.80q, which is no name", member, name)
	}
}

// Operation wants the key of an operation.
func (c *Checker) Operation(member, text string) {
	c.Must(IsOperation(text), "%s is %.80q, which is no key of an operation", member, text)
}

// ID wants 32 lower-case hexadecimal digits.
func (c *Checker) ID(member, text string) {
	c.Must(isHex(text, 32), "%s is %.80q, not 32 hexadecimal digits", member, text)
}

// Digest wants a SHA-256 in lower-case hexadecimal.
func (c *Checker) Digest(member, text string) {
	c.Must(isHex(text, 64), "%s is %.80q, which is no SHA-256", member, text)
}

// Count wants a counter that has begun.
func (c *Checker) Count(member string, n uint64) {
	c.Must(n > 0 && n <= MaxCount, "%s is %d, which is not between 1 and 2^53-1", member, n)
}

// Stamp wants a binding.
func (c *Checker) Stamp(member string, s roster.Stamp) {
	c.Must(s != roster.Stamp{}, "%s is no binding", member)
}

// Time wants a time that is UTC and to the millisecond.
func (c *Checker) Time(member string, t time.Time) {
	c.Must(t.Equal(Stamp(t)) && t.Location() == time.UTC && t.Year() >= 1970 && t.Year() <= 9999,
		"%s is no time that is UTC, to the millisecond, in the years 1970 to 9999", member)
}

// StepName wants the step of a refusal.
func (c *Checker) StepName(member, text string) {
	c.Must(len(text) <= 64 && step.MatchString(text), "%s is %.80q, which is no step", member, text)
}

// Line wants text for people on one line, of at most so many bytes.
func (c *Checker) Line(member, text string, most int) {
	c.Must(text != "" && len(text) <= most && utf8.ValidString(text) && !strings.ContainsFunc(text, control),
		"%s is empty, over %d bytes, or has control characters", member, most)
}

// Text wants text without NUL, of at most so many bytes, which may be empty.
func (c *Checker) Text(member, text string, most int) {
	c.Must(len(text) <= most && utf8.ValidString(text) && !strings.Contains(text, "\x00"),
		"%s is over %d bytes, is no UTF-8, or has a NUL", member, most)
}

// OneOf wants one of the words.
func (c *Checker) OneOf(member, text string, words ...string) {
	for _, w := range words {
		if text == w {
			return
		}
	}
	c.Must(false, "%s is %.80q, which is none of %s", member, text, strings.Join(words, ", "))
}

func control(r rune) bool {
	return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029
}

// isHex says whether text is n lower-case hexadecimal digits.
func isHex(text string, n int) bool {
	return len(text) == n && strings.Trim(text, "0123456789abcdef") == ""
}

// Stamp is a time as it is written.
func Stamp(at time.Time) time.Time { return at.UTC().Truncate(time.Millisecond) }

// SHA256 is the digest of data in lower-case hexadecimal.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
