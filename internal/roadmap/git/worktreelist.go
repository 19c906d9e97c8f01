package git

import (
	"errors"
	"fmt"
	"strings"

	"holdfast/internal/plain"
)

// decodeWorktrees reads the whole of worktree list --porcelain -z: for each worktree
// its attributes, each ended by a NUL, and one NUL more. Whatever is not known is
// an error: a list that is read in part would miss some.
func decodeWorktrees(list string) ([]Worktree, error) {
	var all []Worktree
	for list != "" {
		record, rest, ok := strings.Cut(list, "\x00\x00")
		if !ok {
			return nil, errors.New("it is torn")
		}
		w, err := decodeWorktree(record)
		if err != nil {
			return nil, err
		}
		all, list = append(all, w), rest
	}
	if len(all) == 0 {
		return nil, errors.New("it is empty, without the repository itself")
	}
	return all, nil
}

func decodeWorktree(record string) (Worktree, error) {
	var w Worktree
	seen := map[string]bool{}
	for attribute := range strings.SplitSeq(record, "\x00") {
		key, value, valued := strings.Cut(attribute, " ")
		if seen[key] {
			return w, fmt.Errorf("%s is said twice", plain.Text(key))
		}
		if (len(seen) == 0) != (key == "worktree") {
			return w, errors.New("an entry does not begin with its path")
		}
		seen[key] = true
		if err := w.take(key, value, valued); err != nil {
			return w, err
		}
	}
	if !w.Bare && !seen["HEAD"] {
		return w, errors.New("an entry is neither bare nor has a HEAD")
	}
	return w, nil
}

// take takes one attribute in.
func (w *Worktree) take(key, value string, valued bool) error {
	switch key {
	case "worktree":
		w.Path = value
		if !strings.HasPrefix(value, "/") {
			return fmt.Errorf("%s is no absolute path", plain.Text(value))
		}
		return nil
	case "HEAD":
		id, ok := ParseID(value)
		if !ok && (value == "" || strings.Trim(value, "0") != "") {
			return fmt.Errorf("%s is no id", plain.Text(value))
		}
		w.Head = id
		return nil
	case "branch":
		w.Branch = value
		return nil
	case "locked":
		w.Locked = &value
		return nil
	case "prunable":
		w.Prunable = &value
		return nil
	}
	if valued {
		return fmt.Errorf("%s is not known", plain.Text(key))
	}
	switch key {
	case "bare":
		w.Bare = true
	case "detached":
		w.Detached = true
	default:
		return fmt.Errorf("%s is not known", plain.Text(key))
	}
	return nil
}
