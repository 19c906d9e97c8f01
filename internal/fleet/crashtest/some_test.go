//go:build !long

package crashtest

import "slices"

// chosen says whether a moment is tried: of each kind some are. All of them take two
// minutes, and are tried by make long.
func chosen(k kill) bool { return slices.Contains(some[k.story], k.moment) }

var some = map[string][]string{
	"run": {
		"console.run.take:after", "console.run.put-order:before", "agent.hand:after",
		"launch.commit-intended:after", "launch.commit-spawned:before", "launch.release:after", "launch.answer-running:before",
		"shim.identity:after", "shim.went:before", "shim.start:after",
	},
	"found at its gate": {"launch.find:after"},
	"found let through": {"launch.find:after"},
	"refused":           {"launch.commit-refused:before", "launch.commit-refused:after"},
	"no hold":           {"console.run.forgo:after"},
	"stop": {
		"console.stop.release-claim:before", "stop.commit-fenced:after", "stop.end:after", "stop.commit-receipt:before",
		"stop.commit-receipt:after", "stop.put:after", "shim.exit:before",
	},
	"ended by itself": {"stop.look:after"},
	"lingers":         {"stop.answer-stopping:after"},
	"mismatched":      {"stop.commit-refused:after"},
}
