package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// published is what a publish did, in the order in which it was done.
type published struct {
	Name      string          `json:"name"`
	Published []string        `json:"published"`
	Skipped   []skippedUpload `json:"skipped"`
}

type skippedUpload struct {
	File string `json:"file"`
	Why  string `json:"why"`
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
	uploads, skipped, err := gather(files)
	if err == nil && len(uploads) == 0 && change.Title == nil {
		err = problem.Refusal("nothing", "There is no file to publish in %s. Nothing was published.", plain.Text(strings.Join(files, ", ")))
	}
	if err != nil {
		return err
	}
	b, done, err := r.booths()
	if err != nil {
		return err
	}
	defer done()
	doc := published{Name: name, Published: []string{}, Skipped: skipped}
	for _, u := range uploads {
		err := ctx.Err()
		if err == nil {
			err = u.send(ctx, b, name)
		}
		if err != nil {
			return afterSome(err, len(doc.Published))
		}
		doc.Published = append(doc.Published, u.item.String())
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

// upload is one local file and where it goes.
type upload struct {
	from string
	item folder.ItemPath
}

func (u upload) send(ctx context.Context, b booths, name string) error {
	f, err := os.Open(u.from)
	if err != nil {
		return problem.New(problem.Failed, "read", "%s cannot be read.", plain.Text(u.from)).Because(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return b.Put(ctx, name, u.item, folder.Sized{Reader: f, Length: info.Size()})
}

// gather finds every file to publish before the first one is sent, so that a
// misspelt name changes nothing.
func gather(files []string) (uploads []upload, skipped []skippedUpload, err error) {
	g := gathering{at: map[folder.ItemPath]string{}, skipped: []skippedUpload{}}
	for _, f := range files {
		info, err := os.Stat(f)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, problem.Refusal("read", "There is no file %s. Nothing was published.", plain.Text(f))
		case err != nil:
			return nil, nil, problem.Refusal("read", "%s cannot be looked at. Nothing was published.", plain.Text(f)).Because(err)
		case info.IsDir():
			err = g.folder(f)
		default:
			err = g.file(f, filepath.Base(f), info.Mode())
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return g.uploads, g.skipped, nil
}

type gathering struct {
	at      map[folder.ItemPath]string // the file that is to be an item
	uploads []upload
	skipped []skippedUpload
}

func (g *gathering) skip(file, why string) { g.skipped = append(g.skipped, skippedUpload{file, why}) }

// file adds a file that was named, or found in a folder that was.
func (g *gathering) file(from, to string, mode fs.FileMode) error {
	if !mode.IsRegular() {
		return problem.Refusal("read", "%s is no regular file. Nothing was published.", plain.Text(from))
	}
	item, err := folder.ParseItem(filepath.ToSlash(to))
	if err != nil {
		return err
	}
	if other, taken := g.at[item]; taken {
		return problem.Refusal("same-item", "%s and %s would both be the item %s. Nothing was published.", plain.Text(other), plain.Text(from), plain.Text(item.String()))
	}
	g.at[item] = from
	g.uploads = append(g.uploads, upload{from, item})
	return nil
}

// folder adds what is in a folder, under its name; "DIR/." means without it.
func (g *gathering) folder(dir string) error {
	prefix := filepath.Base(dir)
	if abs, err := filepath.Abs(dir); err == nil {
		prefix = filepath.Base(abs)
	}
	if dir == "." || strings.HasSuffix(dir, "/.") {
		prefix = ""
	}
	// With the dot, a link that was named is entered; a link inside is not.
	return filepath.WalkDir(dir+"/.", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return problem.Refusal("read", "%s cannot be read. Nothing was published.", plain.Text(path)).Because(err)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case rel == ".":
			return nil
		case strings.HasPrefix(e.Name(), "."):
			g.skip(path, "it begins with a dot")
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			g.skip(path, "it is no regular file")
			return nil
		default:
			return g.file(path, filepath.Join(prefix, rel), e.Type())
		}
	})
}
