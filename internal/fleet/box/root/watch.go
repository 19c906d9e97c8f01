package root

import (
	"context"
	"fmt"

	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/problem"
)

// attach watches all that was let through and is not proved to have ended.
func (r *Root) attach() error {
	open, err := r.book.open()
	if err != nil {
		return err
	}
	for _, i := range open {
		if i.identity != nil {
			r.attachOne(i.Instance, i.Incarnation)
		}
	}
	return nil
}

// attachOne watches one until it ends, for display.
func (r *Root) attachOne(instance string, incarnation uint64) {
	r.work.Go(func() {
		_, i, err := r.book.at(instance, incarnation)
		if err != nil || i == nil || i.identity == nil {
			return
		}
		who := *i.identity
		found, dir, err := r.found(instance, incarnation, who)
		if err != nil {
			return
		}
		defer dir.Close()
		if alive, is := found.(shim.Alive); is {
			defer alive.Handle.Close()
			if alive.Handle.Ended(r.life) != nil {
				return
			}
		}
		words := "it ended, and nobody knows how"
		if exit, err := shim.Exit(dir); err == nil {
			words = ExitWords(exit)
		}
		switch f := found.(type) {
		case shim.Alive, shim.Gone, shim.OtherBoot:
		case shim.OtherMachine:
			return
		case shim.Unclear:
			r.Log.Warn("what became of it cannot be told", "instance", instance, "why", f.Why)
			return
		}
		r.mu.Lock()
		r.exits[who.Folder] = words // another launch of the incarnation has another
		r.tell()
		r.mu.Unlock()
		r.Log.Info("ended", "instance", instance, "incarnation", incarnation, "exit", words)
	})
}

// ended says whether an incarnation was seen to have ended, and how.
func (r *Root) ended(i installed) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i.identity == nil {
		return "", false
	}
	words, is := r.exits[i.identity.Folder]
	return words, is
}

// ExitWords is an exit for people.
func ExitWords(e receipt.Exit) string {
	switch e := e.(type) {
	case receipt.Exited:
		return fmt.Sprintf("exit status %d", e.Status)
	case receipt.Signalled:
		return fmt.Sprintf("signal %d", e.Signal)
	case receipt.Unknown:
		return e.Why
	}
	return ""
}

// ability is what work on this machine can be given.
type ability struct {
	proof     string
	why       string // it is weak
	isolation string
	broken    string // nothing can be started at all
}

const (
	proofNamespace = string(shim.Namespace)
	isolationNone  = "none"
)

// probe finds out, by trying.
func probe(ctx context.Context, h *shim.Host) ability {
	m, err := h.Probe(ctx)
	if err != nil {
		why := problem.Words(err)
		return ability{proof: string(shim.Weak), why: why, isolation: isolationNone, broken: why}
	}
	return ability{proof: string(m.Proof), why: m.ProofWhy, isolation: m.Isolation}
}
