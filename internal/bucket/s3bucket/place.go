package s3bucket

import (
	"net/url"
	"strings"

	"holdfast/internal/bucket"
	"holdfast/internal/problem"
)

// maxPrefix leaves room for a key within the 1024 bytes that S3 has for both.
const maxPrefix = 256

// Place is where a store keeps its objects, as read from
// s3://bucket/prefix?endpoint=https://host:port&region=name. Only [ParsePlace]
// makes one.
type Place struct {
	bucket   string
	prefix   string // empty, or a key
	endpoint string // empty for Amazon's own
	region   string // empty for the one that the environment names
}

// isBucket reports whether S3 has buckets of that name: 3 to 63 lower-case letters,
// digits, dots and hyphens, the first and the last a letter or digit.
func isBucket(name string) bool {
	return len(name) >= 3 && len(name) <= 63 && only(name, ".-") && strings.Trim(name, ".-") == name
}

// isRegion reports whether name could be a region's.
func isRegion(name string) bool { return name != "" && len(name) <= 64 && only(name, "-") }

// only reports whether name has lower-case letters, digits and others alone.
func only(name, others string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(others, r)
	})
}

// ParsePlace reads the address of a store. Its error repeats nothing of the
// address, which may hold a password that somebody put there.
func ParsePlace(address string) (Place, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return Place{}, badPlace("it is no URL")
	case u.Scheme != "s3" || u.Opaque != "":
		return Place{}, badPlace("it does not begin with s3://")
	case u.User != nil:
		return Place{}, badPlace("it names a user: credentials come from the AWS variables and files")
	case strings.Contains(address, "#"):
		return Place{}, badPlace("it has a fragment")
	case !isBucket(u.Host):
		return Place{}, badPlace("its bucket has no name that a bucket can have")
	}
	p := Place{bucket: u.Host}
	if p.prefix, err = parsePrefix(u.EscapedPath()); err != nil {
		return Place{}, err
	}
	if err := p.parseQuery(u.RawQuery); err != nil {
		return Place{}, err
	}
	return p, nil
}

// parsePrefix reads the path of an address, as it is written there.
func parsePrefix(path string) (string, error) {
	prefix := strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	if prefix == "" {
		if len(path) > 1 {
			return "", badPlace("its prefix is a slash")
		}
		return "", nil
	}
	if _, err := bucket.ParseKey(prefix); err != nil || len(prefix) > maxPrefix {
		return "", badPlace("its prefix is not the beginning of keys, or has more than 256 bytes")
	}
	return prefix, nil
}

// parseQuery reads what stands behind the question mark.
func (p *Place) parseQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return badPlace("what stands behind its question mark cannot be read")
	}
	for name, values := range query {
		if len(values) != 1 {
			return badPlace("it names something twice")
		}
		switch name {
		case "endpoint":
			p.endpoint, err = parseEndpoint(values[0])
		case "region":
			p.region, err = parseRegion(values[0])
		default:
			err = badPlace("behind its question mark stands something other than endpoint and region")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func parseRegion(name string) (string, error) {
	if !isRegion(name) {
		return "", badPlace("its region has no name that a region can have")
	}
	return name, nil
}

func parseEndpoint(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", badPlace("its endpoint is no http or https URL")
	case u.User != nil:
		return "", badPlace("its endpoint names a user: credentials come from the AWS variables and files")
	case u.Path != "" && u.Path != "/" || strings.ContainsAny(address, "?#"):
		return "", badPlace("its endpoint has something behind the host")
	}
	return u.Scheme + "://" + u.Host, nil
}

// String is the address, in one spelling.
func (p Place) String() string {
	u := url.URL{Scheme: "s3", Host: p.bucket, Path: "/" + p.prefix}
	query := url.Values{}
	if p.endpoint != "" {
		query.Set("endpoint", p.endpoint)
	}
	if p.region != "" {
		query.Set("region", p.region)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func badPlace(why string) *problem.Error {
	return problem.New(problem.Usage, "bucket-url", "the address of the store cannot be used: %s", why).
		WithHint("write it like s3://bucket/prefix?endpoint=https://host:port&region=name")
}
