package mcp

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/booth/reach"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// session is a client of a server over two pipes, and the folder that it is on.
type session struct {
	*sdk.ClientSession
	t     *testing.T
	local reach.Local
	path  string
}

func connect(t *testing.T) session {
	t.Helper()
	path := t.TempDir()
	data, err := folder.OpenData(path)
	check(t, err)
	local := reach.Local{Data: data, TTL: time.Hour, By: "attempt/1"}
	c := Config{
		Open:    func(name string) (Booths, string, func(), error) { return local, name, func() {}, nil },
		Page:    func(_ context.Context, name string) string { return "http://desk.example/b/" + name + "/" },
		Version: "test",
	}
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(context.Background(), c, toServer, fromServer); fromServer.Close() }()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(context.Background(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	check(t, err)
	t.Cleanup(func() {
		check(t, s.Close())
		if err := <-served; err != nil {
			t.Errorf("a client that goes away is no failure: %v", err)
		}
		check(t, data.Close())
	})
	return session{s, t, local, path}
}

// call calls a tool, and gives its words where it failed.
func (s session) call(tool string, args map[string]any, into any) (failed string) {
	s.t.Helper()
	res, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: args})
	check(s.t, err)
	text, ok := res.Content[0].(*sdk.TextContent)
	if !ok {
		s.t.Fatalf("%s: %+v", tool, res.Content)
	}
	if res.IsError {
		return text.Text
	}
	check(s.t, json.Unmarshal([]byte(text.Text), into))
	return ""
}

func (s session) mustCall(tool string, args map[string]any, into any) {
	s.t.Helper()
	if failed := s.call(tool, args, into); failed != "" {
		s.t.Fatalf("%s: %s", tool, failed)
	}
}

// Red when a tool is renamed, or may destroy.
func TestTheToolsAreTheseEight(t *testing.T) {
	list, err := connect(t).ListTools(context.Background(), nil)
	check(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if a := tool.Annotations; a == nil || !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint) {
			t.Errorf("%s: %+v", tool.Name, a)
		}
	}
	if got := strings.Join(names, " "); got != "booth_ask booth_marks booth_publish booth_wait roadmap_claim roadmap_progress roadmap_ready roadmap_result" {
		t.Error(got)
	}
}

