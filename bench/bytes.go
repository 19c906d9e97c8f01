package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// itemBytes compares the processor time that it takes to send an item of 1 GiB
// with nginx's for the same file.
func itemBytes(l *lab) error {
	home := filepath.Join(l.dir, "bytes")
	root := filepath.Join(home, "booths", "big")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for dir := root; dir != filepath.Dir(l.dir); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // nginx's worker is another user
			return err
		}
	}
	const size = 1 << 30
	if err := fill(filepath.Join(root, "item.bin"), size); err != nil {
		return err
	}
	ours, err := l.desk(home)
	if err != nil {
		return err
	}
	defer ours.stop()
	other, err := l.nginx(root)
	if err != nil {
		return err
	}
	defer other.stop()
	var a, b []float64
	for i := range 8 {
		x, err := spent(ours, "/b/big/item.bin", size)
		if err != nil {
			return err
		}
		y, err := spent(other, "/item.bin", size)
		if err != nil {
			return err
		}
		if i > 0 {
			a, b = append(a, x), append(b, y)
		}
	}
	l.compare("1 GiB of item bytes / nginx, CPU", a, b, "s", "<= 1.15")
	return nil
}

// spent is the server's processor time for two requests of one address.
func spent(s *server, path string, size int64) (float64, error) {
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	for range 2 {
		n, err := s.get(path)
		if err != nil || n != size {
			return 0, fmt.Errorf("%d bytes came: %w", n, err)
		}
	}
	after, err := s.cpu()
	return (after - before) / 2, err
}

// fill writes a file of real blocks.
func fill(path string, size int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7)
	}
	for range size / len(block) {
		if _, err := f.Write(block); err != nil {
			return err
		}
	}
	return f.Sync()
}
