package folder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const benchFiles = 100_000

// manyFiles is a booth of 100,000 empty files in folders of 1,000, or all in
// one. It stays in the system's temporary folder for the next run.
func manyFiles(b *testing.B, flat bool) *Booth {
	b.Helper()
	root := filepath.Join(os.TempDir(), fmt.Sprintf("holdfast-bench-%d-%t", benchFiles, flat))
	marker := filepath.Join(root, "complete")
	if _, err := os.Stat(marker); err != nil {
		for i := range benchFiles {
			dir := filepath.Join(root, "x")
			if !flat {
				dir = filepath.Join(dir, fmt.Sprintf("%03d", i/1000))
			}
			if i%1000 == 0 {
				check(b, os.MkdirAll(dir, 0o755))
			}
			fd, err := unix.Open(fmt.Sprintf("%s/frame-%06d.png", dir, i), unix.O_CREAT|unix.O_WRONLY, 0o644)
			check(b, err)
			unix.Close(fd)
		}
		check(b, os.WriteFile(marker, nil, 0o644))
	}
	booth, err := makeData(b, root).Booth(name(b, "x"))
	check(b, err)
	b.Cleanup(func() { booth.Close() })
	return booth
}

// case B13.
func BenchmarkSurvey(b *testing.B) {
	for _, flat := range []bool{true, false} {
		b.Run(fmt.Sprintf("flat=%t", flat), func(b *testing.B) {
			booth := manyFiles(b, flat)
			b.ReportAllocs()
			for b.Loop() {
				if s := booth.Survey(context.Background(), time.Now()); len(s.Items) != benchFiles || s.Failure != nil {
					b.Fatal(len(s.Items), s.Failure)
				}
			}
		})
	}
}

func BenchmarkFindAbsent(b *testing.B) {
	booth := manyFiles(b, true)
	for b.Loop() {
		booth.Find("frame-999999.png")
	}
}

func BenchmarkOpen(b *testing.B) {
	booth := manyFiles(b, false)
	p := item(b, "050/frame-050123.png")
	for b.Loop() {
		f, err := booth.Open(p)
		check(b, err)
		f.Close()
	}
}
