package desk

// Touched says that something in the booth called name may have changed that nobody
// waits for.
func (d *Desk) Touched(name string) { d.bells.note(map[string]bool{name: true}) }
