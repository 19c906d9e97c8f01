package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/booth/reach"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

type publishing struct {
	Booth string   `json:"booth" jsonschema:"the booth's name"`
	Paths []string `json:"paths,omitempty" jsonschema:"files and folders on this machine; a folder goes in under its own name, DIR/. without it"`
	Texts []inline `json:"texts,omitempty" jsonschema:"items to write as they are given here"`
	Title string   `json:"title,omitempty" jsonschema:"what the booth's page is called"`
}

type inline struct {
	Item string `json:"item" jsonschema:"path of the item in the booth, such as notes/result.md"`
	Text string `json:"text"`
}

type published struct {
	Booth     string          `json:"booth"`
	URL       string          `json:"url" jsonschema:"the booth's page; empty where no desk is known"`
	Published []string        `json:"published"`
	Skipped   []reach.Skipped `json:"skipped"`
}

func (c Config) publish(ctx context.Context, in publishing) (published, error) {
	out := published{Published: []string{}, Skipped: []reach.Skipped{}}
	if len(in.Paths) == 0 && len(in.Texts) == 0 && in.Title == "" {
		return out, problem.New(problem.Usage, "nothing", "There is nothing to publish: name paths, texts or a title.")
	}
	uploads, skipped, err := reach.Gather(in.Paths)
	if err != nil {
		return out, err
	}
	texts, err := items(in.Texts, uploads)
	if err != nil {
		return out, err
	}
	b, name, done, err := c.Open(in.Booth)
	if err != nil {
		return out, err
	}
	defer done()
	out.Booth, out.Skipped = plain.Unicode(name), skipped
	for _, u := range uploads {
		if err := u.Send(ctx, b, name); err != nil {
			return out, after(err, out.Published)
		}
		out.Published = append(out.Published, u.Item.String())
	}
	for i, t := range in.Texts {
		if err := b.Put(ctx, name, texts[i], folder.Sized{Reader: strings.NewReader(t.Text), Length: int64(len(t.Text))}); err != nil {
			return out, after(err, out.Published)
		}
		out.Published = append(out.Published, t.Item)
	}
	if in.Title != "" {
		if err := b.Describe(ctx, name, booth.Change{Title: &in.Title}); err != nil {
			return out, after(err, out.Published)
		}
	}
	out.URL = c.Page(ctx, name)
	return out, nil
}

// items checks every text's path before the first is written.
func items(texts []inline, uploads []reach.Upload) ([]folder.ItemPath, error) {
	taken := map[folder.ItemPath]bool{}
	for _, u := range uploads {
		taken[u.Item] = true
	}
	var out []folder.ItemPath
	for _, t := range texts {
		item, err := folder.ParseItem(t.Item)
		if err != nil {
			return nil, err
		}
		if taken[item] {
			return nil, problem.Refusal("same-item", "Two of these would be the item %q. Nothing was published.", t.Item)
		}
		taken[item] = true
		out = append(out, item)
	}
	return out, nil
}

// after says what went in before the one that did not.
func after(err error, done []string) error {
	if len(done) == 0 {
		return err
	}
	p := problem.From(err, err.Error())
	return problem.New(problem.Failed, p.Step, "%s These went in before it: %s.", p.Reason, strings.Join(done, ", ")).Because(err)
}

type asking struct {
	Booth     string   `json:"booth" jsonschema:"the booth's name; it has to be there"`
	Title     string   `json:"title" jsonschema:"the question, in one line"`
	Why       string   `json:"why,omitempty" jsonschema:"what the answer is needed for"`
	Kind      string   `json:"kind,omitempty" jsonschema:"choice (one of the options, the default where there are any), multi (some of them), confirm (yes or no) or text (words)"`
	Options   []option `json:"options,omitempty" jsonschema:"what can be chosen"`
	Recommend string   `json:"recommend,omitempty" jsonschema:"id of the option that you would take"`
	Exact     bool     `json:"exact,omitempty" jsonschema:"true: the operator may not answer with none of these"`
	Key       string   `json:"key,omitempty" jsonschema:"asking again with this key is the same question"`
	Priority  string   `json:"priority,omitempty" jsonschema:"high, normal or low"`
}

