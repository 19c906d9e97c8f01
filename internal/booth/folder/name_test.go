package folder

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/problem"
)

// Red when badComponent loses any one of its cases.
func TestNamesAndPathsThatAreRefused(t *testing.T) {
	long := strings.Repeat("n", 256)
	for _, s := range []string{"", ".", "..", ".hidden", "a\x00b", long} {
		if n, err := ParseName(s); problem.KindOf(err) != problem.Usage || n != (Name{}) {
			t.Errorf("ParseName(%q) = %v, %v", s, n, err)
		}
		for _, p := range []string{s, "a/" + s, s + "/a", "a/" + s + "/b"} {
			if got, err := ParseItem(p); problem.KindOf(err) != problem.Usage || got != (ItemPath{}) {
				t.Errorf("ParseItem(%q) = %v, %v", p, got, err)
			}
		}
	}
	if _, err := ParseName("a/b"); err == nil {
		t.Error("a booth's name may have a slash")
	}
	folders := strings.Repeat(long[1:]+"/", 15)
	if _, err := ParseItem(folders + long[1:] + "/d"); err == nil {
		t.Error("a path of 4097 bytes is taken")
	}
	if _, err := ParseItem(folders + long[2:] + "/d"); err != nil {
		t.Errorf("one of 4096: %v", err)
	}
	if _, err := ParseItem(strings.Repeat("d/", 128) + "d"); err == nil {
		t.Error("a path of 129 components is taken")
	}
}

// case B04, B06: any other bytes are a name, and come back.
func TestNamesKeepTheirBytes(t *testing.T) {
	for _, s := range hostileNames {
		if n, err := ParseName(s); err != nil || n.String() != s {
			t.Errorf("ParseName(%q) = %q, %v", s, n, err)
		}
		if p, err := ParseItem("d/" + s); err != nil || p.String() != "d/"+s || p.Base() != s {
			t.Errorf("ParseItem(%q) = %q, %v", s, p, err)
		}
	}
	if p := item(t, "a.b/c"); p.Base() != "c" || p.Ext() != "" {
		t.Errorf("base %q, ext %q", p.Base(), p.Ext())
	}
	if p := item(t, "a/c.TAR.Gz"); p.Ext() != ".Gz" {
		t.Errorf("ext %q", p.Ext())
	}
}

func FuzzParseName(f *testing.F) {
	for _, s := range append(hostileNames, "", ".", "..", "a/b", "\x00") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			var p *problem.Error
			if !errors.As(err, &p) || p.Kind != problem.Usage {
				t.Fatalf("%v", err)
			}
			return
		}
		if n.String() != s || filepath.Dir(filepath.Join("/data", s)) != "/data" || s[0] == '.' {
			t.Fatalf("%q is a name", s)
		}
	})
}

func FuzzParseItem(f *testing.F) {
	for _, s := range append(hostileNames, "a/../b", "/a", "a/", "a//b", "a/.b/c", "a\x00/b") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseItem(s)
		if err != nil {
			return
		}
		if p.String() != s || filepath.Join("/booth", s) != "/booth/"+s {
			t.Fatalf("%q is a path, and cleans to another", s)
		}
		for _, c := range strings.Split(s, "/") {
			if _, err := ParseName(c); err != nil {
				t.Fatalf("%q is a path, its part %q no name", s, c)
			}
		}
	})
}
