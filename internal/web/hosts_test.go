package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"holdfast/internal/problem"
)

// case B22. Red when: answer does not ask checkHost.
func TestANameThatIsNotOursIsRefusedEvenWithItsOwnOrigin(t *testing.T) {
	h := newHouse(t)
	for _, method := range []string{"GET", "POST", "DELETE"} {
		for _, host := range []string{"evil.example", "evil.example:7433", "127.0.0.1:7434", "localhost.evil.example:7433", "evil.example\u202e<b>", ""} {
			w := h.ask(t, method, "/b/demo/keep", "Host: "+host, "Origin: http://"+host, "Sec-Fetch-Site: same-origin", h.cookie(t))
			if w.Code != 403 || !strings.Contains(w.Body.String(), `"step":"host"`) {
				t.Errorf("%s %q: %d %s", method, host, w.Code, w.Body)
			}
		}
	}
	w := h.ask(t, "GET", "/", "Host: d\u0435sk.example\u202e", "Accept: text/html") // a Cyrillic letter
	for _, want := range []string{`d\u0435sk.example\u202e`, "hosts in holdfast.toml"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q is not said: %s", want, w.Body)
		}
	}
}

// case B22. Red when: checkOrigin leaves "null" to the library (the rows with
// same-origin), or answer does not ask it.
func TestAWriteThatAnotherPageBeganIsRefused(t *testing.T) {
	h := newHouse(t)
	own := "Origin: http://" + here
	for _, c := range []struct {
		status  int
		headers []string
	}{
		{200, nil},
		{200, []string{own}},
		{200, []string{own, "Sec-Fetch-Site: same-origin"}},
		{200, []string{"Sec-Fetch-Site: none"}},
		{403, []string{"Origin: null"}},
		{403, []string{"Origin: null", "Sec-Fetch-Site: same-origin"}},
		{403, []string{"Origin: null", "Sec-Fetch-Site: none"}},
		{403, []string{own, "Origin: NULL", "Sec-Fetch-Site: same-origin"}},
		{403, []string{own, "Sec-Fetch-Site: cross-site"}},
		{403, []string{own, "Sec-Fetch-Site: same-site"}},
		{403, []string{"Origin: http://evil.example"}},
		{403, []string{"Origin: http://127.0.0.1:9999"}},
	} {
		for _, method := range []string{"POST", "DELETE", "PUT"} {
			target := map[string]string{"POST": "/b/demo/keep", "DELETE": "/b/demo", "PUT": "/b/demo/x"}[method]
			w := h.ask(t, method, target, append(c.headers, h.cookie(t))...)
			if w.Code != c.status || w.Code == 403 && !strings.Contains(w.Body.String(), `"step":"origin"`) {
				t.Errorf("%s %v: %d %s", method, c.headers, w.Code, w.Body)
			}
		}
	}
	if w := h.ask(t, "GET", "/", "Origin: null", "Sec-Fetch-Site: cross-site"); w.Code != 200 {
		t.Errorf("a read: %d", w.Code)
	}
}

// Red when: NewHosts leaves out what the row is about; known compares without
// the port.
func TestWhichNamesAreOurs(t *testing.T) {
	external := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, c := range []struct {
		listening string
		hosts     []string
		external  *url.URL
		yes, no   string
	}{
		{"127.0.0.1:7433", nil, nil, "127.0.0.1:7433 localhost:7433 LocalHost:7433 [::1]:7433", "localhost 127.0.0.1 localhost:80 10.0.0.1:7433 [::2]:7433 desk.example localhost.:7433 ::1 [::1%25lo]:7433 localhost: :7433 @localhost:7433"},
		{"[::1]:80", nil, nil, "localhost [::1] 127.0.0.1:80", "[::2] localhost:443"},
		{"127.0.0.1:7433", []string{"desk.example"}, nil, "desk.example desk.example:1 Desk.Example:7433", "x.desk.example desk.example.evil.example"},
		{"127.0.0.1:7433", []string{"desk.example:8443", "[fd00::1]"}, nil, "desk.example:8443 [fd00::1]:9", "desk.example desk.example:8444"},
		{"127.0.0.1:7433", []string{"desk.example:443"}, nil, "desk.example desk.example:443", "desk.example:80"},
		{"10.0.0.1:7433", nil, nil, "10.0.0.1:7433", "localhost:7433 127.0.0.1:7433 10.0.0.2:7433"},
		{"0.0.0.0:7433", nil, nil, "10.0.0.1:7433 [fd00::1]:7433 localhost:7433", "evil.example:7433 10.0.0.1:80 10.0.0.1"},
		{"127.0.0.1:7433", nil, external("https://desk.example/desk/"), "desk.example desk.example:443", "desk.example:80"},
	} {
		h, err := NewHosts(tcp(c.listening), c.hosts, c.external)
		if err != nil {
			t.Fatal(err)
		}
		for want, list := range map[bool]string{true: c.yes, false: c.no} {
			for _, host := range strings.Fields(list) {
				r := httptest.NewRequest("GET", "/", nil)
				r.Host = host
				if err := h.checkHost(r); (err == nil) != want {
					t.Errorf("on %s with %v %v: %s: %v", c.listening, c.hosts, c.external, host, err)
				}
			}
		}
	}
}

func TestHostsThatAreNoneAreRefused(t *testing.T) {
	for _, name := range []string{"", "http://desk.example", "desk.example/", "desk example", "*", "desk.example:", "desk.example:x", "::1", "a:b:c"} {
		if _, err := NewHosts(tcp(here), []string{name}, nil); problem.KindOf(err) != problem.Usage {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, text := range []string{"ftp://x/", "desk.example", "https:///", "https://a@b/"} {
		u, _ := url.Parse(text)
		if _, err := NewHosts(tcp(here), nil, u); problem.KindOf(err) != problem.Usage {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A proxy that puts its own name in Host. Red when: addExternal trusts nothing,
// or more than the one origin.
func TestTheExternalOriginMayWriteAndNoOther(t *testing.T) {
	u, _ := url.Parse("https://Desk.example:443/desk/")
	hosts, err := NewHosts(tcp(here), nil, u)
	if err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string]bool{
		"https://desk.example": true, "http://desk.example": false, "https://desk.example:8443": false, "https://evil.example": false, "null": false,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Host = here
		r.Header.Set("Origin", origin)
		if err := hosts.checkOrigin(r); (err == nil) != want {
			t.Errorf("%s: %v", origin, err)
		}
	}
}
