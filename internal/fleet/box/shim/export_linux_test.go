package shim

import (
	"context"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim/wire"
)

// WithoutNamespace starts a shim that is told that it is init, without making it one.
func WithoutNamespace(ctx context.Context, h *Host, dir *durable.Dir, l Launch) error {
	program, err := h.program()
	if err != nil {
		return err
	}
	defer program.Close()
	if err := dir.Create(wire.LaunchFile, l.wire(Machine{}, 1).Encode(), 0o600); err != nil {
		return err
	}
	folder, err := dir.File()
	if err != nil {
		return err
	}
	defer folder.Close()
	c, err := weak().spawn(program, folder, wire.AsInit)
	if err != nil {
		return err
	}
	w, err := h.toTheGate(ctx, dir, c, Namespace)
	if err == nil {
		w.abandon()
	}
	return err
}

// SpawnOnly starts a shim in dir in the first way that the machine allows, and does not write
// what it is to do.
func SpawnOnly(h *Host, dir *durable.Dir) error {
	program, err := h.program()
	if err != nil {
		return err
	}
	defer program.Close()
	folder, err := dir.File()
	if err != nil {
		return err
	}
	defer folder.Close()
	_, _, err = h.spawn(program, folder, &Launch{})
	return err
}

// Encoded is what Start would write.
func Encoded(l Launch, at Machine) []byte { return l.wire(at, 1).Encode() }
