package git

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

func TestAWorktreeListThatIsNotWhollyUnderstoodIsRefused(t *testing.T) {
	id := strings.Repeat("a", 40)
	bare := "worktree /r\x00bare\x00\x00"
	for _, good := range []string{bare, bare + "worktree /w\x00HEAD " + id + "\x00detached\x00locked\x00prunable gone\x00\x00"} {
		if _, err := decodeWorktrees(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "\x00\x00", "worktree /r\x00bare\x00", "worktree r\x00bare\x00\x00", "bare\x00worktree /r\x00\x00", bare + "x",
		"worktree /r\x00bare\x00bare\x00\x00", "worktree /r\x00bare no\x00\x00", "worktree /r\x00\x00",
		"worktree /r\x00HEAD " + id[1:] + "\x00detached\x00\x00", "worktree /r\x00HEAD " + id + "\x00new\x00\x00",
		"worktree /r\x00HEAD \x00detached\x00\x00",
		"worktree /r\x00HEAD " + id + "\x00new thing\x00\x00", "worktree /r\x00bare\x00worktree /s\x00\x00",
	} {
		if got, err := decodeWorktrees(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

func FuzzWorktreeList(f *testing.F) {
	f.Add("worktree /r\x00bare\x00\x00worktree /w\nx\x00HEAD " + strings.Repeat("0", 40) + "\x00detached\x00locked why\x00\x00")
	f.Fuzz(func(t *testing.T, s string) {
		all, err := decodeWorktrees(s)
		if err == nil && len(all) != strings.Count(s, "\x00\x00") {
			t.Errorf("%d of %q", len(all), s)
		}
	})
}

// Red when sentNothing takes the end of what it can read for the end of the trace.
func TestOnlyAWholeTraceProvesThatNothingWasSent(t *testing.T) {
	const start = `{"event":"start","argv":["git","push"]}` + "\n"
	for trace, want := range map[string]bool{
		"":    false,
		start: true,
		start + `{"event":"child_start","argv":["git","remote-https","x"]}`: true,
		start + `{"event":"child_start","argv":["git","pack-objects"]}`:     false,
		start + `{"event":"child_start","argv":["git-pack-objects"]}`:       false,
		start + `{"event":"child_start","argv":["git","remote-s3"]}`:        false,
		start + `{"event":"chi`:                  false,
		start + "warning: something":             false,
		`{"event":"exit","argv":["git","push"]}`: false,
	} {
		if got := sentNothing(strings.NewReader(trace)); got != want {
			t.Errorf("%q: %t", trace, got)
		}
	}
	if sentNothing(io.MultiReader(strings.NewReader(start), iotest.ErrReader(os.ErrDeadlineExceeded))) {
		t.Error("a trace that was not read to its end")
	}
}

// Red when settle takes a line about another ref, or a summary that names another
// commit, for ours.
func TestTheAnswerToAPushIsReadExactly(t *testing.T) {
	ref, _ := Branch("x")
	tip, _ := ParseID(strings.Repeat("ab", 20))
	failed := &Exited{Command: "git push", Code: 1, Words: "w"}
	for _, c := range []struct {
		line string
		err  error
		want Pushed
	}{
		{" \tabab:refs/heads/x\t1234567..abababa", nil, Accepted{tip}},
		{"+\tabab:refs/heads/x\t1234567...abababa (forced update)", nil, Accepted{tip}},
		{"*\tabab:refs/heads/x\t[new branch]", nil, Accepted{tip}},
		{"=\tabab:refs/heads/x\t[up to date]", nil, Accepted{tip}},
		{" \tabab:refs/heads/x\t1234567..fffffff", nil, Unsettled{"git's answer to the push is not understood"}},
		{" \tabab:refs/heads/y\t1234567..abababa", nil, Unsettled{"git's answer to the push is not understood"}},
		{"", nil, Unsettled{"git's answer to the push is not understood"}},
		{"!\tabab:refs/heads/x\t[rejected] (stale info)", failed, Stale{"[rejected] (stale info)"}},
		{"!\tabab:refs/heads/x\t[remote rejected] (stale info)", failed, Rejected{"[remote rejected] (stale info)"}},
		{"!\tabab:refs/heads/x\t[remote rejected] (protected)", failed, Rejected{"[remote rejected] (protected)"}},
		{"!\tabab:refs/heads/x\t[remote failure] (remote failed to report status)", failed, Unsettled{"git's answer to the push is not understood"}},
		{"!\tabab:refs/heads/y\t[remote rejected] (protected)", failed, Unsettled{"w"}},
		{"-\t:refs/heads/x\t[deleted]", nil, Unsettled{"git's answer to the push is not understood"}},
	} {
		if got := settle(Output{Stdout: []byte("To there\n" + c.line + "\nDone\n")}, c.err, ref, tip, false); got != c.want {
			t.Errorf("%q: %T %+v", c.line, got, got)
		}
	}
}

func TestARefIsCheckedByGitsRules(t *testing.T) {
	for _, bad := range []string{"", "heads/x", "refs/", "refs//x", "refs/x/", "refs/.x", "refs/x.lock", "refs/a..b", "refs/a b", "refs/a@{b", "refs/a^", "refs/a:b", "refs/a\\b", "refs/a\n", "refs/x."} {
		if _, err := ParseRef(bad); err == nil {
			t.Errorf("%q is a ref", bad)
		}
	}
	if _, err := Branch("a/b-ü"); err != nil {
		t.Error(err)
	}
}
