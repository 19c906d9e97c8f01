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
		{http: true, processes: 8, each: 25, homes: 1},
		{http: true, processes: 8, each: 25, homes: 8},
		{http: true, processes: 8, each: 25, homes: 1, kills: 4, seed: 11},
		{http: true, processes: 8, each: 5, homes: 8, kills: 2, seed: 12},
	} {
		t.Run(r.String(), r.run)
	}
}

func TestLongManyWritersAtOnce(t *testing.T) { manyWriters(t, 8, 25) }

func TestLongOfManyClaimersOneHoldsWhateverIsLost(t *testing.T) {
	for _, homes := range []int{1, 3} {
		claimersWhoseAnswersAreLost(t, homes, 8)
	}
}

func TestLongCallersThatGiveUpLeaveNothingBehind(t *testing.T) { callersThatGiveUp(t, 100) }

func TestLongWhatAnAppendCostsDoesNotGrow(t *testing.T) {
	whatAnAppendCosts(t, 5, 200, 300, 700, 3000)
}

func TestLongAProcessKilledInAnyMomentOfAPushLosesAndDoublesNothing(t *testing.T) {
	killedInAnyMoment(t, remotetest.HTTP(t).URL, 1)
}

func TestLongAProcessKilledInEachMomentOfAnAppendLosesAndDoublesNothing(t *testing.T) {
	killedInAnyMoment(t, "", 1)
}
