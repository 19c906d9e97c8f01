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
// protocol is written to stdout, when the tools and the commands do not mean the
// same booth, or when what an agent asks is put down to the operator.
func TestAnAgentAsksAndTheOperatorAnswers(t *testing.T) {
	for name, env := range map[string]func(t *testing.T, home string) []string{
		"attempt/a7": func(_ *testing.T, home string) []string {
			return []string{"HOLDFAST_HOME=" + home, "HOLDFAST_ATTEMPT=a7"}
		},
		"agent":  func(_ *testing.T, home string) []string { return []string{"HOLDFAST_HOME=" + home} },
		"worker": desk,
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.Mkdir(home+"/booths", 0o755); err != nil {
				t.Fatal(err)
			}
			agent(t, home, env(t, home))
			data, err := os.ReadFile(home + "/booths/demo/.marks.json")
			if err != nil || !strings.Contains(string(data), `"by":"`+name+`"`) {
				t.Errorf("not asked by %s: %s %v", name, data, err)
			}
		})
	}
}

// desk serves a home, and is what a worker of its booth demo reaches it by.
func desk(t *testing.T, home string) []string {
	t.Helper()
	up := exec.Command("holdfast", "--home", home, "--json", "up", "--listen", "127.0.0.1:0")
	out, err := up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(os.Interrupt)
		if err := up.Wait(); err != nil {
			t.Error(err)
		}
	})
	var says struct{ Listening string }
	if err := json.NewDecoder(out).Decode(&says); err != nil {
		t.Fatal(err)
	}
	token, err := exec.Command("holdfast", "--home", home, "booth", "token", "demo").Output()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"HOLDFAST_URL=" + says.Listening, "HOLDFAST_TOKEN=" + strings.TrimSpace(string(token))}
}

func agent(t *testing.T, home string, env []string) {
	ctx := context.Background()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server := exec.Command("holdfast", "mcp")
	server.Env = append(os.Environ(), env...)
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
}
