package receipt_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/bucket"
	"holdfast/internal/canon"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const purpose sign.Purpose = "application/vnd.holdfast.receipt.v1+json"

func hex(c string, n int) string { return strings.Repeat(c, n) }

func key(n byte) sign.Key { return sign.FromSeed([32]byte{n}) }

var (
	evidence = key(2)
	stranger = key(3)
	box      = hex("1", 32)
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

func stamp(t testing.TB, c string) roster.Stamp {
	t.Helper()
	s, err := roster.ParseStamp(hex(c, 64))
	must(t, err)
	return s
}

// fence is the target of every test.
func fence(t testing.TB) receipt.Target {
	return receipt.Target{
		Operation: "stop-1", BoxID: "box-1", Enrollment: box, Instance: "train", Incarnation: 3, Session: 4,
		Binding: stamp(t, "b"), RosterRevision: 17,
	}
}

var (
	namespace = receipt.Namespace{PID: 4711, Start: 123456, Inode: 4026532000}
	weak      = receipt.Weak{PID: 4711, Start: 123456}
	reboot    = receipt.Reboot{Machine: hex("c", 32), Was: "boot-1", Boot: "boot-2", Session: hex("d", 32)}
	nothing   = receipt.NothingStarted{}
	unseen    = receipt.Unknown{Why: "nobody was there to see"}
)

func seen() receipt.Seen {
	return receipt.Seen{Bucket: hex("6", 32), Exit: receipt.Exited{}, Isolation: "namespace", Result: "done", At: noon}
}

func normal(t testing.TB, change func(*receipt.Target)) []byte {
	t.Helper()
	f := fence(t)
	if change != nil {
		change(&f)
	}
	r, err := receipt.NewNormal(f, namespace, seen())
	must(t, err)
	data, err := r.Seal(evidence)
	must(t, err)
	return data
}

// fleet is a roster of revision 20 with the box in it.
func fleet() *roster.Roster {
	r := roster.New(hex("6", 32), time.Second)
	r.Revision = 20
	r.Boxes[box] = roster.Box{BoxID: "box-1", EvidenceSHA256: evidence.Public().ID()}
	return r
}

func want(t testing.TB) receipt.Want {
	f := fence(t)
	return receipt.Want{
		Operation: f.Operation, BoxID: f.BoxID, Enrollment: f.Enrollment, Instance: f.Instance,
		Incarnation: f.Incarnation, Session: f.Session, Binding: f.Binding,
	}
}

// resign is a receipt whose text was changed, and which the box signed again.
func resign(t testing.TB, by sign.Key, old, now string) []byte {
	t.Helper()
	if !strings.Contains(goldenPayload, old) {
		t.Fatalf("the receipt has no %s", old)
	}
	data, err := sign.Seal(purpose, []byte(strings.Replace(goldenPayload, old, now, 1)), by)
	must(t, err)
	return data
}

// Red when: a member of a receipt is added, left out or called otherwise.
func TestAReceiptIsWrittenAsTheGoldenOne(t *testing.T) {
	if got := normal(t, nil); string(got) != goldenReceipt {
		t.Errorf("\n%s\n%s", got, goldenReceipt)
	}
}

// Red when: an arm is written or read as another.
func TestEveryReceiptIsReadAsItWasWritten(t *testing.T) {
	for name, make := range map[string]func(receipt.Target, receipt.Seen) (receipt.Receipt, error){
		"normal": func(f receipt.Target, s receipt.Seen) (receipt.Receipt, error) {
			return receipt.NewNormal(f, namespace, s)
		},
		"weak": func(f receipt.Target, s receipt.Seen) (receipt.Receipt, error) { return receipt.NewNormal(f, weak, s) },
		"recovered": func(f receipt.Target, s receipt.Seen) (receipt.Receipt, error) {
			return receipt.NewRecovered(f, weak, s)
		},
		"namespace gone": func(f receipt.Target, s receipt.Seen) (receipt.Receipt, error) {
			return receipt.NewNamespaceGone(f, namespace, s)
		},
		"reboot": func(f receipt.Target, s receipt.Seen) (receipt.Receipt, error) {
			return receipt.NewNoProcess(f, reboot, s)
		},
		"nothing started": func(f receipt.Target, s receipt.Seen) (receipt.Receipt, error) {
			s.Exit = unseen
			return receipt.NewNoProcess(f, nothing, s)
		},
		"signalled": func(f receipt.Target, s receipt.Seen) (receipt.Receipt, error) {
			s.Exit = receipt.Signalled{Signal: 9}
			return receipt.NewRecovered(f, namespace, s)
		},
	} {
		r, err := make(fence(t), seen())
		must(t, err)
		data, err := r.Seal(evidence)
		must(t, err)
		got, err := receipt.Read(data, evidence.Public())
		if diff := cmp.Diff(r, got, cmp.AllowUnexported(roster.Stamp{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		if !receipt.Holds(receipt.Verify(data, want(t), fleet(), evidence.Public())) {
			t.Errorf("%s: %v", name, receipt.Verify(data, want(t), fleet(), evidence.Public()))
		}
		// case N1: the numeral and the binding are those of the fence, whoever made it.
		if f := fence(t); got.RosterRevision != f.RosterRevision || !got.Binding.Same(f.Binding) {
			t.Errorf("%s: the authority is not the fence's: %+v", name, got.Target)
		}
	}
}

// Red when: checkProof or checkExit leaves out one of its questions.
func TestAReceiptHoldsTogether(t *testing.T) {
	with := func(e receipt.Exit) receipt.Seen {
		s := seen()
		s.Exit = e
		return s
	}
	f := fence(t)
	zero := f
	zero.RosterRevision = 0
	unbound := f
	unbound.Binding = roster.Stamp{}
	for name, make := range map[string]func() (receipt.Receipt, error){
		"a normal one of a reboot":       func() (receipt.Receipt, error) { return receipt.NewNormal(f, reboot, seen()) },
		"a recovered one of nothing":     func() (receipt.Receipt, error) { return receipt.NewRecovered(f, nothing, with(unseen)) },
		"no process, of a namespace":     func() (receipt.Receipt, error) { return receipt.NewNoProcess(f, namespace, seen()) },
		"no process, of a scan":          func() (receipt.Receipt, error) { return receipt.NewNoProcess(f, weak, seen()) },
		"nothing started, with a status": func() (receipt.Receipt, error) { return receipt.NewNoProcess(f, nothing, seen()) },
		"nothing started, with a signal": func() (receipt.Receipt, error) {
			return receipt.NewNoProcess(f, nothing, with(receipt.Signalled{Signal: 1}))
		},
		"the same boot": func() (receipt.Receipt, error) {
			return receipt.NewNoProcess(f, receipt.Reboot{Machine: "m", Was: "b", Boot: "b", Session: hex("d", 32)}, seen())
		},
		"no pid": func() (receipt.Receipt, error) { return receipt.NewNormal(f, receipt.Weak{Start: 1}, seen()) },
		"no inode": func() (receipt.Receipt, error) {
			return receipt.NewNormal(f, receipt.Namespace{PID: 1, Start: 1}, seen())
		},
		"no proof":  func() (receipt.Receipt, error) { return receipt.NewNormal(f, nil, seen()) },
		"no exit":   func() (receipt.Receipt, error) { return receipt.NewNormal(f, namespace, with(nil)) },
		"no reason": func() (receipt.Receipt, error) { return receipt.NewNormal(f, namespace, with(receipt.Unknown{})) },
		"a status of 256": func() (receipt.Receipt, error) {
			return receipt.NewNormal(f, namespace, with(receipt.Exited{Status: 256}))
		},
		"a numeral of 0": func() (receipt.Receipt, error) { return receipt.NewNormal(zero, namespace, seen()) },
		"no binding":     func() (receipt.Receipt, error) { return receipt.NewNormal(unbound, namespace, seen()) },
		"no bucket":      func() (receipt.Receipt, error) { s := seen(); s.Bucket = ""; return receipt.NewNormal(f, namespace, s) },
		"another word": func() (receipt.Receipt, error) {
			s := seen()
			s.Isolation = "some"
			return receipt.NewNormal(f, namespace, s)
		},
		"a NUL": func() (receipt.Receipt, error) {
			s := seen()
			s.Result = "a\x00"
			return receipt.NewNormal(f, namespace, s)
		},
		"a result too big": func() (receipt.Receipt, error) {
			s := seen()
			s.Result = hex("x", 4097)
			return receipt.NewNormal(f, namespace, s)
		},
		"no time": func() (receipt.Receipt, error) {
			s := seen()
			s.At = time.Time{}
			return receipt.NewNormal(f, namespace, s)
		},
	} {
		r, err := make()
		if step(err) != "receipt-format" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.Seal(evidence); err == nil {
			t.Errorf("%s: it is signed", name)
		}
	}
}

// failed is the first check that does not hold.
func failed(list []receipt.Check) string {
	for _, c := range list {
		if !c.OK {
			return c.Name
		}
	}
	return ""
}

// case F17, L7b, L7c.
//
// Red when: Verify leaves out one of its checks, or puts it OK whatever it finds.
func TestAReceiptThatIsNotTheOneNamesItsCheck(t *testing.T) {
	byte1 := []byte(goldenReceipt)
	at := bytes.Index(byte1, []byte(`"payload":"`)) + 200
	byte1[at] ^= 1
	signature := []byte(goldenReceipt)
	signature[bytes.Index(signature, []byte(`"sig":"`))+10] ^= 1
	foreign := fleet()
	foreign.Boxes[box] = roster.Box{EvidenceSHA256: stranger.Public().ID()}
	gone := fleet()
	delete(gone.Boxes, box)
	old := fleet()
	old.Revision = 16
	floor := want(t)
	floor.AllowedProofs = []string{"weak"}
	good := want(t)
	change := func(f func(*receipt.Target)) []byte { return normal(t, f) }
	for name, c := range map[string]struct {
		data  []byte
		want  receipt.Want
		fleet *roster.Roster
		key   sign.Key
		check string
	}{
		"good":                           {[]byte(goldenReceipt), good, fleet(), evidence, ""},
		"a byte of the payload":          {byte1, good, fleet(), evidence, "signature"},
		"a byte of the signature":        {signature, good, fleet(), evidence, "signature"},
		"another box's key signed it":    {resign(t, stranger, "done", "done"), good, fleet(), evidence, "signature"},
		"another box's key verifies":     {resign(t, stranger, "done", "done"), good, fleet(), stranger, "key"},
		"the row has another key":        {[]byte(goldenReceipt), good, foreign, evidence, "key"},
		"there is no row":                {[]byte(goldenReceipt), good, gone, evidence, "key"},
		"no envelope":                    {[]byte(goldenPayload), good, fleet(), evidence, "envelope"},
		"a numeral of 0":                 {resign(t, evidence, `"17"`, `"0"`), good, fleet(), evidence, "directory_revision"},
		"a numeral above the roster":     {[]byte(goldenReceipt), good, old, evidence, "directory_revision"},
		"a numeral at the roster":        {change(func(f *receipt.Target) { f.RosterRevision = 20 }), good, fleet(), evidence, ""},
		"a numeral one above the roster": {change(func(f *receipt.Target) { f.RosterRevision = 21 }), good, fleet(), evidence, "directory_revision"},
		"the binding in its place":       {resign(t, evidence, `"17"`, `"`+hex("b", 64)+`"`), good, fleet(), evidence, "directory_revision"},
		"a binding of digits alone":      {resign(t, evidence, `"17"`, `"`+hex("1", 64)+`"`), good, fleet(), evidence, "directory_revision"},
		"a numeral with a zero":          {resign(t, evidence, `"17"`, `"017"`), good, fleet(), evidence, "directory_revision"},
		"a numeral with a sign":          {resign(t, evidence, `"17"`, `"+17"`), good, fleet(), evidence, "directory_revision"},
		"a numeral that is no text":      {resign(t, evidence, `"17"`, `17`), good, fleet(), evidence, "format"},
		"a member more":                  {resign(t, evidence, `"box_id"`, `"a":1,"box_id"`), good, fleet(), evidence, "format"},
		"a member twice":                 {resign(t, evidence, `"box_id":"box-1"`, `"box_id":"box-1","box_id":"box-1"`), good, fleet(), evidence, "format"},
		"a space":                        {resign(t, evidence, `"box_id":`, `"box_id": `), good, fleet(), evidence, "format"},
		"a kind of proof":                {resign(t, evidence, `"kind":"namespace"`, `"kind":"word"`), good, fleet(), evidence, "format"},
		"an arm's member too few":        {resign(t, evidence, `"inode":4026532000,`, ``), good, fleet(), evidence, "format"},
		"an arm's member more":           {resign(t, evidence, `"kind":"exited"`, `"kind":"exited","signal":9`), good, fleet(), evidence, "format"},
		"an exit without a kind":         {resign(t, evidence, `"kind":"exited",`, ``), good, fleet(), evidence, "format"},
		"another limit":                  {resign(t, evidence, `is not covered`, `is covered`), good, fleet(), evidence, "format"},
		"another schema":                 {resign(t, evidence, `receipt/1`, `receipt/2`), good, fleet(), evidence, "format"},
		"another bucket":                 {resign(t, evidence, hex("6", 32), hex("7", 32)), good, fleet(), evidence, "bucket"},
		"another operation":              {change(func(f *receipt.Target) { f.Operation = "stop-2" }), good, fleet(), evidence, "operation"},
		"another box":                    {change(func(f *receipt.Target) { f.BoxID = "box-2" }), good, fleet(), evidence, "box"},
		"another enrollment":             {change(func(f *receipt.Target) { f.Enrollment = hex("2", 32) }), good, fleet(), evidence, "enrollment"},
		"another instance":               {change(func(f *receipt.Target) { f.Instance = "serve" }), good, fleet(), evidence, "instance"},
		"an earlier incarnation":         {change(func(f *receipt.Target) { f.Incarnation-- }), good, fleet(), evidence, "incarnation"},
		"an earlier fence":               {change(func(f *receipt.Target) { f.Session-- }), good, fleet(), evidence, "fence"},
		"another binding":                {change(func(f *receipt.Target) { f.Binding = stamp(t, "a") }), good, fleet(), evidence, "binding"},
		"a proof that does not count":    {[]byte(goldenReceipt), floor, fleet(), evidence, "proof"},
	} {
		list := receipt.Verify(c.data, c.want, c.fleet, c.key.Public())
		if failed(list) != c.check || receipt.Holds(list) != (c.check == "") {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// Red when: a receipt for another purpose, which the same key signed, is taken for one.
func TestAReceiptHasAPurposeOfItsOwn(t *testing.T) {
	data, err := sign.Seal("application/vnd.holdfast.ack.v1+json", []byte(goldenPayload), evidence)
	must(t, err)
	if got := failed(receipt.Verify(data, want(t), fleet(), evidence.Public())); got != "envelope" {
		t.Error(got)
	}
}

// Red when: Verify ends its list where it stops looking, or calls what it did not look at OK.
func TestEveryCheckIsListed(t *testing.T) {
	all := receipt.Verify([]byte(goldenReceipt), want(t), fleet(), evidence.Public())
	for _, data := range [][]byte{nil, []byte("{}"), resign(t, stranger, "done", "gone"), resign(t, evidence, "receipt/1", "receipt/2")} {
		list, after := receipt.Verify(data, want(t), fleet(), evidence.Public()), false
		if len(list) != len(all) {
			t.Fatalf("%d checks, not %d", len(list), len(all))
		}
		for i, c := range list {
			if c.Name != all[i].Name || c.Detail == "" || after && (c.OK || c.Detail != "not looked at") {
				t.Errorf("%+v", c)
			}
			after = after || !c.OK
		}
	}
	if receipt.Holds(nil) {
		t.Error("no checks at all hold")
	}
}

// Red when: a weak proof is let by the floor of another, or one that nothing ran is not.
func TestTheFloorSaysWhichProofsCount(t *testing.T) {
	s := seen()
	s.Exit = unseen
	for _, c := range []struct {
		proof   receipt.Proof
		allowed []string
		ok      bool
	}{
		{namespace, nil, true},
		{weak, nil, true},
		{namespace, []string{}, false},
		{namespace, []string{"namespace"}, true},
		{weak, []string{"namespace", "cgroup"}, false},
		{weak, []string{"weak"}, true},
		{reboot, []string{"namespace"}, true},
		{nothing, []string{"namespace"}, true},
	} {
		r, err := receipt.NewNormal(fence(t), c.proof, s)
		if c.proof == reboot || c.proof == nothing {
			r, err = receipt.NewNoProcess(fence(t), c.proof, s)
		}
		must(t, err)
		data, err := r.Seal(evidence)
		must(t, err)
		w := want(t)
		w.AllowedProofs = c.allowed
		if list := receipt.Verify(data, w, fleet(), evidence.Public()); receipt.Holds(list) != c.ok {
			t.Errorf("%s of %v: %v", receipt.Kind(c.proof), c.allowed, list)
		}
	}
}

// oldReader verifies receipts as was done before there were bindings: it knows of no
// member binding, and is lenient about what it does not know.
func oldReader(data []byte, public sign.Public, revision uint64) error {
	e, err := sign.Read(data, purpose)
	if err != nil {
		return err
	}
	payload, err := e.Verify(public)
	if err != nil {
		return err
	}
	var r struct {
		Operation         string `json:"operation"`
		BoxID             string `json:"box_id"`
		Instance          string `json:"instance"`
		Incarnation       uint64 `json:"incarnation"`
		Fence             uint64 `json:"fence"`
		DirectoryRevision string `json:"directory_revision"`
	}
	if err := json.Unmarshal(payload, &r); err != nil {
		return err
	}
	n, err := strconv.ParseUint(r.DirectoryRevision, 10, 64)
	if err != nil || n == 0 || n > revision || r.Instance != "train" || r.Fence != 4 {
		return fmt.Errorf("not the one: %+v", r)
	}
	return nil
}

// case L7b. Red when: the binding is written to the numeral, or the numeral is left out.
func TestAnOldReaderAcceptsAReceipt(t *testing.T) {
	if err := oldReader(normal(t, nil), evidence.Public(), 20); err != nil {
		t.Error(err)
	}
	if err := oldReader(resign(t, evidence, `"17"`, `"`+hex("b", 64)+`"`), evidence.Public(), 20); err == nil {
		t.Error("the binding is taken for the numeral")
	}
}

// Red when: Same compares the numeral, or leaves out another member.
func TestTheSameStopUnderTheSameAuthority(t *testing.T) {
	f := fence(t)
	later := f
	later.RosterRevision++
	if !f.Same(later) {
		t.Error("another numeral makes another stop")
	}
	for name, change := range map[string]func(*receipt.Target){
		"operation":   func(t *receipt.Target) { t.Operation = "stop-2" },
		"box":         func(t *receipt.Target) { t.BoxID = "box-2" },
		"enrollment":  func(t *receipt.Target) { t.Enrollment = hex("2", 32) },
		"instance":    func(t *receipt.Target) { t.Instance = "serve" },
		"incarnation": func(t *receipt.Target) { t.Incarnation++ },
		"session":     func(t *receipt.Target) { t.Session++ },
		"binding":     func(g *receipt.Target) { g.Binding = stamp(t, "a") },
	} {
		other := f
		if change(&other); f.Same(other) {
			t.Errorf("another %s is the same stop", name)
		}
	}
	if (receipt.Target{}).Same(receipt.Target{}) {
		t.Error("what is bound to nothing is the same")
	}
}

// Red when: a fence is read that is not spelt as it is written, or has no numeral.
func TestAFenceIsReadAsItWasWritten(t *testing.T) {
	data, err := fence(t).Encode()
	must(t, err)
	got, err := receipt.Decode(data)
	if err != nil || got != fence(t) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "{}", " " + string(data), strings.Replace(string(data), "17", "0", 1), strings.Replace(string(data), "17", "17.0", 1)} {
		if _, err := receipt.Decode([]byte(bad)); step(err) != "fence-format" {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := (receipt.Target{}).Encode(); step(err) != "fence-format" {
		t.Error(err)
	}
}

func TestWhereAReceiptIs(t *testing.T) {
	k, err := receipt.Key(fence(t))
	if want := "evidence/" + box + "/train/3-stop-1.json"; err != nil || k.String() != want {
		t.Errorf("%s, %v", k, err)
	}
	if _, err := receipt.Key(receipt.Target{}); step(err) != "fence-format" {
		t.Error(err)
	}
	ref := receipt.RefTo(k, []byte(goldenReceipt))
	if !ref.Is([]byte(goldenReceipt)) || ref.Is([]byte(goldenPayload)) || ref.Operation(box, "train", 3) != "stop-1" || ref.Operation(box, "train", 2) != "" {
		t.Errorf("%+v", ref)
	}
	if _, err := bucket.ParseKey(ref.Key); err != nil {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(goldenPayload))
	f.Add([]byte(strings.Replace(goldenPayload, `"17"`, `"0"`, 1)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := receipt.ReadPayload(payload)
		if err != nil {
			return
		}
		again, err := r.Payload()
		if err != nil || !bytes.Equal(again, payload) || r.RosterRevision == 0 {
			t.Errorf("%s\nis read, and would be written as another: %v", payload, err)
		}
	})
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte(goldenReceipt))
	f.Fuzz(func(t *testing.T, data []byte) {
		if receipt.Holds(receipt.Verify(data, want(t), fleet(), evidence.Public())) && string(data) != goldenReceipt {
			var e struct{ Payload string }
			_ = json.Unmarshal(data, &e)
			payload, _ := base64.StdEncoding.DecodeString(e.Payload)
			t.Errorf("forged: %s", payload)
		}
	})
}

func FuzzDecode(f *testing.F) {
	data, err := fence(f).Encode()
	must(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := receipt.Decode(data)
		if err != nil {
			return
		}
		if again, err := canon.Encode(got); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s is read as %+v, %v", data, got, err)
		}
	})
}
