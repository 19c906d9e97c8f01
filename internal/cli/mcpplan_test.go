package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/roadmap"
)

// toolCall calls a tool of a program that was started, and gives its words where it
// failed.
func toolCall(t *testing.T, s *sdk.ClientSession, tool string, args map[string]any, into any) (failed string) {
	t.Helper()
	res, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	text, ok := res.Content[0].(*sdk.TextContent)
	if !ok {
		t.Fatalf("%s: %+v", tool, res.Content)
	}
	if res.IsError {
		return text.Text
	}
	if err := json.Unmarshal([]byte(text.Text), into); err != nil {
		t.Fatal(err)
	}
	return ""
}

// planAgent starts the program for an agent, and gives its home and what is
// connected to it.
func planAgent(t *testing.T, env ...string) (home string, s *sdk.ClientSession) {
	t.Helper()
	home = t.TempDir()
	if err := os.WriteFile(home+"/holdfast.toml", []byte("[desk]\nprincipal = \"principal:local/studio/ada\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init"}, {"open", "base", "--title", "Lay the base"}, {"open", "roof", "--title", "Lay the roof", "--blocked-by", "base"}} {
		if status := Main(append([]string{"--home", home, "roadmap"}, args...), strings.NewReader(""), io.Discard, os.Stderr); status != 0 {
			t.Fatalf("%v: exit %d", args, status)
		}
	}
	server := exec.Command("holdfast", "--home", home, "mcp")
	server.Env = append(os.Environ(), env...)
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(), &sdk.CommandTransport{Command: server}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("the program did not end well: %v", err)
		}
	})
	return home, s
}

// Red when an agent claims in the operator's name, is not told who holds a node, or
// a claim asked for again is another.
func TestAnAgentClaimsAndReportsInItsOwnName(t *testing.T) {
	for who, env := range map[string][]string{
		"principal:agent/studio/ada":  nil,
		"principal:attempt/studio/a7": {"HOLDFAST_ATTEMPT=a7"},
	} {
		t.Run(who, func(t *testing.T) {
			home, s := planAgent(t, env...)
			var ready roadmap.List
			if failed := toolCall(t, s, "roadmap_ready", map[string]any{}, &ready); failed != "" || len(ready.Nodes) != 1 || ready.Nodes[0].Node != "base" {
				t.Fatalf("%s %+v", failed, ready)
			}
			var first, again struct {
				roadmap.Appended
				Work roadmap.Node
			}
			for _, into := range []any{&first, &again} {
				if failed := toolCall(t, s, "roadmap_claim", map[string]any{"node": "base", "key": "k"}, into); failed != "" {
					t.Fatal(failed)
				}
			}
			if string(first.Work.Holder) != who || first.Work.ReturnTo != "principal:local/studio/ada" || again.ID != first.ID || again.Outcome != "already_present" {
				t.Errorf("%+v, again %+v", first, again.Appended)
			}
			if failed := toolCall(t, s, "roadmap_claim", map[string]any{"node": "base"}, &again); !strings.Contains(failed, "refused at claim-held") {
				t.Errorf("%q", failed)
			}
			var said roadmap.Appended
			for _, standing := range []string{"", "in_progress", "blocked", "handed_back"} {
				if failed := toolCall(t, s, "roadmap_progress", map[string]any{"node": "base", "note": "so far", "standing": standing}, &said); failed != "" {
					t.Error(failed)
				}
			}
			for want, args := range map[string]map[string]any{
				"usage at standing": {"node": "base", "note": "x", "standing": "accepted"},
				"usage at note":     {"node": "base", "note": " "},
				"usage at node":     {"node": "Base", "note": "x"},
				"gone at node":      {"node": "nope", "note": "x"},
				"operation-invalid": {"node": "base", "note": "x", "key": "a b"},
			} {
				if failed := toolCall(t, s, "roadmap_progress", args, &said); !strings.Contains(failed, want) {
					t.Errorf("want %s: %q", want, failed)
				}
			}
			var out strings.Builder
			if status := Main([]string{"--home", home, "--json", "roadmap", "log", "base"}, strings.NewReader(""), &out, os.Stderr); status != 0 || strings.Contains(out.String(), `"accepted"`) {
				t.Errorf("exit %d: %s", status, out.String())
			}
		})
	}
}
