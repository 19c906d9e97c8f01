package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const hello = `package main

import "fmt"

func main() { fmt.Println("hello") }
`

// startUp compares the start of a short command with that of the smallest
// program that Go makes.
func startUp(l *lab) error {
	source := filepath.Join(l.dir, "hello.go")
	if err := os.WriteFile(source, []byte(hello), 0o644); err != nil {
		return err
	}
	program := filepath.Join(l.dir, "hello")
	if err := l.build(program, source); err != nil {
		return err
	}
	var ours, other []float64
	for i := range 42 {
		a, err := took(l.holdfast, "version")
		if err != nil {
			return err
		}
		b, err := took(program)
		if err != nil {
			return err
		}
		if i > 1 { // the first two warm the caches
			ours, other = append(ours, a), append(other, b)
		}
	}
	l.compare("holdfast version / hello world, wall", ours, other, "ms", "<= 3")
	return nil
}

// took is how long a command takes, in milliseconds.
func took(name string, args ...string) (float64, error) {
	cmd := exec.Command(name, args...)
	began := time.Now()
	err := cmd.Run()
	return float64(time.Since(began).Microseconds()) / 1000, err
}
