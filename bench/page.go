package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// firstPage compares the first page of a booth of 100,000 files, its lifetime
// and counts read afresh, with find printing the same files' times.
func firstPage(l *lab) error {
	home := filepath.Join(l.dir, "page")
	root := filepath.Join(home, "booths", "many")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for i := range 100_000 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("frame-%06d.png", i)), nil, 0o644); err != nil {
			return err
		}
	}
	s, err := l.desk(home)
	if err != nil {
		return err
	}
	defer s.stop()
	var ours, other []float64
	for i := range 12 {
		began := time.Now()
		if _, err := s.get("/b/many/"); err != nil {
			return err
		}
		a := time.Since(began).Seconds()
		began = time.Now()
		if err := exec.Command("find", root, "-type", "f", "-printf", "%p %s %T@\n").Run(); err != nil {
			return err
		}
		if i > 1 {
			ours, other = append(ours, a), append(other, time.Since(began).Seconds())
		}
	}
	l.compare("first page of 100,000 files / find -printf", ours, other, "s", "<= 1 s")
	return nil
}
