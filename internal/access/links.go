package access

import (
	"crypto/sha256"
	"sync"
	"time"

	"holdfast/internal/problem"
)

// maxLinks is how many sign-in links may be waiting. One more, and the oldest
// is forgotten: only the operator makes them, so that none is refused.
const maxLinks = 64

// Links are the sign-in links that wait to be used, each good once. They live
// in memory: a restart ends them. Safe for concurrent use; the zero value is
// ready.
type Links struct {
	mu      sync.Mutex
	waiting []link // guarded by mu; oldest first
}

// link is one of them, by digest: its token is known only to whom it was given.
type link struct {
	digest  [sha256.Size]byte
	expires time.Time
}

// Mint makes a token of 256 random bits, good once within ttl of now.
func (l *Links) Mint(now time.Time, ttl time.Duration) string {
	token := encode(randomBytes(32))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxLinks {
		l.waiting = append([]link(nil), l.waiting[len(l.waiting)-maxLinks+1:]...)
	}
	l.waiting = append(l.waiting, link{sha256.Sum256([]byte(token)), now.Add(ttl)})
	return token
}

// Redeem uses token up. Of any number of callers at once, one gets nil.
func (l *Links) Redeem(token string, now time.Time) error {
	digest := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, waiting := range l.waiting {
		if waiting.digest != digest { // of digests: time tells nothing of the token
			continue
		}
		l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
		if !now.Before(waiting.expires) {
			return badLink("This sign-in link has expired.")
		}
		return nil
	}
	return badLink("This sign-in link was used before, or is not known here.")
}

func badLink(reason string) error {
	return problem.Refusal(problem.StepNotSignedIn, "%s Nobody was signed in.", reason).WithHint("run: holdfast open")
}
