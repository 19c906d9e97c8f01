package order_test

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/canon"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const purpose sign.Purpose = "application/vnd.holdfast.order.v1+json"

func hex(c string, n int) string { return strings.Repeat(c, n) }

func key(n byte) sign.Key { return sign.FromSeed([32]byte{n}) }

var (
	console  = key(1)
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

func stamp(c string) roster.Stamp {
	s, err := roster.ParseStamp(hex(c, 64))
	if err != nil {
		panic(err)
	}
	return s
}

// fleet is a roster with a console and a box.
func fleet(t testing.TB) *roster.Roster {
	r := roster.New(hex("6", 32), time.Second)
	must(t, r.EnrollConsole("main", console.Public().String(), "{}", noon))
	r.Boxes[box] = roster.Box{BoxID: "box-1", EvidenceSHA256: evidence.Public().ID()}
	return r
}

func work() order.Work {
	return order.Work{
		Command: []string{"/bin/sh", "-c", "train --all"}, Env: map[string]string{"HOME": "/srv", "_a1": ""}, Dir: "/srv/train", TTY: true,
		Limits: order.Limits{Files: 1024, Processes: 64, FileSize: 1 << 40, AddressSpace: 1 << 35, CPUSeconds: 3600, Nice: 10},
	}
}

func run() order.Order {
	w := work()
	return order.Order{
		Schema: order.Schema, Bucket: hex("6", 32), Console: "main", Operation: "run-1", Kind: order.Run, BoxID: "box-1", Enrollment: box,
		BoxSession: hex("5", 32), Instance: "train", Incarnation: 3, Session: 4, Binding: stamp("b"), Work: &w, IssuedAt: noon,
	}
}

func stop() order.Order {
	o := run()
	o.Operation, o.Kind, o.Work, o.GraceNS = "stop-1", order.Stop, nil, int64(10*time.Second)
	return o
}

// Red when: a member is dropped, or a stop is taken for a run.
func TestAnOrderIsReadAsItWasWritten(t *testing.T) {
	bare := run()
	bare.Work = &order.Work{Command: []string{"true"}, Env: map[string]string{}}
	atOnce := stop()
	atOnce.GraceNS = 0
	for _, o := range []order.Order{run(), stop(), bare, atOnce} {
		data, err := o.Seal(console)
		must(t, err)
		got, err := order.Read(data, fleet(t))
		if diff := cmp.Diff(o, got, cmp.AllowUnexported(roster.Stamp{})); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if !o.Same(got) {
			t.Error("it does not order the same")
		}
	}
}

// Red when: Read believes what a console of the roster has not signed for this use.
func TestAnOrderThatNoConsoleGaveIsRefused(t *testing.T) {
	good, err := run().Seal(console)
	must(t, err)
	e, err := sign.Read(good, purpose)
	must(t, err)
	seal := func(p sign.Purpose, by sign.Key, old, now string) []byte {
		text := strings.ReplaceAll(string(e.Claimed()), old, now)
		if !strings.Contains(string(e.Claimed()), old) {
			t.Fatalf("no %s", old)
		}
		data, err := sign.Seal(p, []byte(text), by)
		must(t, err)
		return data
	}
	altered := bytes.Clone(good)
	altered[bytes.Index(altered, []byte(`"sig":"`))+10] ^= 1
	for name, c := range map[string]struct {
		data []byte
		step string
	}{
		"good":                {good, "<nil>"},
		"unsigned":            {e.Claimed(), "envelope-format"},
		"by a stranger":       {seal(purpose, stranger, "box", "box"), "envelope-signer"},
		"by the box":          {seal(purpose, evidence, `"main"`, `"box-1"`), "console-unknown"},
		"altered":             {altered, "envelope-signature"},
		"for another purpose": {seal("application/vnd.holdfast.claim.v1+json", console, `box`, "box"), "envelope-purpose"},
		"of another fleet":    {seal(purpose, console, hex("6", 32), hex("7", 32)), "order-bucket"},
		"a member more":       {seal(purpose, console, `{"binding"`, `{"a":1,"binding"`), "order-format"},
		"a member of limits":  {seal(purpose, console, `"limits":{`, `"limits":{"a":1,`), "order-format"},
		"a space":             {seal(purpose, console, `{"binding"`, `{ "binding"`), "order-format"},
		"another kind":        {seal(purpose, console, `"kind":"run"`, `"kind":"park"`), "order-format"},
		"a run called a stop": {seal(purpose, console, `"kind":"run"`, `"kind":"stop"`), "order-format"},
		"a count too high":    {seal(purpose, console, `"incarnation":3`, `"incarnation":9007199254740992`), "order-format"},
		"a time elsewhere":    {seal(purpose, console, `12:00:00Z`, `12:00:00+01:00`), "order-format"},
		"a fine time":         {seal(purpose, console, `12:00:00Z`, `12:00:00.0001Z`), "order-format"},
	} {
		if _, err := order.Read(c.data, fleet(t)); step(err) != c.step {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// many is n variables.
func many(n int) map[string]string {
	env := map[string]string{}
	for i := range n {
		env["V"+strconv.Itoa(i)] = ""
	}
	return env
}

// words are four of the longest, and one more.
func words(last string) []string {
	longest := hex("a", 128<<10-1)
	return []string{longest, longest, longest, longest, last}
}

// Red when: Check leaves out one of its questions.
func TestAnOrderThatNobodyCouldCarryOutIsRefused(t *testing.T) {
	long := 128<<10 - 1
	for name, c := range map[string]struct {
		change func(*order.Order)
		ok     bool
	}{
		"as it is":               {func(*order.Order) {}, true},
		"schema":                 {func(o *order.Order) { o.Schema = "" }, false},
		"bucket":                 {func(o *order.Order) { o.Bucket = "6" }, false},
		"console":                {func(o *order.Order) { o.Console = "Main" }, false},
		"no operation":           {func(o *order.Order) { o.Operation = "" }, false},
		"a long operation":       {func(o *order.Order) { o.Operation = hex("a", 64) }, true},
		"too long an operation":  {func(o *order.Order) { o.Operation = hex("a", 65) }, false},
		"a folder":               {func(o *order.Order) { o.Operation = "a/b" }, false},
		"a hyphen first":         {func(o *order.Order) { o.Operation = "-a" }, false},
		"an upper-case key":      {func(o *order.Order) { o.Operation = "A" }, false},
		"a line's end":           {func(o *order.Order) { o.Operation = "a\n" }, false},
		"box":                    {func(o *order.Order) { o.BoxID = "" }, false},
		"enrollment":             {func(o *order.Order) { o.Enrollment = hex("A", 32) }, false},
		"box session":            {func(o *order.Order) { o.BoxSession = "" }, false},
		"instance":               {func(o *order.Order) { o.Instance = "../x" }, false},
		"incarnation":            {func(o *order.Order) { o.Incarnation = 0 }, false},
		"session":                {func(o *order.Order) { o.Session = 1 << 53 }, false},
		"binding":                {func(o *order.Order) { o.Binding = roster.Stamp{} }, false},
		"time":                   {func(o *order.Order) { o.IssuedAt = time.Time{} }, false},
		"local time":             {func(o *order.Order) { o.IssuedAt = noon.In(time.FixedZone("", 60)) }, false},
		"a grace":                {func(o *order.Order) { o.GraceNS = 1 }, false},
		"no work":                {func(o *order.Order) { o.Work = nil }, false},
		"no command":             {func(o *order.Order) { o.Work.Command = []string{} }, false},
		"an empty command":       {func(o *order.Order) { o.Work.Command = []string{"", "a"} }, false},
		"256 words":              {func(o *order.Order) { o.Work.Command = strings.Split(hex("a,", 255)+"a", ",") }, true},
		"257 words":              {func(o *order.Order) { o.Work.Command = strings.Split(hex("a,", 256)+"a", ",") }, false},
		"a NUL in a word":        {func(o *order.Order) { o.Work.Command[1] = "a\x00" }, false},
		"no UTF-8":               {func(o *order.Order) { o.Work.Command[1] = "\xff" }, false},
		"a long word":            {func(o *order.Order) { o.Work.Command[1] = hex("a", long) }, true},
		"too long a word":        {func(o *order.Order) { o.Work.Command[1] = hex("a", long+1) }, false},
		"much in all":            {func(o *order.Order) { o.Work.Command, o.Work.Env = words("1234"), many(0) }, true},
		"too much in all":        {func(o *order.Order) { o.Work.Command, o.Work.Env = words("12345"), many(0) }, false},
		"no environment":         {func(o *order.Order) { o.Work.Env = nil }, false},
		"256 variables":          {func(o *order.Order) { o.Work.Env = many(256) }, true},
		"257 variables":          {func(o *order.Order) { o.Work.Env = many(257) }, false},
		"a variable's name":      {func(o *order.Order) { o.Work.Env["1A"] = "" }, false},
		"an empty name":          {func(o *order.Order) { o.Work.Env[""] = "" }, false},
		"an equals sign":         {func(o *order.Order) { o.Work.Env["A=B"] = "" }, false},
		"a name of two lines":    {func(o *order.Order) { o.Work.Env["A\n"] = "" }, false},
		"a NUL in a variable":    {func(o *order.Order) { o.Work.Env["A"] = "\x00" }, false},
		"too long a variable":    {func(o *order.Order) { o.Work.Env["A"] = hex("a", long-1) }, false},
		"a folder of its own":    {func(o *order.Order) { o.Work.Dir = "" }, true},
		"a relative folder":      {func(o *order.Order) { o.Work.Dir = "srv" }, false},
		"a folder with a way up": {func(o *order.Order) { o.Work.Dir = "/srv/../etc" }, false},
		"a folder with a slash":  {func(o *order.Order) { o.Work.Dir = "/srv/" }, false},
		"a NUL in the folder":    {func(o *order.Order) { o.Work.Dir = "/srv\x00" }, false},
		"a long folder":          {func(o *order.Order) { o.Work.Dir = "/" + hex("a", 4095) }, false},
		"nicer":                  {func(o *order.Order) { o.Work.Limits.Nice = 19 }, true},
		"too nice":               {func(o *order.Order) { o.Work.Limits.Nice = 20 }, false},
		"raised":                 {func(o *order.Order) { o.Work.Limits.Nice = -1 }, false},
		"a limit too high":       {func(o *order.Order) { o.Work.Limits.Files = 1 << 53 }, false},
		"a kind":                 {func(o *order.Order) { o.Kind = "park" }, false},
		"a stop with work":       {func(o *order.Order) { o.Kind = order.Stop }, false},
		"a stop":                 {func(o *order.Order) { *o = stop() }, true},
		"a grace of a day":       {func(o *order.Order) { *o = stop(); o.GraceNS = int64(24 * time.Hour) }, true},
		"too long a grace":       {func(o *order.Order) { *o = stop(); o.GraceNS = int64(24*time.Hour) + 1 }, false},
		"a grace before":         {func(o *order.Order) { *o = stop(); o.GraceNS = -1 }, false},
	} {
		o := run()
		c.change(&o)
		data, err := o.Seal(console)
		if c.ok && err != nil || !c.ok && step(err) != "order-format" || (data == nil) == c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("%s: a refusal of %d bytes", name, len(err.Error()))
		}
	}
}

// Red when: Same leaves out a member, or compares who said it when.
func TestAnOrderThatIsGivenAnewIsTheSame(t *testing.T) {
	again := run()
	again.Console, again.BoxSession, again.IssuedAt = "second", hex("4", 32), noon.Add(time.Hour)
	if !run().Same(again) {
		t.Error("given anew it is another")
	}
	for name, change := range map[string]func(*order.Order){
		"operation":   func(o *order.Order) { o.Operation = "run-2" },
		"kind":        func(o *order.Order) { o.Kind = order.Stop },
		"bucket":      func(o *order.Order) { o.Bucket = hex("7", 32) },
		"box":         func(o *order.Order) { o.BoxID = "box-2" },
		"enrollment":  func(o *order.Order) { o.Enrollment = hex("2", 32) },
		"instance":    func(o *order.Order) { o.Instance = "serve" },
		"incarnation": func(o *order.Order) { o.Incarnation++ },
		"session":     func(o *order.Order) { o.Session++ },
		"binding":     func(o *order.Order) { o.Binding = stamp("a") },
		"no work":     func(o *order.Order) { o.Work = nil },
		"command":     func(o *order.Order) { o.Work.Command[2] = "train" },
		"env":         func(o *order.Order) { o.Work.Env["HOME"] = "/" },
		"dir":         func(o *order.Order) { o.Work.Dir = "/" },
		"tty":         func(o *order.Order) { o.Work.TTY = false },
		"limits":      func(o *order.Order) { o.Work.Limits.Nice++ },
		"grace":       func(o *order.Order) { o.GraceNS++ },
	} {
		other := run()
		if change(&other); run().Same(other) || other.Same(run()) {
			t.Errorf("another %s orders the same", name)
		}
	}
}

func TestWhereOrdersAre(t *testing.T) {
	s := hex("5", 32)
	k, err := run().Key()
	if want := "control/orders/" + box + "/" + s + "/run-1.json"; err != nil || k.String() != want {
		t.Errorf("%s, %v", k, err)
	}
	if u, err := order.Under(box, s); err != nil || u != "control/orders/"+box+"/"+s+"/" {
		t.Errorf("%s, %v", u, err)
	}
	ack, err := order.AckKey(box, "run-1")
	session, err2 := order.SessionKey(box)
	beat, err3 := order.BeatKey(box)
	if must(t, err, err2, err3); ack.String() != "boxes/"+box+"/acks/run-1.json" || session.String() != "boxes/"+box+"/session.json" || beat.String() != "boxes/"+box+"/beat.json" {
		t.Error(ack, session, beat)
	}
	for name, err := range map[string]error{
		"operation":  second(order.Key(box, s, "../x")),
		"session":    second(order.Key(box, "..", "run-1")),
		"enrollment": second(order.Key("box-1", s, "run-1")),
		"ack":        second(order.AckKey(box, "A")),
		"ack's box":  second(order.AckKey("", "run-1")),
		"box":        second(order.SessionKey("..")),
		"beat":       second(order.BeatKey("")),
	} {
		if problem.KindOf(err) != problem.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzRead(f *testing.F) {
	for _, o := range []order.Order{run(), stop()} {
		payload, err := canon.Encode(o)
		must(f, err)
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var o order.Order
		if document.Decode(payload, &o, "order-format") != nil || o.Check() != nil {
			return
		}
		again, err := canon.Encode(o)
		if err != nil || !bytes.Equal(again, payload) {
			t.Errorf("%s\nis read, and would be written as another: %v", payload, err)
		}
		if _, err := o.Key(); err != nil {
			t.Errorf("%s\nhas no place: %v", payload, err)
		}
	})
}
