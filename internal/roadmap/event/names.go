package event

import (
	"fmt"
	"regexp"
	"strings"

	"holdfast/internal/problem"
)

// ID names an event: 64 lower-case hexadecimal digits.
type ID string

// Short is enough of an id for people.
func (id ID) Short() string { return string(id[:min(12, len(id))]) }

// Node names a unit of work: a slug such as fix-login, at most [MaxNode] bytes.
// It never changes.
type Node string

// MaxNode is how long a node's name may be.
const MaxNode = 80

// Principal is whoever acts or is asked: principal:AUTHORITY/NAMESPACE/SUBJECT.
type Principal string

// Subject is the last part, for people: who within the authority's namespace.
func (p Principal) Subject() string { return string(p)[strings.LastIndexByte(string(p), '/')+1:] }

// Key names one operation, so that asking for it again does it once.
type Key string

// Comment names a comment within its node.
type Comment string

// Attempt names one try of a claim.
type Attempt string

// Priority is p0 (first) to p4 (last); none given counts as p2.
type Priority string

// DefaultPriority is what a card without one counts as.
const DefaultPriority Priority = "p2"

// Rank is the priority that p counts as.
func (p Priority) Rank() Priority {
	if p == "" {
		return DefaultPriority
	}
	return p
}

// Relation is how one node stands to another.
type Relation string

// The relations of nodes.
const (
	BlockedBy Relation = "blocked_by" // it waits until the other is accepted
	ChildOf   Relation = "child_of"   // it is part of the other
	Related   Relation = "related"    // whoever reads one may want the other
)

// Relations are all of them, in the order in which they are shown.
var Relations = []Relation{BlockedBy, ChildOf, Related}

var (
	nodeShape      = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	idShape        = regexp.MustCompile(`^[0-9a-f]{64}$`)
	principalShape = regexp.MustCompile(`^principal:[A-Za-z0-9][A-Za-z0-9._@+-]*/[A-Za-z0-9][A-Za-z0-9._@+-]*/[A-Za-z0-9][A-Za-z0-9._@+-]*$`)
	keyShape       = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	commentShape   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	attemptShape   = regexp.MustCompile(`^[0-9a-f]{16}$`)
	headShape      = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	priorityShape  = regexp.MustCompile(`^p[0-4]$`)
)

const maxPrincipal = 256

// ParseNode reads a node's name.
func ParseNode(s string) (Node, error) {
	if !isNode(s) {
		return "", problem.New(problem.Usage, "node", "%q is no name of a node: lower-case letters and digits in words joined by hyphens, such as fix-login, at most %d in all.", clip(s), MaxNode)
	}
	return Node(s), nil
}

func isNode(s string) bool { return len(s) <= MaxNode && nodeShape.MatchString(s) }

// ParseID reads an event's id.
func ParseID(s string) (ID, error) {
	if !idShape.MatchString(s) {
		return "", problem.New(problem.Usage, "revision", "%q is no id of an event: 64 lower-case hexadecimal digits.", clip(s))
	}
	return ID(s), nil
}

// ParsePrincipal reads a principal.
func ParsePrincipal(s string) (Principal, error) {
	if !isPrincipal(s) {
		return "", problem.New(problem.Usage, "principal", "%q names nobody: a principal is principal:AUTHORITY/NAMESPACE/SUBJECT, such as principal:local/studio/ada.", clip(s))
	}
	return Principal(s), nil
}

func isPrincipal(s string) bool { return len(s) <= maxPrincipal && principalShape.MatchString(s) }

// ParseKey reads an operation key. Nothing was opened when it refuses.
func ParseKey(s string) (Key, error) {
	if !keyShape.MatchString(s) {
		return "", problem.New(problem.Usage, StepOperationInvalid, "%q is no operation key: 1 to 128 letters, digits, _ and -. Nothing was opened.", clip(s))
	}
	return Key(s), nil
}

// ParsePriority reads p0 to p4, or 0 to 4.
func ParsePriority(s string) (Priority, error) {
	if len(s) == 1 {
		s = "p" + s
	}
	if !priorityShape.MatchString(s) {
		return "", problem.New(problem.Usage, "priority", "%q is no priority: p0, the first, to p4, the last.", clip(s))
	}
	return Priority(s), nil
}

// ParseRelation reads a relation's name.
func ParseRelation(s string) (Relation, error) {
	for _, r := range Relations {
		if s == string(r) || s == strings.ReplaceAll(string(r), "_", "-") {
			return r, nil
		}
	}
	return "", problem.New(problem.Usage, "relation", "%q is no relation of nodes: %s.", clip(s), "blocked_by, child_of or related")
}

// clip keeps a message readable that repeats what somebody sent.
func clip(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes)", len(s))
}
