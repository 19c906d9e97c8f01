// Package archtest holds the map of the house to the code: its test fails when
// either moves alone.
//
// The map is layers.txt, one line for each package, or for all below a folder
// where the path ends in /..., from the top of the house down:
//
//	LAYER PACKAGE [pure]
//
// A package may import those on lines below its own, and no others of this
// module; those that share a line may import each other. The layers booth,
// roadmap and fleet are wings: no wing imports another, wherever their lines
// stand. A pure package reaches no disk, no network, no clock and no chance, and
// imports none of this module that is not pure. What stands at the top, in the
// layer test, is for tests and imported by nobody.
//
// Beyond the map: each package has a comment that begins "Package x" (a program
// "Command x"), no source file is longer than [MaxLines], and docs/ARCHITECTURE.md
// shows every package of the map.
package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// MaxLines is how long a source file may be that is no test.
const MaxLines = 500

// Package is what the rules look at: a package without its tests.
type Package struct {
	Path    string   // inside the module
	Name    string   // as in its package clause
	Doc     string   // the beginning of its comment
	Imports []string // those of this module without its name, after a "./"
	Files   []File
}

// File is one source file of a package.
type File struct {
	Name  string
	Lines int
	Clock []string // what it uses of a clock, such as time.Now
}

// Line is one line of the map.
type Line struct {
	Number int // counted from 1, for messages and for the order
	Layer  string
	Path   string // without the /...
	Below  bool   // it ended in /...
	Pure   bool
}

// covers reports whether pkg belongs to the line.
func (l Line) covers(pkg string) bool {
	return pkg == l.Path || l.Below && strings.HasPrefix(pkg, l.Path+"/")
}

// Map is the lines from the top of the house down.
type Map []Line

// ParseMap reads layers.txt. Empty lines, and what follows a #, say nothing.
func ParseMap(text string) (Map, error) {
	var m Map
	number := 0
	for line := range strings.Lines(text) {
		number++
		words, _, _ := strings.Cut(line, "#")
		fields := strings.Fields(words)
		if len(fields) == 0 {
			continue
		}
		pure := len(fields) == 3 && fields[2] == "pure"
		if len(fields) != 2 && !pure {
			return nil, fmt.Errorf("layers.txt:%d: want LAYER PACKAGE [pure], have %q", number, strings.TrimSpace(line))
		}
		dir, below := strings.CutSuffix(fields[1], "/...")
		m = append(m, Line{Number: number, Layer: fields[0], Path: dir, Below: below, Pure: pure})
	}
	return m, nil
}

// find is the line of pkg: the closest, if several cover it.
func (m Map) find(pkg string) (Line, bool) {
	best, found := Line{}, false
	for _, l := range m {
		if l.covers(pkg) && (!found || len(l.Path) > len(best.Path)) {
			best, found = l, true
		}
	}
	return best, found
}

// Check is every complaint about pkgs, all the packages of the module.
func Check(m Map, pkgs []Package) []string {
	complaints := unused(m, pkgs)
	for _, p := range pkgs {
		complaints = append(complaints, checkComment(p)...)
		complaints = append(complaints, checkLength(p)...)
		l, ok := m.find(p.Path)
		if !ok {
			complaints = append(complaints, p.Path+" is not in the map")
			continue
		}
		complaints = append(complaints, checkArrows(m, l, p)...)
		if l.Pure {
			complaints = append(complaints, checkPure(m, p)...)
		}
	}
	return complaints
}

// unused complains of lines that name nothing.
func unused(m Map, pkgs []Package) []string {
	var complaints []string
	for _, l := range m {
		if !slices.ContainsFunc(pkgs, func(p Package) bool { return l.covers(p.Path) }) {
			complaints = append(complaints, fmt.Sprintf("layers.txt:%d: %s is no package", l.Number, l.Path))
		}
	}
	return complaints
}

// checkComment complains of a package without a comment of the right beginning.
func checkComment(p Package) []string {
	want := "Package " + p.Name
	if p.Name == "main" {
		want = "Command " + path.Base(p.Path)
	}
	rest, ok := strings.CutPrefix(p.Doc, want)
	if ok && strings.HasPrefix(rest, " ") {
		return nil
	}
	return []string{fmt.Sprintf("%s has no package comment that begins %q", p.Path, want)}
}

// checkLength complains of files that are too long.
func checkLength(p Package) []string {
	var complaints []string
	for _, f := range p.Files {
		if f.Lines > MaxLines {
			complaints = append(complaints, fmt.Sprintf("%s/%s has %d lines, over %d", p.Path, f.Name, f.Lines, MaxLines))
		}
	}
	return complaints
}

// wings are the layers that do not know each other.
var wings = []string{"booth", "roadmap", "fleet"}

// checkArrows complains of imports that do not point down.
func checkArrows(m Map, from Line, p Package) []string {
	var complaints []string
	for _, imported := range p.Imports {
		target, ours := strings.CutPrefix(imported, "./")
		to, ok := m.find(target)
		if !ours || !ok {
			continue // of someone else, or told as missing already
		}
		switch {
		case from.Layer != to.Layer && slices.Contains(wings, from.Layer) && slices.Contains(wings, to.Layer):
			complaints = append(complaints, fmt.Sprintf("%s imports %s: wings do not import each other", p.Path, target))
		case to.Number < from.Number:
			complaints = append(complaints, fmt.Sprintf("%s imports %s, which is above it", p.Path, target))
		}
	}
	return complaints
}

// impure are the packages that reach beyond memory. A / at the end stands for
// all below.
var impure = []string{
	"os", "os/", "net", "net/", "syscall", "golang.org/x/sys/", "math/rand", "math/rand/", "crypto/rand", "io/ioutil",
}

// checkPure complains of what a pure package reaches.
func checkPure(m Map, p Package) []string {
	var complaints []string
	for _, imported := range p.Imports {
		target, ours := strings.CutPrefix(imported, "./")
		to, ok := m.find(target)
		if ours && ok && !to.Pure || !ours && reaches(imported) {
			complaints = append(complaints, fmt.Sprintf("%s is pure, but imports %s", p.Path, target))
		}
	}
	for _, f := range p.Files {
		for _, clock := range f.Clock {
			complaints = append(complaints, fmt.Sprintf("%s is pure, but %s uses %s", p.Path, f.Name, clock))
		}
	}
	return complaints
}

// reaches reports whether a package that is not ours reaches beyond memory.
func reaches(imported string) bool {
	return slices.ContainsFunc(impure, func(i string) bool {
		return imported == i || strings.HasSuffix(i, "/") && strings.HasPrefix(imported, i)
	})
}
