// Package order is what a console and a box say to each other, as values: an [Order] to
// run or to stop, the box's [Ack] to it, and the box's [Session], under which alone orders
// are good.
//
// Orders are signed by a console that stands in the roster, and read with [Read]. The
// other two are signed by the box's evidence key, and read by what is known of the box,
// [Box], which must have been compared with its row. Every reader asks for the place
// that a document stands in: what was said in one place is not good in another.
//
//	control/orders/ENROLLMENT/SESSION/OPERATION.json   a console, create-only
//	boxes/ENROLLMENT/acks/OPERATION.json               the box, by compare-and-swap
//	boxes/ENROLLMENT/session.json                      the box, by compare-and-swap
//	boxes/ENROLLMENT/beat.json                         the box; it is display, and no part of this
package order

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// What is signed here, each for one use.
const (
	purposeOrder   sign.Purpose = "application/vnd.holdfast.order.v1+json"
	purposeAck     sign.Purpose = "application/vnd.holdfast.ack.v1+json"
	purposeSession sign.Purpose = "application/vnd.holdfast.session.v1+json"
)

// The formats of the bytes.
const (
	Schema        = "holdfast-order/1"
	AckSchema     = "holdfast-ack/1"
	SessionSchema = "holdfast-box-session/1"
)

// Kind says what is ordered.
type Kind string

const (
	Run  Kind = "run"  // install the incarnation, and start it
	Stop Kind = "stop" // fence it, end it, prove it
)

// Order is one order to one box, create-only, under [Key].
type Order struct {
	Schema     string `json:"schema"`
	Bucket     string `json:"bucket"`
	Console    string `json:"console"`
	Operation  string `json:"operation"`
	Kind       Kind   `json:"kind"`
	BoxID      string `json:"box_id"`
	Enrollment string `json:"enrollment"`
	// BoxSession is the session of the box that the order is for: no other takes it.
	BoxSession  string       `json:"box_session"`
	Instance    string       `json:"instance"`
	Incarnation uint64       `json:"incarnation"`
	Session     uint64       `json:"session"` // of the claim
	Binding     roster.Stamp `json:"binding"` // run: that of the box now; stop: that of the claim
	Work        *Work        `json:"work,omitempty"`
	GraceNS     int64        `json:"grace_ns,omitempty"` // stop: from TERM to the end
	IssuedAt    time.Time    `json:"issued_at"`
}

// Work is what an instance does.
type Work struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Dir     string            `json:"dir,omitempty"` // empty: a folder of its own
	TTY     bool              `json:"tty,omitempty"`
	Limits  Limits            `json:"limits"`
}

// Limits lower what a process may use; what is 0 is left as it is.
type Limits struct {
	Files        uint64 `json:"files,omitempty"`
	Processes    uint64 `json:"processes,omitempty"`
	FileSize     uint64 `json:"file_size,omitempty"`     // bytes
	AddressSpace uint64 `json:"address_space,omitempty"` // bytes
	CPUSeconds   uint64 `json:"cpu_seconds,omitempty"`
	Nice         int    `json:"nice,omitempty"`
}

// Bounds of what is ordered.
const (
	maxArguments = 256
	maxEnv       = 256
	maxWord      = 128<<10 - 1 // bytes of an argument, and of NAME=VALUE: the kernel takes no longer one
	maxWords     = 512 << 10   // bytes of all of them
	maxDir       = 4095
	maxGrace     = 24 * time.Hour
	maxNice      = 19
)

const step = "order-format"

// Check refuses an order that nobody could carry out.
func (o Order) Check() error {
	c := document.Checker{Step: step}
	c.Must(o.Schema == Schema, "its schema is %.80q, not %q", o.Schema, Schema)
	c.ID("bucket", o.Bucket)
	c.Names("console", o.Console)
	c.Operation("operation", o.Operation)
	c.Names("box_id", o.BoxID)
	c.ID("enrollment", o.Enrollment)
	c.ID("box_session", o.BoxSession)
	c.Names("instance", o.Instance)
	c.Count("incarnation", o.Incarnation)
	c.Count("session", o.Session)
	c.Stamp("binding", o.Binding)
	c.Time("issued_at", o.IssuedAt)
	switch o.Kind {
	case Run:
		c.Must(o.GraceNS == 0, "an order to run has a grace")
		c.Must(o.Work != nil, "an order to run has no work")
		if o.Work != nil {
			o.Work.check(&c)
		}
	case Stop:
		c.Must(o.Work == nil, "an order to stop has work")
		c.Must(o.GraceNS >= 0 && o.GraceNS <= int64(maxGrace), "grace_ns is not between 0 and a day")
	default:
		c.Must(false, "its kind is %.80q, which is none", string(o.Kind))
	}
	return c.Err()
}

