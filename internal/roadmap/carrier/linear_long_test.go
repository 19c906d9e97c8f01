//go:build long

package carrier

import "testing"

func TestThroughManyFaultyRemotesEveryAnswerIsTrue(t *testing.T) {
	for seed := range uint64(12) {
		linear(t, 100+seed, 2+int(seed%2), 2, 8)
	}
}
