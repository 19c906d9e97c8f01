package reach

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/problem"
)

// wire answers for marks and decisions as docs/INTERFACE.md says that a desk does,
// over the same functions; what it does not know goes to next.
type wire struct {
	local Local
	sweep Sweeper
	next  http.Handler
}

func (w wire) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /desk/b/{booth}/marks.json", func(out http.ResponseWriter, r *http.Request) { w.marks(out, r) })
	on(mux, "POST /desk/b/{booth}/marks/ask", w.local.Ask)
	on(mux, "POST /desk/b/{booth}/marks/answer", w.local.Answer)
	on(mux, "POST /desk/b/{booth}/marks/withdraw", w.local.Withdraw)
	on(mux, "POST /desk/b/{booth}/marks/note", w.local.Note)
	on(mux, "POST /desk/b/{booth}/marks/flag", w.local.Flag)
	on(mux, "POST /desk/b/{booth}/keep", w.local.Keep)
	on(mux, "POST /desk/b/{booth}/unkeep", func(ctx context.Context, name string, _ nothing) (Kept, error) { return w.local.Unkeep(ctx, name) })
	on(mux, "POST /desk/b/{booth}/repair", func(ctx context.Context, name string, _ nothing) (booth.Repaired, error) {
		return w.local.Repair(ctx, name)
	})
	mux.HandleFunc("DELETE /desk/b/{booth}", func(out http.ResponseWriter, r *http.Request) {
		n, err := folder.Existing(r.PathValue("booth"))
		if err != nil {
			say(out, nil, err)
			return
		}
		doc, err := w.sweep.Remove(r.Context(), n, w.local.By)
		say(out, doc, err)
	})
	mux.HandleFunc("GET /desk/api/v1/trash", func(out http.ResponseWriter, _ *http.Request) { say(out, Trash{w.sweep.Trash()}, nil) })
	mux.HandleFunc("POST /desk/api/v1/trash/{id}/restore", func(out http.ResponseWriter, r *http.Request) {
		n, err := w.sweep.Restore(r.Context(), r.PathValue("id"))
		say(out, Restored{n.String()}, err)
	})
	mux.HandleFunc("POST /desk/api/v1/sweep", func(out http.ResponseWriter, r *http.Request) {
		doc, err := w.sweep.Sweep(r.Context(), r.URL.Query().Get("dry") == "1")
		say(out, doc, err)
	})
	mux.HandleFunc("GET /desk/api/v1/census", func(out http.ResponseWriter, r *http.Request) {
		doc, err := w.local.Census(r.Context())
		say(out, doc, err)
	})
	if _, pattern := mux.Handler(r); pattern != "" {
		mux.ServeHTTP(out, r)
		return
	}
	w.next.ServeHTTP(out, r)
}

// marks is the long poll.
func (w wire) marks(out http.ResponseWriter, r *http.Request) {
	name := r.PathValue("booth")
	got, err := w.local.Marks(r.Context(), name)
	if since := r.URL.Query().Get("since"); since != "" && err == nil {
		rev, bad := strconv.ParseInt(since, 10, 64)
		wait, worse := time.ParseDuration(r.URL.Query().Get("wait"))
		if bad != nil || worse != nil {
			say(out, nil, problem.New(problem.Usage, "query", "It cannot be read."))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), wait)
		defer cancel()
		got, err = w.local.Watch(ctx, name, rev, nil)
		if ctx.Err() != nil {
			err = nil
		}
	}
	if err != nil {
		say(out, nil, err)
		return
	}
	doc, err := got.Show()
	if err == nil && !got.Whole() {
		out.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(out).Encode(map[string]any{
			"kind": "refused", "step": "marks-damaged", "reason": "They cannot be read.", "error": got.Why(), "salvaged": doc.Marks,
		})
		return
	}
	say(out, doc, err)
}

// on is a write: its body, strictly read, is what do is given.
func on[In, Out any](mux *http.ServeMux, pattern string, do func(context.Context, string, In) (Out, error)) {
	mux.HandleFunc(pattern, func(out http.ResponseWriter, r *http.Request) {
		var in In
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Header.Get("Content-Type") != "application/json" {
			err = errors.New("no JSON")
		}
		if err == nil {
			err = booth.ParseRequest(body, &in)
		}
		if err != nil {
			say(out, nil, err)
			return
		}
		doc, err := do(r.Context(), r.PathValue("booth"), in)
		say(out, doc, err)
	})
}

func say(out http.ResponseWriter, doc any, err error) {
	if err != nil {
		p := problem.From(err, err.Error())
		out.WriteHeader(map[problem.Kind]int{problem.Gone: 404, problem.Refused: 409, problem.Usage: 400}[p.Kind])
		doc = map[string]string{"kind": p.Kind.String(), "step": p.Step, "reason": p.Reason, "hint": p.Hint}
	}
	_ = json.NewEncoder(out).Encode(doc)
}

// bin is a sweeper whose trash is beside the booths.
type bin struct {
	path   string
	all    []Trashed
	closed int
}

func (b *bin) Remove(_ context.Context, name folder.Name, by string) (Trashed, error) {
	id := "t" + strconv.Itoa(len(b.all)+1)
	if err := os.Rename(b.path+"/"+name.String(), b.path+"/.trash-"+id); err != nil {
		return Trashed{}, problem.New(problem.Gone, "booth", "There is no booth %q.", name)
	}
	t := Trashed{ID: id, Name: name.String(), URL: booth.Escape(name.String()), By: by, At: "2026-01-01T00:00:00Z"}
	b.all = append(b.all, t)
	return t, nil
}

func (b *bin) Restore(_ context.Context, id string) (folder.Name, error) {
	for _, t := range b.all {
		if t.ID == id {
			n, _ := folder.ParseName(t.Name)
			b.all = nil
			return n, os.Rename(b.path+"/.trash-"+id, b.path+"/"+t.Name)
		}
	}
	return folder.Name{}, noSuchTrash(id)
}

func (b *bin) Trash() []Trashed { return b.all }
func (b *bin) Close() error     { b.closed++; return nil }

func (b *bin) Sweep(_ context.Context, dry bool) (Report, error) {
	if dry {
		return Report{}, nil
	}
	return Report{Swept: []string{"old"}, Spared: []Spared{{"demo", "held until answered"}}}, nil
}

// both is the two ways to one new home each, with the sweeper of each.
func both(t *testing.T) map[string]home {
	t.Helper()
	out := map[string]home{}
	for _, way := range []string{"local", "remote"} {
		data, path := openData(t)
		known, arrive := newLedger(t, data)
		b := &bin{path: path}
		local := Local{Data: data, Ledger: known, TTL: ttl, By: "principal:local/h/u", Acts: Acts{Open: func() (Sweeper, error) { return b, nil }}}
		h := home{path: path, bin: b, arrive: arrive, reach: local}
		if way == "remote" {
			r := remote(t, data, known, func(next http.Handler) http.Handler { return wire{local, b, next} })
			h.reach = r
		}
		check(t, os.MkdirAll(path+"/demo", 0o755))
		check(t, os.WriteFile(path+"/demo/a.png", []byte("png"), 0o644))
		out[way] = h
	}
	return out
}

type home struct {
	path   string
	bin    *bin
	arrive func()
	reach  actors
}

// never is a clock on which nothing ever comes; asked is told what it was asked
// for.
func never(asked chan<- time.Duration) func(time.Duration) <-chan time.Time {
	return func(d time.Duration) <-chan time.Time {
		asked <- d
		return nil
	}
}
