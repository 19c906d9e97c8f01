package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/carrier"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/queue"
)

const planner = event.Principal("principal:local/bench/planner")

// planner's plans, each in a home of its own.
type plans struct {
	home  carrier.Home
	count int
	name  string
}

func (l *lab) plan(name, url string) (*plans, error) {
	dir := filepath.Join(l.dir, name)
	p := &plans{name: name, home: carrier.Home{
		Plan: filepath.Join(dir, "plan"), Embedded: filepath.Join(dir, "roadmap.git"), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}}
	if err := os.MkdirAll(p.home.Plan, 0o700); err != nil {
		return nil, err
	}
	_, err := carrier.Init(context.Background(), p.home, url)
	return p, err
}

// command opens another node, with about as many bytes as the floor pushes.
func (p *plans) command() event.Command {
	p.count++
	n := fmt.Sprintf("%s-%d", p.name, p.count)
	return event.Command{
		Key: event.Key(n), Node: event.Node(n), Author: planner, At: time.Now(),
		Body: event.Opened{Card: event.Card{Title: "Node " + n, Body: strings.Repeat("x", 150)}},
	}
}

func appendOne(c *carrier.Carrier, command event.Command) (float64, error) {
	began := time.Now()
	closed, err := c.Append(context.Background(), command)
	if err != nil {
		return 0, err
	}
	if _, ok := closed.Result[0].Ended.(queue.Appended); !ok {
		return 0, fmt.Errorf("%s ended as %#v", command.Key, closed.Result[0].Ended)
	}
	return milliseconds(began), nil
}

// appender appends to a plan that stays open, one event at a time.
func (p *plans) appender() (func() (float64, error), func(), error) {
	c, err := carrier.Open(context.Background(), p.home)
	if err != nil {
		return nil, nil, err
	}
	return func() (float64, error) { return appendOne(c, p.command()) }, c.Close, nil
}

// fill appends n events at once, every tenth of them a new node and the others
// about it.
func (p *plans) fill(n int) error {
	c, err := carrier.Open(context.Background(), p.home)
	if err != nil {
		return err
	}
	defer c.Close()
	list := make([]event.Command, n)
	for i := range list {
		list[i] = p.command()
		if i%10 > 0 {
			list[i].Node = list[i-1].Node
			list[i].Body = event.CommentCreated{Comment: event.Comment(fmt.Sprintf("c%d", i)), Body: strings.Repeat("x", 170)}
		}
	}
	closed, err := c.AppendAll(context.Background(), list)
	if err != nil {
		return err
	}
	for _, o := range closed.Result {
		if _, ok := o.Ended.(queue.Appended); !ok {
			return fmt.Errorf("%#v", o.Ended)
		}
	}
	return nil
}

// appends measures an append to a plan against a bare push, and against a peer's
// ticket.
func appends(l *lab) error {
	floorFar, err := l.pusher("floor-far", true)
	if err != nil {
		return err
	}
	defer floorFar.close()
	floorNear, err := l.pusher("floor-near", false)
	if err != nil {
		return err
	}
	serving, err := l.pusher("plan-far-remote", true)
	if err != nil {
		return err
	}
	defer serving.close()
	peer, err := l.fossil()
	if err != nil {
		return err
	}
	far, err := l.plan("plan-far", serving.remote)
	if err != nil {
		return err
	}
	near, err := l.plan("plan-near", "")
	if err != nil {
		return err
	}
	appendFar, doneFar, err := far.appender()
	if err != nil {
		return err
	}
	defer doneFar()
	appendNear, doneNear, err := near.appender()
	if err != nil {
		return err
	}
	defer doneNear()
	figures, err := alternate(42, appendFar, floorFar.pushReady, appendNear, floorNear.pushReady, peer.addTicket)
	if err != nil {
		return err
	}
	l.compare("append over HTTP / bare git push", figures[0], figures[1], "ms", "<= 1.5")
	l.compare("append to the embedded repository / bare git push to a path", figures[2], figures[3], "ms", "<= 1")
	l.compare("append to the embedded repository / fossil ticket add", figures[2], figures[4], "ms", "(a peer)")
	return l.eight(far, median(figures[0]), median(figures[1]))
}

