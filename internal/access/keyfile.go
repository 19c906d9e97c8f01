package access

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"holdfast/internal/durable"
	"holdfast/internal/problem"

	"golang.org/x/sys/unix"
)

// The key's file: the line keyHeader, then the secret as one line of padded
// standard base64. Nothing before, between or after.
const (
	KeyFile   = "operator.key"
	keyHeader = "holdfast operator key v1"
)

// keyFileSize is the length of every good key file.
var keyFileSize = len(keyHeader) + 1 + base64.StdEncoding.EncodedLen(secretSize) + 1

// LoadOrCreateKey reads the key in the folder dir, or makes one where there is
// none. Several processes at once end with the same key. A key that is there
// but cannot be used is refused and never replaced: a new one signs everybody
// out, and that is for the operator to decide.
//
// Steps of its refusals: key-mode, key-owner, key-kind, key-damaged,
// key-unreadable, key-create.
func LoadOrCreateKey(dir string) (Key, error) {
	path := filepath.Join(dir, KeyFile)
	key, err := loadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := createKey(dir); err != nil {
		if p := problem.From(err, ""); p.Step == problem.StepNoSpace {
			return Key{}, p.WithHint("make some room on the disk of %q", dir)
		}
		return Key{}, problem.New(problem.Failed, "key-create", "The operator's key cannot be made in %q.", dir).Because(err)
	}
	return loadKey(path)
}

// LoadKey is LoadOrCreateKey for whoever must not make one: where there is none
// the error is fs.ErrNotExist.
func LoadKey(dir string) (Key, error) { return loadKey(filepath.Join(dir, KeyFile)) }

func loadKey(path string) (Key, error) {
	// Non-blocking, so that a planted pipe cannot stop the start.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Key{}, err
	case errors.Is(err, unix.ELOOP):
		return Key{}, problem.Refusal("key-kind", "The operator's key %q is a link, and is not followed.", path).Because(err)
	case err != nil:
		return Key{}, problem.Refusal("key-unreadable", "The operator's key %q cannot be opened.", path).Because(err)
	}
	defer f.Close()
	if err := checkKeyFile(f, path); err != nil {
		return Key{}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(keyFileSize)+1))
	if err != nil {
		return Key{}, problem.Refusal("key-unreadable", "The operator's key %q cannot be read.", path).Because(err)
	}
	secret, ok := parseKeyFile(string(text))
	if !ok {
		return Key{}, problem.Refusal("key-damaged", "The operator's key %q is empty, cut short or changed.", path).
			WithHint("put back a copy, or delete it to get a new one, which signs everybody out")
	}
	return newKey(secret), nil
}

// checkKeyFile asks the opened file, not the path, whether it is ours alone.
func checkKeyFile(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return problem.Refusal("key-unreadable", "The operator's key %q cannot be looked at.", path).Because(err)
	}
	if !info.Mode().IsRegular() {
		return problem.Refusal("key-kind", "The operator's key %q is no regular file.", path)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() {
		return problem.Refusal("key-owner", "The operator's key %q belongs to another user.", path).
			WithHint("start holdfast as the user that the key belongs to")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return problem.Refusal("key-mode", "The operator's key %q is open to others: its mode is %#o.", path, mode).
			WithHint("chmod 600 %q; if others may have read it, delete it to get a new one, which signs everybody out", path)
	}
	return nil
}

func parseKeyFile(text string) (secret [secretSize]byte, ok bool) {
	header, rest, _ := strings.Cut(text, "\n")
	line, rest, found := strings.Cut(rest, "\n")
	if header != keyHeader || !found || rest != "" {
		return secret, false
	}
	raw, err := base64.StdEncoding.DecodeString(line)
	if err != nil || len(raw) != secretSize || base64.StdEncoding.EncodeToString(raw) != line {
		return secret, false
	}
	return [secretSize]byte(raw), true
}

func formatKeyFile(secret [secretSize]byte) string {
	return keyHeader + "\n" + base64.StdEncoding.EncodeToString(secret[:]) + "\n"
}

// createKey puts a new key in place, whole or not at all. Where another process
// was first, its key stays and this one is forgotten.
func createKey(dir string) error {
	d, err := durable.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Create(KeyFile, []byte(formatKeyFile([secretSize]byte(randomBytes(secretSize)))), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
