package snapshot

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

const (
	stem         = "holdfast-roadmap-snapshot."
	digestLength = 32
	suffixLength = 10
	alphabet     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// Namespace tells the snapshots of one instance from those of every other. All have
// one length, so that none is the beginning of another.
type Namespace struct {
	folder string // the snapshots' own, canonical
	digest string
}

// NamespaceOf is the namespace of the instance whose repository has the canonical
// path repo: the first half of the path's SHA-256.
func NamespaceOf(repo string) Namespace {
	sum := sha256.Sum256([]byte(repo))
	return Namespace{folder: filepath.Join(filepath.Dir(repo), snapshotsFolder), digest: hex.EncodeToString(sum[:])[:digestLength]}
}

// String is the namespace's digest.
func (n Namespace) String() string { return n.digest }

// Name is a snapshot of one namespace, checked.
type Name struct {
	folder string
	base   string
}

// String is the snapshot's path.
func (n Name) String() string { return n.folder + "/" + n.base }

// owner is the name of its owner's file.
func (n Name) owner() string { return n.base + ".json" }

// Owned is the snapshot that stands at path, if the path has the whole shape of one
// of this namespace.
func (n Namespace) Owned(path string) (Name, bool) {
	base, ok := strings.CutPrefix(path, n.folder+"/")
	if !ok {
		return Name{}, false
	}
	suffix, ok := strings.CutPrefix(base, stem+n.digest+".")
	if !ok || len(suffix) != suffixLength || strings.Trim(suffix, alphabet) != "" {
		return Name{}, false
	}
	return Name{n.folder, base}, true
}

// fresh is a name that nobody has.
func (n Namespace) fresh() Name {
	suffix := make([]byte, 0, suffixLength)
	for len(suffix) < suffixLength {
		var b [1]byte
		rand.Read(b[:]) // never fails
		if i := int(b[0]) & 63; i < len(alphabet) {
			suffix = append(suffix, alphabet[i])
		}
	}
	return Name{n.folder, stem + n.digest + "." + string(suffix)}
}
