package archtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/archtest"
)

const smallMap = `
test    internal/probe           # on top
app     internal/app/...
booth   internal/booth/desk
booth   internal/booth/lifetime  pure
fleet   internal/fleet
ground  internal/disk
ground  internal/words           pure
`

// pkg is a package without fault, that imports imports.
func pkg(path string, imports ...string) archtest.Package {
	name := path[strings.LastIndex(path, "/")+1:]
	return archtest.Package{Path: path, Name: name, Doc: "Package " + name + " is fine.", Imports: imports}
}

// small is the packages of smallMap, with p in the place of its namesake.
func small(p archtest.Package) []archtest.Package {
	pkgs := []archtest.Package{p}
	for _, path := range []string{
		"internal/probe", "internal/app", "internal/booth/desk", "internal/booth/lifetime", "internal/fleet",
		"internal/disk", "internal/words",
	} {
		if path != p.Path {
			pkgs = append(pkgs, pkg(path))
		}
	}
	return pkgs
}

// Each case that wants a complaint is the change that turns its rule red; the
// others are what must stay allowed.
func TestEachRuleComplains(t *testing.T) {
	undocumented, unwell, program, long := pkg("internal/disk"), pkg("internal/disk"), pkg("internal/disk"), pkg("internal/disk")
	undocumented.Doc = ""
	unwell.Doc = "Package diskette is not this one."
	program.Name = "main"
	long.Files = []archtest.File{{Name: "short.go", Lines: archtest.MaxLines}, {Name: "long.go", Lines: archtest.MaxLines + 1}}
	timed, timedElsewhere := pkg("internal/words"), pkg("internal/disk")
	timed.Files = []archtest.File{{Name: "w.go", Clock: []string{"time.Now"}}}
	timedElsewhere.Files = timed.Files
	command := program
	command.Doc = "Command disk is fine."

	for name, c := range map[string]struct {
		p    archtest.Package
		want string
	}{
		"down":                     {pkg("internal/booth/desk", "./internal/booth/lifetime", "./internal/disk", "os"), ""},
		"up":                       {pkg("internal/disk", "./internal/booth/desk"), "internal/disk imports internal/booth/desk, which is above it"},
		"up a layer":               {pkg("internal/fleet", "./internal/app"), "internal/fleet imports internal/app, which is above it"},
		"up within a layer":        {pkg("internal/words", "./internal/disk"), "internal/words imports internal/disk, which is above it\ninternal/words is pure, but imports internal/disk"},
		"up to test support":       {pkg("internal/disk", "./internal/probe"), "internal/disk imports internal/probe, which is above it"},
		"sideways, down the lines": {pkg("internal/booth/desk", "./internal/fleet"), "internal/booth/desk imports internal/fleet: wings do not import each other"},
		"sideways, up the lines":   {pkg("internal/fleet", "./internal/booth/desk"), "internal/fleet imports internal/booth/desk: wings do not import each other"},
		"below a folder":           {pkg("internal/app/config", "./internal/app"), ""},
		"not in the map":           {pkg("internal/stray"), "internal/stray is not in the map"},
		"beside a folder":          {pkg("internal/apple"), "internal/apple is not in the map"},
		"no comment":               {undocumented, `internal/disk has no package comment that begins "Package disk"`},
		"another's comment":        {unwell, `internal/disk has no package comment that begins "Package disk"`},
		"a program's comment":      {program, `internal/disk has no package comment that begins "Command disk"`},
		"a program":                {command, ""},
		"long":                     {long, "internal/disk/long.go has 501 lines, over 500"},
		"pure and timed":           {timed, "internal/words is pure, but w.go uses time.Now"},
		"timed":                    {timedElsewhere, ""},
		"pure and pure":            {pkg("internal/booth/lifetime", "./internal/words", "time", "strings", "netherlands.example/x"), ""},
		"pure on impure":           {pkg("internal/booth/lifetime", "./internal/disk"), "internal/booth/lifetime is pure, but imports internal/disk"},
	} {
		t.Run(name, func(t *testing.T) { wantComplaint(t, smallMap, small(c.p), c.want) })
	}
	for _, reach := range []string{
		"os", "os/exec", "net", "net/http", "syscall", "golang.org/x/sys/unix", "math/rand", "math/rand/v2", "crypto/rand", "io/ioutil",
	} {
		wantComplaint(t, smallMap, small(pkg("internal/words", reach)), "internal/words is pure, but imports "+reach)
	}
	wantComplaint(t, smallMap+"ground internal/gone", small(pkg("internal/disk")), "layers.txt:9: internal/gone is no package")
}

