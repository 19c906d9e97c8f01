// Command holdfast is a control desk for a fleet of autonomous workers.
package main

import (
	"os"

	"holdfast/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
