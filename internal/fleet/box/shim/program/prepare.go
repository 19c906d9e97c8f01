//go:build linux

package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim/wire"
)

// shim is the one that runs.
type shim struct {
	folder  folder
	weak    bool
	signals <-chan os.Signal
	launch  *wire.Launch
	exit    int // the room for the exit file
	first   int // the first process of the work, 0 before it is started
}

func nameOfShim() uintptr {
	name := [16]byte{}
	copy(name[:], "holdfast-shim")
	return uintptr(unsafe.Pointer(&name[0]))
}

// prepare does all that comes before the gate; afterwards the shim is known by its
// identity, and nothing of the work exists.
func (s *shim) prepare() error {
	// A shim that is told that it is init ends all of its namespace. In any other process
	// that would be all of the machine.
	if !s.weak && os.Getpid() != 1 {
		return errors.New("being the init of a namespace, which it is not")
	}
	here("shim.lock:before")
	if err := s.folder.lock(); err != nil {
		return errors.New("its lock: " + err.Error())
	}
	here("shim.lock:after")
	data, err := s.folder.read(wire.LaunchFile)
	if err != nil {
		return errors.New("its launch file: " + err.Error())
	}
	if s.launch, err = wire.Decode(data); err != nil {
		return err
	}
	if s.exit, err = s.folder.reserve(wire.ExitDraft); err != nil {
		return errors.New("room for its exit file: " + err.Error())
	}
	id, err := self()
	if err != nil {
		return errors.New("who it is: " + err.Error())
	}
	w := world{isolation: "none"}
	if s.weak {
		if len(os.Args) > 2 {
			w.why = os.Args[2]
		}
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return errors.New("being the parent of orphans: " + err.Error())
		}
	} else {
		w = isolate(s.launch)
	}
	here("shim.identity:before")
	if err := s.folder.create(wire.IdentityFile, s.identity(id, w)); err != nil {
		return errors.New("its identity file: " + err.Error())
	}
	here("shim.identity:after")
	return nil
}

// person is how the world outside knows this process.
type person struct{ pid, start, namespace uint64 }

// self looks at this process as the /proc sees it that was mounted by others: it is that of
// the namespace in which the launcher lives.
func self() (person, error) {
	var p person
	name, err := os.Readlink("/proc/self")
	if err != nil {
		return p, err
	}
	if p.pid, err = strconv.ParseUint(name, 10, 32); err != nil {
		return p, err
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return p, err
	}
	// The second field is in brackets and may hold anything; the 22nd is the start.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return p, errors.New("stat is too short")
	}
	if p.start, err = strconv.ParseUint(fields[19], 10, 64); err != nil {
		return p, err
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return p, err
	}
	p.namespace = st.Ino
	return p, nil
}

func (s *shim) identity(p person, w world) []byte {
	proof := "namespace"
	if s.weak {
		proof = "weak"
	}
	var o wire.Object
	o.Text("boot_id", s.launch.BootID)
	o.Bool("fresh_proc", w.fresh)
	o.Text("isolation", w.isolation)
	o.Text("isolation_why", w.why)
	o.Text("machine_id", s.launch.MachineID)
	o.Number("namespace", p.namespace)
	o.Number("outer_namespace", s.launch.Outer)
	o.Number("pid", p.pid)
	o.Text("proof", proof)
	o.Number("protocol", wire.Protocol)
	o.Number("start", p.start)
	return o.Bytes()
}

// leave writes how the work ended, as the last thing that the shim does. Where it cannot be
// written the exit is unknown, which is what its absence means.
func (s *shim) leave(exit wire.Object) {
	data := exit.Bytes()
	here("shim.exit:before")
	if _, err := unix.Pwrite(s.exit, data, 0); err == nil && unix.Ftruncate(s.exit, int64(len(data))) == nil {
		_ = s.folder.publish(s.exit, wire.ExitDraft, wire.ExitFile)
	}
	here("shim.exit:after")
	os.Exit(0)
}

func unknown(why string) wire.Object {
	var o wire.Object
	o.Text("kind", "unknown")
	o.Text("why", why)
	return o
}

// ended is the exit of a process that wait has spoken of.
func ended(status unix.WaitStatus) wire.Object {
	var o wire.Object
	if status.Signaled() {
		o.Text("kind", "signalled")
		o.Number("signal", uint64(status.Signal()))
		return o
	}
	o.Text("kind", "exited")
	o.Number("status", uint64(status.ExitStatus()))
	return o
}
