package problem

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
)

// Names and exit statuses are a promise to scripts, so they stand here once more.
// Red when one of them changes, or a kind is added that ParseKind does not know.
func TestKindsHaveTheirNamesAndStatuses(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		name string
		exit int
	}{
		{1, "failed", 1}, {2, "usage", 2}, {3, "gone", 6}, {4, "refused", 8}, {5, "unknown", 9},
	} {
		if c.kind.String() != c.name || c.kind.Exit() != c.exit {
			t.Errorf("%d: %s, %d", c.kind, c.kind, c.kind.Exit())
		}
		if got, ok := ParseKind(c.name); !ok || got != c.kind {
			t.Errorf("%s is read as %v, %v", c.name, got, ok)
		}
	}
	for _, k := range []Kind{0, 6, 255} {
		if k.Exit() != 1 { // never 0
			t.Errorf("%v: exit %d", k, k.Exit())
		}
		if _, ok := ParseKind(k.String()); ok {
			t.Errorf("%v is read back", k)
		}
	}
	for _, name := range []string{"", "Failed", "failed ", "done", "invalid-kind-0"} {
		if k, ok := ParseKind(name); ok {
			t.Errorf("%q is read as %v", name, k)
		}
	}
}

// Red when a step that scripts branch on gets another name.
func TestStepsHaveTheirNames(t *testing.T) {
	for got, want := range map[string]string{
		StepInternal: "internal", StepNotOperator: "not-operator", StepNotSignedIn: "not-signed-in", StepHost: "host", StepOrigin: "origin",
		StepTooLarge: "too-large", StepNoSpace: "no-space", StepMethod: "method", StepNotFound: "not-found",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Red when WithHint or Because change what they were called on: sentinels are
// shared.
func TestACopyLeavesTheOriginal(t *testing.T) {
	e := Refusal("step", "No %s.", "way")
	hinted, caused := e.WithHint("try %d", 2), e.Because(io.EOF)
	if e.Hint != "" || e.Unwrap() != nil || hinted.Hint != "try 2" || !errors.Is(caused, io.EOF) || errors.Is(hinted, io.EOF) {
		t.Errorf("%+v %+v %+v", e, hinted, caused)
	}
	if got := caused.Error(); got != "step: No way. (EOF)" {
		t.Errorf("%q", got)
	}
	if got := hinted.Error(); got != "step: No way." {
		t.Errorf("%q", got)
	}
}

// Red when the words of an error that was not written for people get out, or an
// inner kind is lost.
func TestOnlyAnErrorsOwnWordsArePublic(t *testing.T) {
	inner := New(Gone, "item", "There is no x.")
	if got := From(fmt.Errorf("open /secret: %w", inner), "fallback"); got != inner {
		t.Errorf("%+v", got)
	}
	got := From(fmt.Errorf("open /secret: %w", io.EOF), "Something broke.")
	if got.Kind != Failed || got.Step != StepInternal || got.Reason != "Something broke." || !errors.Is(got, io.EOF) {
		t.Errorf("%+v", got)
	}
	for err, want := range map[error]string{
		inner: "There is no x", fmt.Errorf("open /secret: %w", inner): "There is no x", &fs.PathError{Op: "open", Path: "/secret", Err: io.EOF}: "EOF", io.EOF: "EOF",
	} {
		if got := Words(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if KindOf(fmt.Errorf("x: %w", inner)) != Gone || KindOf(io.EOF) != Failed {
		t.Error("the kind is lost")
	}
	if got := New(Usage, "x", "%s", "100%"); got.Reason != "100%" {
		t.Errorf("%q", got.Reason)
	}
}
