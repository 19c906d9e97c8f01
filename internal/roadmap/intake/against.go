package intake

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/roadmap/event"
)

// Log is what there is already.
type Log struct {
	Nodes map[event.Node]bool       // every name that is taken
	Keys  map[event.Key]event.Event // every event, by its operation
}

// Orders is what is to be appended, and what is to be said.
type Orders struct {
	Commands []event.Command
	Nodes    []Named  // in the order of the commands
	There    int      // statements that the log has already
	Left     Left     // what is not carried over
	Said     []string // what a person has to know, a sentence each
}

// Named says what a unit of work is called in the plan.
type Named struct {
	Source string     `json:"source"`
	Node   event.Node `json:"node"`
	New    bool       `json:"new"`
}

// Against makes commands of a batch. Now and author are those of whoever imports.
func (b Batch) Against(log Log, author event.Principal, now time.Time) Orders {
	o := orders{Orders: Orders{Left: Left{}, Nodes: []Named{}, Said: []string{}}, log: log, author: author, at: now, from: b.From}
	for what, n := range b.left {
		if n > 0 {
			o.Left[what] += n
		}
	}
	if b.From == "export" {
		o.replay(b.replay)
		return o.Orders
	}
	o.items(o.sorted(b.items))
	return o.Orders
}

// items makes the commands of all items: each is opened with the links to those
// before it, and the other links come when all are open.
func (o *orders) items(items []item) {
	names := o.names(items)
	chains, later := map[string]*chain{}, []func(){}
	for i, it := range items {
		c := &chain{node: names[it.source], fresh: o.Nodes[i].New}
		if !o.add(c, it.source, "open", event.Opened{Card: o.card(it)}) && c.fresh {
			continue
		}
		chains[it.source] = c
		for _, l := range o.links(it, names) {
			link := func() {
				if chains[l.to] != nil {
					o.add(c, it.source, "link\x00"+string(l.relation)+"\x00"+l.to, event.Linked{Relation: l.relation, To: names[l.to]})
				}
			}
			if chains[l.to] != nil {
				link()
			} else {
				later = append(later, link)
			}
		}
		later = append(later, func() { o.rest(c, it) })
	}
	for _, do := range later {
		do()
	}
}

type orders struct {
	Orders

	log    Log
	from   string
	author event.Principal
	at     time.Time
}

func (o *orders) say(format string, args ...any) {
	o.Said = append(o.Said, fmt.Sprintf(format, args...))
}

// names gives every item its node: the one that it was imported as before, else a
// free name made of its title.
func (o *orders) names(items []item) map[string]event.Node {
	names, taken := map[string]event.Node{}, map[event.Node]bool{}
	for n := range o.log.Nodes {
		taken[n] = true
	}
	for _, it := range items {
		n, old := event.Node(""), false
		if e, ok := o.log.Keys[key(o.from, it.source, "open")]; ok {
			n, old = e.Node(), true
		} else {
			n = free(taken, it)
		}
		taken[n], names[it.source] = true, n
		o.Nodes = append(o.Nodes, Named{it.source, n, !old})
	}
	return names
}

// chain is the commands for one node. Those of a new one each expect the event
// before.
type chain struct {
	node   event.Node
	expect []event.ID
	fresh  bool
}

// rest is what was said of an item, and where it stands.
func (o *orders) rest(c *chain, it item) {
	for _, m := range it.comments {
		part := "comment\x00" + m.source
		body, _ := o.text(m.body)
		o.add(c, it.source, part, event.CommentCreated{Comment: name(key(o.from, it.source, part)), Body: body})
	}
	if it.end != nil {
		o.add(c, it.source, "end\x00"+string(it.end.Kind()), it.end)
	}
}

// add adds a command, unless the log has it. It says whether the node has, or will
// have, what it states.
func (o *orders) add(c *chain, source, part string, body event.Body) bool {
	k := key(o.from, source, part)
	if e, ok := o.log.Keys[k]; ok {
		o.There++
		if !event.Same(e.Body(), body) {
			o.say("%s has changed in the source since it was imported as %s (%s): what the plan has stays", source, c.node, body.Kind())
		}
		return true
	}
	command := event.Command{Key: k, Node: c.node, Author: o.author, At: o.at, Body: body}
	if err := c.put(&command); err != nil {
		o.say("%s: %s of it is left out: %s", source, body.Kind(), err)
		return false
	}
	o.Commands = append(o.Commands, command)
	return true
}

