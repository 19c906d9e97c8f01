package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/plain"
)

// Commit is a commit to be written.
type Commit struct {
	Ref     Ref       // of ours; it points to the commit afterwards and keeps it, wherever it pointed before
	Parent  ID        // zero for a root, whose tree is empty but for Changes
	Time    time.Time // in whole seconds; the caller sees to it that it is not before the parent's
	Message string
	Changes []Change // against the parent's tree, in this order
}

// Change is one file of a commit: put there with Data, or taken away.
type Change struct {
	Path   string // with slashes
	Data   []byte
	Delete bool
}

// Write writes a commit and all that it needs, and returns its id. It is on the disk
// by then, and nothing but c.Ref has changed.
func (r *Repo) Write(ctx context.Context, c Commit) (ID, error) {
	stream, err := c.stream()
	if err != nil {
		return ID{}, err
	}
	out, err := r.run(ctx, Command{
		Args:  []string{"fast-import", "--quiet", "--force", "--done", "--date-format=raw"},
		Stdin: bytes.NewReader(stream),
	})
	if err != nil {
		// What fast-import leaves behind then is for those who mend it.
		_ = os.Remove(filepath.Join(r.dir, fmt.Sprintf("fast_import_crash_%d", out.pid)))
		return ID{}, err
	}
	id, ok := ParseID(strings.TrimSuffix(string(out.Stdout), "\n"))
	if !ok {
		return ID{}, &Unclear{Command: "git fast-import", Reason: "it printed " + plain.Text(string(out.Stdout)) + " for an id"}
	}
	return id, nil
}

// stream is the commit in the language of fast-import.
func (c Commit) stream() ([]byte, error) {
	if err := checkOwn(c.Ref); err != nil {
		return nil, err
	}
	var s bytes.Buffer
	fmt.Fprintf(&s, "commit %s\nmark :1\ncommitter %s <%s> %d +0000\n", c.Ref.name, identityName, identityEmail, c.Time.Unix())
	data(&s, []byte(c.Message))
	if !c.Parent.IsZero() {
		fmt.Fprintf(&s, "from %s\n", c.Parent)
	}
	for _, change := range c.Changes {
		if err := checkPath(change.Path); err != nil {
			return nil, fmt.Errorf("%s is no path in a commit: %w", plain.Text(change.Path), err)
		}
		if change.Delete {
			fmt.Fprintf(&s, "D %s\n", change.Path)
			continue
		}
		fmt.Fprintf(&s, "M 100644 inline %s\n", change.Path)
		data(&s, change.Data)
	}
	s.WriteString("\nget-mark :1\ndone\n")
	return s.Bytes(), nil
}

func data(s *bytes.Buffer, b []byte) {
	fmt.Fprintf(s, "data %d\n", len(b))
	s.Write(b)
	s.WriteByte('\n')
}

// checkPath refuses what fast-import would read as something else, or what no one
// could check out.
func checkPath(path string) error {
	if strings.ContainsAny(path, "\x00\n\"\\") {
		return errors.New("it has a character that is not written here")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return errors.New("a part of it is empty, or a name with a meaning of its own")
		}
	}
	return nil
}
