package claim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/canon"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const purpose sign.Purpose = "application/vnd.holdfast.claim.v1+json"

func hex(c string, n int) string { return strings.Repeat(c, n) }

func key(n byte) sign.Key { return sign.FromSeed([32]byte{n}) }

var (
	console = key(1)
	second  = key(4)
	box     = hex("1", 32)
	other   = hex("2", 32)
)

func step(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return fmt.Sprint(err)
	}
	return p.Step
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func stamp(c string) roster.Stamp {
	s, err := roster.ParseStamp(hex(c, 64))
	if err != nil {
		panic(err)
	}
	return s
}

// fleet is a roster with two consoles.
func fleet(t testing.TB) *roster.Roster {
	r := roster.New(hex("6", 32), time.Second)
	must(t, r.EnrollConsole("main", console.Public().String(), "{}", noon), r.EnrollConsole("second", second.Public().String(), "{}", noon))
	return r
}

func taking(operation string, base uint64) claim.Taking {
	return claim.Taking{
		Bucket: hex("6", 32), Instance: "train", Console: "main", Operation: operation, BoxID: "box-1", Enrollment: box,
		Binding: stamp("b"), BaseSession: base,
	}
}

func noted(operation, enrollment string, incarnation uint64) claim.Noted {
	return claim.Noted{
		Operation: operation, Enrollment: enrollment, Incarnation: incarnation,
		Ref: receipt.Ref{Key: fmt.Sprintf("evidence/%s/train/%d-%s.json", enrollment, incarnation, operation), SHA256: hex("e", 64)},
	}
}

// held is a claim that the operation run-1 has made.
func held(t testing.TB) claim.Claim {
	var c claim.Claim
	must(t, c.Take(false, taking("run-1", 0)))
	return c
}

func stopped(t testing.TB) claim.Claim {
	c := held(t)
	must(t, c.Release("stop-1", noted("stop-1", box, 1)))
	return c
}

// Red when: the session or the incarnation is not raised, or falls.
func TestAnInstanceThatIsGivenAgainIsANewOne(t *testing.T) {
	c := held(t)
	if c.State != claim.Held || c.Session != 1 || c.Incarnation != 1 || c.BoxID != "box-1" || c.Operation != "run-1" || !c.Binding.Same(stamp("b")) {
		t.Errorf("%+v", c)
	}
	c = stopped(t)
	if c.State != claim.Released || c.Session != 1 || c.Incarnation != 1 || len(c.Receipts) != 1 || c.Operation != "stop-1" {
		t.Errorf("%+v", c)
	}
	must(t, c.Take(true, taking("run-2", 1)))
	if c.State != claim.Held || c.Session != 2 || c.Incarnation != 2 || len(c.Receipts) != 1 {
		t.Errorf("%+v", c)
	}
	must(t, c.Abandon("run-2"))
	if c.State != claim.Released || c.Session != 2 || c.Incarnation != 2 {
		t.Errorf("%+v", c)
	}
}

