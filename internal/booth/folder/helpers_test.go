package folder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// makeBooth gives an open booth named "x", alone in a data folder, and its path.
func makeBooth(t testing.TB) (*Booth, string) {
	t.Helper()
	data := makeData(t, t.TempDir())
	b, err := data.Create(name(t, "x"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, filepath.Join(data.Dir().Name(), "x")
}

func makeData(t testing.TB, path string) *Data {
	t.Helper()
	data, err := OpenData(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { data.Close() })
	return data
}

func name(t testing.TB, s string) Name {
	t.Helper()
	n, err := ParseName(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func item(t testing.TB, s string) ItemPath {
	t.Helper()
	p, err := ParseItem(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t testing.TB, dir, path, content string) {
	t.Helper()
	full := dir + "/" + path // not cleaned: names are bytes
	check(t, os.MkdirAll(filepath.Dir(full), 0o755))
	check(t, os.WriteFile(full, []byte(content), 0o644))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// survey is a survey at the present time, which must not fail.
func survey(t testing.TB, b *Booth) Survey {
	t.Helper()
	s := b.Survey(context.Background(), time.Now())
	if s.Failure != nil {
		t.Fatalf("survey: %v", s.Failure)
	}
	return s
}

func paths(s Survey) []string {
	var out []string
	for _, it := range s.Items {
		out = append(out, it.Path.String())
	}
	return out
}

func readItem(t testing.TB, b *Booth, path string) string {
	t.Helper()
	f, err := b.Open(item(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	check(t, err)
	return string(data)
}

func zipAll(t testing.TB, b *Booth) []byte {
	t.Helper()
	a, err := b.Zip(survey(t, b).Items)
	check(t, err)
	var buf bytes.Buffer
	n, err := a.WriteTo(&buf)
	check(t, err)
	if n != a.Size() || int64(buf.Len()) != n {
		t.Fatalf("Size %d, reported %d, written %d", a.Size(), n, buf.Len())
	}
	return buf.Bytes()
}

// notServed fails unless err says that path is not served because of why, with
// the public words of kind.
func notServed(t testing.TB, err error, kind problem.Kind, path string, why Reason) {
	t.Helper()
	var u *Unserved
	if !errors.As(err, &u) || u.Why != why || u.Path != path {
		t.Fatalf("got %v, want %q not served: %s", err, path, why)
	}
	public := problem.From(err, "")
	if public.Kind != kind || public.Step != "not-served" || !strings.Contains(public.Reason, why.String()) {
		t.Fatalf("public words: %v %s %q", public.Kind, public.Step, public.Reason)
	}
}

func publicly(t testing.TB, err error, kind problem.Kind, step string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s at %s", kind, step)
	}
	if p := problem.From(err, ""); p.Kind != kind || p.Step != step {
		t.Fatalf("got %s at %s (%v), want %s at %s", p.Kind, p.Step, err, kind, step)
	}
}

// promptly fails the test where f hangs. The time is a guard and no claim.
func promptly(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("hangs")
	}
}

func fifo(t testing.TB, path string) {
	t.Helper()
	check(t, unix.Mkfifo(path, 0o644))
}

// socket leaves a socket at path. Its address is short where path is not.
func socket(t testing.TB, path string) {
	t.Helper()
	dir, err := os.Open(filepath.Dir(path))
	check(t, err)
	defer dir.Close()
	l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
	check(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	check(t, l.Close())
}