func wantComplaint(t *testing.T, text string, pkgs []archtest.Package, want string) {
	t.Helper()
	m, err := archtest.ParseMap(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(archtest.Check(m, pkgs), "\n"); got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

func TestAMapThatCannotBeReadIsRefused(t *testing.T) {
	for _, text := range []string{"ground", "ground internal/a impure", "ground internal/a pure too"} {
		if _, err := archtest.ParseMap("\n" + text); err == nil || !strings.Contains(err.Error(), "layers.txt:2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A module of two packages, as the go command and the parser see it.
func TestLoadSeesWhatTheRulesNeed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module small.example/x\n\ngo 1.26.0\n",
		"a/a.go":      "// Package a is one.\n//\n// It goes on.\npackage a\n\nimport (\n\tt \"time\"\n\n\t\"small.example/x/b\"\n)\n\nvar _, _, _ = t.Now, t.Second, b.B\n",
		"a/a_test.go": "package a\n\nimport _ \"net\"\n",
		"a/other.go":  "//go:build plan9\n\npackage a\n\nimport _ \"os\"\n",
		"b/b.go":      "package b\n\nimport . \"time\"\n\nvar B = Second\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := archtest.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []archtest.Package{
		{
			Path: "a", Name: "a", Doc: "Package a is one.", Imports: []string{"./b", "os", "time"},
			Files: []archtest.File{{Name: "a.go", Lines: 12, Clock: []string{"time.Now"}}, {Name: "other.go", Lines: 5}},
		},
		{
			Path: "b", Name: "b", Imports: []string{"time"},
			Files: []archtest.File{{Name: "b.go", Lines: 5, Clock: []string{"all of package time"}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheDocumentIsComparedBothWays(t *testing.T) {
	const document = "# House\n\ncmd/gone/ is not in the map\n\n## The map\n\n```\n" +
		"cmd/holdfast/    main\ninternal/\n  booth/           WING\n    desk/            pages\n  GROUND floor/\n" +
		"  canon/  JSON     durable/ files\ndocs/   texts\n```\n\n```\ncmd/later/\n```\n"
	pkgs := []archtest.Package{
		pkg("cmd/holdfast"), pkg("internal/booth"), pkg("internal/booth/desk"), pkg("internal/canon"), pkg("internal/durable"),
	}
	there := func(path string) bool { return path != "docs" }
	for name, c := range map[string]struct {
		more     archtest.Package
		isFolder func(string) bool
		want     string
	}{
		"all shown":         {pkgs[0], func(string) bool { return true }, ""},
		"a folder is gone":  {pkgs[0], there, "docs/ARCHITECTURE.md shows docs, which is not there"},
		"elsewhere":         {pkg("internal/desk"), func(string) bool { return true }, "docs/ARCHITECTURE.md does not show internal/desk in its map"},
		"outside the block": {pkg("cmd/later"), func(string) bool { return true }, "docs/ARCHITECTURE.md does not show cmd/later in its map"},
		"before the map":    {pkg("cmd/gone"), func(string) bool { return true }, "docs/ARCHITECTURE.md does not show cmd/gone in its map"},
	} {
		got := strings.Join(archtest.CheckDocument(document, append(pkgs, c.more), c.isFolder), "\n")
		if got != c.want {
			t.Errorf("%s: said %q, want %q", name, got, c.want)
		}
	}
}
