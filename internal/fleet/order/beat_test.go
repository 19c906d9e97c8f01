package order_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

const (
	beatFleet = "66666666666666666666666666666666"
	beatBox   = "11111111111111111111111111111111"
)

func beatKey(n byte) sign.Key { return sign.FromSeed([32]byte{n}) }

func beater(t *testing.T, n byte) order.Box {
	t.Helper()
	r := roster.New(beatFleet, time.Second)
	r.Boxes[beatBox] = roster.Box{EvidenceSHA256: beatKey(n).Public().ID()}
	b, err := order.NewBox(r, beatBox, beatKey(n).Public())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func aBeat() order.Beat {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return order.Beat{
		Schema: order.BeatSchema, Bucket: beatFleet, Enrollment: beatBox, BoxSession: strings.Repeat("5", 32), At: at,
		Instances: []order.Beating{
			{Instance: "api", Incarnation: 2, Session: 3, State: order.BeatExited, Started: at, Exit: "exited 1"},
			{Instance: "web", Incarnation: 1, Session: 1, State: order.BeatInstalled},
		},
		History: bucket.History{}.Next("0123456789abcdef0123456789abcdef"),
	}
}

func TestABeatIsReadAsItWasWritten(t *testing.T) {
	b := beater(t, 1)
	key, err := order.BeatKey(beatBox)
	if err != nil {
		t.Fatal(err)
	}
	store := buckettest.NewMemory(t)
	done, err := bucket.Update(context.Background(), store, key, b.Beats(beatKey(1)), func(order.Beat, bool) (order.Beat, error) { return aBeat(), nil })
	if err != nil || done.Revision != 1 {
		t.Fatalf("%+v: %v", done, err)
	}
	reading, err := store.Get(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.ReadBeat(reading.(bucket.Found).Data)
	want := aBeat()
	want.History = got.History
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if i, ok := got.Of("api", 2, 3); !ok || i.Exit != "exited 1" {
		t.Errorf("%+v", i)
	}
	for _, of := range [][2]uint64{{1, 3}, {2, 4}} {
		if _, ok := got.Of("api", of[0], of[1]); ok {
			t.Errorf("it shows incarnation %d under session %d", of[0], of[1])
		}
	}
	if _, err := beater(t, 2).ReadBeat(reading.(bucket.Found).Data); problem.KindOf(err) != problem.Refused {
		t.Errorf("with another box's key: %v", err)
	}
}

func TestABeatThatDoesNotHoldTogether(t *testing.T) {
	for what, change := range map[string]func(b *order.Beat){
		"schema":     func(b *order.Beat) { b.Schema = "holdfast-beat/2" },
		"bucket":     func(b *order.Beat) { b.Bucket = strings.Repeat("7", 32) },
		"enrollment": func(b *order.Beat) { b.Enrollment = strings.Repeat("7", 32) },
		"session":    func(b *order.Beat) { b.BoxSession = "" },
		"at":         func(b *order.Beat) { b.At = b.At.Add(time.Nanosecond) },
		"none":       func(b *order.Beat) { b.Instances = nil },
		"order":      func(b *order.Beat) { b.Instances[0].Instance = "zeta" },
		"twice":      func(b *order.Beat) { b.Instances[0] = b.Instances[1] },
		"instance":   func(b *order.Beat) { b.Instances[0].Instance = "A" },
		"state":      func(b *order.Beat) { b.Instances[0].State = "fine" },
		"count":      func(b *order.Beat) { b.Instances[0].Incarnation = 0 },
		"claim":      func(b *order.Beat) { b.Instances[0].Session = 0 },
		"started":    func(b *order.Beat) { b.Instances[0].Started = b.At.Local().Add(time.Nanosecond) },
		"exit":       func(b *order.Beat) { b.Instances[0].Exit = "\x1b[2J" },
	} {
		b := aBeat()
		change(&b)
		if _, err := beater(t, 1).Beats(beatKey(1)).Encode(b, b.History); problem.KindOf(err) != problem.Refused {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzBeat(f *testing.F) {
	r := roster.New(beatFleet, time.Second)
	r.Boxes[beatBox] = roster.Box{EvidenceSHA256: beatKey(1).Public().ID()}
	b, err := order.NewBox(r, beatBox, beatKey(1).Public())
	if err != nil {
		f.Fatal(err)
	}
	codec := b.Beats(beatKey(1))
	beat := aBeat()
	data, err := codec.Encode(beat, beat.History)
	if err != nil {
		f.Fatal(err)
	}
	e, err := sign.Read(data, "application/vnd.holdfast.beat.v1+json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(e.Claimed())
	f.Fuzz(func(t *testing.T, payload []byte) {
		data, err := sign.Seal("application/vnd.holdfast.beat.v1+json", payload, beatKey(1))
		if err != nil {
			t.Skip()
		}
		got, h, err := codec.Decode(data)
		if err != nil {
			return
		}
		if again, err := codec.Encode(got, h); err != nil || string(again) != string(data) {
			t.Fatalf("it was read, and is written again as %s: %v", again, err)
		}
	})
}
