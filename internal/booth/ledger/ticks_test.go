package ledger

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/durable"
)

func makeLedger(t *testing.T) (*Ledger, string) {
	t.Helper()
	path := t.TempDir()
	dir, err := durable.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return New(dir), path
}

const goldenTicks = `{"boot":"b","monotonic":3600000,"nominated":{"a%20b 1 2 3":1500},"schema":"holdfast.ticks/v1","service":7000,"wall":"2026-09-22T12:00:00Z"}` + "\n"

// Red when a member is renamed, or a span is written in another unit.
func TestTicksAreTheseBytes(t *testing.T) {
	l, path := makeLedger(t)
	if none, err := l.Ticks(); err != nil || none.Boot != "" || none.Nominated != nil {
		t.Errorf("%+v, %v", none, err)
	}
	want := Ticks{
		"b", time.Date(2026, 9, 22, 12, 0, 0, 0, time.UTC), time.Hour, 7 * time.Second,
		map[string]time.Duration{"a%20b 1 2 3": 1500 * time.Millisecond},
	}
	if err := l.SetTicks(want); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path + "/ticks.json"); err != nil || string(got) != goldenTicks {
		t.Errorf("%s, %v", got, err)
	}
	got, err := l.Ticks()
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
}

// Red when Ticks takes what it cannot read whole for ticks.
func TestDamagedTicksAreAnError(t *testing.T) {
	for what, bytes := range map[string]string{
		"empty":          "",
		"another schema": strings.Replace(goldenTicks, "v1", "v2", 1),
		"a member more":  strings.Replace(goldenTicks, "{", `{"a":1,`, 1),
		"before time":    strings.Replace(goldenTicks, "7000", "-1", 1),
		"no span":        strings.Replace(goldenTicks, "1500", "9007199254740991", 1),
		"not a file":     "",
	} {
		l, path := makeLedger(t)
		file := path + "/ticks.json"
		if err := os.WriteFile(file, []byte(bytes), 0o600); err != nil {
			t.Fatal(err)
		}
		if what == "not a file" {
			os.Remove(file)
			os.Mkdir(file, 0o755)
		}
		if got, err := l.Ticks(); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// A ledger that cannot be read writes nothing.
func TestAnUnreadableLedgerHasNoTicks(t *testing.T) {
	l := Unreadable(os.ErrPermission)
	if _, err := l.Ticks(); err == nil {
		t.Error("read")
	}
	if err := l.SetTicks(Ticks{}); err == nil {
		t.Error("written")
	}
}
