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
	n, err := folder.Existing(name)
	if err != nil {
		return doc, err
	}
	err = r.call(ctx, http.MethodGet, "api/v1/booths/"+url.PathEscape(n.String()), nil, 0, &doc)
	return doc, err
}

// Explain is one booth and the rule that decides its lifetime.
func (r Remote) Explain(ctx context.Context, name string) (booth.Explanation, error) {
	var doc booth.Explanation
	n, err := folder.Existing(name)
	if err != nil {
		return doc, err
	}
	err = r.call(ctx, http.MethodGet, "api/v1/booths/"+url.PathEscape(n.String())+"/explain", nil, 0, &doc)
	return doc, err
}

// Put puts one file into a booth, making the booth if there is none.
func (r Remote) Put(ctx context.Context, name string, item folder.ItemPath, file folder.Sized) error {
	n, err := folder.ParseName(name)
	if err != nil {
		return err
	}
	return r.call(ctx, http.MethodPut, "b/"+url.PathEscape(n.String())+"/"+booth.Escape(item.String()), file, file.Length, nil)
}

// Describe changes what a booth says about itself, making it if there is none.
func (r Remote) Describe(ctx context.Context, name string, change booth.Change) error {
	n, err := folder.ParseName(name)
	if err != nil {
		return err
	}
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	var doc booth.Summary
	return r.call(ctx, http.MethodPatch, "api/v1/booths/"+url.PathEscape(n.String()), bytes.NewReader(body), int64(len(body)), &doc)
}

// call makes one request. A write that got no answer of the server's own is
// Unknown: it may have taken effect. A redirect is not followed: of a write it
// would make a read, which succeeds and has written nothing.
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
	if body != nil && method != http.MethodPut { // whose body is the item
		req.Header.Set("Content-Type", "application/json")
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	client := *r.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		return r.noAnswer(method, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return r.noAnswer(method, err)
	}
	if res.StatusCode >= 300 {
		return r.refusal(method, res, data)
	}
	if into == nil {
		if res.StatusCode != http.StatusCreated && res.StatusCode != http.StatusNoContent {
			return r.strange(method, res)
		}
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return r.strange(method, res).Because(err)
	}
	return nil
}

// stepServer: there was no answer of the server's own.
const stepServer = "server"

// strange is an answer that is not the server's own: a proxy's, or another
// program's.
func (r Remote) strange(method string, res *http.Response) *problem.Error {
	kind, words := problem.Failed, "%s answered %s, which is no answer of Holdfast's."
	if method != http.MethodGet && (res.StatusCode < 300 || res.StatusCode >= 500) {
		kind, words = problem.Unknown, words+" Whether it took effect is not known."
	}
	p := problem.New(kind, stepServer, words, r.Base, res.Status)
	if to, err := res.Location(); err == nil && res.StatusCode >= 300 {
		return p.WithHint("it points to %s; set HOLDFAST_URL to where the desk is", to.Redacted())
	}
	return p.WithHint("see HOLDFAST_URL; is that the desk?")
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
	return problem.New(kind, stepServer, words, r.Base).Because(err).WithHint("see HOLDFAST_URL; is the server up?")
}

// refusal is the server's own words, as package problem knows them.
func (r Remote) refusal(method string, res *http.Response, data []byte) error {
	var doc struct {
		Kind, Step, Reason, Hint string
		Rev                      int64
		booth.Damage
	}
	if json.Unmarshal(data, &doc) == nil {
		if kind, ok := problem.ParseKind(doc.Kind); ok {
			p := problem.New(kind, doc.Step, "%s", doc.Reason)
			p.Hint = doc.Hint
			if doc.Damage.Error != "" {
				return p.Because(damaged{doc.Damage, doc.Rev})
			}
			return p
		}
	}
	return r.strange(method, res)
}