// Red when: a writer leaves out one of its questions, or changes what it refuses.
func TestAWriterThatComesLateOrTwiceDoesNoHarm(t *testing.T) {
	run2 := stopped(t)
	must(t, run2.Take(true, taking("run-2", 1)))
	abandoned := held(t)
	must(t, abandoned.Abandon("run-1"))
	elsewhere := taking("run-1", 0)
	elsewhere.Enrollment = other
	bound := taking("run-1", 0)
	bound.Binding = stamp("c")
	foreign := taking("run-2", 1)
	foreign.Instance = "serve"
	for name, c := range map[string]struct {
		claim claim.Claim
		by    func(*claim.Claim) error
		want  string
	}{
		"taken twice":                        {held(t), func(c *claim.Claim) error { return c.Take(true, taking("run-1", 0)) }, "unchanged"},
		"taken twice, elsewhere":             {held(t), func(c *claim.Claim) error { return c.Take(true, elsewhere) }, "operation-conflict"},
		"taken twice, otherwise bound":       {held(t), func(c *claim.Claim) error { return c.Take(true, bound) }, "operation-conflict"},
		"taken from another":                 {held(t), func(c *claim.Claim) error { return c.Take(true, taking("run-2", 0)) }, "instance-claimed"},
		"taken from another, noted at it":    {held(t), func(c *claim.Claim) error { return c.Take(true, taking("run-2", 1)) }, "instance-claimed"},
		"taken late, after its own stop":     {stopped(t), func(c *claim.Claim) error { return c.Take(true, taking("run-1", 0)) }, "operation-over"},
		"taken late, after it was abandoned": {abandoned, func(c *claim.Claim) error { return c.Take(true, taking("run-1", 0)) }, "operation-over"},
		"taken late, while another has it":   {run2, func(c *claim.Claim) error { return c.Take(true, taking("run-1", 0)) }, "instance-claimed"},
		"taken where it was never":           {claim.Claim{}, func(c *claim.Claim) error { return c.Take(false, taking("run-1", 3)) }, "operation-over"},
		"taken for another instance":         {stopped(t), func(c *claim.Claim) error { return c.Take(true, foreign) }, "claim-instance"},
		"released twice":                     {stopped(t), func(c *claim.Claim) error { return c.Release("stop-1", noted("stop-1", box, 1)) }, "unchanged"},
		"released twice, by another":         {stopped(t), func(c *claim.Claim) error { return c.Release("stop-2", noted("stop-1", box, 1)) }, "unchanged"},
		"released late, while it runs again": {run2, func(c *claim.Claim) error { return c.Release("stop-1", noted("stop-1", box, 1)) }, "unchanged"},
		"released with an earlier receipt":   {run2, func(c *claim.Claim) error { return c.Release("stop-9", noted("stop-9", box, 1)) }, "receipt-other"},
		"released with another box's":        {held(t), func(c *claim.Claim) error { return c.Release("stop-1", noted("stop-1", other, 1)) }, "receipt-other"},
		"released where nobody has it":       {abandoned, func(c *claim.Claim) error { return c.Release("stop-1", noted("stop-1", box, 1)) }, "receipt-other"},
		"abandoned twice":                    {abandoned, func(c *claim.Claim) error { return c.Abandon("run-1") }, "unchanged"},
		"abandoned by another":               {held(t), func(c *claim.Claim) error { return c.Abandon("run-2") }, "operation-over"},
		"abandoned late":                     {run2, func(c *claim.Claim) error { return c.Abandon("run-1") }, "operation-over"},
		"abandoned after the stop":           {stopped(t), func(c *claim.Claim) error { return c.Abandon("run-1") }, "operation-over"},
	} {
		after := c.claim
		err := c.by(&after)
		got := step(err)
		if errors.Is(err, bucket.ErrUnchanged) {
			got = "unchanged"
		}
		if got != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.claim, after, cmp.AllowUnexported(roster.Stamp{})); diff != "" {
			t.Errorf("%s: it was changed:\n%s", name, diff)
		}
	}
}

// Red when: the refusal names no box, operation or way out.
func TestWhoHasItIsSaid(t *testing.T) {
	c := held(t)
	var p *problem.Error
	if errors.As(c.Take(true, taking("run-2", 1)), &p); p == nil || p.Hint != "holdfast stop train" || !strings.Contains(p.Reason, "box-1") || !strings.Contains(p.Reason, "run-1") {
		t.Errorf("%+v", p)
	}
}

// Red when: the receipts that are kept are not the last, or share their memory with the
// claim that was read.
func TestTheLastReceiptsAreKept(t *testing.T) {
	var c claim.Claim
	for i := range uint64(70) {
		must(t, c.Take(i > 0, taking(fmt.Sprintf("run-%d", i+1), i)))
		before, kept := c, slices.Clone(c.Receipts)
		must(t, c.Release(fmt.Sprintf("stop-%d", i+1), noted(fmt.Sprintf("stop-%d", i+1), box, i+1)))
		if !slices.Equal(before.Receipts, kept) {
			t.Fatal("the older claim was changed")
		}
		must(t, c.Check())
	}
	if len(c.Receipts) != 64 || c.Receipts[0].Incarnation != 7 || c.Receipts[63].Incarnation != 70 {
		t.Errorf("%d receipts, from %d on", len(c.Receipts), c.Receipts[0].Incarnation)
	}
}

