package reach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/problem"
)

// Remote reaches booths through a server.
type Remote struct {
	Base  *url.URL // ends with a slash
	Token string   // empty for none
	HTTP  *http.Client
}

// maxAnswer is the most that is read of a server's answer, in bytes.
const maxAnswer = 256 << 20

// List is every booth, by name.
func (r Remote) List(ctx context.Context) ([]booth.Summary, error) {
	var doc struct {
		Booths []booth.Summary `json:"booths"`
	}
	err := r.call(ctx, http.MethodGet, "api/v1/booths", nil, 0, &doc)
	return doc.Booths, err
}

// Show is one booth and what is inside.
func (r Remote) Show(ctx context.Context, name string) (booth.Listing, error) {
	var doc booth.Listing
	err := r.call(ctx, http.MethodGet, "api/v1/booths/"+url.PathEscape(name), nil, 0, &doc)
	return doc, err
}

// Explain is one booth and the rule that decides its lifetime.
func (r Remote) Explain(ctx context.Context, name string) (booth.Explanation, error) {
	var doc booth.Explanation
	err := r.call(ctx, http.MethodGet, "api/v1/booths/"+url.PathEscape(name)+"/explain", nil, 0, &doc)
	return doc, err
}

// Put puts one file into a booth, making the booth if there is none.
func (r Remote) Put(ctx context.Context, name string, item folder.ItemPath, file folder.Sized) error {
	return r.call(ctx, http.MethodPut, "b/"+url.PathEscape(name)+"/"+booth.Escape(item.String()), file, file.Length, nil)
}

// Describe changes what a booth says about itself, making it if there is none.
func (r Remote) Describe(ctx context.Context, name string, change booth.Change) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return r.call(ctx, http.MethodPatch, "api/v1/booths/"+url.PathEscape(name), bytes.NewReader(body), int64(len(body)), nil)
}

// call makes one request. A write that got no answer is Unknown: it may have
// taken effect.
func (r Remote) call(ctx context.Context, method, path string, body io.Reader, length int64, into any) error {
	at, err := r.Base.Parse(path)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err != nil {
		return err
	}
	req.ContentLength = length
	req.Header.Set("Accept", "application/json")
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	res, err := r.HTTP.Do(req)
	if err != nil {
		return r.noAnswer(method, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return r.noAnswer(method, err)
	}
	if res.StatusCode >= 300 {
		return r.refusal(res, data)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return problem.New(problem.Failed, "server", "%s answered something that is no answer of Holdfast's.", r.Base).Because(err)
	}
	return nil
}

func (r Remote) noAnswer(method string, err error) error {
	kind, words := problem.Failed, "There was no answer from %s."
	if method != http.MethodGet {
		kind, words = problem.Unknown, "There was no answer from %s. Whether it took effect is not known."
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" { // nothing was sent
		kind, words = problem.Failed, "Nothing listens at %s. Nothing was changed."
	}
	return problem.New(kind, "server", words, r.Base).Because(err).WithHint("see HOLDFAST_URL; is the server up?")
}

// refusal is the server's own words, as package problem knows them.
func (r Remote) refusal(res *http.Response, data []byte) error {
	var doc struct {
		Kind, Step, Reason, Hint string
	}
	if json.Unmarshal(data, &doc) == nil {
		if kind, ok := problem.ParseKind(doc.Kind); ok {
			p := problem.New(kind, doc.Step, "%s", doc.Reason)
			p.Hint = doc.Hint
			return p
		}
	}
	return problem.New(problem.Failed, "server", "%s answered %s.", r.Base, res.Status)
}
