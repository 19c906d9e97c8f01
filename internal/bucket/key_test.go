package bucket_test

import (
	"path"
	"strings"
	"testing"

	"holdfast/internal/bucket"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

func TestAKeyIsElementsAndSlashes(t *testing.T) {
	long := strings.Repeat("x", 128)
	for _, name := range []string{"a", "A/b-c_d.e/9", "a..b", "a.", long, strings.Repeat(long[:127]+"/", 3) + long} {
		if key, err := bucket.ParseKey(name); err != nil || key.String() != name {
			t.Errorf("%.40q: %v, %v", name, key, err)
		}
	}
	for _, name := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", ".a", "a/.b", "a b", "a\x00", "a\n", "ä", "a\\b", "a:b", "a%2fb", "~",
		long + "x", strings.Repeat(long+"/", 3) + long + "/x", durable.TemporaryPrefix + strings.Repeat("0", 32),
	} {
		if key, err := bucket.ParseKey(name); problem.KindOf(err) != problem.Usage {
			t.Errorf("%.40q is the key %v, %v", name, key, err)
		}
	}
}

// Red when: an element may be empty or begin with a dot, or a character is let in
// that some file system or URL takes for something.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"control/roster.json", "a/../b", "a//b", "/", ".x", "a/b/", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		key, err := bucket.ParseKey(name)
		if err != nil {
			return
		}
		if key.String() != name || path.Clean("/"+name) != "/"+name || len(name) > 512 {
			t.Errorf("%q is a key", name)
		}
		for _, element := range strings.Split(name, "/") {
			if durable.IsTemporary(element) || strings.HasPrefix(element, ".") || len(element) > 128 {
				t.Errorf("%q is an element of a key", element)
			}
		}
		for end := range len(name) + 1 {
			if err := bucket.CheckPrefix(name[:end]); err != nil {
				t.Errorf("a key begins with %q: %v", name[:end], err)
			}
		}
	})
}