// put puts a command on top of a new node's; on top of an old one's it may come
// wherever that is by now.
func (c *chain) put(command *event.Command) error {
	if !c.fresh {
		return command.Check()
	}
	command.Expect = c.expect
	parents := c.expect
	if parents == nil {
		parents = []event.ID{}
	}
	sealed, err := command.Seal(parents)
	if err == nil {
		c.expect = []event.ID{sealed.ID()}
	}
	return err
}

// links are those that lead to something that is imported, each once.
func (o *orders) links(it item, names map[string]event.Node) []link {
	var out []link
	for _, l := range it.links {
		switch {
		case l.to == it.source:
			o.say("%s is linked to itself: the link is left out", it.source)
		case names[l.to] == "":
			o.say("%s is linked (%s) to %s, which is not in the file: the link is left out", it.source, l.relation, l.to)
		case !slices.Contains(out, l):
			out = append(out, l)
		}
	}
	return out
}

// sorted is the items so that blockers come first. Those that wait for each other
// come as they stand in the file.
func (o *orders) sorted(items []item) []item {
	at := map[string]int{}
	for i, it := range items {
		at[it.source] = i
	}
	var out []item
	placed, path := make([]bool, len(items)), []int{}
	var place func(int)
	place = func(i int) {
		if from := slices.Index(path, i); from >= 0 {
			o.sayCycle(items, path[from:])
			return
		}
		if placed[i] {
			return
		}
		path = append(path, i)
		for _, l := range items[i].links {
			if to, ok := at[l.to]; ok && to != i && l.relation == event.BlockedBy {
				place(to)
			}
		}
		path = path[:len(path)-1]
		placed[i] = true
		out = append(out, items[i])
	}
	for i := range items {
		place(i)
	}
	return out
}

func (o *orders) sayCycle(items []item, cycle []int) {
	var names []string
	for _, i := range append(slices.Clone(cycle), cycle[0]) {
		names = append(names, items[i].source)
	}
	o.say("these wait for each other, and none of them will be ready until a link is taken away: %s", strings.Join(names, ", "))
}

// replay states the events of an export again, with their own keys, authors and
// times, on top of the same events: their ids are the same again.
func (o *orders) replay(log []event.Envelope) {
	skip := o.unreplayable(log)
	seen := map[event.Node]bool{}
	for _, e := range log {
		n := e.Event.Node()
		if skip[n] {
			o.Left["events of nodes that were forked, or begin otherwise"]++
			continue
		}
		if !seen[n] {
			seen[n] = true
			o.Nodes = append(o.Nodes, Named{string(n), n, !o.log.Nodes[n]})
		}
		if there, ok := o.log.Keys[e.Key]; ok {
			o.There++
			if there.ID() != e.Event.ID() {
				o.say("the operation %s is another one in this plan: what the plan has stays", e.Key)
			}
			continue
		}
		o.Commands = append(o.Commands, event.Command{
			Key: e.Key, Node: n, Author: e.Event.Author(), At: e.Event.At(), Expect: e.Event.Parents(), Body: e.Event.Body(),
		})
	}
}

// unreplayable is the nodes whose events do not each follow the one before: a fork
// is not made anew.
func (o *orders) unreplayable(log []event.Envelope) map[event.Node]bool {
	head, skip := map[event.Node]event.ID{}, map[event.Node]bool{}
	for _, e := range log {
		n, parents := e.Event.Node(), e.Event.Parents()
		straight := len(parents) == 0 && head[n] == "" || len(parents) == 1 && parents[0] == head[n]
		if !straight && !skip[n] {
			skip[n] = true
			o.say("the history of %s is no single line: it is left out", n)
		}
		head[n] = e.Event.ID()
	}
	return skip
}
