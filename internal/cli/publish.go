package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/booth"
	"holdfast/internal/booth/reach"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// published is what a publish did, in the order in which it was done.
type published struct {
	Name      string          `json:"name"`
	Published []string        `json:"published"`
	Skipped   []reach.Skipped `json:"skipped"`
}

func (r *run) boothPublish() *cobra.Command {
	var title string
	cmd := &cobra.Command{
		Use:   "publish NAME FILE…",
		Short: "Put files and folders into a booth, making it if there is none",
		Long: `Put files and folders into a booth, making it if there is none.

A file goes to the top of the booth; a folder goes in whole, under its own name.
"DIR/." puts what is in a folder at the top. Files that begin with a dot, and
links inside a folder, are left out and named.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change := booth.Change{}
			if cmd.Flags().Changed("title") {
				change.Title = &title
			}
			if len(args) == 1 && change.Title == nil {
				return usage(cmd, "nothing to publish: name at least one file, or a --title")
			}
			return r.publish(cmd.Context(), args[0], args[1:], change)
		},
	}
	cmd.Flags().StringVar(&title, "title", "", "what the booth's page is called")
	return cmd
}

func (r *run) publish(ctx context.Context, name string, files []string, change booth.Change) error {
	uploads, skipped, err := reach.Gather(files)
	if err == nil && len(uploads) == 0 && change.Title == nil {
		err = problem.Refusal("nothing", "There is no file to publish in %s. Nothing was published.", plain.Text(strings.Join(files, ", ")))
	}
	if err != nil {
		return err
	}
	b, name, done, err := r.boothsOf(name)
	if err != nil {
		return err
	}
	defer done()
	doc := published{Name: name, Published: []string{}, Skipped: skipped}
	for _, u := range uploads {
		err := ctx.Err()
		if err == nil {
			err = u.Send(ctx, b, name)
		}
		if err != nil {
			return afterSome(err, len(doc.Published))
		}
		doc.Published = append(doc.Published, u.Item.String())
	}
	if change != (booth.Change{}) {
		if err := b.Describe(ctx, name, change); err != nil {
			return afterSome(err, len(doc.Published))
		}
	}
	if r.json {
		return r.document(doc)
	}
	fmt.Fprintf(r.out, "published %s to %s\n", plain.Count(len(doc.Published), "file"), plain.Text(name))
	if at := r.pageOf(ctx, name); at != "" {
		fmt.Fprintf(r.out, "look at it: %s\n", at)
	}
	for _, s := range doc.Skipped {
		fmt.Fprintf(r.out, "  left out  %s: %s\n", plain.Text(s.File), s.Why)
	}
	return nil
}

// pageOf is the address of a booth's page, empty where no desk is known.
func (r *run) pageOf(ctx context.Context, name string) string {
	c, err := r.settings()
	if err != nil {
		return ""
	}
	if c.URL != nil {
		return c.URL.String() + "b/" + booth.Escape(name) + "/"
	}
	at, _, ok := app.Served(ctx, c)
	if !ok {
		return ""
	}
	return at + "/b/" + booth.Escape(name) + "/"
}

// afterSome says how many files had gone in before the one that did not. With
// any, a refusal has changed something and is one no more.
func afterSome(err error, done int) error {
	if done == 0 {
		return err
	}
	p := problem.From(err, err.Error())
	kind := p.Kind
	if kind == problem.Refused {
		kind = problem.Failed
	}
	return problem.New(kind, p.Step, "%s %s went in before it; publishing again is safe.", p.Reason, plain.Count(done, "file")).
		Because(err).WithHint("%s", p.Hint)
}
