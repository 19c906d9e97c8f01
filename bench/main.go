// Command bench measures what Holdfast promises about speed, each as a ratio
// against something else, in one run and in turn, so that a busy machine weighs
// on both sides alike.
//
//	go run ./bench [NAME…]
//
// It prints one row for each figure: what was measured, the two medians, their
// ratio, and the bound. It judges nothing: bounds that are missed are for
// RESULTS.md to explain.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// bench is one thing to measure.
type bench struct {
	name string
	run  func(*lab) error
}

var benches = []bench{
	{"start", startUp},
	{"bytes", itemBytes},
	{"page", firstPage},
	{"scan", scanHerd},
	{"index", indexHerd},
	{"sweep", sweepHerd},
	{"answer", answerSeen},
	{"waiters", waiters},
	{"push", pushes},
	{"append", appends},
	{"growth", growth},
	{"standings", standings},
	{"roster", rosters},
	{"box", boxes},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(names []string) error {
	l, err := newLab()
	if err != nil {
		return err
	}
	defer l.close()
	l.row("what", "holdfast", "other", "ratio", "bound")
	for _, b := range benches {
		if len(names) > 0 && !slices.Contains(names, b.name) {
			continue
		}
		if err := b.run(l); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return nil
}

// lab is where things are measured: a folder of its own with the programs.
type lab struct {
	dir      string
	holdfast string
}

func newLab() (*lab, error) {
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{dir: dir, holdfast: filepath.Join(dir, "holdfast")}
	return l, l.build(l.holdfast, "holdfast/cmd/holdfast")
}

func (l *lab) close() { os.RemoveAll(l.dir) }

func (l *lab) build(to, what string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", to, what)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build %s: %w\n%s", what, err, out)
	}
	return nil
}

func (l *lab) row(what, ours, other, ratio, bound string) {
	fmt.Printf("%-44s %12s %12s %7s  %s\n", what, ours, other, ratio, bound)
}

// alone writes a row of one median, for a bound that is a time.
func (l *lab) alone(what string, ours []float64, unit, bound string) {
	l.row(what, fmt.Sprintf("%.4g %s", median(ours), unit), "", "", bound)
}

// compare writes a row of two medians.
func (l *lab) compare(what string, ours, other []float64, unit, bound string) {
	a, b := median(ours), median(other)
	l.row(what, fmt.Sprintf("%.4g %s", a, unit), fmt.Sprintf("%.4g %s", b, unit), fmt.Sprintf("%.2f", a/b), bound)
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	if len(v)%2 == 1 {
		return v[len(v)/2]
	}
	return (v[len(v)/2-1] + v[len(v)/2]) / 2
}
