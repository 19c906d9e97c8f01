//go:build !linux

package shim

import (
	"context"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// Host is the machine, as far as shims are concerned: here, not at all.
type Host struct {
	Box       *durable.Dir
	Proc      string
	MachineID string
}

// Waiting is what there is none of here.
type Waiting struct{}

// Handle is what there is none of here.
type Handle struct{}

func refused() error {
	return problem.Refusal("not-on-this-system", "Work runs on Linux alone. Nothing was started or stopped.")
}

// The functions of Linux, all refused.

func NewHost(box *durable.Dir) *Host { return &Host{Box: box} }

func (*Host) Machine() (Machine, error) { return Machine{}, refused() }

func (*Host) Start(context.Context, *durable.Dir, Launch) (*Waiting, error) { return nil, refused() }

func (*Host) Probe(context.Context) (Means, error) { return Means{}, refused() }

func (*Host) Attach(*durable.Dir, Identity) Found         { return Unclear{Why: problem.Words(refused())} }
func (*Waiting) Identity() Identity                       { return Identity{} }
func (*Waiting) Go(context.Context) (*Handle, error)      { return nil, refused() }
func (*Waiting) Cancel(context.Context) error             { return refused() }
func (*Handle) Identity() Identity                        { return Identity{} }
func (*Handle) Close()                                    {}
func (*Handle) Term() error                               { return refused() }
func (*Handle) Cut() error                                { return refused() }
func (*Handle) Kill() error                               { return refused() }
func (*Handle) Stop(context.Context, time.Duration) error { return refused() }
func (*Handle) Ended(context.Context) error               { return refused() }
