package shim_test

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/receipt"
)

// Red when: the work gets a pipe; when tell forgets somebody; when listen types nothing; when
// DialTerminal goes by the folder's path.
func TestATerminalIsSharedByAllWhoAttach(t *testing.T) {
	s := newSite(t)
	l := s.script("test -t 0 && test -t 1 && echo terminal; stty size; read line; echo got $line; exit 2")
	l.Terminal = true
	h := s.run(t, l)
	s.said(t, "24 80\r")
	var both []*bufio.Reader
	var typist net.Conn
	for range 2 {
		c, err := shim.DialTerminal(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		both, typist = append(both, bufio.NewReader(c)), c
		// Once it has been heard it is among those who are told.
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		until(t, "it is typed", func() bool { return strings.Count(read(t, s.launch, "log.1"), "x") == len(both) })
	}
	if _, err := typist.Write([]byte("yz\n")); err != nil {
		t.Fatal(err)
	}
	for i, in := range both {
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatalf("number %d was told nothing of it: %v", i, err)
			}
			if line == "got xxyz\r\n" {
				break
			}
		}
	}
	s.wantEnd(t, h, receipt.Exited{Status: 2})
	wantLines(t, s.lines(), "terminal\r", "got xxyz\r")
}
