package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Launch is how a client starts this server.
type Launch struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

// Setup is what one client wants to be told: Text, to be put into File, or to be
// run where File is empty.
type Setup struct {
	Client string `json:"client"`
	File   string `json:"file"`
	Text   string `json:"text"`
}

// Setups is what each of the common clients wants to be told.
func Setups(l Launch) []Setup {
	plain := indented(map[string]any{"mcpServers": map[string]any{"holdfast": l}})
	typed := struct {
		Type string `json:"type"`
		Launch
	}{"stdio", l}
	line, err := json.Marshal(typed)
	if err != nil {
		line = nil // which texts and maps of texts never are
	}
	return []Setup{
		{"Claude Code", "", "claude mcp add-json holdfast " + quoted(string(line))},
		{"Claude Desktop", "claude_desktop_config.json", plain},
		{"Codex", "~/.codex/config.toml", l.toml()},
		{"Cursor", "~/.cursor/mcp.json", plain},
		{"Gemini CLI", "~/.gemini/settings.json", plain},
		{"VS Code", ".vscode/mcp.json", indented(map[string]any{"servers": map[string]any{"holdfast": typed}})},
	}
}

func indented(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

// toml is the launch as a table of Codex's. A JSON text without HTML escapes is a
// TOML text too.
func (l Launch) toml() string {
	var args, env []string
	for _, a := range l.Args {
		args = append(args, indented(a))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		env = append(env, name+" = "+indented(l.Env[name]))
	}
	out := fmt.Sprintf("[mcp_servers.holdfast]\ncommand = %s\nargs = [%s]", indented(l.Command), strings.Join(args, ", "))
	if len(env) > 0 {
		out += fmt.Sprintf("\nenv = { %s }", strings.Join(env, ", "))
	}
	return out
}

// quoted is a text as one word of a shell's.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
