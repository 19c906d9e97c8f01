package shim_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Two hundred of them must not cost a gigabyte. Two thirds of it is
// the program, which they share.
func TestAnIdleShimIsSmall(t *testing.T) {
	s := newSite(t)
	h := s.run(t, s.script("echo up; exec sleep 1000"))
	s.said(t, "up")
	private := 0
	for line := range strings.Lines(read(t, fmt.Sprintf("/proc/%d/smaps_rollup", h.Identity().PID))) {
		var kb int
		if n, _ := fmt.Sscanf(line[strings.IndexByte(line, ':')+1:], "%d kB", &kb); n == 1 && strings.HasPrefix(line, "Private_") {
			t.Log(strings.TrimSpace(line))
			private += kb
		}
	}
	t.Logf("private memory: %d KiB; program: %d KiB", private, programSize(t, s)>>10)
	if private == 0 || private > 3<<10 {
		t.Errorf("an idle shim has %d KiB of its own", private)
	}
	if err := h.Stop(limited(t), 0); err != nil {
		t.Fatal(err)
	}
}

func programSize(t *testing.T, s *site) int64 {
	t.Helper()
	names, err := s.host.Box.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, "shim-") {
			info, err := os.Stat(s.home + "/box/" + n)
			if err != nil {
				t.Fatal(err)
			}
			return info.Size()
		}
	}
	t.Fatal("no program was written")
	return 0
}
