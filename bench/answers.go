package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// answerSeen measures how much later than the answering command a command that
// waits for the answer ends, both of them processes of their own beside a desk.
// The other figure is how long the answering command takes itself.
func answerSeen(l *lab) error {
	home := filepath.Join(l.dir, "answers")
	if err := os.MkdirAll(filepath.Join(home, "booths", "demo"), 0o755); err != nil {
		return err
	}
	s, err := l.desk(home)
	if err != nil {
		return err
	}
	defer s.stop()
	var later, took []float64
	for i := range 40 {
		late, own, err := l.answerOnce(home, fmt.Sprintf("p%d", i+1))
		if err != nil {
			return err
		}
		if i > 0 {
			later, took = append(later, late*1000), append(took, own*1000)
		}
	}
	l.compare("answer seen by wait / the answer command", later, took, "ms", "<= 50 ms later")
	return nil
}

// answerOnce asks, waits in one process and answers in another. It gives by how
// much the first ended after the second, and how long that one took.
func (l *lab) answerOnce(home, id string) (late, own float64, err error) {
	run := func(args ...string) *exec.Cmd {
		return exec.Command(l.holdfast, append([]string{"--home", home}, args...)...)
	}
	if out, err := run("ask", "demo", "--title", "Go on?", "--confirm").CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("ask: %w: %s", err, out)
	}
	wait := run("wait", "demo", id, "--timeout", "1m")
	if err := wait.Start(); err != nil {
		return 0, 0, err
	}
	seen := make(chan time.Time, 1)
	go func() {
		_ = wait.Wait()
		seen <- time.Now()
	}()
	if err := awaitAsker(home, id); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if out, err := run("answer", "demo", id, "--yes").CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("answer: %w: %s", err, out)
	}
	ended := time.Now()
	return max(0, (<-seen).Sub(ended).Seconds()), ended.Sub(began).Seconds(), nil
}

// awaitAsker waits until the desk's record says that somebody waits for id.
func awaitAsker(home, id string) error {
	for range 2000 {
		files, err := filepath.Glob(filepath.Join(home, "desk", "asked", "*.json"))
		if err != nil {
			return err
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			var doc struct{ Asked map[string]time.Time }
			if err == nil && json.Unmarshal(data, &doc) == nil && !doc.Asked[id].IsZero() {
				time.Sleep(20 * time.Millisecond) // it is noted just before it settles down
				return nil
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("nobody waits for %s", id)
}

// waiters measures what 200 askers that wait for a minute cost the desk, against
// the same desk for a minute without them.
func waiters(l *lab) error {
	const booths, each, span = 20, 10, time.Minute
	home := filepath.Join(l.dir, "waiters")
	for i := range booths {
		dir := filepath.Join(home, "booths", fmt.Sprintf("b%d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, ".marks.json"), []byte(openMarks), 0o644); err != nil {
			return err
		}
	}
	s, err := l.desk(home)
	if err != nil {
		return err
	}
	defer s.stop()
	token, err := exec.Command(l.holdfast, "--home", home, "booth", "token", "b0").Output()
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	idle, err := s.spends(func() error { time.Sleep(span); return nil })
	if err != nil {
		return err
	}
	busy, err := s.spends(func() error {
		ctx, end := context.WithTimeout(context.Background(), span)
		defer end()
		var all sync.WaitGroup
		for i := range booths * each {
			all.Go(func() { s.pollUntil(ctx, i%booths, strings.TrimSpace(string(token))) })
		}
		all.Wait()
		return nil
	})
	if err != nil {
		return err
	}
	l.row("200 waiters for 60 s, CPU / none", fmt.Sprintf("%.2f s", busy), fmt.Sprintf("%.2f s", idle), "", "<= 0.6 s more")
	return nil
}

// spends is the processor time that the server spends while f runs.
func (s *server) spends(f func() error) (float64, error) {
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := s.cpu()
	return after - before, err
}

func (s *server) pollUntil(ctx context.Context, booth int, token string) {
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/b/b%d/marks.json?since=1&wait=30s&waiting=p1", s.url, booth), nil)
		if err != nil {
			return
		}
		if booth == 0 {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		res.Body.Close()
	}
}