// Red when: Release appends to the receipts of the claim that was read.
func TestTwoWaysOnFromOneClaim(t *testing.T) {
	base := stopped(t)
	must(t, base.Take(true, taking("run-2", 1)))
	base.Receipts = slices.Grow(base.Receipts, 1)
	one, two := base, base
	must(t, one.Release("stop-2", noted("stop-2", box, 2)), two.Release("stop-3", noted("stop-3", box, 2)))
	if one.Receipts[1].Operation != "stop-2" || two.Receipts[1].Operation != "stop-3" {
		t.Errorf("%+v\n%+v", one.Receipts, two.Receipts)
	}
}

// Red when: a writer gives an instance to two, loses a receipt, or counts back.
func TestSessionsOnlyGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c claim.Claim
		for i := range rapid.IntRange(1, 40).Draw(t, "writes") {
			before, exists := c, c.Session > 0
			operation := fmt.Sprintf("op-%d", rapid.IntRange(max(0, i-3), i).Draw(t, "operation"))
			var err error
			switch rapid.IntRange(0, 2).Draw(t, "writer") {
			case 0:
				base := c.Session
				if rapid.Bool().Draw(t, "late") && base > 0 {
					base--
				}
				err = c.Take(exists, taking(operation, base))
				if err == nil && (exists && before.State == claim.Held || c.Session != before.Session+1 || c.Incarnation != before.Incarnation+1) {
					t.Fatalf("taken: %+v\n%+v", before, c)
				}
			case 1:
				err = c.Release(operation, noted(operation, box, max(1, c.Incarnation)))
				if err == nil && (before.State != claim.Held || c.State != claim.Released) {
					t.Fatalf("released: %+v\n%+v", before, c)
				}
			case 2:
				err = c.Abandon(operation)
				if err == nil && (before.State != claim.Held || before.Operation != operation || c.State != claim.Released) {
					t.Fatalf("abandoned: %+v\n%+v", before, c)
				}
			}
			if c.Session < before.Session || c.Incarnation < before.Incarnation || len(c.Receipts) < len(before.Receipts) {
				t.Fatalf("counted back: %+v\n%+v", before, c)
			}
			if err != nil && cmp.Diff(before, c, cmp.AllowUnexported(roster.Stamp{})) != "" {
				t.Fatalf("%v, and it was changed", err)
			}
		}
	})
}

// sealed is a claim as the second console wrote it.
func sealed(t testing.TB, c claim.Claim, h bucket.History) ([]byte, error) {
	return claim.Codec(fleet(t), "second", second, "train").Encode(c, h)
}

func history() bucket.History { return bucket.History{}.Next(bucket.WriteID(hex("a", 32))) }

// Red when: the codec drops a member, or takes the former console's name over.
func TestAClaimIsReadAsItWasWritten(t *testing.T) {
	for _, c := range []claim.Claim{held(t), stopped(t)} {
		data, err := sealed(t, c, history())
		must(t, err)
		got, h, err := claim.Codec(fleet(t), "main", console, "train").Decode(data)
		must(t, err, h.Check())
		c.Console, c.History = "second", history()
		if diff := cmp.Diff(c, got, cmp.AllowUnexported(roster.Stamp{})); diff != "" {
			t.Error(diff)
		}
	}
}

