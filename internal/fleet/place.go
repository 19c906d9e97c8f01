// Package fleet is the boxes as commands and pages use them: a console that writes
// the roster and reads it out, and a machine that asks to come in.
//
// It decides nothing: what a change may be is said by package roster, who may come in
// by package enrollment, and what the roster is by package rosterstore. Here they are
// put together over the folders of one home, and what they say becomes the documents
// of docs/INTERFACE.md.
//
// A home that is a console has a folder console/ with the console's key, maybe the
// root key, and fleet.json, which says where the store is and whose word is believed.
// A machine that asked to come in has a folder box/ with its evidence key and a
// fleet.json of its own. One home can be both.
package fleet

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/dirbucket"
	"holdfast/internal/bucket/s3bucket"
	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// Home is where the fleet's folders of one home are.
type Home struct {
	Console string // the console's folder
	Box     string // the box's folder
	Bucket  string // the embedded store's folder
}

// Embedded is the address of the store that is in the home itself.
const Embedded = "embedded"

const (
	placeFile    = "fleet.json"
	placeSchema  = "holdfast-fleet/1"
	placeSize    = 16 << 10
	memoryFolder = "roster"
	rootKey      = "root.key"
	consoleKey   = "console.key"
	evidenceKey  = "evidence.key"
)

// place is a party's fleet.json: what it knows before it reads anything.
type place struct {
	Schema string      `json:"schema"`
	Store  string      `json:"store"` // an address, or Embedded
	Bucket string      `json:"bucket"`
	Root   sign.Public `json:"root"`
	// Console is the name of the console, Invitation and Enrollment what a box came
	// in by and what its row is called.
	Console    string `json:"console,omitempty"`
	Invitation string `json:"invitation,omitempty"`
	Enrollment string `json:"enrollment,omitempty"`
}

func readPlace(d *durable.Dir) (place, error) {
	data, err := d.ReadFile(placeFile, placeSize)
	if err != nil {
		return place{}, err
	}
	var p place
	if err := canon.Decode(data, &p); err != nil || p.Schema != placeSchema {
		return place{}, problem.Refusal("fleet-damaged", "%q in %q cannot be read. Nothing was changed.", placeFile, d.Name()).
			Because(err).WithHint("put back a copy: it says where the fleet's store is, and whose word is believed")
	}
	return p, nil
}

// create writes p, once: another that is there is refused, the same is fine.
func (p place) create(d *durable.Dir) error {
	data, err := canon.Encode(p)
	if err != nil {
		return err
	}
	if err := d.Create(placeFile, data, 0o600); !errors.Is(err, fs.ErrExist) {
		return err
	}
	was, err := readPlace(d)
	if err == nil && was != p {
		err = belongs(d)
	}
	return err
}

// belongs refuses to make a folder of one fleet a folder of another.
func belongs(d *durable.Dir) error {
	return problem.Refusal("fleet-present", "%q belongs to a fleet already, as its %s says. Nothing was changed.", d.Name(), placeFile)
}

// openStore opens the store at an address. Nothing is read or written.
func (h Home) openStore(address string) (bucket.Store, func(), error) {
	folder := h.Bucket
	switch {
	case address == Embedded:
	case strings.HasPrefix(address, "s3://"):
		at, err := s3bucket.ParsePlace(address)
		if err != nil {
			return nil, nil, err
		}
		return s3bucket.New(at, RequestLimit), func() {}, nil
	default:
		path, err := folderAt(address)
		if err != nil {
			return nil, nil, err
		}
		folder = path
	}
	d, err := durable.OpenDir(folder)
	if err != nil {
		// Not as the cause: a store that is not there is no party that is not there.
		return nil, nil, problem.Refusal("store", "The store's folder %q cannot be opened: %s. Nothing was changed.", folder, problem.Words(err)).
			WithHint("mount it, or put it back: a fleet is not begun anew by that")
	}
	return dirbucket.New(d), func() { d.Close() }, nil
}

// storeFolder is the folder of the store at an address, "" where it is none on this machine.
func (h Home) storeFolder(address string) string {
	if address == Embedded {
		return h.Bucket
	}
	folder, err := folderAt(address)
	if err != nil {
		return ""
	}
	return folder
}

// abroad is the address of a store as other homes on this machine know it.
func (h Home) abroad(address string) string {
	if address != Embedded {
		return address
	}
	return (&url.URL{Scheme: "file", Path: h.Bucket}).String()
}

// athome is what abroad was given.
func (h Home) athome(address string) string {
	if address == h.abroad(Embedded) {
		return Embedded
	}
	return address
}

// folderAt is the folder of a file URL.
func folderAt(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "file" || u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" {
		return "", problem.New(problem.Usage, "store", "A store is file:///PATH or s3://BUCKET/PREFIX?endpoint=URL&region=NAME. Nothing was changed.")
	}
	return u.Path, nil
}

// party is a store opened for one party: its trust, its memory, the roster.
type party struct {
	home   Home
	place  place
	dir    *durable.Dir
	bucket bucket.Store
	roster *rosterstore.Store
	memory *rosterstore.Memory
	close  []func()
}

// Close lets the folders go.
func (p *party) Close() {
	for _, f := range p.close {
		f()
	}
}

// openParty opens what the fleet.json in folder says. Where there is none the error
// is fs.ErrNotExist.
func (h Home) openParty(folder string) (*party, error) {
	d, err := durable.OpenDir(folder)
	if err != nil {
		return nil, err
	}
	p := &party{home: h, dir: d, close: []func(){func() { d.Close() }}}
	if p.place, err = readPlace(d); err == nil {
		err = p.open()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *party) open() error {
	memory, err := p.dir.MakeSub(memoryFolder, 0o700)
	if err != nil {
		return err
	}
	p.close = append(p.close, func() { memory.Close() })
	store, done, err := p.home.openStore(p.place.Store)
	if err != nil {
		return err
	}
	p.close = append(p.close, done)
	p.bucket = store
	p.memory = rosterstore.NewMemory(memory)
	p.roster = rosterstore.New(store, rosterstore.Trust{Root: p.place.Root, Bucket: p.place.Bucket}, p.memory)
	return nil
}

// makeFolder makes a folder of the home, for its owner alone.
func makeFolder(path string) (*durable.Dir, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, problem.New(problem.Failed, "home", "The folder %q cannot be made: %s.", path, problem.Words(err)).Because(err)
	}
	return durable.OpenDir(path)
}
