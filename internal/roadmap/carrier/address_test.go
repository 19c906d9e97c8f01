package carrier

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/problem"
)

// Red when: Init puts an address down before it looks at it, or says it as it is.
func TestWhatIsNoAddressOfARemoteIsNotPutDown(t *testing.T) {
	for _, url := range []string{"-foo", "https://bob:hunter2@127.0.0.1:1/x\n", "https://bob:hunter2\nhunter2@127.0.0.1:1/x", "https://bob:a\thunter2@127.0.0.1:1/x", "/" + strings.Repeat("x", 70_000)} {
		home := newHome(t)
		_, err := Init(t.Context(), home, url)
		if p := problem.From(err, ""); p.Kind != problem.Usage || p.Step != "remote-url" || strings.Contains(p.Reason, "hunter2") {
			t.Errorf("%.60q ended as %v", url, err)
		}
		if _, err := os.Lstat(filepath.Join(home.Plan, remoteFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%.60q was put down (%v)", url, err)
		}
	}
}

// Red when: begin answers with the words of a read, by which nothing was changed.
func TestARemoteThatCannotBeAskedIsSaidToBePutDown(t *testing.T) {
	_, err := Init(t.Context(), newHome(t), "/nowhere/at-all")
	p := problem.From(err, "")
	if !strings.Contains(p.Reason, "goes on asking /nowhere/at-all") || strings.Contains(p.Reason, "Nothing was changed") || strings.Contains(p.Hint, "--as-of") {
		t.Errorf("%+v", p)
	}
}
