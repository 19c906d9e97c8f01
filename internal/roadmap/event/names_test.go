package event

import (
	"errors"
	"strings"
	"testing"

	"holdfast/internal/problem"
)

// TestNamesAreReadOrRefusedInWords: what people type. Red when a shape loses an
// anchor or a limit, or a parser answers another step.
func TestNamesAreReadOrRefusedInWords(t *testing.T) {
	node := func(s string) (string, error) { n, err := ParseNode(s); return string(n), err }
	id := func(s string) (string, error) { n, err := ParseID(s); return string(n), err }
	principal := func(s string) (string, error) { n, err := ParsePrincipal(s); return string(n), err }
	key := func(s string) (string, error) { n, err := ParseKey(s); return string(n), err }
	priority := func(s string) (string, error) { n, err := ParsePriority(s); return string(n), err }
	relation := func(s string) (string, error) { n, err := ParseRelation(s); return string(n), err }
	long := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct {
		step  string
		parse func(string) (string, error)
		good  map[string]string
		bad   []string
	}{
		{
			"node", node,
			map[string]string{"a": "a", "fix-login-2": "fix-login-2", long(MaxNode): long(MaxNode)},
			[]string{"", "-a", "a-", "a--b", "A", "a_b", "a b", "a\n", "ä", "../a", long(MaxNode + 1)},
		},
		{
			"revision", id,
			map[string]string{long(64): long(64)},
			[]string{"", long(63), long(65), strings.ToUpper(long(64)), long(63) + "g", long(64) + "\n"},
		},
		{
			"principal", principal,
			map[string]string{"principal:a/b/c": "principal:a/b/c", "principal:a.b/c-d/e+f@g_h": "principal:a.b/c-d/e+f@g_h"},
			[]string{"", "ada", "principal:a/b", "principal:a/b/c/d", "principal:a//c", "principal:-a/b/c", "Principal:a/b/c", "principal:a/b/c d", "principal:a/b/" + long(maxPrincipal)},
		},
		{
			"operation-invalid", key,
			map[string]string{"a": "a", "A_b-9": "A_b-9", long(128): long(128)},
			[]string{"", "a.b", "a b", "a\n", "ä", long(129)},
		},
		{"priority", priority, map[string]string{"p0": "p0", "4": "p4"}, []string{"", "p5", "5", "P1", "p", "p11"}},
		{"relation", relation, map[string]string{"blocked_by": "blocked_by", "blocked-by": "blocked_by", "child-of": "child_of", "related": "related"}, []string{"", "blocks", "Related"}},
	} {
		for in, want := range c.good {
			if got, err := c.parse(in); err != nil || got != want {
				t.Errorf("%s %q: %q, %v", c.step, in, got, err)
			}
		}
		for _, in := range c.bad {
			got, err := c.parse(in)
			var e *problem.Error
			if !errors.As(err, &e) || e.Kind != problem.Usage || e.Step != c.step || got != "" || len(e.Reason) > 512 {
				t.Errorf("%s %q: %q, %v", c.step, in, got, err)
			}
		}
	}
}

// TestWhatIsShownOfNames is enough for people, whatever the name.
func TestWhatIsShownOfNames(t *testing.T) {
	if got := Principal("principal:local/studio/ada").Subject(); got != "ada" {
		t.Errorf("subject %q", got)
	}
	if got := ID("abc").Short(); got != "abc" {
		t.Errorf("short %q", got)
	}
	if got := vectors[0].id.Short(); len(got) != 12 {
		t.Errorf("short %q", got)
	}
	if Priority("").Rank() != "p2" || Priority("p0").Rank() != "p0" {
		t.Error("no priority counts as p2")
	}
}
