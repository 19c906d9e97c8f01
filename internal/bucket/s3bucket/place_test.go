package s3bucket_test

import (
	"strings"
	"testing"

	"holdfast/internal/bucket/s3bucket"
	"holdfast/internal/problem"
)

func TestAPlaceIsReadFromItsAddress(t *testing.T) {
	for address, want := range map[string]string{
		"s3://fleet":                       "s3://fleet/",
		"s3://fleet/":                      "s3://fleet/",
		"s3://fleet/a/b/":                  "s3://fleet/a/b",
		"s3://fleet/team?region=eu-west-1": "s3://fleet/team?region=eu-west-1",
		"s3://fleet?endpoint=http://127.0.0.1:7070":      "s3://fleet/?endpoint=http%3A%2F%2F127.0.0.1%3A7070",
		"s3://fleet?region=x&endpoint=https://s3.local/": "s3://fleet/?endpoint=https%3A%2F%2Fs3.local&region=x",
	} {
		p, err := s3bucket.ParsePlace(address)
		if err != nil || p.String() != want {
			t.Errorf("%s is read as %s, %v", address, p, err)
		}
	}
}

// Each is refused, and nothing of it is repeated.
func TestWhatIsNoAddressIsRefusedWithoutRepeatingIt(t *testing.T) {
	for _, address := range []string{
		"", "file:///secret", "s3:secret", "s3:///secret", "s3://", "s3://se", "s3://SECRET", "s3://secret:80/", "s3://-secret",
		"s3://user:secret@fleet/", "s3://user:secret word@fleet/", "s3://secret%20fleet/", "s3://fleet/#secret", "s3://fleet/secret#",
		"s3://fleet//secret", "s3://fleet/a/../secret", "s3://fleet/.secret", "s3://fleet/secret%2f", "s3://fleet/secret//", "s3://fleet//",
		"s3://fleet/" + strings.Repeat("secret/", 60) + "x",
		"s3://fleet?secret=1", "s3://fleet?region=secret secret", "s3://fleet?region=", "s3://fleet?region=a&region=secret",
		"s3://fleet?endpoint=", "s3://fleet?endpoint=secret", "s3://fleet?endpoint=ftp://secret", "s3://fleet?endpoint=http://",
		"s3://fleet?endpoint=http://user:secret@host", "s3://fleet?endpoint=http://host/secret", "s3://fleet?endpoint=http://host?secret",
		"s3://fleet?endpoint=http://host%23secret", "s3://fleet?endpoint=http://host&endpoint=http://secret", "s3://fleet?%zz=secret",
	} {
		p, err := s3bucket.ParsePlace(address)
		if problem.KindOf(err) != problem.Usage || p != (s3bucket.Place{}) {
			t.Errorf("%s is read as %s, %v", address, p, err)
		}
		if err != nil && strings.Contains(strings.ToLower(err.Error()), "secret") {
			t.Errorf("it repeats: %v", err)
		}
	}
}

// Red when: String leaves a part out, or ParsePlace takes a name as a URL decodes
// it and not as it is written.
func FuzzPlace(f *testing.F) {
	for _, seed := range []string{
		"s3://fleet/team?endpoint=https://127.0.0.1:7070&region=eu-west-1", "s3://a:b@fleet/", "s3://fleet/%2e%2e/", "s3://fleet?endpoint=http://[::1]:80",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		p, err := s3bucket.ParsePlace(address)
		if err != nil {
			if p != (s3bucket.Place{}) || problem.KindOf(err) != problem.Usage {
				t.Errorf("%q: %s, %v", address, p, err)
			}
			return
		}
		again, err := s3bucket.ParsePlace(p.String())
		if err != nil || again != p {
			t.Errorf("%q is %q, which is %q, %v", address, p, again, err)
		}
		if strings.Contains(p.String(), "@") || strings.Contains(p.String(), "..") && !strings.Contains(address, "..") {
			t.Errorf("%q is %q", address, p)
		}
	})
}
