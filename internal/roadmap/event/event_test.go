package event

import (
	"testing"
	"time"
)

func draft() Draft {
	return Draft{
		Node: "fix-login", Author: "principal:local/studio/ada", Parents: []ID{},
		At:   time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Body: Opened{Card{Title: "Mend the sign-in page", Body: "It forgets who\nsigned in.", Labels: []string{"bug", "web"}, Priority: "p1"}},
	}
}

func BenchmarkSeal(b *testing.B) {
	for b.Loop() {
		if _, err := draft().Seal(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeEnvelope(b *testing.B) {
	e, err := draft().Seal()
	if err != nil {
		b.Fatal(err)
	}
	data := Envelope{Seq: 1, Key: "k", Event: e}.Bytes()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := DecodeEnvelope(data); err != nil {
			b.Fatal(err)
		}
	}
}
