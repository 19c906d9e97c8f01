package git

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// watch reads the trace that git writes of what it starts (trace2, events), to tell
// afterwards whether a push can have sent anything. It goes through a pipe, since
// a file's disk can be full.
type watch struct {
	read, write *os.File
	unsent      chan bool
}

func startWatch() (*watch, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	w := &watch{read: read, write: write, unsent: make(chan bool, 1)}
	go func() {
		defer read.Close()
		unsent := sentNothing(read)
		_, _ = io.Copy(io.Discard, read) // git must not wait for its reader
		w.unsent <- unsent
	}()
	return w, nil
}

// end says whether git provably sent nothing. Git has ended.
func (w *watch) end() bool {
	w.write.Close()
	_ = w.read.SetReadDeadline(time.Now().Add(lingering)) // where it fails, git's own children end it
	return <-w.unsent
}

// sentNothing reports whether the trace, to its very end, has no process that sends.
// A push sends a pack with every ref that it moves; who makes the pack is a process
// of its own, and started only then. A server does nothing without the pack.
func sentNothing(trace io.Reader) bool {
	in := json.NewDecoder(trace)
	begun := false
	for {
		var event struct {
			Event string   `json:"event"`
			Argv  []string `json:"argv"`
		}
		err := in.Decode(&event)
		if errors.Is(err, io.EOF) {
			return begun
		}
		if err != nil || slices.ContainsFunc(event.Argv, sends) {
			return false
		}
		begun = begun || event.Event == "start"
	}
}

// sends reports whether a process with this among its arguments sends by itself:
// what makes packs, and helpers for transports other than git's own.
func sends(arg string) bool {
	arg = strings.TrimPrefix(arg, "git-")
	transport, helper := strings.CutPrefix(arg, "remote-")
	return arg == "pack-objects" || arg == "http-push" ||
		helper && !slices.Contains([]string{"http", "https", "ftp", "ftps"}, transport)
}
