//go:build !linux

package root

import (
	"context"
	"net"
	"os"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

var errElsewhere = problem.Refusal("not-on-this-system", "A box's root runs on Linux alone. Nothing was changed.")

func listen(*durable.Dir) (net.Listener, error) { return nil, errElsewhere }

func dial(context.Context, *os.File) (net.Conn, error) { return nil, errElsewhere }

type peers struct{ net.Listener }
