//go:build linux

package desk

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// case B20. Red when the lack of room is an error like any other, or the old file
// is opened for the new bytes.
func TestAFullDiskIsSaidAndChangesNothing(t *testing.T) {
	s := serve(t, options{})
	check(t, os.Mkdir(s.dir("x"), 0o755))
	if err := unix.Mount("none", s.dir("x"), "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("this test needs to mount (root): %v", err)
	}
	t.Cleanup(func() { check(t, unix.Unmount(s.dir("x"), unix.MNT_DETACH)) })
	write(t, s.dir("x")+"/a.txt", "old")
	big := strings.Repeat("x", 200<<10) // little enough for the server to read to its end
	for what, body := range map[string]io.Reader{"a known length": strings.NewReader(big), "an unknown one": io.MultiReader(strings.NewReader(big))} {
		res := s.send(t, "PUT", s.url("b", "x", "a.txt"), body, s.operator())
		want(t, what, res, http.StatusInsufficientStorage)
		if !strings.Contains(res.body, `"no-space"`) || !strings.Contains(res.body, "full") || !strings.Contains(strings.ToLower(res.body), "nothing was changed") {
			t.Errorf("%s: %s", what, res.body)
		}
		if got := left(t, s.dir("x")); len(got) != 1 {
			t.Errorf("%s: left %v", what, got)
		}
		if got := s.do(t, "GET", s.url("b", "x", "a.txt"), anonymous).body; got != "old" {
			t.Errorf("%s: %q", what, got)
		}
	}
	want(t, "what fits", s.send(t, "PUT", s.url("b", "x", "a.txt"), strings.NewReader("new"), s.operator()), http.StatusNoContent)
}
