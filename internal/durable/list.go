package durable

// Names lists what is in d, in no order.
func (d *Dir) Names() ([]string, error) {
	list, err := d.reopen()
	if err != nil {
		return nil, err
	}
	defer list.Close()
	return list.Readdirnames(-1)
}

// Remove removes the file called name; one that is not there is as good as removed.
// A crash may bring it back.
func (d *Dir) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return d.unlink(name)
}
