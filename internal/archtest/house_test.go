package archtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/archtest"
)

// root is the module's root, seen from here.
const root = "../.."

func TestTheCodeIsAsTheMapSays(t *testing.T) {
	text, err := os.ReadFile("layers.txt")
	if err != nil {
		t.Fatal(err)
	}
	m, err := archtest.ParseMap(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range archtest.Check(m, house(t)) {
		t.Error(complaint)
	}
}

func TestTheDocumentShowsEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	isFolder := func(path string) bool {
		info, err := os.Stat(filepath.Join(root, path))
		return err == nil && info.IsDir()
	}
	for _, complaint := range archtest.CheckDocument(string(text), house(t), isFolder) {
		t.Error(complaint)
	}
}

func house(t *testing.T) []archtest.Package {
	t.Helper()
	pkgs, err := archtest.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) == 0 {
		t.Fatal("go list found no packages")
	}
	return pkgs
}