// Red when: Read leaves out one of its questions.
func TestAClaimThatNobodyMayHaveWrittenIsRefused(t *testing.T) {
	good, err := sealed(t, stopped(t), history())
	must(t, err)
	e, err := sign.Read(good, purpose)
	must(t, err)
	text := string(e.Claimed())
	change := func(old, now string) []byte {
		if !strings.Contains(text, old) {
			t.Fatalf("no %s in %s", old, text)
		}
		data, err := sign.Seal(purpose, []byte(strings.ReplaceAll(text, old, now)), second)
		must(t, err)
		return data
	}
	forged, err := sign.Seal(purpose, e.Claimed(), key(9))
	must(t, err)
	order, err := sign.Seal("application/vnd.holdfast.order.v1+json", e.Claimed(), second)
	must(t, err)
	for name, c := range map[string]struct {
		data []byte
		step string
	}{
		"good":                     {good, "<nil>"},
		"the same":                 {change("train", "train"), "<nil>"},
		"by a stranger":            {forged, "envelope-signer"},
		"for another purpose":      {order, "envelope-purpose"},
		"in another's name":        {change(`"console":"second"`, `"console":"main"`), "envelope-signer"},
		"in nobody's name":         {change(`"console":"second"`, `"console":"third"`), "console-unknown"},
		"of another fleet":         {change(hex("6", 32), hex("7", 32)), "claim-format"},
		"of another instance":      {change("train", "serve"), "claim-format"},
		"a member more":            {change(`{"binding"`, `{"a":1,"binding"`), "claim-format"},
		"a space":                  {change(`{"binding"`, `{ "binding"`), "claim-format"},
		"another state":            {change(`"released"`, `"lost"`), "claim-format"},
		"session 0":                {change(`"session":1`, `"session":0`), "claim-format"},
		"another schema":           {change(`claim/1`, `claim/2`), "claim-format"},
		"a receipt elsewhere":      {change(`"key":"evidence/1`, `"key":"evidence/2`), "claim-format"},
		"a receipt of another":     {change(`1-stop-1.json`, `1-stop-2.json`), "claim-format"},
		"a receipt of the future":  {change(`"incarnation":1,"key":"evidence/`+box+`/train/1-`, `"incarnation":2,"key":"evidence/`+box+`/train/2-`), "claim-format"},
		"a receipt of no bytes":    {change(hex("e", 64), hex("e", 63)), "claim-format"},
		"a history without itself": {change(`"write_id":"`+hex("a", 32)+`","writes"`, `"write_id":"`+hex("b", 32)+`","writes"`), "claim-format"},
	} {
		if _, err := claim.Read(c.data, fleet(t), "train"); step(err) != c.step {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Red when: the codec signs what no reader would believe.
func TestOnlyWhatIsBelievedIsWritten(t *testing.T) {
	bad := held(t)
	bad.Operation = "A"
	if _, err := sealed(t, bad, history()); step(err) != "claim-format" {
		t.Error(err)
	}
	if _, err := claim.Codec(fleet(t), "main", second, "train").Encode(held(t), history()); step(err) != "envelope-signer" {
		t.Error(err)
	}
	if _, err := claim.Codec(fleet(t), "main", console, "serve").Encode(held(t), history()); step(err) != "claim-format" {
		t.Error(err)
	}
}

// Red when: Take and the codec do not fit an update.
func TestAClaimIsTakenInAStore(t *testing.T) {
	store, ctx := buckettest.NewMemory(t), context.Background()
	k, err := claim.Key("train")
	must(t, err)
	take := func(by string, key sign.Key, operation string) (bucket.Updated[claim.Claim], error) {
		return bucket.Update(ctx, store, k, claim.Codec(fleet(t), by, key, "train"), func(c claim.Claim, exists bool) (claim.Claim, error) {
			err := c.Take(exists, taking(operation, 0))
			return c, err
		})
	}
	first, err := take("main", console, "run-1")
	must(t, err)
	again, err := take("second", second, "run-1")
	must(t, err)
	if first.WriteID == "" || again.WriteID != "" || again.Value.Session != 1 {
		t.Errorf("%+v\n%+v", first, again)
	}
	if _, err := take("second", second, "run-2"); step(err) != "instance-claimed" {
		t.Error(err)
	}
}

func TestWhereAClaimIs(t *testing.T) {
	if k, err := claim.Key("train"); err != nil || k.String() != "control/claims/train.json" {
		t.Errorf("%s, %v", k, err)
	}
	for _, bad := range []string{"", "Train", "a/b", "..", hex("a", 64)} {
		if _, err := claim.Key(bad); problem.KindOf(err) != problem.Usage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	c := stopped(f)
	c.History = history()
	payload, err := canon.Encode(c)
	must(f, err)
	f.Add(payload)
	f.Fuzz(func(t *testing.T, payload []byte) {
		var c claim.Claim
		if document.Decode(payload, &c, "claim-format") != nil || c.Check() != nil {
			return
		}
		again, err := canon.Encode(c)
		if err != nil || !bytes.Equal(again, payload) {
			t.Errorf("%s\nis read, and would be written as another: %v", payload, err)
		}
		if _, err := claim.Key(c.Instance); err != nil {
			t.Errorf("%s\nhas no place: %v", payload, err)
		}
	})
}
