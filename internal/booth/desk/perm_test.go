//go:build perm

package desk

// Root may read and write everything, so these run as an ordinary user:
// scripts/test-perm.

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/permtest"
)

// INV-5. Red when viewed hands its error on.
func TestPermAViewThatCannotBeRecordedFailsNothing(t *testing.T) {
	permtest.Ordinary(t)
	s := serve(t, options{})
	for _, n := range []string{"a.txt", reportFile} {
		write(t, s.dir("x")+"/"+n, "x")
	}
	permtest.Lock(t, s.dir("x"), 0o555)
	for _, target := range []string{s.url("b", "x", ""), s.view("x", "a.txt"), s.url("b", "x", "") + "?download=1"} {
		want(t, target, s.do(t, "GET", target, s.browser(t)), http.StatusOK)
	}
	if got := left(t, s.dir("x")); len(got) != 2 {
		t.Errorf("%v", got)
	}
	res := s.send(t, "PUT", s.url("b", "x", "b.txt"), strings.NewReader("x"), s.operator())
	want(t, "PUT", res, http.StatusConflict)
	if !strings.Contains(res.body, `"not-permitted"`) {
		t.Errorf("%s", res.body)
	}
}

// case B28: the board says why. Red when board drops its error.
func TestPermABoardThatMayNotBeReadSaysWhy(t *testing.T) {
	permtest.Ordinary(t)
	s := serve(t, options{})
	write(t, s.dir("x")+"/links.md", "# x")
	permtest.Lock(t, s.dir("x")+"/links.md", 0)
	page := s.do(t, "GET", s.url("b", "x", ""), anonymous)
	want(t, "the page", page, http.StatusOK)
	if !strings.Contains(page.body, "links.md cannot be read: ") || !strings.Contains(page.body, "may not be read") {
		t.Errorf("%s", page.body)
	}
}

// A booth of which nothing can be read is still there, says what is wrong, and is
// not counted down; the others are as they were. Red when one such fails the list.
func TestPermABoothThatMayNotBeReadIsShown(t *testing.T) {
	permtest.Ordinary(t)
	s := serve(t, options{})
	for _, n := range []string{"shut", "half", "fine"} {
		write(t, s.dir(n)+"/d/a.txt", "x")
		write(t, s.dir(n)+"/b.txt", "x")
	}
	permtest.Lock(t, s.dir("shut"), 0)
	permtest.Lock(t, s.dir("half")+"/d", 0)
	for _, target := range []string{s.base.String(), s.url("b", "shut", ""), s.url("b", "half", ""), s.url("b", "fine", ""), s.url("api", "v1", "booths", "shut")} {
		want(t, target, s.do(t, "GET", target, s.browser(t)), http.StatusOK)
	}
	list := s.do(t, "GET", s.url("api", "v1", "booths"), anonymous).body
	for _, line := range []string{"held · marks unreadable", "held · cannot be read: d", `"name":"fine"`} {
		if !strings.Contains(list, line) {
			t.Errorf("not in the list: %s", line)
		}
	}
	page := s.do(t, "GET", s.url("b", "half", ""), anonymous).body
	if !strings.Contains(page, "<bdi>b.txt</bdi>") || !strings.Contains(page, "Part of this booth cannot be read: d.") {
		t.Error("the page of the half that can be read does not say so")
	}
	for target, status := range map[string]int{
		s.url("b", "half", "d", "a.txt"): http.StatusInternalServerError, s.url("b", "shut", "b.txt"): http.StatusInternalServerError,
		s.url("b", "half", "b.txt"): http.StatusOK,
	} {
		res := s.do(t, "GET", target, anonymous)
		want(t, target, res, status)
		if status != http.StatusOK && (!strings.Contains(res.body, `"not-permitted"`) || strings.Contains(res.body, s.data)) {
			t.Errorf("%s", res.body)
		}
	}
}

// The report's file may be unreadable: its page says so and still stands.
func TestPermAReportThatMayNotBeReadSaysWhy(t *testing.T) {
	permtest.Ordinary(t)
	s := serve(t, options{})
	write(t, s.dir("x")+"/index.html", "<p>x")
	permtest.Lock(t, s.dir("x")+"/index.html", 0)
	page := s.do(t, "GET", s.url("b", "x", ""), anonymous)
	want(t, "the page", page, http.StatusOK)
	if !strings.Contains(page.body, "It cannot be read: ") || strings.Contains(page.body, s.data) {
		t.Errorf("%s", page.body)
	}
	want(t, "its view", s.do(t, "GET", s.view("x", "index.html"), anonymous), http.StatusInternalServerError)
}
