package reach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/problem"
)

// damaged is a server's word that it cannot read a booth's marks whole, with
// what it could read.
type damaged struct {
	doc booth.Damage
	rev int64
}

func (d damaged) Error() string { return d.doc.Error }

// Marks is a booth's marks, as far as they can be read.
func (r Remote) Marks(ctx context.Context, name string) (marks.Reading, error) {
	return r.marks(ctx, name, nil)
}

// longPoll is how long one request of a watch may wait. A server that says
// nothing for as long again is not there any more.
const longPoll = 30 * time.Second

// absence is how long a watch puts up with a server that had answered and does
// not any more: desks are restarted, and the question outlives that.
const absence = time.Minute

// Watch gives a booth's marks as soon as their rev is another one than since,
// lower included, or they are damaged. A booth that goes away is Gone. If ctx
// ends first the error is ctx's. The server shows who waits for the questions
// that are named.
func (r Remote) Watch(ctx context.Context, name string, since int64, waiting []string) (marks.Reading, error) {
	query := url.Values{"since": {strconv.FormatInt(since, 10)}, "wait": {longPoll.String()}}
	if len(waiting) > 0 {
		query.Set("waiting", strings.Join(waiting, ","))
	}
	last := marks.Reading{Rev: since}
	var answered time.Time
	for {
		early := time.After(pollPause)
		within, cancel := context.WithTimeout(ctx, 2*longPoll)
		got, err := r.marks(within, name, query)
		cancel()
		switch {
		case ctx.Err() != nil:
			return last, ctx.Err()
		case isAway(err) && time.Since(answered) < absence:
		case err != nil || !got.Whole() || got.Rev != since:
			return got, err
		default:
			last, answered = got, time.Now()
		}
		select { // a server that does not wait is not asked all the time
		case <-ctx.Done():
		case <-early:
		}
	}
}

// isAway says that what answers, if anything, is not the desk.
func isAway(err error) bool {
	var p *problem.Error
	return errors.As(err, &p) && p.Kind == problem.Failed && p.Step == stepServer
}

func (r Remote) marks(ctx context.Context, name string, query url.Values) (marks.Reading, error) {
	n, err := folder.Existing(name)
	if err != nil {
		return marks.Reading{}, err
	}
	path := under(n) + "/marks.json"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var doc marks.Show
	err = r.call(ctx, http.MethodGet, path, nil, 0, &doc)
	var d damaged
	if errors.As(err, &d) {
		got := hydrated(marks.Show{Rev: d.rev, Marks: d.doc.Salvaged})
		got.Damage = append([]string{d.doc.Error}, got.Damage...)
		return got, nil
	}
	if err != nil {
		return marks.Reading{}, err
	}
	return hydrated(doc), nil
}

// hydrated reads what a server showed, a mark at a time. One that this version
// does not know is damage here too.
func hydrated(doc marks.Show) marks.Reading {
	out := marks.Reading{Rev: doc.Rev}
	for _, raw := range doc.Marks {
		one, err := json.Marshal(struct {
			Schema string `json:"schema"`
			marks.Show
		}{marks.Schema, marks.Show{Rev: doc.Rev, Marks: []json.RawMessage{raw}}})
		if err != nil {
			out.Damage = append(out.Damage, "a mark is no JSON")
			continue
		}
		r := marks.Parse(one)
		out.Marks = append(out.Marks, r.Marks...)
		out.Damage = append(out.Damage, r.Damage...)
	}
	return out
}

// under is the path of a booth's page, without a slash at its end.
func under(n folder.Name) string { return "b/" + url.PathEscape(n.String()) }

// post writes something about a booth that is there.
func post[Out any](ctx context.Context, r Remote, name, verb string, in any) (out Out, err error) {
	n, err := folder.Existing(name)
	if err != nil {
		return out, err
	}
	err = r.send(ctx, http.MethodPost, under(n)+verb, in, &out)
	return out, err
}

