package app

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/app/config"
	"holdfast/internal/web"
)

const listening = "127.0.0.1:7433"

// newTestHouse is a house that is not listening, with a booth "mine" and another.
func newTestHouse(t *testing.T, set func(*config.Config)) (*house, *web.Site) {
	t.Helper()
	c := &config.Config{Home: t.TempDir(), Listen: listening, BasePath: "/", Login: config.LoginOpen, TTL: 24 * time.Hour, Tick: time.Hour, TrashTTL: time.Hour}
	if set != nil {
		set(c)
	}
	if err := prepareHome(c); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine", "other"} {
		write(t, filepath.Join(c.Booths(), name, "a.txt"), "a")
	}
	h, err := newHouse(t.Context(), c, web.Base{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	h.events = web.NewEvents(2)
	addr, err := net.ResolveTCPAddr("tcp", listening)
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := web.NewHosts(addr, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	site, err := h.site(hosts)
	if err != nil {
		t.Fatal(err)
	}
	return h, site
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// who are the parties, each with the credential that it shows.
func who(t *testing.T, h *house) map[string]func(*http.Request) {
	t.Helper()
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	worker := func(booth string) func(*http.Request) {
		token, err := h.key.WorkerToken(access.WorkerGrant{Booth: booth, Issued: time.Now(), Expires: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return bearer(token)
	}
	return map[string]func(*http.Request){
		"anonymous": func(*http.Request) {},
		"operator":  bearer(h.key.OperatorToken()),
		"observer":  bearer(h.key.ObserverToken()),
		"worker":    worker("mine"),
		"elsewhere": worker("other"),
	}
}

// rights is who may use each route, written out: an asker that is not named is
// refused with 401 (anonymous) or 403. Paths are about the booth "mine".
var rights = map[string]struct{ path, open, login string }{
	"GET /{$}":                                {"/", everybody, "operator observer"},
	"GET /b/{booth}/{$}":                      {"/b/mine/", everybody, "operator observer worker"},
	"GET /b/{booth}":                          {"/b/mine", everybody, "operator observer worker"},
	"GET /b/{booth}/view":                     {"/b/mine/view?f=a.txt", everybody, "operator observer worker"},
	"GET /b/{booth}/{item...}":                {"/b/mine/a.txt", everybody, "operator observer worker"},
	"PUT /b/{booth}/{item...}":                {"/b/mine/b.txt", "operator worker", "operator worker"},
	"PUT /b/{booth}":                          {"/b/mine", "operator worker", "operator worker"},
	"GET /b/{booth}/marks":                    {"/b/mine/marks", everybody, "operator observer worker"},
	"GET /b/{booth}/asks":                     {"/b/mine/asks", everybody, "operator observer worker"},
	"GET /b/{booth}/marks.json":               {"/b/mine/marks.json", everybody, "operator observer worker"},
	"POST /b/{booth}/marks/ask":               {"/b/mine/marks/ask", "operator worker", "operator worker"},
	"POST /b/{booth}/marks/withdraw":          {"/b/mine/marks/withdraw", "operator worker", "operator worker"},
	"POST /b/{booth}/marks/note":              {"/b/mine/marks/note", "operator worker", "operator worker"},
	"POST /b/{booth}/marks/flag":              {"/b/mine/marks/flag", "operator worker", "operator worker"},
	"POST /b/{booth}/repair":                  {"/b/mine/repair", "operator worker", "operator worker"},
	"POST /b/{booth}/marks/answer":            {"/b/mine/marks/answer", "operator", "operator"},
	"POST /b/{booth}/keep":                    {"/b/mine/keep", "operator", "operator"},
	"POST /b/{booth}/unkeep":                  {"/b/mine/unkeep", "operator", "operator"},
	"POST /b/{booth}/delete":                  {"/b/mine/delete", "operator", "operator"},
	"DELETE /b/{booth}":                       {"/b/mine", "operator", "operator"},
	"DELETE /b/{booth}/{$}":                   {"/b/mine/", "operator", "operator"},
	"GET /trash":                              {"/trash", everybody, "operator observer"},
	"GET /api/v1/trash":                       {"/api/v1/trash", everybody, "operator observer"},
	"POST /trash/{id}/restore":                {"/trash/x/restore", "operator", "operator"},
	"POST /api/v1/trash/{id}/restore":         {"/api/v1/trash/x/restore", "operator", "operator"},
	"POST /api/v1/sweep":                      {"/api/v1/sweep?dry=1", "operator", "operator"},
	"GET /c/{token}/{item...}":                {"/c/CONTENT/a.txt", everybody, everybody},
	"GET /c/{token}":                          {"/c/CONTENT", everybody, everybody},
	"GET /api/v1/booths":                      {"/api/v1/booths", everybody, "operator observer"},
	"GET /api/v1/booths/{booth}":              {"/api/v1/booths/mine", everybody, "operator observer worker"},
	"GET /api/v1/booths/{booth}/explain":      {"/api/v1/booths/mine/explain", everybody, "operator observer worker"},
	"PATCH /api/v1/booths/{booth}":            {"/api/v1/booths/mine", "operator worker", "operator worker"},
	"GET /api/v1/census":                      {"/api/v1/census", everybody, "operator observer"},
	"GET /roadmap":                            {"/roadmap", everybody, "operator observer"},
	"POST /roadmap":                           {"/roadmap", "operator", "operator"},
	"GET /roadmap/daily":                      {"/roadmap/daily", everybody, "operator observer"},
	"GET /roadmap/{node}":                     {"/roadmap/x", everybody, "operator observer"},
	"GET /roadmap/{node}/{$}":                 {"/roadmap/x/", everybody, "operator observer"},
	"GET /api/v1/roadmap":                     {"/api/v1/roadmap", everybody, "operator observer"},
	"GET /api/v1/roadmap/{node}":              {"/api/v1/roadmap/x", everybody, "operator observer"},
	"GET /api/v1/roadmap/{node}/log":          {"/api/v1/roadmap/x/log", everybody, "operator observer"},
	"POST /roadmap/{node}/accept":             {"/roadmap/x/accept", "operator", "operator"},
	"POST /roadmap/{node}/drop":               {"/roadmap/x/drop", "operator", "operator"},
	"POST /roadmap/{node}/reopen":             {"/roadmap/x/reopen", "operator", "operator"},
	"POST /roadmap/{node}/claim":              {"/roadmap/x/claim", "operator", "operator"},
	"POST /roadmap/{node}/release":            {"/roadmap/x/release", "operator", "operator"},
	"POST /roadmap/{node}/block":              {"/roadmap/x/block", "operator", "operator"},
	"POST /roadmap/{node}/edit":               {"/roadmap/x/edit", "operator", "operator"},
	"POST /roadmap/{node}/link":               {"/roadmap/x/link", "operator", "operator"},
	"POST /roadmap/{node}/unlink":             {"/roadmap/x/unlink", "operator", "operator"},
	"POST /roadmap/{node}/comment":            {"/roadmap/x/comment", "operator", "operator"},
	"POST /roadmap/{node}/comment/edit":       {"/roadmap/x/comment/edit", "operator", "operator"},
	"POST /roadmap/{node}/comment/delete":     {"/roadmap/x/comment/delete", "operator", "operator"},
	"POST /roadmap/{node}/reconcile":          {"/roadmap/x/reconcile", "operator", "operator"},
	"GET /fleet":                              {"/fleet", everybody, "operator observer"},
	"GET /fleet/log":                          {"/fleet/log", everybody, "operator observer"},
	"GET /fleet/{box}":                        {"/fleet/x", everybody, "operator observer"},
	"GET /fleet/{box}/{$}":                    {"/fleet/x/", everybody, "operator observer"},
	"GET /api/v1/fleet":                       {"/api/v1/fleet", everybody, "operator observer"},
	"GET /api/v1/fleet/log":                   {"/api/v1/fleet/log", everybody, "operator observer"},
	"GET /api/v1/fleet/{box}":                 {"/api/v1/fleet/x", everybody, "operator observer"},
	"GET /api/v1/fleet/{box}/{$}":             {"/api/v1/fleet/x/", everybody, "operator observer"},
	"GET /instances":                          {"/instances", everybody, "operator observer"},
	"GET /instances/{instance}":               {"/instances/x", everybody, "operator observer"},
	"GET /instances/{instance}/log":           {"/instances/x/log", everybody, "operator observer"},
	"GET /instances/{instance}/verify":        {"/instances/x/verify", "operator", "operator"},
	"POST /instances/{instance}/stop":         {"/instances/x/stop", "operator", "operator"},
	"GET /api/v1/instances":                   {"/api/v1/instances", everybody, "operator observer"},
	"GET /api/v1/instances/{instance}":        {"/api/v1/instances/x", everybody, "operator observer"},
	"GET /api/v1/instances/{instance}/verify": {"/api/v1/instances/x/verify", "operator", "operator"},
	"POST /api/v1/sign-in-links":              {"/api/v1/sign-in-links", "operator", "operator"},
	"GET /events":                             {"/events", everybody, "operator observer"},
	"GET /metrics":                            {"/metrics", everybody, "operator observer"},
	"GET /healthz":                            {"/healthz", everybody, everybody},
	"GET /static/{version}/{file}":            {"/static/x/y", everybody, everybody},
	"GET /login":                              {"/login?once=x", everybody, everybody},
	"POST /logout":                            {"/logout", everybody, everybody},
}

const everybody = "anonymous operator observer worker elsewhere"

// TestEveryRouteIsOpenToWhomTheTableSays walks every route that there is with
// every party. Red when a route is added without a line here, when a route's
// action is another one, or when access.Policy lets one more party in.
func TestEveryRouteIsOpenToWhomTheTableSays(t *testing.T) {
	for _, login := range []config.Login{config.LoginOpen, config.LoginRequired} {
		h, site := newTestHouse(t, func(c *config.Config) { c.Login = login })
		content, err := h.key.ContentToken("mine", "0123456789abcdef0123456789abcdef", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, route := range site.Routes().All() {
			row, ok := rights[route.String()]
			if !ok {
				t.Errorf("%s: who may use this route is not written down", route)
				continue
			}
			seen[route.String()] = true
			allowed := map[config.Login]string{config.LoginOpen: row.open, config.LoginRequired: row.login}[login]
			for name, as := range who(t, h) {
				path := strings.Replace(row.path, "CONTENT", content, 1)
				method := route.Method
				if route.Pattern == "/events" {
					method = http.MethodHead // the stream itself does not end
				}
				req := httptest.NewRequest(method, "http://"+listening+path, io.NopCloser(strings.NewReader("{}")))
				as(req)
				res := httptest.NewRecorder()
				site.ServeHTTP(res, req)
				may := strings.Contains(" "+allowed+" ", " "+name+" ")
				refused := strings.Contains(res.Body.String(), `"not-operator"`) || strings.Contains(res.Body.String(), `"other-booth"`) ||
					strings.Contains(res.Body.String(), `needs you to be signed in`)
				if route.Pattern == "/events" {
					refused = res.Code == http.StatusUnauthorized || res.Code == http.StatusForbidden
				}
				if may == refused {
					t.Errorf("login %v, %s as %s: %d %s", login, route, name, res.Code, res.Body)
				}
			}
		}
		for route := range rights {
			if !seen[route] {
				t.Errorf("%s is written down and is no route", route)
			}
		}
	}
}