// Check refuses work that could not be started anywhere.
func (w Work) Check() error {
	c := document.Checker{Step: "work-format"}
	w.check(&c)
	return c.Err()
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (w Work) check(c *document.Checker) {
	c.Must(len(w.Command) > 0 && w.Command[0] != "", "the command is empty")
	c.Must(len(w.Command) <= maxArguments, "the command has over %d words", maxArguments)
	c.Must(w.Env != nil && len(w.Env) <= maxEnv, "the environment is none, or has over %d variables", maxEnv)
	size := 0
	word := func(what, text string) {
		c.Must(len(text) <= maxWord && utf8.ValidString(text) && !strings.Contains(text, "\x00"),
			"%s is over %d bytes, is no UTF-8, or has a NUL", what, maxWord)
		size += len(text)
	}
	for _, arg := range w.Command {
		word("a word of the command", arg)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		c.Must(envName.MatchString(name), "%.80q is no name of a variable", name)
		word("the variable "+name[:min(len(name), 80)], name+"="+w.Env[name])
	}
	c.Must(size <= maxWords, "the command and the environment have over %d bytes", maxWords)
	c.Text("dir", w.Dir, maxDir)
	c.Must(w.Dir == "" || path.IsAbs(w.Dir) && path.Clean(w.Dir) == w.Dir, "dir is %.200q, which is no absolute path in its shortest form", w.Dir)
	w.Limits.check(c)
}

func (l Limits) check(c *document.Checker) {
	for _, n := range []uint64{l.Files, l.Processes, l.FileSize, l.AddressSpace, l.CPUSeconds} {
		c.Must(n <= document.MaxCount, "a limit is %d, which is above 2^53-1", n)
	}
	c.Must(l.Nice >= 0 && l.Nice <= maxNice, "nice is %d, which is not between 0 and %d: limits only lower", l.Nice, maxNice)
}

// Key is where the order of an operation is, for a session of the box of an enrollment.
func Key(enrollment, session, operation string) (bucket.Key, error) {
	if err := document.CheckOperation(operation); err != nil {
		return bucket.Key{}, err
	}
	under, err := Under(enrollment, session)
	if err != nil {
		return bucket.Key{}, err
	}
	return bucket.ParseKey(under + operation + ".json")
}

// Under is what the keys of all orders begin with that are for a session of a box.
func Under(enrollment, session string) (string, error) {
	if err := document.CheckID("enrollment", enrollment); err != nil {
		return "", err
	}
	if err := document.CheckID("box-session", session); err != nil {
		return "", err
	}
	return "control/orders/" + enrollment + "/" + session + "/", nil
}

// Key is where o belongs.
func (o Order) Key() (bucket.Key, error) { return Key(o.Enrollment, o.BoxSession, o.Operation) }

// Seal signs the order by the console whose it is.
func (o Order) Seal(console sign.Key) ([]byte, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return document.Seal(purposeOrder, o, console)
}

// Read reads an order that the console of r which it names has signed. Whether it is for
// this box, this session and the place where it stood is for the reader to ask:
// [Order.Key] is that place. Its refusals have the steps order-format, order-bucket,
// console-unknown and those of an envelope.
func Read(data []byte, r *roster.Roster) (Order, error) {
	e, err := sign.Read(data, purposeOrder)
	if err != nil {
		return Order{}, err
	}
	var o Order
	if err := document.Decode(e.Claimed(), &o, step); err != nil {
		return Order{}, err
	}
	if err := document.ByConsole(e, r, o.Console); err != nil {
		return Order{}, err
	}
	if o.Bucket != r.Bucket {
		return Order{}, problem.Refusal("order-bucket", "The order is one of another fleet.")
	}
	return o, o.Check()
}

// Same says whether o and other order the same, whichever console said it when, and for
// whichever session of the box: an operation is ordered anew after the box's root was
// restarted.
func (o Order) Same(other Order) bool {
	if !o.Binding.Same(other.Binding) {
		return false
	}
	work := (o.Work == nil) == (other.Work == nil) && (o.Work == nil || o.Work.Same(*other.Work))
	o.Console, o.BoxSession, o.IssuedAt, o.Work = other.Console, other.BoxSession, other.IssuedAt, other.Work
	return work && o == other
}

// Same says whether w and other are the same work.
func (w Work) Same(other Work) bool {
	return slices.Equal(w.Command, other.Command) && maps.Equal(w.Env, other.Env) && w.Dir == other.Dir && w.TTY == other.TTY && w.Limits == other.Limits
}
