//go:build browser

package browsertest

import (
	"bufio"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestEveryAddressIsBelowTheBase follows every address on every kind of page.
// Case B21. Red when one address is written without Base.URL (tried: the
// form's "/logout", the pager's, the stream's, the view's way back).
func TestEveryAddressIsBelowTheBase(t *testing.T) {
	for _, s := range []site{root, unclipped, stripped} {
		t.Run(s.name, func(t *testing.T) {
			d := s.start(t)
			if out, err := exec.Command("cp", "-R", "../../demo/booths", d.Home).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for i := range 100 {
				d.Write("many", strings.Repeat("x", i%7)+string(rune('a'+i%26))+string(rune('a'+i/26))+".txt", "words")
			}
			d.Write("many", "clip.mp4", "no film")
			d.Write("many", "page.html", "<title>x</title>")
			d.Write("gone", "a.txt", "words")
			holdfast(t, d.Home, "roadmap", "import", "../../demo/plan.jsonl")
			fleetAt(t, d.Home)
			d.observed(t)
			crawl := &crawl{t: t, desk: d, client: d.Client(true), seen: map[string]bool{}, forms: map[string]url.Values{}}
			crawl.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error { crawl.below(r.URL.String()); return nil }
			crawl.post(d.URL+"b/gone/delete", url.Values{}) // so that there is something in the trash
			crawl.follow(d.URL)
			crawl.follow(d.URL + "b/many")         // to the slash
			crawl.follow(d.URL + "b/many/?page=2") // and what only it has
			crawl.missing(d.URL + "b/none/")
			crawl.missing(d.URL + "b/many/view?f=none")
			for _, kind := range []string{"a", "link", "script", "img", "iframe", "video", "stream", "form"} {
				if !slices.Contains(crawl.kinds, kind) {
					t.Errorf("no page has a %s", kind)
				}
			}
			if len(crawl.seen) < 150 {
				t.Errorf("only %d addresses", len(crawl.seen))
			}
			for _, kind := range []string{"keep", "unkeep", "answer", "note", "flag", "restore", "delete", "logout"} { // what ends something, last
				n := 0
				for address, filled := range crawl.forms {
					if strings.HasSuffix(address, "/"+kind) {
						crawl.post(address, filled)
						n++
					}
				}
				if n == 0 {
					t.Errorf("no page has a form for %s", kind)
				}
			}
		})
	}
}

type crawl struct {
	t      *testing.T
	desk   *Desk
	client *http.Client
	seen   map[string]bool
	kinds  []string
	forms  map[string]url.Values // as they are filled in, by where they go
}

// below checks that an address is one of the desk's.
func (c *crawl) below(address string) {
	c.t.Helper()
	if !strings.HasPrefix(address, c.desk.URL) {
		c.t.Errorf("%s is not below %s", address, c.desk.URL)
	}
}

func (c *crawl) get(address string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	res, err := c.client.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	return res
}

func (c *crawl) follow(address string) {
	address, _, _ = strings.Cut(address, "#")
	if c.seen[address] {
		return
	}
	c.seen[address] = true
	res := c.get(address)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		c.t.Errorf("%s: %s", address, res.Status)
	}
	// What came out of a booth is not the desk's page.
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") && !strings.Contains(res.Header.Get("Content-Security-Policy"), "sandbox") {
		c.page(res)
	}
}

func (c *crawl) missing(address string) {
	c.t.Helper()
	res := c.get(address)
	defer res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		c.t.Errorf("%s: %s", address, res.Status)
	}
	c.page(res)
}

// page follows what a page names.
func (c *crawl) page(res *http.Response) {
	at := res.Request.URL
	z := html.NewTokenizer(res.Body)
	var filled url.Values // of the form that the tokens are in
	for z.Next() != html.ErrorToken {
		t := z.Token()
		switch {
		case t.Data == "form":
			filled = url.Values{}
		case filled != nil && (t.Data == "input" || t.Data == "textarea"):
			fill(filled, t)
		}
		for _, a := range t.Attr {
			kind := t.Data
			switch a.Key {
			case "href", "src", "action":
			case "formaction":
				kind = "form"
			case "data-live":
				kind = "stream"
			default:
				continue
			}
			if strings.HasPrefix(a.Val, "#") {
				continue
			}
			u, err := at.Parse(a.Val)
			if err != nil {
				c.t.Errorf("%s: %v", at, err)
				continue
			}
			if kind == "a" && u.Host != at.Host { // a board's links lead out
				continue
			}
			c.kinds = append(c.kinds, kind)
			c.below(u.String())
			switch kind {
			case "form":
				c.forms[u.String()] = filled
			case "stream":
				c.stream(u)
			default:
				c.follow(u.String())
			}
		}
	}
}

// stream reads the first line of a page's stream.
func (c *crawl) stream(u *url.URL) {
	u.RawQuery = "" // the one stream, whatever the page has shown
	if c.seen[u.String()] {
		return
	}
	c.seen[u.String()] = true
	res := c.get(u.String())
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		c.t.Errorf("%s: %s, %s", u, res.Status, kind)
	}
	if lines := bufio.NewScanner(res.Body); !lines.Scan() {
		c.t.Errorf("%s: nothing came", u)
	}
}

// fill fills in a field of a form as somebody might: the last of the options,
// and words.
func fill(form url.Values, field html.Token) {
	name, value := "", "words"
	for _, a := range field.Attr {
		switch a.Key {
		case "name":
			name = a.Val
		case "value":
			value = a.Val
		}
	}
	form.Set(name, value)
}

// post sends a form as a browser on the desk's page does; the answer leads back
// below the base.
func (c *crawl) post(address string, filled url.Values) {
	c.t.Helper()
	res, err := c.client.PostForm(address, filled)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	c.below(res.Request.URL.String())
	if res.StatusCode != http.StatusOK || res.Request.Method != http.MethodGet {
		c.t.Errorf("%s: %s %s", address, res.Request.Method, res.Status)
	}
}
