package ledger

import (
	"os"
	"testing"
	"time"

	"holdfast/internal/booth/folder"
)

// Red when KeepAsked removes what it is told to keep, what it did not write, or
// nothing; or fails where nobody ever waited.
func TestOnlyWhoWaitedInABoothThatIsGoneIsForgotten(t *testing.T) {
	l, path := makeLedger(t)
	name := func(s string) folder.Name {
		n, err := folder.ParseName(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := l.KeepAsked(nil); err != nil {
		t.Errorf("without the folder: %v", err)
	}
	for _, s := range []string{"here", "gone"} {
		if err := l.Waiting(name(s), []string{"p"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, strange := range []string{"/notes.json", "/0011.json", "/.tmp"} {
		if err := os.WriteFile(path+"/asked"+strange, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.KeepAsked([]folder.Name{name("here"), name("never asked")}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(path + "/asked")
	if err != nil || len(files) != 4 || len(l.Asked(name("here"))) != 1 || l.Asked(name("gone")) != nil {
		t.Errorf("%v, %v", files, err)
	}
	if err := (*Ledger)(nil).KeepAsked(nil); err != nil {
		t.Error(err)
	}
}
