package console_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

const fleetID = "66666666666666666666666666666666"

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func key(n byte) sign.Key { return sign.FromSeed([32]byte{n}) }

func step(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return fmt.Sprint(err)
	}
	return p.Step
}

// fleet is a store in memory with a roster of two consoles and some boxes.
type fleet struct {
	t      testing.TB
	dir    *durable.Dir
	mu     sync.Mutex // while the boxes look
	memory *buckettest.Memory
	store  bucket.Store // memory, or in front of it
	boxes  []*fakeBox
	ops    *console.Ops // of the console main
	waits  func()       // what else happens while a console waits
	reader *rosterstore.Store
}

func begin(t testing.TB, boxes ...string) *fleet {
	t.Helper()
	d, err := durable.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	f := &fleet{t: t, dir: d, memory: buckettest.NewMemory(t)}
	f.store = f.memory
	root := key(1)
	f.reader = f.roster()
	_, err = f.reader.Init(t.Context(), key(2), func() (*roster.Roster, error) {
		r := roster.New(fleetID, time.Second)
		var errs []error
		for n, name := range []string{"main", "second"} {
			k := key(byte(2 + n))
			grant, err := rosterstore.Grant(root, fleetID, name, k.Public())
			errs = append(errs, err, r.EnrollConsole(name, k.Public().String(), grant, noon))
		}
		return r, errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, name := range boxes {
		f.enroll(name, key(byte(10+n)))
	}
	f.ops = f.console("main", key(2))
	return f
}

// roster is the roster in the store; all that read it share one memory.
func (f *fleet) roster() *rosterstore.Store {
	return rosterstore.New(f.store, rosterstore.Trust{Root: key(1).Public(), Bucket: fleetID}, rosterstore.NewMemory(f.dir))
}

func (f *fleet) console(name string, k sign.Key) *console.Ops {
	return &console.Ops{
		Bucket: f.store, Roster: f.roster(), Name: name, Key: k, Now: func() time.Time { return noon },
		Waker: func(int) time.Duration { f.look(); return 0 }, // while a console waits, the boxes look
	}
}

// look lets every box look at its orders.
func (f *fleet) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waits != nil {
		f.waits()
	}
	for _, b := range f.boxes {
		b.look()
	}
}

// write changes the roster.
func (f *fleet) write(change func(r *roster.Roster) error) {
	f.t.Helper()
	if _, err := f.reader.Update(f.t.Context(), key(2), change); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) now() *rosterstore.Version {
	f.t.Helper()
	v, err := f.reader.Read(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

// enroll brings in a box, and starts its root.
func (f *fleet) enroll(name string, evidence sign.Key) {
	f.t.Helper()
	f.silent(name, evidence).restart()
}

// silent brings in a box whose root was never started.
func (f *fleet) silent(name string, evidence sign.Key) *fakeBox {
	f.t.Helper()
	i, private, err := enrollment.New(enrollment.Invitation{
		Bucket: fleetID, Console: "main", Box: name, Uses: 1, Namespace: "default", Region: "eu", Pool: "default",
		Cloud: enrollment.Cloud{Name: "none"}, IssuedAt: noon, ExpiresAt: noon.Add(time.Hour),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	_, identity, err := enrollment.NewRequest(i, private, evidence, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	e := roster.EnrollmentOf(i.ID, evidence.Public().ID())
	at, err := enrollment.IdentityKey(e)
	if err != nil {
		f.t.Fatal(err)
	}
	f.put(at, identity)
	f.write(func(r *roster.Roster) error {
		return r.Enroll(roster.Admission{
			Invitation: i.ID, Uses: 1, BoxID: name, Namespace: "default", Region: "eu", Pool: "default", Cloud: "none",
		}, evidence.Public().ID(), noon)
	})
	b := &fakeBox{f: f, name: name, enrollment: e, key: evidence, proof: "namespace", journal: map[string]order.Answer{}, receipts: map[uint64]receipt.Ref{}, running: map[string]uint64{}}
	f.boxes = append(f.boxes, b)
	return b
}

// at is the key called name.
func (b *fakeBox) at(name string) bucket.Key { return buckettest.Key(b.f.t, name) }

// put writes an object as whoever has the store's credentials can.
func (f *fleet) put(at bucket.Key, data []byte) {
	f.t.Helper()
	reading, err := f.memory.Get(context.Background(), at)
	if err != nil {
		f.t.Fatal(err)
	}
	if e, ok := f.memory.Put(context.Background(), at, data, reading.Unmoved()).(bucket.Done); !ok {
		f.t.Fatalf("writing %s ended as %v", at, e)
	}
}

func (f *fleet) object(name string) ([]byte, bool) {
	f.t.Helper()
	reading, err := f.memory.Get(context.Background(), buckettest.Key(f.t, name))
	if err != nil {
		f.t.Fatal(err)
	}
	found, ok := reading.(bucket.Found)
	return found.Data, ok
}

// claim is the claim of the instance web.
func (f *fleet) claim() claim.Claim { return f.claimOf("web") }

func (f *fleet) claimOf(instance string) claim.Claim {
	f.t.Helper()
	data, ok := f.object("control/claims/" + instance + ".json")
	if !ok {
		return claim.Claim{}
	}
	c, err := claim.Read(data, f.now().Roster, instance)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// fakeBox is a root that keeps to the contract, and lies where it is told to.
type fakeBox struct {
	f          *fleet
	name       string
	enrollment string
	key        sign.Key
	session    string
	lives      int
	proof      string
	down       bool
	journal    map[string]order.Answer // by operation
	receipts   map[uint64]receipt.Ref
	running    map[string]uint64 // instances, with their incarnation
	starts     int
	refuses    bool
	lingers    int                                        // how many looks a stop takes
	lies       func(t *receipt.Target, k *sign.Key)       // about a receipt
	spoils     func(data []byte, ref *receipt.Ref) []byte // what it uploads
}

func (b *fakeBox) box() order.Box {
	v, err := order.NewBox(b.f.now().Roster, b.enrollment, b.key.Public())
	if err != nil {
		b.f.t.Fatal(err)
	}
	return v
}

// restart begins a life of root.
func (b *fakeBox) restart() {
	b.lives++
	b.session = fmt.Sprintf("%s%024d", b.enrollment[:8], b.lives)
	at, err := order.SessionKey(b.enrollment)
	if err != nil {
		b.f.t.Fatal(err)
	}
	s := order.Session{
		Schema: order.SessionSchema, Bucket: fleetID, Enrollment: b.enrollment, ID: b.session, MachineID: "machine", BootID: "boot",
		RosterRevision: 1, Version: "v1.0.0", Proof: b.proof, Isolation: "namespace", StartedAt: noon,
	}
	if b.proof == "weak" {
		s.ProofWhy = "namespaces are refused here"
	}
	_, err = bucket.Update(context.Background(), b.f.memory, at, b.box().Sessions(b.key), func(order.Session, bool) (order.Session, error) { return s, nil })
	if err != nil {
		b.f.t.Fatal(err)
	}
}

// look is one look of the box at its orders.
func (b *fakeBox) look() {
	if b.down || b.session == "" {
		return
	}
	under, err := order.Under(b.enrollment, b.session)
	if err != nil {
		b.f.t.Fatal(err)
	}
	keys, err := b.f.memory.List(context.Background(), under)
	if err != nil {
		b.f.t.Fatal(err)
	}
	for _, k := range keys {
		data, _ := b.f.object(k.String())
		o, err := order.Read(data, b.f.now().Roster)
		if err != nil {
			b.f.t.Fatal(err)
		}
		answer, ok := b.journal[o.Operation]
		if _, stopping := answer.(order.Stopping); !ok || stopping {
			answer = b.carryOut(o)
			b.journal[o.Operation] = answer
		}
		b.answer(o, answer)
	}
}

func (b *fakeBox) answer(o order.Order, answer order.Answer) {
	at, err := order.AckKey(b.enrollment, o.Operation)
	if err != nil {
		b.f.t.Fatal(err)
	}
	ack := order.Ack{
		Bucket: fleetID, Enrollment: b.enrollment, BoxSession: b.session, Operation: o.Operation, Instance: o.Instance,
		Incarnation: o.Incarnation, Session: o.Session, Answer: answer,
	}
	_, err = bucket.Update(context.Background(), b.f.memory, at, b.box().Acks(b.key, o.Operation), func(was order.Ack, exists bool) (order.Ack, error) {
		if exists && was.Same(ack) {
			return was, bucket.ErrUnchanged
		}
		return ack, nil
	})
	if err != nil {
		b.f.t.Fatal(err)
	}
}

func (b *fakeBox) carryOut(o order.Order) order.Answer {
	if o.Kind == order.Stop {
		return b.stop(o)
	}
	c := b.f.claimOf(o.Instance)
	if b.refuses {
		return order.Refused{Step: "box-full", Reason: "There is no room on it."}
	}
	if c.State != claim.Held || c.Session != o.Session || c.Operation != o.Operation || c.Enrollment != b.enrollment {
		return order.Refused{Step: "claim-moved", Reason: "The claim is not this one."}
	}
	b.running[o.Instance] = o.Incarnation
	b.starts++
	return order.Running{}
}

func (b *fakeBox) stop(o order.Order) order.Answer {
	if ref, ok := b.receipts[o.Incarnation]; ok {
		return order.Stopped{Receipt: ref}
	}
	if b.lingers > 0 {
		b.lingers--
		return order.Stopping{Why: "it has not ended yet"}
	}
	delete(b.running, o.Instance)
	t := receipt.Target{
		Operation: o.Operation, BoxID: o.BoxID, Enrollment: o.Enrollment, Instance: o.Instance, Incarnation: o.Incarnation,
		Session: o.Session, Binding: o.Binding, RosterRevision: b.f.now().Revision,
	}
	at, err := receipt.Key(t)
	if err != nil {
		b.f.t.Fatal(err)
	}
	k := b.key
	if b.lies != nil {
		b.lies(&t, &k)
	}
	var proof receipt.Proof = receipt.Namespace{PID: 7, Start: 8, Inode: 9}
	if b.proof == "weak" {
		proof = receipt.Weak{PID: 7, Start: 8}
	}
	r, err := receipt.NewNormal(t, proof, receipt.Seen{Bucket: fleetID, Exit: receipt.Exited{}, Isolation: "namespace", At: noon})
	if err != nil {
		b.f.t.Fatal(err)
	}
	data, err := r.Seal(k)
	if err != nil {
		b.f.t.Fatal(err)
	}
	ref := receipt.RefTo(at, data)
	if b.spoils != nil {
		data = b.spoils(data, &ref)
	}
	b.f.put(at, data)
	b.receipts[o.Incarnation] = ref
	return order.Stopped{Receipt: ref}
}

// beat lets the box show what it has.
func (b *fakeBox) beat(at time.Time, list ...order.Beating) {
	key, err := order.BeatKey(b.enrollment)
	if err != nil {
		b.f.t.Fatal(err)
	}
	if list == nil {
		list = []order.Beating{}
	}
	_, err = bucket.Update(context.Background(), b.f.memory, key, b.box().Beats(b.key), func(order.Beat, bool) (order.Beat, error) {
		return order.Beat{Schema: order.BeatSchema, Bucket: fleetID, Enrollment: b.enrollment, BoxSession: b.session, At: at, Instances: list}, nil
	})
	if err != nil {
		b.f.t.Fatal(err)
	}
}

var sleep = order.Work{Command: []string{"sleep", "60"}, Env: map[string]string{}}

func run(box string) console.RunRequest {
	return console.RunRequest{Key: "op-1", Instance: "web", Wish: operation.Wish{Box: box}, Work: sleep}
}

func (f *fleet) run(req console.RunRequest) console.Ran {
	f.t.Helper()
	r, err := f.ops.Run(f.t.Context(), req)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func stop(k string) console.StopRequest {
	return console.StopRequest{Key: k, Instance: "web", Grace: time.Second}
}

func (f *fleet) stop(k string) console.Stopped {
	f.t.Helper()
	s, err := f.ops.Stop(f.t.Context(), stop(k))
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// wantNothingHeld fails where a hold is left.
func (f *fleet) wantNothingHeld() {
	f.t.Helper()
	if holds := f.now().Holds; len(holds) != 0 {
		f.t.Errorf("holds are left: %v", holds)
	}
}

func has(list []string, want string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, want) })
}
