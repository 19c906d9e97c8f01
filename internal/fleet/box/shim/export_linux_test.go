package shim

import "holdfast/internal/durable"

// SpawnOnly starts a shim in dir in the first way that the machine allows, and does not write
// what it is to do.
func SpawnOnly(h *Host, dir *durable.Dir) error {
	program, err := h.program()
	if err != nil {
		return err
	}
	defer program.Close()
	folder, err := dir.File()
	if err != nil {
		return err
	}
	defer folder.Close()
	_, _, err = h.spawn(program, folder, &Launch{})
	return err
}

// Encoded is what Start would write.
func Encoded(l Launch, at Machine) []byte { return l.wire(at, 1).Encode() }
