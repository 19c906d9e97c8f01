package git_test

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/internal/roadmap/git"
)

// site serves the remote at dir by git's own program, as many hosts do. before is
// asked of each request, and says whether it was dealt with; cut makes an answer of
// a push be lost, after the push was done.
func site(t *testing.T, dir string, before func(http.ResponseWriter, *http.Request) bool, cut *atomic.Bool) string {
	t.Helper()
	plainGit(t, dir, "config", "http.receivepack", "true")
	backend := &cgi.Handler{
		Path: filepath.Join(plainGit(t, "/", "--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1"},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case before != nil && before(w, r):
		case cut.Load() && strings.HasSuffix(r.URL.Path, "/git-receive-pack"):
			backend.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			backend.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/" + filepath.Base(dir)
}

// case R05. A push whose answer was lost may have been done, and here it was. Red when
// settle takes the failure for "not sent", or sends leaves pack-objects out.
func TestALostAnswerIsUnsettled(t *testing.T) {
	r := repo(t, git.Options{})
	dir := remote(t)
	var cut atomic.Bool
	url := site(t, dir, nil, &cut)
	b := branch(t, "plan")
	is[git.Absent](t, r.RemoteTip(t.Context(), url, b))
	one := commit(t, r, git.ID{}, "a", "1")
	is[git.Accepted](t, r.Push(t.Context(), url, b, one, git.ID{}))
	two := commit(t, r, one, "a", "2")
	cut.Store(true)
	is[git.Unsettled](t, r.Push(t.Context(), url, b, two, one))
	cut.Store(false)
	if got := is[git.Present](t, r.RemoteTip(t.Context(), url, b)).Commit; got != two {
		t.Errorf("the remote has %s", got)
	}
	is[git.Accepted](t, r.Push(t.Context(), url, b, two, two))
	if got := must(r.Fetch(t.Context(), url, b, own(t, "remote/plan")))(t); got != two {
		t.Errorf("fetched %s", got)
	}
}

// case R03. A site that lets nobody write.
func TestASiteThatIsReadOnlyIsNotSentTo(t *testing.T) {
	r := repo(t, git.Options{})
	var cut atomic.Bool
	url := site(t, remote(t), func(w http.ResponseWriter, r *http.Request) bool {
		write := strings.Contains(r.URL.RawQuery, "receive-pack")
		if write {
			w.WriteHeader(http.StatusForbidden)
		}
		return write
	}, &cut)
	c := commit(t, r, git.ID{}, "a", "1")
	if got := is[git.NotSent](t, r.Push(t.Context(), url, branch(t, "plan"), c, git.ID{})); !strings.Contains(got.Words, "403") {
		t.Errorf("it says %q", got.Words)
	}
	is[git.Absent](t, r.RemoteTip(t.Context(), url, branch(t, "plan")))
}
