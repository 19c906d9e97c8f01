package folder

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/problem"
)

var hostileNames = []string{
	"a#b.png", "50%.txt", "what?.md", "new\nline", "-rf", "<img src=x>", "back\\slash", "~", " ", "CON",
	strings.Repeat("é", 127) + "x", // 255 bytes
	"\xff\xfe.bin", "caf\xe9", "photo\u202egnp.exe", "\x1b[31mred", "%2e%2e", "a..%2f", "a..", "name ",
}

// case B04: each is listed, found, opened and archived by its exact name, at
// the top and in a folder. Red when Find or the walk cleans or quotes a name.
func TestHostileNamesComeBackByteForByte(t *testing.T) {
	b, dir := makeBooth(t)
	var want []string
	for _, n := range hostileNames {
		for _, p := range []string{n, n + "-d/" + n} {
			if len(n) > 250 && p != n {
				p = "long/" + n
			}
			write(t, dir, p, "content of "+p)
			want = append(want, p)
		}
	}
	slices.Sort(want)
	if d := cmp.Diff(want, paths(survey(t, b))); d != "" {
		t.Fatal(d)
	}
	for _, p := range want {
		found, err := b.Find(p)
		if err != nil || found.String() != p {
			t.Errorf("Find(%q) = %q, %v", p, found, err)
		}
		if got := readItem(t, b, p); got != "content of "+p {
			t.Errorf("%q holds %q", p, got)
		}
	}
	archived := unpack(t, zipAll(t, b))
	for _, p := range want {
		if archived[p] != "content of "+p {
			t.Errorf("the archive has %q as %q", p, archived[p])
		}
	}
}

// case B04: and is written by its exact name.
func TestHostileNamesAreWritten(t *testing.T) {
	b, _ := makeBooth(t)
	for _, n := range hostileNames {
		if _, err := b.Put(item(t, "in/"+n), strings.NewReader(n), 1000); err != nil {
			t.Errorf("Put(%q): %v", n, err)
			continue
		}
		if got := readItem(t, b, "in/"+n); got != n {
			t.Errorf("%q holds %q", n, got)
		}
	}
}

const (
	nfc = "caf\u00e9"
	nfd = "cafe\u0301"
)

// case B05. Red when find goes to findNormal first (exact bytes lose), or when
// take does not refuse a second match.
func TestExactBytesComeBeforeTheOneNormalisedMatch(t *testing.T) {
	for _, c := range []struct {
		what  string
		files []string
		ask   string
		want  string // "" for Gone
	}{
		{"stored NFD, asked NFC", []string{nfd}, nfc, nfd},
		{"stored NFC, asked NFD", []string{nfc}, nfd, nfc},
		{"both, asked NFC", []string{nfc, nfd}, nfc, nfc},
		{"both, asked NFD", []string{nfc, nfd}, nfd, nfd},
		{"in folders of another form", []string{nfd + "/" + nfd}, nfc + "/" + nfc, nfd + "/" + nfd},
		{"each component by itself", []string{nfc + "/" + nfd}, nfd + "/" + nfc, nfc + "/" + nfd},
		{"two folders of one form, one match", []string{nfd + "/a", nfc + "/b"}, nfc + "/a", nfd + "/a"},
		{"two folders of one form, two matches", []string{nfd + "/" + nfd, nfc + "/" + nfd}, nfc + "/" + nfc, ""},
		{"neither of two", []string{"\u1e69", "s\u0323\u0307"}, "s\u0307\u0323", ""},
		{"an ASCII name for a sign that normalises to it", []string{"\u212a"}, "K", "\u212a"},
		{"no match", []string{nfd}, "cafe", ""},
		{"bytes that are no UTF-8", []string{"\xff" + nfd}, "\xff" + nfc, "\xff" + nfd},
		{"a folder is no item", []string{nfc + "/a", nfd}, nfc, nfd},
		{"only a folder", []string{"d/a"}, "d", ""},
		{"a file as a folder", []string{"a"}, "a/b", ""},
		{"a dot folder's file", []string{".h/" + nfd}, "h/" + nfc, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			b, dir := makeBooth(t)
			for _, f := range c.files {
				write(t, dir, f, f)
			}
			got, err := b.Find(c.ask)
			if c.want == "" {
				publicly(t, err, problem.Gone, "item")
				return
			}
			if err != nil || got.String() != c.want {
				t.Fatalf("Find = %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// case B02, as far as bytes. Red when Find does not ask badPath.
func TestFindTakesNoPathThatIsNoItems(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "a", "a")
	write(t, dir, ".marks.json", "{}")
	write(t, dir, ".h/a", "a")
	for _, raw := range []string{"", "/", "../x/a", "a/..", "./a", "a/", "/a", "//a", ".marks.json", ".h/a", "a\x00", "a\x00b", "..", "../../etc/passwd", strings.Repeat("x", 300), strings.Repeat("x/", 3000)} {
		_, err := b.Find(raw)
		publicly(t, err, problem.Gone, "item")
	}
	if s := b.Survey(context.Background(), time.Now()); len(s.Items) != 1 {
		t.Errorf("items: %v", paths(s))
	}
}

// Red when Names does not sort, asks stat through links, or lists dot folders.
func TestNamesAreTheDirectFoldersInOrder(t *testing.T) {
	dir := t.TempDir()
	data := makeData(t, dir)
	want := append(slices.Clone(hostileNames), "b", "a", "Z")
	for _, n := range want {
		b, err := data.Create(name(t, n))
		check(t, err)
		if b.Name().String() != n {
			t.Errorf("name %q", b.Name())
		}
		b.Close()
	}
	write(t, dir, "file", "")
	write(t, dir, ".trash-1/a", "")
	link(t, "b", dir+"/link")
	link(t, "..", dir+"/up")
	fifo(t, dir+"/fifo")
	slices.Sort(want)
	for range 2 { // a second reading starts at the beginning
		names, err := data.Names()
		check(t, err)
		var got []string
		for _, n := range names {
			got = append(got, n.String())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	}
	for _, n := range []string{"file", "link", "up", "fifo", "absent"} {
		_, err := data.Booth(name(t, n))
		publicly(t, err, problem.Gone, "booth")
		if n != "absent" {
			_, err = data.Create(name(t, n))
			publicly(t, err, problem.Refused, "booth")
		}
	}
	if _, err := data.Booth(Name{}); problem.KindOf(err) != problem.Gone {
		t.Errorf("the zero name: %v", err)
	}
}