// eight measures eight writers of one host against the single one.
func (l *lab) eight(p *plans, single, floor float64) error {
	const writers, each = 8, 25
	var mu sync.Mutex
	var took []float64
	var failed error
	commands := make([]event.Command, writers*each)
	for i := range commands {
		commands[i] = p.command()
	}
	began := time.Now()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			c, err := carrier.Open(context.Background(), p.home)
			if err == nil {
				defer c.Close()
				for _, command := range commands[w*each : (w+1)*each] {
					var t float64
					if t, err = appendOne(c, command); err != nil {
						break
					}
					mu.Lock()
					took = append(took, t)
					mu.Unlock()
				}
			}
			if err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	rate := float64(writers*each) / time.Since(began).Seconds()
	slices.Sort(took)
	l.compare("8 writers / one writer over HTTP", []float64{rate}, []float64{1000 / single}, "events/s", ">= 4")
	l.compare("8 writers, 95th percentile / bare git push", []float64{took[len(took)*95/100]}, []float64{floor}, "ms", "<= 10")
	return nil
}

// growth measures what an append costs as the log grows, and the first reading of
// a long one.
func growth(l *lab) error {
	var appenders []func() (float64, error)
	var large *pusher
	for name, n := range map[string]int{"short": 1_000, "long": 100_000} {
		serving, err := l.pusher(name+"-remote", true)
		if err != nil {
			return err
		}
		defer serving.close()
		p, err := l.plan(name, serving.remote)
		if err != nil {
			return err
		}
		if err := p.fill(n); err != nil {
			return err
		}
		one, done, err := p.appender()
		if err != nil {
			return err
		}
		defer done()
		if name == "long" {
			appenders, large = append([]func() (float64, error){one}, appenders...), serving
		} else {
			appenders = append(appenders, one)
		}
	}
	figures, err := alternate(32, appenders...)
	if err != nil {
		return err
	}
	l.compare("append at 100,000 events / at 1,000", figures[0], figures[1], "ms", "<= 1.5")
	return l.firstIndex(large)
}

// firstIndex measures a newcomer who reads a log of 100,000 events against git
// printing the same objects.
func (l *lab) firstIndex(of *pusher) error {
	remote := filepath.Join(of.dir, "remote.git")
	list, err := of.git("", "-C", remote, "ls-tree", "-r", "--format=%(objectname)", "roadmap-events")
	if err != nil {
		return err
	}
	cat := func() (float64, error) {
		began := time.Now()
		_, err := of.git(list+"\n", "-C", remote, "cat-file", "--batch")
		return milliseconds(began), err
	}
	n := 0
	first := func() (float64, error) {
		n++
		p, err := l.plan(fmt.Sprintf("newcomer-%d", n), remote) // fetches and reads
		if err != nil {
			return 0, err
		}
		c, err := carrier.Open(context.Background(), p.home)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		began := time.Now()
		read := c.Rebuild(context.Background(), "it is measured")
		return milliseconds(began), read.Result.Err
	}
	figures, err := alternate(7, first, cat)
	if err != nil {
		return err
	}
	l.compare("first index of 100,000 events / cat-file --batch of the same", figures[0], figures[1], "ms", "<= 1.5")
	return nil
}

// standings measures a list of 10,000 nodes in a running process, and beside it
// the question whether the remote has more.
func standings(l *lab) error {
	p, err := l.plan("standings", "")
	if err != nil {
		return err
	}
	if err := p.fill(100_000); err != nil {
		return err
	}
	plan, err := roadmap.Open(context.Background(), p.home)
	if err != nil {
		return err
	}
	defer plan.Close()
	list := func(fresh roadmap.Freshness) func() (float64, error) {
		return func() (float64, error) {
			began := time.Now()
			doc, err := plan.List(context.Background(), fresh, roadmap.Filter{})
			if err == nil && len(doc.Nodes) != 10_000 {
				err = fmt.Errorf("%d nodes", len(doc.Nodes))
			}
			return milliseconds(began), err
		}
	}
	figures, err := alternate(22, list(roadmap.AsOf), list(roadmap.Now))
	if err != nil {
		return err
	}
	l.alone("standings of 10,000 nodes, tip known", figures[0], "ms", "<= 50 ms")
	l.alone("the same, and the tip asked for", figures[1], "ms", "")
	return nil
}
