// Package access says who may do what, and proves who somebody is.
//
// A [Party] is whoever a request comes from; an [Action] is what it asks for.
// [Policy.Allow] decides over one table, for every surface. Nothing else in
// the project compares parties.
//
// Who somebody is rests on one secret, the operator's [Key]: a file of its
// own, from which a sub-key is derived for each use. Sessions of browsers, the
// command line's bearer token, workers' tokens and the addresses of booths'
// bytes are made and opened with it, without a store; a token made for one use
// is never good for another. [Links] are the only state: sign-in links, in
// memory, each good once.
//
// What it promises: no zero value is a right, every decoder is total and
// accepts one spelling, secrets are compared in constant time and printed by
// nothing. What it does not: a token cannot be called back before it ends,
// except by deleting the key, which ends all of them.
package access

// Party is who a request comes from: [Anonymous], [Worker], [Operator],
// [Observer] or [Frame], and nothing else.
type Party interface {
	// String is the party for a log: never a secret.
	String() string
	party()
}

// Anonymous showed no credential.
type Anonymous struct{}

// Worker holds a token for one booth.
type Worker struct{ Booth string }

// Operator is the person, or the person's command line.
type Operator struct {
	Principal string // never empty for a real operator
	Session   string // the browser session; empty on the command line
}

// Observer is a tool of Holdfast's own: it reads pages and leaves no view.
type Observer struct{}

// Frame is a frame on the desk's page that shows what came out of one booth.
// Its credential is the token in the path, so everything in the frame can have
// it: it is good for that booth's bytes and nothing else.
type Frame struct {
	Booth   string
	Session string // for which session the address was made, or [AnonymousSession]
}

func (Anonymous) String() string  { return "anonymous" }
func (Worker) String() string     { return "worker" }
func (o Operator) String() string { return "operator " + o.Principal }
func (Observer) String() string   { return "observer" }
func (Frame) String() string      { return "frame" }

func (Anonymous) party() {}
func (Worker) party()    {}
func (Operator) party()  {}
func (Observer) party()  {}
func (Frame) party()     {}
