package dirbucket

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"holdfast/internal/bucket"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// List walks the folders that can hold keys with prefix.
func (s *Store) List(ctx context.Context, prefix string) ([]bucket.Key, error) {
	if err := bucket.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
	d, err := s.open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unlistable(prefix, err)
	}
	defer d.Close()
	l := list{ctx: ctx, prefix: prefix}
	if err := l.folder(d, folder); err != nil {
		return nil, unlistable(prefix, err)
	}
	slices.SortFunc(l.keys, func(a, b bucket.Key) int { return strings.Compare(a.String(), b.String()) })
	return l.keys, nil
}

// list is a walk that looks for keys.
type list struct {
	ctx    context.Context
	prefix string
	keys   []bucket.Key
}

// folder looks in d, whose keys begin with at.
func (l *list) folder(d *durable.Dir, at string) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	names, err := d.Names()
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		return err
	}
	for _, name := range names {
		key, err := bucket.ParseKey(at + name)
		whole := at + name
		if err != nil || !strings.HasPrefix(whole, l.prefix) && !strings.HasPrefix(l.prefix, whole+"/") {
			continue
		}
		if err := l.entry(d, name, key); err != nil {
			return err
		}
	}
	return nil
}

// entry takes in the entry name of d: an object of that key, or a folder.
func (l *list) entry(d *durable.Dir, name string, key bucket.Key) error {
	mode, err := d.Mode(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if mode.IsDir() {
		return l.below(d, name, key.String()+"/")
	}
	if !mode.IsRegular() {
		// Left out, it would be a list that says there is no such object.
		return unreadable(key, durable.ErrNotRegular)
	}
	l.keys = append(l.keys, key)
	return nil
}

// below looks in the folder name of d.
func (l *list) below(d *durable.Dir, name, at string) error {
	sub, err := d.Sub(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return l.folder(sub, at)
}

// unlistable says that the keys with prefix could not be listed.
func unlistable(prefix string, cause error) error {
	var public *problem.Error
	if errors.As(cause, &public) {
		return cause
	}
	return problem.New(problem.Failed, "bucket-list", "the objects under %q could not be listed", prefix).Because(cause)
}
