package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Each page is run as it stands there. Each text after commands is what they print: its
// lines, in whatever order, … being anything. Red when a command on the page, or what
// the page says of it, is another.
func TestTheRoadmapPageIsTrue(t *testing.T) { walkThrough(t, "ROADMAP.md") }

func TestTheFleetPageIsTrue(t *testing.T) { walkThrough(t, "FLEET.md") }

func walkThrough(t *testing.T, name string) {
	page, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var script, files strings.Builder
	script.WriteString("env HOLDFAST_BOX_ALLOW_ROOT=true\n") // where the tests are root's
	blocks := regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	commands, last := 0, ""
	for _, b := range blocks {
		switch b[1] {
		case "sh":
			commands++
			last = string(rune('a'+commands)) + ".sh"
			files.WriteString("-- " + last + " --\n" + b[2])
			script.WriteString("exec sh -eu " + last + "\n")
		case "text":
			for line := range strings.Lines(b[2]) {
				script.WriteString("stdout '^" + pattern(strings.TrimSuffix(line, "\n")) + "$'\n")
			}
		}
	}
	if commands < 8 || !strings.Contains(script.String(), "stdout") {
		t.Fatalf("the page has %d blocks of commands", commands)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "walk.txtar"), []byte(script.String()+files.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, scripts(t, dir))
}

// pattern is a line of the page as a regular expression. A line that says less than
// the whole ends in ….
func pattern(line string) string {
	line = strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
	return strings.ReplaceAll(line, "'", "''")
}
