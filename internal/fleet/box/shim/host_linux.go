package shim

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim/embedded"
	"holdfast/internal/problem"
)

// Host is the machine, as far as shims are concerned. Its fields are for tests to change
// before the first use.
type Host struct {
	Box       *durable.Dir // where the program is kept, and a machine id where the system has none
	Proc      string       // where the kernel tells of processes
	MachineID string       // the file that names the machine
}

// NewHost is this machine. box stays the caller's.
func NewHost(box *durable.Dir) *Host {
	return &Host{Box: box, Proc: "/proc", MachineID: "/etc/machine-id"}
}

const machineFile = "machine-id"

var (
	machineForm = regexp.MustCompile(`^[0-9a-f]{32}$`)
	bootForm    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// Machine says which machine this is and which of its boots.
func (h *Host) Machine() (Machine, error) {
	id, err := h.machineID()
	if err != nil {
		return Machine{}, problem.New(problem.Failed, "machine-id", "It cannot be told which machine this is.").Because(err)
	}
	boot, err := os.ReadFile(filepath.Join(h.Proc, "sys/kernel/random/boot_id"))
	if err == nil && !bootForm.MatchString(strings.TrimSpace(string(boot))) {
		err = errors.New("boot_id has another form")
	}
	if err != nil {
		return Machine{}, problem.New(problem.Failed, "boot-id", "It cannot be told which boot of the machine this is.").Because(err)
	}
	return Machine{ID: id, Boot: strings.TrimSpace(string(boot))}, nil
}

// machineID is the system's, or else one that the box has made up and kept.
func (h *Host) machineID() (string, error) {
	data, err := os.ReadFile(h.MachineID)
	if id := strings.TrimSpace(string(data)); err == nil && machineForm.MatchString(id) {
		return id, nil
	}
	made := make([]byte, 16)
	_, _ = rand.Read(made)
	err = h.Box.Create(machineFile, []byte(hex.EncodeToString(made)+"\n"), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if data, err = h.Box.ReadFile(machineFile, 64); err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(data))
	if !machineForm.MatchString(id) {
		return "", errors.New("the machine id that was kept is damaged")
	}
	return id, nil
}

// namespaceOf is the inode of the PID namespace of a process, "self" among them.
func (h *Host) namespaceOf(process string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(h.Proc, process, "ns/pid"), &st); err != nil {
		return 0, err
	}
	return st.Ino, nil
}

var digest = sync.OnceValue(func() [sha256.Size]byte { return sha256.Sum256(embedded.Program()) })

// program is the shim's program, open, and found to have the bytes that it should. It is put
// on disk by the first that needs it; what was changed there is written anew.
func (h *Host) program() (*os.File, error) {
	if len(embedded.Program()) == 0 {
		return nil, problem.Refusal("shim-missing", "This holdfast was built without the program that watches over work (the shim). Nothing was started.").
			WithHint("Build it with make, or run make shim before go build.")
	}
	sum := digest()
	name := "shim-" + hex.EncodeToString(sum[:])
	if f, err := h.openProgram(name); err == nil {
		return f, nil
	}
	if err := h.Box.WriteFile(name, embedded.Program(), 0o700); err != nil {
		return nil, problem.New(problem.Failed, "shim-program", "The program that watches over work could not be written. Nothing was started.").Because(err)
	}
	f, err := h.openProgram(name)
	if err != nil {
		return nil, problem.New(problem.Failed, "shim-program", "The program that watches over work cannot be used. Nothing was started.").Because(err)
	}
	return f, nil
}

// lowest is above the descriptors that a shim is given.
const lowest = 16

func (h *Host) openProgram(name string) (*os.File, error) {
	box, err := h.Box.File()
	if err != nil {
		return nil, err
	}
	defer box.Close()
	opened, err := unix.Openat(int(box.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(opened)
	fd, err := unix.FcntlInt(uintptr(opened), unix.F_DUPFD_CLOEXEC, lowest)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	sum, hash := digest(), sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(f, int64(len(embedded.Program()))+1)); err == nil && !bytes.Equal(hash.Sum(nil), sum[:]) {
		err = errors.New("the shim on disk has other bytes than its name says")
		f.Close()
		return nil, err
	} else if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