type option struct {
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
	About string `json:"about,omitempty" jsonschema:"what choosing it means"`
	Item  string `json:"item,omitempty" jsonschema:"path of the booth's item that it stands for"`
}

func (a asking) question() booth.Question {
	part := marks.Part{ID: "answer", Kind: a.Kind, Recommend: a.Recommend, Exact: a.Exact}
	if part.Kind == "" && len(a.Options) > 0 {
		part.Kind = marks.Choice
	}
	for _, o := range a.Options {
		part.Options = append(part.Options, marks.Option(o))
	}
	var q booth.Question
	q.Question = marks.Question{Title: a.Title, Why: a.Why, Parts: []marks.Part{part}, Priority: a.Priority, Key: a.Key}
	return q
}

func (c Config) ask(ctx context.Context, in asking) (booth.Asked, error) {
	q := in.question()
	if in.Kind == "" && len(in.Options) == 0 {
		return booth.Asked{}, problem.New(problem.Usage, "question", "Nothing is asked for: give options, or kind confirm or text. Nothing was asked.")
	}
	b, name, done, err := c.Open(in.Booth)
	if err != nil {
		return booth.Asked{}, err
	}
	defer done()
	a, err := b.Ask(ctx, name, q)
	if page := c.Page(ctx, name); err == nil && page != "" {
		a.URL = reach.MarkURL(page, a.ID)
	}
	return a, err
}

type waiting struct {
	Booth   string   `json:"booth" jsonschema:"the booth's name"`
	IDs     []string `json:"ids,omitempty" jsonschema:"ids of the questions; without any, all that are open now"`
	Any     bool     `json:"any,omitempty" jsonschema:"true: until one of them is settled, not all"`
	Seconds *int     `json:"seconds,omitempty" jsonschema:"how long to wait, at most 50 (the default); 0 only looks"`
}

type waited struct {
	Booth  string        `json:"booth"`
	Rev    int64         `json:"rev"`
	Open   int           `json:"open" jsonschema:"how many of the questions are still open"`
	Picks  []booth.Asked `json:"picks"`
	Damage string        `json:"damage,omitempty" jsonschema:"why the marks cannot be read; then nothing can be answered until the operator or you mend them"`
}

func (c Config) wait(ctx context.Context, in waiting) (waited, error) {
	b, name, done, err := c.Open(in.Booth)
	if err != nil {
		return waited{}, err
	}
	defer done()
	wait := patience(in.Seconds)
	w, err := reach.Wait(ctx, b, name, reach.Want{IDs: in.IDs, Any: in.Any, Timeout: &wait})
	if err != nil {
		return waited{}, err
	}
	w = w.WithPage(c.Page(ctx, name))
	out := waited{Booth: w.Name, Rev: w.Rev, Picks: w.Picks, Damage: w.Damage}
	for _, p := range w.Picks {
		if p.State == string(marks.StateOpen) {
			out.Open++
		}
	}
	return out, nil
}

// patience is how long one call waits.
func patience(seconds *int) time.Duration {
	most := int(MaxWait / time.Second)
	if seconds == nil {
		return MaxWait
	}
	return time.Duration(min(most, max(0, *seconds))) * time.Second
}

type looking struct {
	Booth string `json:"booth" jsonschema:"the booth's name"`
}

type shown struct {
	Booth  string `json:"booth"`
	Rev    int64  `json:"rev"`
	Marks  []any  `json:"marks" jsonschema:"notes, flags and picks in the order in which they were made"`
	Damage string `json:"damage,omitempty" jsonschema:"why the marks cannot be read whole; these are what could be"`
}

func (c Config) marks(ctx context.Context, in looking) (shown, error) {
	b, name, done, err := c.Open(in.Booth)
	if err != nil {
		return shown{}, err
	}
	defer done()
	got, err := b.Marks(ctx, name)
	if err != nil {
		return shown{}, err
	}
	doc, err := got.Show()
	if err != nil {
		return shown{}, err
	}
	out := shown{Booth: plain.Unicode(name), Rev: doc.Rev, Marks: []any{}, Damage: got.Why()}
	for _, raw := range doc.Marks {
		var m any
		if err := json.Unmarshal(raw, &m); err != nil {
			return shown{}, err
		}
		out.Marks = append(out.Marks, m)
	}
	return out, nil
}
