package desk

import (
	"sync"

	"holdfast/internal/booth/folder"
)

// maxRung is how many changed booths are remembered by name; beyond it all of them
// may have changed.
const maxRung = 4096

// bells wake those who wait for the marks of a booth to change, and remember which
// booths have changed at all. Both say only that something may be another: whoever
// hears of it reads again.
type bells struct {
	mu   sync.Mutex
	hung map[string]chan struct{} // guarded by mu; closed when rung
	rung rung                     // guarded by mu; since they were last taken
}

// rung are the booths that may have changed.
type rung struct {
	names map[string]bool
	all   bool
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
	b.rung.add(name)
}

// ringAll wakes everybody.
func (b *bells) ringAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.hung {
		close(c)
	}
	b.hung, b.rung = nil, rung{all: true}
}

// note remembers what may have changed, and wakes nobody.
func (b *bells) note(r rung) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rung.join(r)
}

// take is what may have changed since the last take.
func (b *bells) take() rung {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.rung
	b.rung = rung{}
	return r
}

func (r *rung) add(name string) {
	if _, err := folder.ParseName(name); err != nil || r.all {
		return // no booth has such a name
	}
	if r.names == nil {
		r.names = map[string]bool{}
	}
	if r.names[name] = true; len(r.names) > maxRung {
		*r = rung{all: true}
	}
}

func (r *rung) join(o rung) {
	if o.all {
		*r = rung{all: true}
	}
	for name := range o.names {
		r.add(name)
	}
}

// Changed says that the marks of the booth called name, or whether there is one,
// may have changed.
func (d *Desk) Changed(name string) { d.bells.ring(name) }

// Touched says that something else in the booth called name may have changed.
func (d *Desk) Touched(name string) { d.bells.note(rung{names: map[string]bool{name: true}}) }

// ChangedAll says that anything may have changed.
func (d *Desk) ChangedAll() { d.bells.ringAll() }