// Red when a text or a path is not put, or a second file of one name is.
func TestPublishTakesPathsAndTexts(t *testing.T) {
	s := connect(t)
	file := filepath.Join(t.TempDir(), "chart.png")
	check(t, os.WriteFile(file, []byte("png"), 0o644))
	var out published
	s.mustCall("booth_publish", map[string]any{
		"booth": "demo", "title": "A demo", "paths": []string{file},
		"texts": []map[string]any{{"item": "notes/a.md", "text": "# A <b>"}},
	}, &out)
	if out.URL != "http://desk.example/b/demo/" || strings.Join(out.Published, " ") != "chart.png notes/a.md" {
		t.Errorf("%+v", out)
	}
	for name, want := range map[string]string{"chart.png": "png", "notes/a.md": "# A <b>", ".booth.json": `{"title":"A demo"}` + "\n"} {
		if got, err := os.ReadFile(s.path + "/demo/" + name); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	for what, args := range map[string]map[string]any{
		"refused at same-item":  {"booth": "other", "paths": []string{file}, "texts": []map[string]any{{"item": "chart.png", "text": "x"}}},
		"usage at nothing":      {"booth": "other"},
		"usage at item-name":    {"booth": "other", "texts": []map[string]any{{"item": "../x", "text": "x"}}},
		"refused at read":       {"booth": "other", "paths": []string{file + ".none"}},
		"usage at booth-name":   {"booth": "a/b", "texts": []map[string]any{{"item": "x", "text": "x"}}},
		"additional properties": {"booth": "other", "titel": "misspelt"},
	} {
		if failed := s.call("booth_publish", args, nil); !strings.Contains(failed, what) {
			t.Errorf("want %s: %q", what, failed)
		}
	}
	if _, err := os.Stat(s.path + "/other"); err == nil {
		t.Error("a booth was made for what was refused")
	}
}

// case B23 and case B24, by an agent. Red when wait makes an error of an open
// question, or ask takes no key.
func TestAQuestionOutlivesItsAsker(t *testing.T) {
	s := connect(t)
	check(t, os.Mkdir(s.path+"/demo", 0o755))
	args := map[string]any{
		"booth": "demo", "title": "Which?", "key": "k", "recommend": "a",
		"options": []map[string]any{{"id": "a", "label": "A & co", "item": "a.png"}, {"id": "b"}},
	}
	var first, again booth.Asked
	s.mustCall("booth_ask", args, &first)
	s.mustCall("booth_ask", args, &again)
	if first.ID != "p1" || first.URL != "http://desk.example/b/demo/marks#p1" || first.State != "open" || again.ID != first.ID {
		t.Errorf("%+v %+v", first, again)
	}
	var open waited
	s.mustCall("booth_wait", map[string]any{"booth": "demo", "seconds": 0}, &open)
	if open.Open != 1 || open.Picks[0].State != "open" {
		t.Errorf("%+v", open)
	}
	var reply booth.Reply
	reply.Question, reply.Document = new(int64(1)), new(int64(1))
	reply.ID, reply.Parts = "p1", map[string]marks.Value{"answer": {Choices: []string{"b"}}}
	_, err := s.local.Answer(context.Background(), "demo", reply)
	check(t, err)
	var done waited
	s.mustCall("booth_wait", map[string]any{"booth": "demo", "ids": []string{"p1", "p9"}}, &done)
	if done.Open != 0 || done.Picks[0].Answer.Parts["answer"].Choices[0] != "b" || done.Picks[1].State != reach.StateGone {
		t.Errorf("%+v", done)
	}
	var all shown
	s.mustCall("booth_marks", map[string]any{"booth": "demo"}, &all)
	if len(all.Marks) != 1 || all.Rev != 2 || all.Damage != "" {
		t.Errorf("%+v", all)
	}
}

// Red when told leaves out the kind or the step, or when a failure is none.
func TestWhatGoesWrongIsSaidInWords(t *testing.T) {
	s := connect(t)
	check(t, os.Mkdir(s.path+"/demo", 0o755))
	for _, c := range []struct {
		tool, want string
		args       map[string]any
	}{
		{"booth_ask", "gone at booth: There is no booth \"none\".", map[string]any{"booth": "none", "title": "T", "kind": "text"}},
		{"booth_ask", "usage at question", map[string]any{"booth": "demo", "title": "T"}},
		{"booth_ask", "usage at question", map[string]any{"booth": "demo", "title": "T", "kind": "rank"}},
		{"booth_wait", "gone at booth", map[string]any{"booth": "none"}},
		{"booth_marks", "gone at booth", map[string]any{"booth": ".."}},
	} {
		if failed := s.call(c.tool, c.args, nil); !strings.HasPrefix(failed, c.want) {
			t.Errorf("%s %v: %q", c.tool, c.args, failed)
		}
	}
	check(t, os.WriteFile(s.path+"/demo/.marks.json", []byte(`{"schema":"holdfast.marks/v1","rev":1,"marks":[{"id":"n1","shape":"note","text":"x"},{}]}`), 0o644))
	var w waited
	s.mustCall("booth_wait", map[string]any{"booth": "demo", "ids": []string{"p1"}}, &w)
	if w.Damage == "" || w.Picks[0].State != reach.StateBroken {
		t.Errorf("%+v", w)
	}
	var all shown
	s.mustCall("booth_marks", map[string]any{"booth": "demo"}, &all)
	if all.Damage == "" || len(all.Marks) != 1 {
		t.Errorf("%+v", all)
	}
}

// Red when a call waits longer than clients do.
func TestAWaitIsShort(t *testing.T) {
	many, negative := 3600, -1
	for _, c := range []struct {
		seconds *int
		want    time.Duration
	}{{nil, MaxWait}, {&many, MaxWait}, {&negative, 0}} {
		if got := patience(c.seconds); got != c.want {
			t.Errorf("%v", got)
		}
	}
}

// Red when a configuration is no JSON, or an odd path breaks a quote.
func TestSetupsAreWhatClientsRead(t *testing.T) {
	l := Launch{Command: `/opt/it's "here"/holdfast`, Args: []string{"--home", `/h\x`, "mcp"}, Env: map[string]string{"HOLDFAST_URL": "http://x/"}}
	for _, s := range Setups(l) {
		if s.Client == "Codex" {
			if want := "[mcp_servers.holdfast]\ncommand = \"/opt/it's \\\"here\\\"/holdfast\"\nargs = [\"--home\", \"/h\\\\x\", \"mcp\"]\nenv = { HOLDFAST_URL = \"http://x/\" }"; s.Text != want {
				t.Errorf("%s", s.Text)
			}
			continue
		}
		text := s.Text
		if s.File == "" {
			text = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(text, "claude mcp add-json holdfast '"), "'"), `'\''`, "'")
		}
		if !json.Valid([]byte(text)) || !strings.Contains(text, `"command":`) {
			t.Errorf("%s: %s", s.Client, text)
		}
	}
}
