package booth

import "holdfast/internal/booth/lifetime"

// Census counts booths by what becomes of them, in JSON. Held has every reason
// for which a booth can be held, zero included. KeptAndOpen are those of the kept
// ones that owe an answer: without the keep marker they would be held.
type Census struct {
	Kept        int            `json:"kept"`
	Held        map[string]int `json:"held"`
	Counting    int            `json:"counting"`
	KeptAndOpen int            `json:"kept_and_open"`
}

// NewCensus counts looks.
func NewCensus(looks []Look) Census {
	c := Census{Held: map[string]int{}}
	for r := lifetime.Open; r <= lifetime.BusyHold; r++ {
		c.Held[r.String()] = 0
	}
	for _, l := range looks {
		switch s := l.State.(type) {
		case lifetime.Kept:
			c.Kept++
			if l.Marks.Open() > 0 {
				c.KeptAndOpen++
			}
		case lifetime.Held:
			c.Held[s.Reason.String()]++
		case lifetime.Counting:
			c.Counting++
		}
	}
	return c
}
