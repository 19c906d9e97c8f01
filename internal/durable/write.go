package durable

import (
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// WriteFile makes data the content of name in d, with perm (less the umask),
// whether there was such a file or not. A symbolic link of that name is
// replaced, not followed; the owner and mode of the old file are not kept. The
// error is a [*WriteError].
func (d *Dir) WriteFile(name string, data []byte, perm fs.FileMode) error {
	return d.put(name, data, perm, StepRename, func(temporary string) error {
		return unix.Renameat(d.fd(), temporary, d.fd(), name)
	})
}

// Create is WriteFile for a name that must not be there: if it is, in whatever
// form, the error is Refused and an [fs.ErrExist].
func (d *Dir) Create(name string, data []byte, perm fs.FileMode) error {
	return d.put(name, data, perm, StepLink, func(temporary string) error {
		return unix.Linkat(d.fd(), temporary, d.fd(), name, 0)
	})
}

// put stages data and lets place, the effect of step, give it its name.
func (d *Dir) put(name string, data []byte, perm fs.FileMode, step Step, place func(temporary string) error) error {
	defer runtime.KeepAlive(d)
	if err := checkName(name); err != nil {
		return refused(name, StepName, err)
	}
	t, failed, err := d.stage(data, perm)
	if err != nil {
		return refused(name, failed, err)
	}
	defer t.file.Close()
	// A crash up to here leaves the old content, and a temporary file.
	err = d.do(step, func() error { return again(func() error { return place(t.name) }) })
	if err != nil {
		return d.settle(t, name, step, err)
	}
	// A crash here leaves the old content or the new.
	if step == StepLink {
		// Failing to remove the second name does no harm: it is abandoned.
		_ = d.discard(t)
	}
	return d.syncDir(name)
}

// settle says how a write ended whose placing failed: by what the name stands
// for now, not by what the failure was.
func (d *Dir) settle(t temporary, name string, step Step, cause error) error {
	took, err := d.names(name, t.file)
	_ = d.discard(t) // at worst it is abandoned
	if err != nil || took {
		return unknown(name, step, cause)
	}
	return refused(name, step, cause)
}

// stage writes data to a temporary file and syncs it. If that fails there is no
// such file, and the step is where it failed.
func (d *Dir) stage(data []byte, perm fs.FileMode) (temporary, Step, error) {
	var t temporary
	err := d.do(StepCreateTemporary, func() (err error) {
		t, err = d.newTemporary(perm)
		return err
	})
	if err != nil {
		return temporary{}, StepCreateTemporary, d.abandon(t, err)
	}
	err = d.do(StepWrite, func() error {
		_, err := t.file.Write(data)
		return err
	})
	if err != nil {
		return temporary{}, StepWrite, d.abandon(t, err)
	}
	if err := d.do(StepSync, t.file.Sync); err != nil {
		return temporary{}, StepSync, d.abandon(t, err)
	}
	return t, "", nil
}

// abandon removes t, if it came to be, because of cause.
func (d *Dir) abandon(t temporary, cause error) error {
	if t.file == nil {
		return cause
	}
	_ = d.discard(t) // at worst it is found by RemoveAbandoned
	t.file.Close()
	return cause
}

// discard removes the temporary name. It needs no sync: coming back after a
// crash, it is abandoned.
func (d *Dir) discard(t temporary) error {
	return d.do(StepRemoveTemporary, func() error { return d.unlink(t.name) })
}

// temporary is a file that has no lasting name yet, locked by who writes it.
type temporary struct {
	name string
	file *os.File
}
