package journal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fleet/box/journal"
)

// written is a folder with a journal that has something in it, closed.
func written(t testing.TB, rows ...func(*journal.Tx) error) string {
	t.Helper()
	folder := t.TempDir()
	j := open(t, folder)
	for _, row := range rows {
		put(t, j, row)
	}
	put(t, j, func(tx *journal.Tx) error {
		_, err := tx.Raise()
		return errors.Join(err, tx.PutInstallation(installation("a", 1)), tx.PutFence(proved("a", 1)))
	})
	must(t, j.Close())
	return folder
}

// Red when: what is damaged is opened, made anew or touched.
func TestADamagedJournalIsRefusedAndNeverReplaced(t *testing.T) {
	for name, damage := range map[string]func(folder, file string) error{
		"empty":       func(_, file string) error { return os.Truncate(file, 0) },
		"cut short":   func(_, file string) error { return os.Truncate(file, 5000) },
		"no database": func(_, file string) error { return os.WriteFile(file, bytes.Repeat([]byte("x"), 8192), 0o600) },
		"a folder":    func(_, file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
		"a link": func(folder, file string) error {
			return errors.Join(os.Rename(file, filepath.Join(folder, "elsewhere")), os.Symlink("elsewhere", file))
		},
		"each page but one": func(_, file string) error {
			data, err := os.ReadFile(file)
			for i := 4096; i < len(data); i++ {
				data[i] ^= 0x55
			}
			return errors.Join(err, os.WriteFile(file, data, 0o600))
		},
		"the last page": func(_, file string) error {
			data, err := os.ReadFile(file)
			for i := len(data) - 4096; i < len(data); i++ {
				data[i] ^= 0x55
			}
			return errors.Join(err, os.WriteFile(file, data, 0o600))
		},
		"a log without it": func(_, file string) error {
			return errors.Join(os.Remove(file), os.WriteFile(file+"-wal", []byte("log"), 0o600))
		},
	} {
		folder := written(t)
		file := filepath.Join(folder, journal.File)
		must(t, damage(folder, file))
		before := files(t, folder)
		for range 2 {
			if _, err := journal.Open(openDir(t, folder)); step(err) != "journal-damaged" || strings.Contains(err.Error(), "empty") != (name == "empty") {
				t.Errorf("%s: %v", name, err)
			}
			if diff := cmp.Diff(before, files(t, folder)); diff != "" {
				t.Errorf("%s: it was touched:\n%.500s", name, diff)
			}
		}
	}
}

// files is what lies in a folder; folders and links have no content.
func files(t testing.TB, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	must(t, err)
	all := map[string]string{}
	for _, e := range entries {
		all[e.Name()] = e.Type().String()
		if e.Type().IsRegular() {
			data, err := os.ReadFile(filepath.Join(folder, e.Name()))
			must(t, err)
			all[e.Name()] = string(data)
		}
	}
	return all
}

// Red when: another program's file is taken for a journal.
func TestAFileOfSomethingElseIsNoJournal(t *testing.T) {
	for name, meddle := range map[string]string{
		"another program's": "PRAGMA application_id = 1", "one of no version": "PRAGMA user_version = 0", "one without a table": "DROP TABLE fence",
	} {
		folder := t.TempDir()
		j := open(t, folder)
		must(t, j.Exec(meddle), j.Close())
		j, err := journal.Open(openDir(t, folder))
		if err == nil {
			err = j.View(func(tx *journal.Tx) error {
				_, err := tx.Fences()
				return err
			})
			must(t, j.Close())
		}
		if step(err) != "journal-damaged" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Red when: a row that cannot be read is passed over.
func TestARowThatCannotBeReadIsSaid(t *testing.T) {
	for _, meddle := range []string{
		"UPDATE installed SET stamp = '17'", "UPDATE installed SET work = x'00'", "UPDATE fence SET target = x'7b7d'",
		"UPDATE fence SET incarnation = 2", "DELETE FROM head",
	} {
		j := open(t, written(t))
		must(t, j.Exec(meddle))
		err := j.View(func(tx *journal.Tx) error {
			_, err := tx.Inventory()
			_, err2 := tx.Fences()
			_, err3 := tx.Generation()
			return errors.Join(err, err2, err3)
		})
		if step(err) != "journal-damaged" {
			t.Errorf("%s: %v", meddle, err)
		}
	}
}

const (
	next  = "ALTER TABLE head ADD COLUMN more INTEGER NOT NULL DEFAULT 7;"
	after = "ALTER TABLE head ADD COLUMN most INTEGER NOT NULL DEFAULT 8;"
)

// Red when: a journal is brought up to date while something is pending, or read beyond
// the last two versions.
func TestTheLastTwoVersionsAreRead(t *testing.T) {
	pending := func(tx *journal.Tx) error { return tx.PutIntent(intent("z")) }
	for name, c := range map[string]struct {
		folder string
		more   []string
		step   string
		then   int
	}{
		"the same":                 {written(t), nil, "", 1},
		"the one before":           {written(t), []string{next}, "", 2},
		"the one before, at work":  {written(t, pending), []string{next}, "", 1},
		"two before":               {written(t), []string{next, after}, "journal-old", 0},
		"one that cannot be added": {written(t), []string{"ALTER TABLE none ADD COLUMN x;"}, "journal-damaged", 0},
	} {
		before := files(t, c.folder)
		j, err := journal.OpenFormats(openDir(t, c.folder), c.more...)
		if c.step != "" {
			if step(err) != c.step {
				t.Errorf("%s: %v", name, err)
			}
			if diff := cmp.Diff(before, files(t, c.folder)); diff != "" {
				t.Errorf("%s: it was touched", name)
			}
			continue
		}
		must(t, err)
		if n, err := j.Pragma("user_version"); err != nil || n != strconv.Itoa(c.then) {
			t.Errorf("%s: version %s, %v", name, n, err)
		}
		if got := look(t, j); got.Generation != 1 || len(got.Inventory) != 1 || len(got.Fences) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		must(t, j.Close())
		if c.then < 2 {
			continue
		}
		now := files(t, c.folder)
		if _, err := journal.Open(openDir(t, c.folder)); step(err) != "journal-newer" {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(now, files(t, c.folder)); diff != "" {
			t.Errorf("%s: the newer one was touched", name)
		}
	}
}

// Red when: what was begun of a journal, and not finished, is in the way.
func TestAJournalThatWasHalfMadeIsMadeAnew(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"journal.new", "journal.new-wal", "journal.new-journal"} {
		must(t, os.WriteFile(filepath.Join(folder, name), bytes.Repeat([]byte("x"), 5000), 0o600))
	}
	j := open(t, folder)
	put(t, j, func(tx *journal.Tx) error { return tx.PutIntent(intent("a")) })
	must(t, j.Close())
	if got := files(t, folder); len(got) != 1 {
		t.Errorf("%d files are left", len(got))
	}
}
