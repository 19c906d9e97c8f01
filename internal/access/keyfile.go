package access

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
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
	d, err := durable.OpenDir(filepath.Dir(path))
	if err != nil {
		return Key{}, keyTrouble(path, err)
	}
	defer d.Close()
	text, err := d.ReadPrivate(filepath.Base(path), int64(keyFileSize))
	if err != nil {
		return Key{}, keyTrouble(path, err)
	}
	secret, ok := parseKeyFile(string(text))
	if !ok {
		return Key{}, keyDamaged(path)
	}
	return newKey(secret), nil
}

// keyTrouble is why the key at path cannot be read, in words.
func keyTrouble(path string, err error) error {
	var exposed *durable.Exposed
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, durable.ErrNotRegular):
		return problem.Refusal("key-kind", "The operator's key %q is no regular file; links are not followed.", path).Because(err)
	case errors.Is(err, durable.ErrNotOwner):
		return problem.Refusal("key-owner", "The operator's key %q belongs to another user.", path).Because(err).
			WithHint("start holdfast as the user that the key belongs to")
	case errors.As(err, &exposed):
		return problem.Refusal("key-mode", "The operator's key %q is %s.", path, exposed).Because(err).
			WithHint("chmod 600 %q; if others may have read it, delete it to get a new one, which signs everybody out", path)
	case errors.Is(err, durable.ErrTooLarge):
		return keyDamaged(path)
	default:
		return problem.Refusal("key-unreadable", "The operator's key %q cannot be read.", path).Because(err)
	}
}

func keyDamaged(path string) error {
	return problem.Refusal("key-damaged", "The operator's key %q is empty, cut short or changed.", path).
		WithHint("put back a copy, or delete it to get a new one, which signs everybody out")
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
