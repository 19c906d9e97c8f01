package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/durable"
)

// The herd is 10,000 booths of 20 files.
const (
	herdBooths = 10_000
	herdFiles  = 20
	herdTTL    = 24 * time.Hour
	herdAhead  = 3 * herdTTL // how far the sweeper's clock is ahead: birth times cannot be set back
)

const openMarks = `{"schema":"holdfast.marks/v1","rev":1,"marks":[{"id":"p1","shape":"pick","title":"t","parts":[{"id":"a","kind":"confirm"}]}]}`

// herd makes the booths, with what one of them has besides its files.
func (l *lab) herd(name string, each func(i int, dir string) error) (home string, err error) {
	home = filepath.Join(l.dir, name)
	for i := range herdBooths {
		dir := filepath.Join(home, "booths", fmt.Sprintf("b%05d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return home, err
		}
		for j := range herdFiles {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%02d.txt", j)), []byte("x"), 0o644); err != nil {
				return home, err
			}
		}
		if err := each(i, dir); err != nil {
			return home, err
		}
	}
	return home, os.MkdirAll(filepath.Join(home, "desk"), 0o700)
}

func find(home string) (float64, error) {
	began := time.Now()
	err := exec.Command("find", filepath.Join(home, "booths"), "-printf", "%p %s %T@\n").Run()
	return time.Since(began).Seconds(), err
}

// inTurn measures what is ours and find on the same tree, one after the other;
// the first round warms both.
func inTurn(home string, ours func() error) (a, b []float64, err error) {
	for i := range 10 {
		began := time.Now()
		if err := ours(); err != nil {
			return a, b, err
		}
		took := time.Since(began).Seconds()
		found, err := find(home)
		if err != nil {
			return a, b, err
		}
		if i > 0 {
			a, b = append(a, took), append(b, found)
		}
	}
	return a, b, nil
}

// scanHerd compares one strict look at every booth, nothing of it remembered,
// with find printing the same files' times.
func scanHerd(l *lab) error {
	home, err := l.herd("scan", func(int, string) error { return nil })
	if err != nil {
		return err
	}
	data, err := folder.OpenData(filepath.Join(home, "booths"))
	if err != nil {
		return err
	}
	defer data.Close()
	ours, other, err := inTurn(home, func() error {
		looks, err := booth.List(context.Background(), data, booth.Terms{Now: time.Now(), TTL: herdTTL, Records: (*ledger.Ledger)(nil).Records()})
		if err == nil && len(looks) != herdBooths {
			err = fmt.Errorf("%d booths", len(looks))
		}
		return err
	})
	if err != nil {
		return err
	}
	l.compare("look at 10,000 booths x 20 / find -printf", ours, other, "s", "<= 1.0")
	return nil
}

// indexHerd measures the first page of the index of as many booths, while somebody
// asks for it again and again.
func indexHerd(l *lab) error {
	home, err := l.herd("index", func(int, string) error { return nil })
	if err != nil {
		return err
	}
	s, err := l.desk(home)
	if err != nil {
		return err
	}
	defer s.stop()
	age := regexp.MustCompile(`as of (\d+) second`)
	var took []float64
	oldest := 0
	for i := range 2000 {
		began := time.Now()
		res, err := http.Get(s.url + "/")
		if err != nil {
			return err
		}
		page, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return err
		}
		if i > 20 {
			took = append(took, time.Since(began).Seconds()*1000)
		}
		found := age.FindSubmatch(page)
		if found == nil {
			return fmt.Errorf("the index does not say how old it is")
		}
		seconds, err := strconv.Atoi(string(found[1]))
		if err != nil {
			return err
		}
		oldest = max(oldest, seconds)
		time.Sleep(5 * time.Millisecond)
	}
	slices.Sort(took)
	at := func(q float64) string { return fmt.Sprintf("%.3g ms", took[int(q*float64(len(took)-1))]) }
	l.row("index of 10,000 booths, p99 (other: p50)", at(0.99), at(0.50), "", fmt.Sprintf("<= 10 ms; oldest snapshot %d s", oldest))
	return nil
}

// ahead is the system's clock, some time ahead.
type ahead struct {
	sweep.Clock

	by time.Duration
}

func (a ahead) Now() time.Time { return time.Now().Add(a.by) }

// sweepHerd compares a tick with find: once over booths a third of which are
// fresh, a third kept or held, and a third old but for their last file; once over
// fresh ones alone.
func sweepHerd(l *lab) error {
	future := time.Now().Add(herdAhead)
	mixed := func(i int, dir string) error {
		switch i % 6 {
		case 0, 1:
			return os.Chtimes(dir, future, future)
		case 2:
			return os.WriteFile(filepath.Join(dir, ".forever"), nil, 0o644)
		case 3:
			return os.WriteFile(filepath.Join(dir, ".marks.json"), []byte(openMarks), 0o644)
		default:
			last := filepath.Join(dir, "zz-last.txt")
			if err := os.WriteFile(last, nil, 0o644); err != nil {
				return err
			}
			return os.Chtimes(last, future, future)
		}
	}
	if err := l.tick("mixed", "a sweep, a third each / find -printf", "<= 0.7", mixed); err != nil {
		return err
	}
	return l.tick("fresh", "a sweep, all fresh / find -printf", "<= 0.15", func(_ int, dir string) error {
		return os.Chtimes(dir, future, future)
	})
}

func (l *lab) tick(name, what, bound string, each func(int, string) error) error {
	home, err := l.herd(name, each)
	if err != nil {
		return err
	}
	data, err := folder.OpenData(filepath.Join(home, "booths"))
	if err != nil {
		return err
	}
	defer data.Close()
	desk, err := durable.OpenDir(filepath.Join(home, "desk"))
	if err != nil {
		return err
	}
	defer desk.Close()
	clock := &ahead{Clock: sweep.SystemClock()}
	s, err := sweep.Open(context.Background(), sweep.Config{
		Data: data, Desk: desk, Ledger: ledger.New(desk), TTL: herdTTL, Tick: time.Millisecond, TrashTTL: herdTTL,
		Clock: clock, Log: slog.New(slog.DiscardHandler), Holder: "bench",
	})
	if err != nil {
		return err
	}
	defer s.Close()
	swept := 0
	round := func() error {
		report, err := s.Tick(context.Background())
		swept += len(report.Swept)
		return err
	}
	if err := round(); err != nil { // the booths arrive, before they grow old
		return err
	}
	clock.by = herdAhead
	ours, other, err := inTurn(home, round)
	if err != nil {
		return err
	}
	if swept > 0 {
		return fmt.Errorf("%d booths were swept", swept)
	}
	l.compare(what, ours, other, "s", bound)
	return nil
}
