package desk

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// startZip asks for a booth's zip and reads its headers. The first file is more
// than the connection holds, so the server stands in it until more is read.
func startZip(t testing.TB, s *site) (*http.Response, func() (string, error)) {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	check(t, conn.(*net.TCPConn).SetReadBuffer(64<<10))
	_, err = io.WriteString(conn, "GET /b/x/?download=1 HTTP/1.1\r\nHost: "+s.addr+"\r\nConnection: close\r\n\r\n")
	check(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	check(t, err)
	return res, func() (string, error) {
		data, err := io.ReadAll(res.Body)
		return string(data), err
	}
}

func plantLarge(t testing.TB, s *site) {
	t.Helper()
	write(t, s.dir("x")+"/a-large.bin", "")
	check(t, os.Truncate(s.dir("x")+"/a-large.bin", 16<<20))
	write(t, s.dir("x")+"/z.log", "0123456789")
}

// case B09. Red when WriteTo reads to the end that a file has by now.
func TestAFileThatGrowsIsCutAtTheSizeFirstSeen(t *testing.T) {
	s := serve(t, options{})
	plantLarge(t, s)
	res, rest := startZip(t, s)
	f, err := os.OpenFile(s.dir("x")+"/z.log", os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteString("and more")
	check(t, err)
	check(t, f.Close())
	data, err := rest()
	check(t, err)
	if int64(len(data)) != res.ContentLength {
		t.Errorf("%d bytes, announced %d", len(data), res.ContentLength)
	}
	if got := unzip(t, data); got["z.log"] != "0123456789" || len(got["a-large.bin"]) != 16<<20 {
		t.Errorf("%q", got["z.log"])
	}
}

// case B09. Red when serveZip leaves the length out: the end of a part would then
// be the end of the archive. Red when copyItem makes up for what is missing, or
// takes another file of that name.
func TestAFileThatShrinksCutsTheConnection(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"shrinks": func(path string) error { return os.Truncate(path, 3) },
		"goes":    os.Remove,
		"is replaced": func(path string) error {
			if err := os.WriteFile(path+".new", []byte("0123456789"), 0o644); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		s := serve(t, options{})
		plantLarge(t, s)
		res, rest := startZip(t, s)
		check(t, change(s.dir("x")+"/z.log"))
		data, err := rest()
		if err == nil || int64(len(data)) >= res.ContentLength || res.ContentLength <= 0 {
			t.Errorf("%s: %d of %d bytes, %v", what, len(data), res.ContentLength, err)
		}
	}
}

// Red when the length is counted from another list than the one that is sent.
func TestAZipHasTheLengthThatItsHeadSays(t *testing.T) {
	s := serve(t, options{})
	for _, name := range []string{"a", "\xff", "d/e\u0301", strings.Repeat("n", 255)} {
		write(t, s.dir("x")+"/"+name, name)
	}
	target := s.url("b", "x", "") + "?download=1"
	head, body := s.do(t, "HEAD", target, anonymous), s.do(t, "GET", target, anonymous)
	if head.ContentLength != int64(len(body.body)) || head.StatusCode != http.StatusOK || head.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("%v, %d bytes", head.Header, len(body.body))
	}
	if got := unzip(t, body.body); len(got) != 4 {
		t.Errorf("%v", got)
	}
	want(t, "of no booth", s.do(t, "GET", s.url("b", "y", "")+"?download=1", anonymous), http.StatusNotFound)
}
