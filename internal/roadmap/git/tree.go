package git

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"holdfast/internal/plain"
)

// File is one entry of a tree, below whatever folders.
type File struct {
	Path string // with slashes; any bytes but NUL
	Mode string // as git writes it: 100644 and 100755 are files, 120000 links
	Type string // blob, or commit for a submodule
	ID   ID
}

// Regular reports whether the entry is a plain file.
func (f File) Regular() bool { return f.Type == "blob" && f.Mode == "100644" }

// Files lists all that a commit's tree has below its folders, in git's order.
func (r *Repo) Files(ctx context.Context, commit ID) ([]File, error) {
	out, err := r.run(ctx, Command{Args: []string{"ls-tree", "-r", "-z", "--full-tree", commit.hex}})
	if err != nil {
		return nil, err
	}
	files := []File{}
	for entry := range bytes.SplitSeq(bytes.TrimSuffix(out.Stdout, []byte{0}), []byte{0}) {
		if len(entry) == 0 {
			continue
		}
		head, path, ok := strings.Cut(string(entry), "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 3 {
			return nil, &Unclear{Command: "git ls-tree", Reason: "it printed " + plain.Text(string(entry))}
		}
		id, ok := ParseID(fields[2])
		if !ok {
			return nil, &Unclear{Command: "git ls-tree", Reason: "it printed " + plain.Text(string(entry))}
		}
		files = append(files, File{Path: path, Mode: fields[0], Type: fields[1], ID: id})
	}
	return files, nil
}

// Descends reports whether commit has ancestor among its ancestors, or is it.
func (r *Repo) Descends(ctx context.Context, commit, ancestor ID) (bool, error) {
	out, err := r.run(ctx, Command{Args: []string{"merge-base", "--is-ancestor", ancestor.hex, commit.hex}})
	switch {
	case err == nil:
		return true, nil
	case out.Exit == 1:
		return false, nil
	default:
		return false, err
	}
}

// Has reports whether the repository has a commit.
func (r *Repo) Has(ctx context.Context, commit ID) (bool, error) {
	out, err := r.run(ctx, Command{Args: []string{"cat-file", "-e", commit.hex + "^{commit}"}})
	switch {
	case err == nil:
		return true, nil
	case out.Exit == 1 || out.Exit == 128 && strings.Contains(string(out.Stderr), "Not a valid object name"):
		return false, nil
	default:
		return false, fmt.Errorf("whether %s is there: %w", commit, err)
	}
}
