package fleet

import (
	"errors"
	"io/fs"

	"holdfast/internal/durable"
	"holdfast/internal/sign"
)

// Part is a home's part in a fleet, as its own folders say. Of a home that is neither
// a console nor a box all of it is empty.
type Part struct {
	Console string // the console's name
	Box     string // the box's enrollment
	Store   string // the address of the store: the console's, else the box's
	// Keys are the private keys that are there, each whole and for its owner alone.
	Keys []string
}

// Look says what a home's part in a fleet is. The store is asked nothing.
func Look(h Home) (Part, error) {
	var p Part
	for _, one := range []struct {
		folder string
		keys   []string
		learn  func(place)
	}{
		{h.Box, []string{evidenceKey}, func(at place) { p.Box, p.Store = at.Enrollment, at.Store }},
		{h.Console, []string{rootKey, consoleKey}, func(at place) { p.Console, p.Store = at.Console, at.Store }},
	} {
		at, keys, err := look(one.folder, one.keys)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Part{}, err
		}
		one.learn(at)
		p.Keys = append(p.Keys, keys...)
	}
	return p, nil
}

// look reads the place of a party and the keys of it that are there. One that was not
// come to being a party is fs.ErrNotExist.
func look(folder string, names []string) (place, []string, error) {
	d, err := durable.OpenDir(folder)
	if err != nil {
		return place{}, nil, err
	}
	defer d.Close()
	var keys []string
	for _, name := range names {
		switch _, err := sign.ReadKey(d, name); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return place{}, nil, err
		default:
			keys = append(keys, name)
		}
	}
	at, err := readPlace(d)
	return at, keys, err
}
