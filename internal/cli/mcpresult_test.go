package cli

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/durable"
	"holdfast/internal/roadmap"
	attempts "holdfast/internal/roadmap/attempt"
	"holdfast/internal/roadmap/event"
)

// beside is another agent on the same home.
func beside(t *testing.T, home string, env ...string) *sdk.ClientSession {
	t.Helper()
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
	return s
}

// said is what a command prints.
func said(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	if status := Main(args, strings.NewReader(""), &out, os.Stderr); status != 0 {
		t.Fatalf("%v: exit %d", args, status)
	}
	return out.String()
}

// planShows is a node as the plan shows it.
func planShows(t *testing.T, home, node string) roadmap.Node {
	t.Helper()
	var n roadmap.Node
	if err := json.Unmarshal([]byte(said(t, "--home", home, "--json", "roadmap", "show", node)), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// eventsOf is the plan's log without its last line, which says when it was looked at.
func eventsOf(t *testing.T, home string) string {
	t.Helper()
	log := strings.TrimSuffix(said(t, "--home", home, "roadmap", "export"), "\n")
	last := strings.LastIndex(log, "\n")
	if last < 0 || !strings.Contains(log[last:], `"type":"end"`) {
		t.Fatalf("no export: %s", log)
	}
	return log[:last]
}

// The whole way, by the program itself: claimed, returned, read; and exported, it is the
// same log in another home. Red when: roadmap_claim answers no attempt, roadmap_result
// takes another agent's, members that it does not have, or the same one twice; or
// AppendAll takes no results.
func TestAnAgentReturnsTheResultOfItsOwnAttempt(t *testing.T) {
	home, s := planAgent(t)
	other := beside(t, home, "HOLDFAST_ATTEMPT=a7")
	var c roadmap.Claimed
	if failed := toolCall(t, s, "roadmap_claim", map[string]any{"node": "base"}, &c); failed != "" || c.Attempt == "" || c.NoAttempt != "" {
		t.Fatalf("%s %+v", failed, c)
	}
	returned := func(s *sdk.ClientSession, change map[string]any) (roadmap.Appended, string) {
		args := map[string]any{"node": "base", "attempt": string(c.Attempt), "outcome": "published", "booth": "base-1", "key": "k"}
		for name, is := range change {
			args[name] = is
			if is == nil {
				delete(args, name)
			}
		}
		var a roadmap.Appended
		failed := toolCall(t, s, "roadmap_result", args, &a)
		return a, failed
	}
	before := eventsOf(t, home)
	for want, change := range map[string]map[string]any{
		"refused at result-attempt: \"\"":    {"attempt": nil}, // and none is around it
		"refused at result-attempt: No":      {"attempt": "0123456789abcdef"},
		"refused at result-elsewhere":        {"node": "roof"},
		"usage at outcome":                   {"outcome": "verification_failed"},
		"usage at reason":                    {"reason": ""},
		"usage at booth":                     {"outcome": "handed_back", "reason": "no"},
		"usage at event":                     {"head": "main"},
		"usage at node":                      {"node": "Base"},
		"usage at operation-invalid":         {"key": "a b"},
		"unexpected additional properties [": {"claim": string(c.ID)},
		"missing properties: [\"outcome\"]":  {"outcome": nil},
	} {
		if _, failed := returned(s, change); !strings.Contains(failed, want) {
			t.Errorf("want %s: %q", want, failed)
		}
	}
	if _, failed := returned(other, nil); !strings.Contains(failed, "refused at result-elsewhere") {
		t.Errorf("another agent: %q", failed)
	}
	if _, failed := returned(other, map[string]any{"attempt": nil}); !strings.Contains(failed, `refused at result-attempt: "a7"`) {
		t.Errorf("the attempt around it: %q", failed)
	}
	if after := eventsOf(t, home); after != before {
		t.Errorf("what was refused is there:\n%s", after)
	}
	for _, outcome := range []string{"appended", "already_present"} {
		if a, failed := returned(s, nil); failed != "" || a.Outcome != outcome {
			t.Errorf("want %s: %s %+v", outcome, failed, a)
		}
	}
	for want, change := range map[string]map[string]any{
		"refused at result-duplicate":   {"key": nil},
		"refused at operation-conflict": {"booth": "base-2"},
	} {
		if _, failed := returned(s, change); !strings.Contains(failed, want) {
			t.Errorf("want %s: %q", want, failed)
		}
	}
	n := planShows(t, home, "base")
	if n.Standing.Kind != "ready_for_review" || n.Standing.Result.Claim != c.ID || n.Standing.Result.Booth != "base-1" || n.Holder != "principal:local/studio/ada" {
		t.Errorf("%+v", n.Row)
	}

	export := t.TempDir() + "/log.jsonl"
	if err := os.WriteFile(export, []byte(said(t, "--home", home, "roadmap", "export")), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	said(t, "--home", elsewhere, "roadmap", "init")
	said(t, "--home", elsewhere, "roadmap", "import", export)
	if there := planShows(t, elsewhere, "base"); there.Revision != n.Revision || there.Standing.Kind != n.Standing.Kind {
		t.Errorf("%+v", there.Row)
	}
}

// Inside an attempt that was begun for it, a worker need not say which. Red when: the
// program leaves out which attempt is around it.
func TestInsideAnAttemptAResultIsOfThatOne(t *testing.T) {
	home, _ := planAgent(t)
	var c roadmap.Appended
	if err := json.Unmarshal([]byte(said(t, "--home", home, "--json", "roadmap", "claim", "base")), &c); err != nil {
		t.Fatal(err)
	}
	plan, err := durable.OpenDir(home + "/plan")
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	name := attempts.Key(c.ID, attempts.First)
	holder := event.Principal("principal:attempt/studio/" + string(name))
	if _, err := attempts.At(plan).Begin(attempts.Binding{Node: "base", Claim: c.ID, Try: attempts.First, Holder: holder}); err != nil {
		t.Fatal(err)
	}
	var a roadmap.Appended
	s := beside(t, home, "HOLDFAST_ATTEMPT="+string(name))
	if failed := toolCall(t, s, "roadmap_result", map[string]any{"node": "base", "outcome": "waiting", "picks": []string{"base-1/p1"}}, &a); failed != "" || a.Outcome != "appended" {
		t.Fatalf("%s %+v", failed, a)
	}
	if n := planShows(t, home, "base"); n.Standing.Kind != "blocked" || n.Standing.Picks[0] != "base-1/p1" || n.Standing.By != holder || n.Claims[0].Attempts[0] != name {
		t.Errorf("%+v %+v", n.Row, n.Claims)
	}
}
