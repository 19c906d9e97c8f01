package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/internal/plain"
)

// Objects reads objects through one git process that runs until Close. It is for
// one goroutine at a time.
type Objects struct {
	limit  time.Duration // of one Read
	cancel context.CancelFunc
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *capped
	broken error // why no more can be read
}

// Object is one that was read.
type Object struct {
	ID   ID
	Type string // blob, tree, commit or tag
	Data []byte
}

// Missing: nothing has that name.
type Missing struct{ Name string }

// Ambiguous: more than one object has that name.
type Ambiguous struct{ Name string }

// TooLarge: the object is larger than the reader allows.
type TooLarge struct {
	ID          ID
	Type        string
	Size, Limit int64
}

func (e *Missing) Error() string   { return plain.Text(e.Name) + " is not there" }
func (e *Ambiguous) Error() string { return plain.Text(e.Name) + " is the name of several objects" }
func (e *TooLarge) Error() string {
	return fmt.Sprintf("the %s %s has %d bytes, over %d", e.Type, e.ID, e.Size, e.Limit)
}

// Objects starts to read. Objects that are written later are found too. It ends
// with ctx, or by Close, which is needed in both cases.
func (r *Repo) Objects(ctx context.Context) (*Objects, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := r.command(ctx, Command{Args: []string{"cat-file", "--batch-command"}})
	o := &Objects{limit: Deadline{}.of(r.limits), cancel: cancel, cmd: cmd, stderr: &capped{limit: maxStderr}}
	cmd.Stderr = o.stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		o.in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, &NotStarted{Err: err}
	}
	o.out = bufio.NewReaderSize(out, 64<<10)
	return o, nil
}

// Read reads the object that name stands for: an id, or anything that git takes for
// one, such as COMMIT:PATH. One of more than limit bytes is a [*TooLarge], and no
// more of it is kept than that. After an error that is none of this package's three
// about objects, nothing more can be read.
func (o *Objects) Read(name string, limit int64) (Object, error) {
	if o.broken != nil {
		return Object{}, o.broken
	}
	if name == "" || strings.ContainsAny(name, "\n\x00") {
		return Object{}, &Missing{Name: name}
	}
	var late atomic.Bool
	watch := time.AfterFunc(o.limit, func() {
		late.Store(true)
		o.cancel()
	})
	obj, err := o.read(name, limit)
	if !watch.Stop() && err != nil && late.Load() {
		err = &PastDeadline{Command: "git cat-file", Limit: o.limit}
	}
	if err != nil && !aboutObject(err) {
		o.broken = err
		o.cancel()
	}
	return obj, err
}

func aboutObject(err error) bool {
	var missing *Missing
	var ambiguous *Ambiguous
	var large *TooLarge
	return errors.As(err, &missing) || errors.As(err, &ambiguous) || errors.As(err, &large)
}

func (o *Objects) read(name string, limit int64) (Object, error) {
	if _, err := io.WriteString(o.in, "contents "+name+"\n"); err != nil {
		return Object{}, o.ended(err)
	}
	line, err := o.out.ReadString('\n')
	if err != nil {
		return Object{}, o.ended(err)
	}
	switch line = strings.TrimSuffix(line, "\n"); line {
	case name + " missing":
		return Object{}, &Missing{Name: name}
	case name + " ambiguous":
		return Object{}, &Ambiguous{Name: name}
	}
	head, size, err := parseHead(line)
	if err != nil {
		return Object{}, err
	}
	if size > limit {
		if _, err := io.CopyN(io.Discard, o.out, size+1); err != nil {
			return Object{}, o.ended(err)
		}
		return Object{}, &TooLarge{ID: head.ID, Type: head.Type, Size: size, Limit: limit}
	}
	head.Data = make([]byte, size+1)
	if _, err := io.ReadFull(o.out, head.Data); err != nil {
		return Object{}, o.ended(err)
	}
	if head.Data[size] != '\n' {
		return Object{}, &Unclear{Command: "git cat-file", Reason: "an object does not end where it should"}
	}
	head.Data = bytes.TrimSuffix(head.Data, []byte("\n"))[:size:size]
	return head, nil
}

// parseHead reads the line before an object: ID TYPE SIZE.
func parseHead(line string) (Object, int64, error) {
	unclear := &Unclear{Command: "git cat-file", Reason: "it printed " + plain.Text(line) + " before an object"}
	fields := strings.Split(line, " ")
	if len(fields) != 3 {
		return Object{}, 0, unclear
	}
	id, ok := ParseID(fields[0])
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if !ok || err != nil || size < 0 {
		return Object{}, 0, unclear
	}
	switch fields[1] {
	case "blob", "tree", "commit", "tag":
		return Object{ID: id, Type: fields[1]}, size, nil
	}
	return Object{}, 0, unclear
}

// ended is the error of a process that is not there to talk to any more.
func (o *Objects) ended(cause error) error {
	return &Unclear{Command: "git cat-file", Reason: "it ended before its answer did", Err: cause}
}

// Close ends the process and waits for it. What it had said on its standard error
// comes back if it did not end well by itself.
func (o *Objects) Close() error {
	defer o.cancel()
	_ = o.in.Close() // at its end the process ends
	watch := time.AfterFunc(o.limit, o.cancel)
	defer watch.Stop()
	_, _ = io.Copy(io.Discard, o.out)
	err := o.cmd.Wait()
	if err == nil || o.broken != nil {
		o.broken = errors.New("it is closed")
		return nil
	}
	o.broken = errors.New("it is closed")
	return &Unclear{Command: "git cat-file", Reason: "it did not end well" + after(Words(o.stderr.kept.Bytes())), Err: err}
}
