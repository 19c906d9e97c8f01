package booth

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"

	"holdfast/internal/booth/folder"
	"holdfast/internal/canon"
	"holdfast/internal/problem"
)

// ManifestFile is the manifest's name in a booth.
const ManifestFile = ".booth.json"

// KeepFile is the keep marker's name in a booth.
const KeepFile = ".forever"

const (
	maxManifest = 1 << 20
	maxKeep     = 64 << 10
)

// Manifest is what a worker says about its booth. It decides nothing: a worker
// writes it. Members that this version does not know are left alone.
type Manifest struct {
	Title    string            `json:"title"`
	Summary  string            `json:"summary"`
	Order    []string          `json:"order"`    // items to show first, by exact path
	Captions map[string]string `json:"captions"` // by exact path
	Attempt  string            `json:"attempt"`
	// Damage is why the file could not be read; empty where it could, or is not
	// there.
	Damage string `json:"-"`
}

// ParseManifest reads a manifest's bytes: an object, whose members' names are
// exact.
func ParseManifest(data []byte) (Manifest, error) {
	var m *Manifest
	if err := canon.DecodeOpen(data, &m); err != nil {
		return Manifest{}, err
	}
	if m == nil {
		return Manifest{}, errors.New("it is null")
	}
	return *m, nil
}

func readManifest(b *folder.Booth) Manifest {
	data, err := b.ReadDot(ManifestFile, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}
	}
	if err == nil {
		var m Manifest
		if m, err = ParseManifest(data); err == nil {
			return m
		}
	}
	return Manifest{Damage: problem.Words(err)}
}

// arrange puts the items that the manifest names first, in its order, and
// leaves the others as they are.
func (m Manifest) arrange(items []folder.Item) []folder.Item {
	if len(m.Order) == 0 {
		return items
	}
	rank := make(map[string]int, len(m.Order))
	for i, path := range m.Order {
		if _, taken := rank[path]; !taken {
			rank[path] = i
		}
	}
	place := func(it folder.Item) int {
		if r, ok := rank[it.Path.String()]; ok {
			return r
		}
		return len(m.Order)
	}
	out := slices.Clone(items)
	slices.SortStableFunc(out, func(a, b folder.Item) int { return place(a) - place(b) })
	return out
}

// keptWhy is the reason in the keep marker's body. An empty marker, and one that
// is no JSON, keep just as well.
func keptWhy(b *folder.Booth) string {
	data, err := b.ReadDot(KeepFile, maxKeep)
	if err != nil {
		return ""
	}
	var body struct {
		Why string `json:"why"`
	}
	if json.Unmarshal(data, &body) != nil {
		return ""
	}
	return body.Why
}

// find is a binary search in a survey's items, which are sorted by path.
func find(items []folder.Item, path string) (folder.Item, bool) {
	i, ok := slices.BinarySearchFunc(items, path, func(it folder.Item, p string) int {
		switch s := it.Path.String(); {
		case s < p:
			return -1
		case s > p:
			return 1
		default:
			return 0
		}
	})
	if !ok {
		return folder.Item{}, false
	}
	return items[i], true
}
