//go:build long

package carrier

import (
	"testing"

	"holdfast/internal/remotetest"
)

func TestLongThroughManyFaultyRemotesEveryAnswerIsTrue(t *testing.T) {
	for seed := range uint64(12) {
		linear(t, 100+seed, 2+int(seed%2), 2, 8)
	}
}

func TestLongProcessesThatAppendAtOnceLoseNothing(t *testing.T) {
	for _, r := range []race{
		{processes: 8, each: 25, homes: 8},
		{processes: 8, each: 25, homes: 1, kills: 4, seed: 11},
		{processes: 8, each: 5, homes: 8, kills: 2, seed: 12},
	} {
		t.Run(r.String(), r.run)
	}
}

func TestLongAProcessKilledInAnyMomentOfAPushLosesAndDoublesNothing(t *testing.T) {
	killedInAnyMoment(t, remotetest.HTTP(t).URL)
}
