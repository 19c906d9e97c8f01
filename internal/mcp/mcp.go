// Package mcp lets an agent use booths and the plan as tools, by the Model Context
// Protocol over a pair of pipes.
//
// The tools are booth_publish, booth_ask, booth_wait, booth_marks, roadmap_ready,
// roadmap_claim, roadmap_progress and roadmap_result: what a worker may do. Nothing here
// answers, keeps, deletes or accepts. booth_ask returns at
// once; booth_wait waits at most [MaxWait] a call and then says that a question
// is open, so that no client gives up on it. What goes wrong is the tool's
// result, in the words of package problem, and never ends the session.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/booth"
	"holdfast/internal/booth/reach"
	"holdfast/internal/problem"
)

// MaxWait is the longest that one call of booth_wait takes: clients give up on a
// call after a minute.
const MaxWait = 50 * time.Second

// Booths is what the tools need of booths; reach's two ways have it. It is used
// by several calls at once.
type Booths interface {
	reach.Putter
	reach.Watcher
	Describe(ctx context.Context, name string, change booth.Change) error
	Ask(ctx context.Context, name string, q booth.Question) (booth.Asked, error)
}

// Config is what a server is made of.
type Config struct {
	// Open opens the booths among which one is, for one call, and gives its exact
	// name. done lets go of them.
	Open func(name string) (b Booths, exact string, done func(), err error)
	// Page is the address of a booth's page, empty where no desk is known; it ends
	// with a slash.
	Page func(ctx context.Context, name string) string
	// Plan opens the plan for one call, and says who the agent is in it. done lets go
	// of it.
	Plan    func(ctx context.Context) (p Plan, who Who, done func(), err error)
	Version string
}

const instructions = `A booth is a page that the operator looks at. Publish what you made, ask what you
need to know, and go on working. An answer may take hours: call booth_wait when you
need it, and again while it says open. Use a key for each question, so that asking
again after a restart is the same question.

The roadmap is the plan that you share with others. Claim a unit of work before you
begin it, and work on nothing that somebody else holds; say how it goes, and at the
end what came of it: roadmap_result, with the attempt that the claim answered.`

// Serve answers one client until it goes away, or ctx ends.
func Serve(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	err := c.server().Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: open{out}})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return problem.New(problem.Failed, "mcp", "The connection to the client broke.").Because(err)
	}
	return nil
}

// open is a writer that outlives its connection.
type open struct{ io.Writer }

func (open) Close() error { return nil }

func (c Config) server() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "holdfast", Title: "Holdfast", Version: c.Version}, &sdk.ServerOptions{Instructions: instructions})
	no := false
	adds := &sdk.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no}
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	sdk.AddTool(s, &sdk.Tool{
		Name: "booth_publish", Title: "Publish into a booth", Annotations: adds,
		Description: "Put files, folders or texts into a booth, making it if there is none; a file that is there is replaced. Answers with the address of its page.",
	}, tool(c.publish))
	sdk.AddTool(s, &sdk.Tool{
		Name: "booth_ask", Title: "Ask the operator", Annotations: adds,
		Description: "Ask the operator a question in a booth that is there. Returns at once, with the question's id and the address where it is answered; read the answer with booth_wait.",
	}, tool(c.ask))
	sdk.AddTool(s, &sdk.Tool{
		Name: "booth_wait", Title: "Wait for answers", Annotations: reads,
		Description: "Wait, at most 50 seconds, until questions of a booth are settled: answered, declined or withdrawn. What nobody answered yet is open; that is no failure: go on, and call this again later.",
	}, tool(c.wait))
	sdk.AddTool(s, &sdk.Tool{
		Name: "booth_marks", Title: "Read a booth's marks", Annotations: reads,
		Description: "Read everything that was said in a booth: notes, flags, and questions with their answers.",
	}, tool(c.marks))
	c.addPlan(s, reads, adds)
	return s
}

// tool makes one of the protocol's of a function.
func tool[In, Out any](do func(context.Context, In) (Out, error)) sdk.ToolHandlerFor[In, Out] {
	return func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		out, err := do(ctx, in)
		return nil, out, told(err)
	}
}

// told is an error in public words.
func told(err error) error {
	if err == nil {
		return nil
	}
	p := problem.From(err, "It failed, and why is not known.")
	words := fmt.Sprintf("%s at %s: %s", p.Kind, p.Step, p.Reason)
	if p.Hint != "" {
		words += " Hint: " + p.Hint
	}
	return errors.New(words)
}
