package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// Red when: loadKey is not tried first, or createKey writes another format
// than parseKeyFile reads.
func TestAKeyIsMadeOnceAndReadBack(t *testing.T) {
	dir := t.TempDir()
	first, err := LoadOrCreateKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := LoadOrCreateKey(dir)
	if err != nil || first.secret() != second.secret() {
		t.Fatalf("another key, or %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, KeyFile))
	if err != nil || info.Mode() != 0o600 || info.Size() != int64(keyFileSize) {
		t.Errorf("%v %v", info, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}

// Each opens files of its own and shares nothing but the folder, as processes
// do. Red when: createKey renames its draft over the path instead of linking.
func TestManyAtOnceEndWithOneKey(t *testing.T) {
	for range 20 {
		dir := t.TempDir()
		ids := make([]string, 16)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				key, err := LoadOrCreateKey(dir)
				if err != nil {
					t.Error(err)
				}
				ids[i] = key.ID()
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("two keys: %v", ids)
			}
		}
	}
}

// Red when: the check that the row names is left out of loadKey, checkKeyFile
// or parseKeyFile.
func TestAKeyThatCannotBeTrustedIsRefusedAndLeftAlone(t *testing.T) {
	good := formatKeyFile([secretSize]byte{1, 2, 3})
	cases := map[string]struct {
		plant func(path string) error
		step  string
	}{
		"readable by the group": {write(good, 0o640), "key-mode"},
		"readable by all":       {write(good, 0o604), "key-mode"},
		"writable by others":    {write(good, 0o602), "key-mode"},
		"empty":                 {write("", 0o600), "key-damaged"},
		"torn":                  {write(good[:len(good)-1], 0o600), "key-damaged"},
		"longer":                {write(good+"\n", 0o600), "key-damaged"},
		"another version":       {write(strings.Replace(good, "v1", "v2", 1), 0o600), "key-damaged"},
		"stray bits":            {write(strings.Replace(good, "A=\n", "B=\n", 1), 0o600), "key-damaged"},
		"carriage return":       {write(strings.Replace(good, "=\n", "=\r\n", 1), 0o600), "key-damaged"},
		"a folder":              {func(p string) error { return os.Mkdir(p, 0o700) }, "key-kind"},
		"a pipe":                {func(p string) error { return syscall.Mkfifo(p, 0o600) }, "key-kind"},
		"a link":                {linkTo(good), "key-kind"},
		"a dangling link":       {func(p string) error { return os.Symlink("nowhere", p) }, "key-kind"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, KeyFile)
			if err := c.plant(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(path)
			key, err := LoadOrCreateKey(dir)
			if step(err) != c.step || !key.IsZero() {
				t.Errorf("%v, %v", key, err)
			}
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) || before.Size() != after.Size() {
				t.Errorf("it was replaced: %v %v", after, err)
			}
		})
	}
}

func write(text string, mode os.FileMode) func(string) error {
	return func(path string) error {
		return errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode))
	}
}

func linkTo(text string) func(string) error {
	return func(path string) error {
		target := filepath.Join(filepath.Dir(path), "elsewhere")
		return errors.Join(os.WriteFile(target, []byte(text), 0o600), os.Symlink(target, path))
	}
}

// Red when: keyTrouble has no arm for another owner.
func TestAKeyOfAnotherUserIsRefused(t *testing.T) {
	if err := keyTrouble("operator.key", durable.ErrNotOwner); step(err) != "key-owner" {
		t.Error(err)
	}
}

// Red when: the mode or the way out is dropped from the words.
func TestTheRefusalOfAnOpenKeySaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, KeyFile)
	if err := write(formatKeyFile([secretSize]byte{1}), 0o644)(path); err != nil {
		t.Fatal(err)
	}
	_, err := LoadOrCreateKey(dir)
	var e *problem.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	for _, want := range []string{path, "0644", "chmod 600", "delete it", "signs everybody out"} {
		if !strings.Contains(e.Reason+e.Hint, want) {
			t.Errorf("%q is not said: %s / %s", want, e.Reason, e.Hint)
		}
	}
}

// Red when: the secret is held by value (the holder prints it), or by pointer
// (a verb that does not fit prints what it points to).
func TestNothingPrintsTheKey(t *testing.T) {
	secret := [secretSize]byte(bytes.Repeat([]byte("\xabSECRET\x01"), 4))
	key := newKey(secret)
	holder := struct{ inner Key }{key}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&out, verb+"\n"+verb+"\n", key, holder)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "key", key, "holder", holder)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "key", key, "holder", holder)
	if err := json.NewEncoder(&out).Encode(map[string]any{"key": key}); err != nil {
		t.Fatal(err)
	}
	for _, leak := range []string{"SECRET", "534543", "83 69 67", "0x53", "U0VDUkV"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%q in %s", leak, out.String())
		}
	}
	if !strings.Contains(out.String(), key.ID()) {
		t.Error("nothing says which key it is")
	}
}
