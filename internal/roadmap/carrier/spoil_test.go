package carrier

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/roadmap/index"
)

func indexPath(h Home) string { return filepath.Join(h.Plan, index.File) }

func readIndex(t testing.TB, h Home) []byte {
	t.Helper()
	data, err := os.ReadFile(indexPath(h))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// overwrite puts data in the place of the index.
func overwrite(t testing.TB, h Home, data []byte) {
	t.Helper()
	if err := index.Discard(h.Plan); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(indexPath(h), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// alter changes the index behind its back.
func alter(t testing.TB, h Home, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", indexPath(h))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}
