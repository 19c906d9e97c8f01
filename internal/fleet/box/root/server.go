package root

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// SocketName is the socket in the folder root/ of the box, which the work does not see.
const SocketName = "root.sock"

// maxOrder is the most bytes of an order's envelope.
const maxOrder = 4 << 20

// lastWords is how long a root that ends has to answer who asked something.
const lastWords = 2 * time.Second

// What is asked of a root over its socket.
const (
	pathOrders   = "/orders"
	pathStatus   = "/status"
	pathDown     = "/down"
	pathReceipts = "/receipts"
	pathEnd      = "/end"
)

// listen answers on the socket until ctx is done.
func (r *Root) listen(ctx context.Context) error {
	ln, err := listen(r.folder)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathOrders, r.serveOrder)
	mux.HandleFunc("GET "+pathStatus, r.serveStatus)
	mux.HandleFunc("POST "+pathDown, r.serveDown)
	mux.HandleFunc("GET "+pathReceipts, func(w http.ResponseWriter, _ *http.Request) {
		list, err := r.Receipts()
		respond(w, list, err)
	})
	mux.HandleFunc("POST "+pathEnd, func(w http.ResponseWriter, _ *http.Request) {
		respond(w, struct{}{}, nil)
		_ = http.NewResponseController(w).Flush() // before the end cuts it off
		r.quit()
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	r.work.Go(func() {
		<-ctx.Done()
		// Who asked for the end is answered before it.
		short, done := context.WithTimeout(context.Background(), lastWords)
		defer done()
		server.Shutdown(short)
		server.Close()
	})
	r.work.Go(func() {
		if err := server.Serve(peers{ln}); !errors.Is(err, http.ErrServerClosed) {
			r.Log.Error("the root's socket", "err", err)
		}
	})
	return nil
}

func (r *Root) serveOrder(w http.ResponseWriter, q *http.Request) {
	var installer roster.Stamp
	if text := q.URL.Query().Get("installer"); text != "" {
		var err error
		if installer, err = roster.ParseStamp(text); err != nil {
			respond(w, nil, problem.New(problem.Usage, "installer", "What the agent is bound to is no binding."))
			return
		}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxOrder))
	if err != nil {
		respond(w, nil, problem.Refusal(problem.StepTooLarge, "The order cannot be read, or is too large. Nothing was started or stopped.").Because(err))
		return
	}
	operation, err := r.Take(q.Context(), data, installer)
	respond(w, Taken{operation}, err)
}

// Taken is the answer to an order that is believed.
type Taken struct {
	Operation string `json:"operation"`
}

func (r *Root) serveStatus(w http.ResponseWriter, q *http.Request) {
	if wait, err := time.ParseDuration(q.URL.Query().Get("wait")); err == nil && wait > 0 {
		since, err := strconv.ParseUint(q.URL.Query().Get("since"), 10, 64)
		if err != nil {
			since = r.countOfChanges()
		}
		ctx, done := context.WithTimeout(q.Context(), wait)
		r.Await(ctx, since)
		done()
	}
	s, err := r.Status()
	respond(w, s, err)
}

func (r *Root) serveDown(w http.ResponseWriter, q *http.Request) {
	grace, err := time.ParseDuration(q.URL.Query().Get("grace"))
	if err != nil || grace < 0 {
		respond(w, nil, problem.New(problem.Usage, "grace", "The grace is no duration."))
		return
	}
	wait, err := time.ParseDuration(q.URL.Query().Get("wait"))
	if err != nil || wait < 0 {
		respond(w, nil, problem.New(problem.Usage, "wait", "The time to wait is no duration."))
		return
	}
	ctx, done := context.WithTimeout(q.Context(), wait)
	defer done()
	list, err := r.Down(ctx, grace)
	respond(w, list, err)
}

// wrong is an error on its way through the socket.
type wrong struct {
	Kind   string `json:"kind"`
	Step   string `json:"step"`
	Reason string `json:"reason"`
	Hint   string `json:"hint"`
}

func respond(w http.ResponseWriter, value any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		p := problem.From(err, "The box's root failed.")
		w.WriteHeader(http.StatusConflict)
		value = wrong{p.Kind.String(), p.Step, p.Reason, p.Hint}
	}
	json.NewEncoder(w).Encode(value)
}

// Client talks to the root of a box, if one runs.
type Client struct {
	http   *http.Client
	folder *os.File
}

// ErrNoRoot: no root runs for the box.
var ErrNoRoot error = problem.New(problem.Gone, "root-absent", "No root runs for this box. Nothing was changed.").
	WithHint("holdfast up starts it")

// Dial is a client of the root of the box whose folder is at path. It connects at the
// first question. Close it after the last.
func Dial(path string) (*Client, error) {
	folder, err := os.Open(path + "/root")
	if err != nil {
		return nil, ErrNoRoot
	}
	return &Client{folder: folder, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, folder) },
	}}}, nil
}

// Close lets the root go.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.folder.Close()
}

// Status asks how it is, at once or when that changed, at the latest after wait.
func (c *Client) Status(ctx context.Context, wait time.Duration) (s Status, err error) {
	path := pathStatus
	if wait > 0 {
		path += "?wait=" + wait.String()
	}
	return s, c.ask(ctx, http.MethodGet, path, nil, &s)
}

// Follow asks how it is once that is another than was, at the latest after wait.
func (c *Client) Follow(ctx context.Context, was Status, wait time.Duration) (s Status, err error) {
	path := fmt.Sprintf("%s?wait=%s&since=%d", pathStatus, wait, was.Changes)
	return s, c.ask(ctx, http.MethodGet, path, nil, &s)
}

// Order hands an order on.
func (c *Client) Order(ctx context.Context, envelope io.Reader, installer roster.Stamp) (t Taken, err error) {
	return t, c.ask(ctx, http.MethodPost, pathOrders+"?installer="+installer.String(), envelope, &t)
}

// Down stops all that is installed, and waits so long for the receipts: what has none by then
// is fenced all the same.
func (c *Client) Down(ctx context.Context, grace, wait time.Duration) (list []Stopped, err error) {
	return list, c.ask(ctx, http.MethodPost, pathDown+"?grace="+grace.String()+"&wait="+wait.String(), nil, &list)
}

// Receipts lists those in the journal.
func (c *Client) Receipts(ctx context.Context) (list []Evidence, err error) {
	return list, c.ask(ctx, http.MethodGet, pathReceipts, nil, &list)
}

// End asks the root to finish its steps and end. What runs goes on.
func (c *Client) End(ctx context.Context) error {
	return c.ask(ctx, http.MethodPost, pathEnd, nil, &struct{}{})
}

func (c *Client) ask(ctx context.Context, method, path string, body io.Reader, into any) error {
	q, err := http.NewRequestWithContext(ctx, method, "http://root"+path, body)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(q)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return ErrNoRoot
		}
		return problem.New(problem.Unknown, "root-unanswered", "The box's root did not answer to the end.").WithHint("ask again: the same is not done twice").Because(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return json.NewDecoder(answer.Body).Decode(into)
	}
	var w wrong
	if err := json.NewDecoder(answer.Body).Decode(&w); err != nil {
		return problem.New(problem.Failed, "root-answer", "The box's root gave no answer that can be read.").Because(err)
	}
	kind, ok := problem.ParseKind(w.Kind)
	if !ok {
		kind = problem.Failed
	}
	e := problem.New(kind, w.Step, "%s", w.Reason)
	if w.Hint != "" {
		e = e.WithHint("%s", w.Hint)
	}
	return e
}
