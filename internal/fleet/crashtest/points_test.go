package crashtest

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/failpoint"
	"holdfast/internal/fleet/box/agent"
)

var update = flag.Bool("update", false, "write the list of points anew")

// Each step that can be is killed at, before and after, or it says in the list why not. The
// list in testdata is what was read and agreed to. Red when: a step is new, or gone, or an
// entry of kills is taken away.
func TestNoStepIsLeftOut(t *testing.T) {
	var list strings.Builder
	killed := map[string][]string{}
	for _, k := range kills() {
		killed[k.moment] = append(killed[k.moment], k.story)
	}
	for _, step := range all(t) {
		for _, moment := range []string{step + failpoint.Before, step + failpoint.After} {
			why, spared := spare[step]
			stories := killed[moment]
			delete(killed, moment)
			switch {
			case len(stories) > 0:
				list.WriteString(moment + "  " + strings.Join(stories, ", ") + "\n")
			case spared:
				list.WriteString(moment + "  not: " + why + "\n")
			default:
				t.Errorf("nothing is killed at %s, and nothing says why", moment)
			}
		}
	}
	for moment := range killed {
		t.Errorf("%s is no moment", moment)
	}
	path := filepath.Join("testdata", "points.txt")
	if *update {
		if err := os.WriteFile(path, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), list.String()); diff != "" {
		t.Error(diff)
	}
}

// all is every step that lasts: those of the acts, of the operations, of the agent, and
// those that the shim's own source names.
func all(t *testing.T) []string {
	t.Helper()
	table, err := os.ReadFile("../operation/testdata/steps.txt")
	if err != nil {
		t.Fatal(err)
	}
	steps := slices.Concat(Launches(), Stops(), Operations(string(table)), []string{agent.SeesSession, agent.HandsOn}, shimSteps(t))
	return slices.DeleteFunc(steps, func(s string) bool {
		// Nothing is done, or all is.
		_, word, _ := strings.Cut(s, ".")
		word = word[strings.LastIndex(word, ".")+1:]
		return slices.Contains([]string{"pause", "finished", "wait", "done", "stuck"}, word)
	})
}

func shimSteps(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../box/shim/program/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`here\("(.*):(before|after)"\)`).FindAllStringSubmatch(string(data), -1) {
			found[m[1]] = true
		}
	}
	// The files of a launch that the shim makes, and the start between two of them.
	want := map[string]bool{"shim.lock": true, "shim.identity": true, "shim.went": true, "shim.start": true, "shim.exit": true}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	return sorted(found)
}

// spare are the steps that real processes are not killed at.
var spare = map[string]string{
	"launch.drop": "the disk must be full at the commit before, and the binding move meanwhile; package simulation does it",
}

// kill is a moment, and the story in which a process is killed at it.
type kill struct{ moment, story string }

func kills() []kill {
	var list []kill
	for _, s := range stories {
		for _, step := range s.steps {
			for _, at := range []string{failpoint.Before, failpoint.After} {
				list = append(list, kill{step + at, s.name})
			}
		}
	}
	return list
}