func (r Remote) send(ctx context.Context, method, path string, in, into any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return r.call(ctx, method, path, bytes.NewReader(body), int64(len(body)), into)
}

// nothing is the body of a write that says all in its address.
type nothing struct{}

// Ask asks a question, or edits one.
func (r Remote) Ask(ctx context.Context, name string, q booth.Question) (booth.Asked, error) {
	if q.Parts == nil {
		q.Parts = []marks.Part{} // null is not what a list is written as
	}
	return post[booth.Asked](ctx, r, name, "/marks/ask", q)
}

// Answer answers a question.
func (r Remote) Answer(ctx context.Context, name string, a booth.Reply) (booth.Asked, error) {
	if a.Parts == nil {
		a.Parts = map[string]marks.Value{}
	}
	return post[booth.Asked](ctx, r, name, "/marks/answer", a)
}

// Withdraw takes a question back.
func (r Remote) Withdraw(ctx context.Context, name string, w booth.Withdrawal) (booth.Asked, error) {
	return post[booth.Asked](ctx, r, name, "/marks/withdraw", w)
}

// Note writes a note.
func (r Remote) Note(ctx context.Context, name string, n booth.Remark) (booth.Noted, error) {
	return post[booth.Noted](ctx, r, name, "/marks/note", n)
}

// Flag flags an item.
func (r Remote) Flag(ctx context.Context, name string, f booth.Remark) (booth.Noted, error) {
	return post[booth.Noted](ctx, r, name, "/marks/flag", f)
}

// Repair mends damaged marks.
func (r Remote) Repair(ctx context.Context, name string) (booth.Repaired, error) {
	return post[booth.Repaired](ctx, r, name, "/repair", nothing{})
}

// Keep keeps a booth until it is released; why may be empty.
func (r Remote) Keep(ctx context.Context, name string, why booth.Keeping) (booth.Kept, error) {
	return post[booth.Kept](ctx, r, name, "/keep", why)
}

// Unkeep releases a booth: it counts down from now, unless something holds it.
func (r Remote) Unkeep(ctx context.Context, name string) (booth.Kept, error) {
	return post[booth.Kept](ctx, r, name, "/unkeep", nothing{})
}

// Remove moves a booth to the trash, whatever its lifetime says.
func (r Remote) Remove(ctx context.Context, name string) (gone booth.Trashed, err error) {
	n, err := folder.Existing(name)
	if err != nil {
		return gone, err
	}
	err = r.call(ctx, http.MethodDelete, under(n), nil, 0, &gone)
	return gone, err
}

// Restore brings a booth back from the trash.
func (r Remote) Restore(ctx context.Context, id string) (back booth.Restored, err error) {
	if id == "" || id == "." || id == ".." {
		return back, noSuchTrash(id)
	}
	err = r.send(ctx, http.MethodPost, "api/v1/trash/"+url.PathEscape(id)+"/restore", nothing{}, &back)
	return back, err
}

// noSuchTrash says that nothing in the trash has an id.
func noSuchTrash(id string) error {
	return problem.New(problem.Gone, "trash", "There is no %q in the trash.", id)
}

// Trash is what lies in the trash.
func (r Remote) Trash(ctx context.Context) (all booth.Trash, err error) {
	err = r.call(ctx, http.MethodGet, "api/v1/trash", nil, 0, &all)
	return all, err
}

// Sweep sweeps as the desk does at each tick; dry changes nothing.
func (r Remote) Sweep(ctx context.Context, dry bool) (done sweep.Report, err error) {
	path := "api/v1/sweep"
	if dry {
		path += "?dry=1"
	}
	err = r.send(ctx, http.MethodPost, path, nothing{}, &done)
	return done, err
}

// Census counts the booths by what becomes of them.
func (r Remote) Census(ctx context.Context) (doc booth.Census, err error) {
	err = r.call(ctx, http.MethodGet, "api/v1/census", nil, 0, &doc)
	return doc, err
}
