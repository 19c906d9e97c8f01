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

	"holdfast/internal/booth"
)

// The program itself, as a client starts it. Red when something else than the
// protocol is written to stdout, or when the tools and the commands do not mean
// the same booth.
func TestAnAgentAsksAndTheOperatorAnswers(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(home+"/booths", 0o755); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server := exec.Command("holdfast", "--home", home, "mcp")
	server.Env = append(os.Environ(), "HOLDFAST_ATTEMPT=a7")
	s, err := client.Connect(ctx, &sdk.CommandTransport{Command: server}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string, args map[string]any, into any) {
		t.Helper()
		res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		text, ok := res.Content[0].(*sdk.TextContent)
		if !ok || res.IsError {
			t.Fatalf("%s: %+v", tool, res.Content[0])
		}
		if err := json.Unmarshal([]byte(text.Text), into); err != nil {
			t.Fatal(err)
		}
	}
	var done struct{}
	call("booth_publish", map[string]any{"booth": "demo", "texts": []map[string]any{{"item": "a.md", "text": "# A"}}}, &done)
	var asked booth.Asked
	call("booth_ask", map[string]any{"booth": "demo", "title": "Ship?", "kind": "confirm"}, &asked)
	if asked.State != "open" || asked.ID != "p1" {
		t.Errorf("%+v", asked)
	}
	waited := make(chan error, 1)
	var doc struct{ Picks []booth.Asked }
	go func() {
		res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "booth_wait", Arguments: map[string]any{"booth": "demo"}})
		if err == nil {
			data, _ := json.Marshal(res.StructuredContent)
			err = json.Unmarshal(data, &doc)
		}
		waited <- err
	}()
	if status := Main([]string{"--home", home, "answer", "demo", "p1", "--yes"}, strings.NewReader(""), io.Discard, os.Stderr); status != 0 {
		t.Errorf("answer: exit %d", status)
	}
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if len(doc.Picks) != 1 || doc.Picks[0].State != "answered" || !*doc.Picks[0].Answer.Parts["answer"].Confirm {
		t.Errorf("%+v", doc)
	}
	if err := s.Close(); err != nil {
		t.Errorf("the program did not end well: %v", err)
	}
	data, err := os.ReadFile(home + "/booths/demo/.marks.json")
	if err != nil || !strings.Contains(string(data), `"by":"attempt/a7"`) {
		t.Errorf("%s %v", data, err)
	}
}
