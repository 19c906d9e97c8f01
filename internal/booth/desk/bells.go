package desk

import "sync"

// bells wake those who wait for something in a booth to change. A bell says only
// that it may have: whoever is woken reads again.
type bells struct {
	mu    sync.Mutex
	hung  map[string]chan struct{} // guarded by mu; closed when rung
	since map[string]bool          // guarded by mu; rung since the last time they were taken
}

// wait is closed at the next ring for the booth called name. It has to be asked
// for before the booth is read, or a change between the two is missed.
func (b *bells) wait(name string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hung == nil {
		b.hung = map[string]chan struct{}{}
	}
	c, ok := b.hung[name]
	if !ok {
		c = make(chan struct{})
		b.hung[name] = c
	}
	return c
}

// ring wakes whoever waits on the booth called name.
func (b *bells) ring(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.hung[name]; ok {
		close(c)
		delete(b.hung, name)
	}
	b.noteLocked(name)
}

// note has the booths called names in the next take, and wakes nobody.
func (b *bells) note(names map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range names {
		b.noteLocked(name)
	}
}

func (b *bells) noteLocked(name string) {
	if b.since == nil {
		b.since = map[string]bool{}
	}
	b.since[name] = true
}

// take is which booths were rung for since the last take.
func (b *bells) take() map[string]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	rung := b.since
	b.since = nil
	return rung
}

// Changed says that something in the booth called name, or the booth itself, may
// have changed.
func (d *Desk) Changed(name string) { d.bells.ring(name) }
