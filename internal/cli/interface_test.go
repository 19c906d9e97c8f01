package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestTheInterfacePageIsTheCommandTree: red when a command or a flag is added,
// renamed or removed without the page.
func TestTheInterfacePageIsTheCommandTree(t *testing.T) {
	page, err := os.ReadFile("../../docs/INTERFACE.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	heading := regexp.MustCompile("(?m)^### `(holdfast [^`]+)`$")
	flag := regexp.MustCompile("(?m)^- `--([a-z-]+)")
	text := string(page)
	heads := heading.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		var flags []string
		for _, f := range flag.FindAllStringSubmatch(text[h[1]:end], -1) {
			flags = append(flags, f[1])
		}
		slices.Sort(flags)
		documented[text[h[2]:h[3]]] = flags
	}
	root := (&run{}).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	found := map[string][]string{}
	walk(root, func(c *cobra.Command) {
		path, own := c.CommandPath(), []string{}
		if _, ok := documented[path]; c.HasSubCommands() && !ok {
			return // it only holds others
		}
		if strings.HasPrefix(path, "holdfast completion ") {
			path = "holdfast completion" // its shells are one entry
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				own = append(own, f.Name)
			}
		})
		if len(own) > 0 || found[path] == nil {
			found[path] = own
		}
	})
	for path, flags := range found {
		slices.Sort(flags)
		if doc, ok := documented[path]; !ok {
			t.Errorf("%s is not on the page", path)
		} else if !slices.Equal(doc, flags) {
			t.Errorf("%s has the flags %v, the page says %v", path, flags, doc)
		}
	}
	for path := range documented {
		if _, ok := found[path]; !ok {
			t.Errorf("the page has %s, which is no command", path)
		}
	}
}

// walk visits every command.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		walk(sub, visit)
	}
}
