package marks

import "encoding/json"

// Mended is what could be made of a damaged document.
type Mended struct {
	Data []byte   // a whole document with what hydrated
	Kept int      // how many marks that is
	Lost []string // a sentence for each thing that could not be read
}

// Mend makes a whole document of a damaged one: what hydrates stays, as it was
// written. Its rev is another one than before, so that whoever waits sees it.
func Mend(data []byte) (Mended, error) {
	c := read(data)
	d := &Document{content: c}
	if d.members == nil {
		d.members = map[string]json.RawMessage{}
	}
	d.touch()
	out, err := d.Encode()
	return Mended{out, len(c.entries), c.damage}, err
}
