// Package wire is what a shim and its launcher leave for each other in the folder of a
// launch. Both sides are built from it, and it is small, since it is in every shim.
//
// The launcher writes "launch" ([Launch.Encode]); the shim writes "identity", "went" and
// "exit" ([Object]), each once. The formats are in docs/FORMATS.md. Whoever changes one
// raises [Protocol]: a shim outlives the holdfast that started it, so the next one still
// has to read what the last two protocols wrote.
package wire

import (
	"errors"
	"strconv"
	"strings"
)

// Protocol is the version of all that is in a folder of a launch.
const Protocol = 1

// The files of a launch.
const (
	LaunchFile   = "launch"   // what to do; by the launcher, before the shim is started
	LockFile     = "lock"     // locked by the shim while it lives
	IdentityFile = "identity" // which process the shim is
	WentFile     = "went"     // it was told to go: without this nothing was ever started
	ExitFile     = "exit"     // how the first process ended
	ExitDraft    = "exit.new" // the room that is kept for it
	LogPrefix    = "log."     // and a number from 1
	TerminalFile = "attach"   // the socket of the terminal
)

// SegmentSize is how long a segment of the log is.
const SegmentSize = 1 << 20

// The descriptors that a shim is started with, besides three times /dev/null.
const (
	FolderFD = 3 // the folder of the launch
	GateFD   = 4 // a socket: see the words below
)

// The words of the gate, each a line. The shim says Ready after its identity is on disk,
// the launcher Go, the shim Started when the work's program has been put in place of its
// own. Failed and a reason is said instead, once. An end of file closes the gate for good.
const (
	Ready   = "ready"
	Go      = "go"
	Started = "started"
	Failed  = "failed "
)

// What a shim is told by its first argument.
const (
	AsInit  = "init"  // it is init of a new PID namespace, with mounts of its own
	AsWeak  = "weak"  // it shares both with its parent
	AsWork  = "work"  // it becomes the work; started by a shim alone
	AsProbe = "probe" // as init, but only tries and says what it can
)

// Limits are the resource limits of the work; zero leaves one as it is.
type Limits struct {
	Files, Processes, FileSize, AddressSpace, CPUSeconds uint64
	Nice                                                 int
}

// Launch is what a shim is to do.
type Launch struct {
	Argv []string // the program, by an absolute path or to be looked up in Env's PATH
	Env  []string // all of it, NAME=VALUE
	Dir  string   // where it is started

	Home string   // is hidden, unless empty
	Keep []string // folders in Home that are not

	Grace    uint64 // milliseconds from TERM to KILL
	Segments uint64 // of the log that are kept
	Terminal bool   // the work gets a terminal instead of a pipe
	Limits   Limits

	Drop     bool // the work runs as another user
	UID, GID uint32

	// What identity says of the world around it.
	MachineID, BootID string
	Outer             uint64 // inode of the launcher's PID namespace
}

const magic = "holdfast-launch/"

// Encode writes l: fields that are each ended by a NUL, alternately a name and a value.
// It is for values without a NUL.
func (l *Launch) Encode() []byte {
	var b []byte
	add := func(name, value string) {
		b = append(append(append(append(b, name...), 0), value...), 0)
	}
	all := func(name string, values []string) {
		for _, v := range values {
			add(name, v)
		}
	}
	number := func(name string, n uint64) {
		if n != 0 {
			add(name, strconv.FormatUint(n, 10))
		}
	}
	b = append(append(b, magic+strconv.Itoa(Protocol)...), 0)
	all("arg", l.Argv)
	all("env", l.Env)
	add("dir", l.Dir)
	add("home", l.Home)
	all("keep", l.Keep)
	number("grace", l.Grace)
	number("segments", l.Segments)
	number("terminal", truth(l.Terminal))
	number("files", l.Limits.Files)
	number("processes", l.Limits.Processes)
	number("file-size", l.Limits.FileSize)
	number("address-space", l.Limits.AddressSpace)
	number("cpu-seconds", l.Limits.CPUSeconds)
	number("nice", uint64(l.Limits.Nice))
	number("drop", truth(l.Drop))
	number("uid", uint64(l.UID))
	number("gid", uint64(l.GID))
	add("machine", l.MachineID)
	add("boot", l.BootID)
	number("outer", l.Outer)
	return append(b, "end\x00"...)
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

var (
	errLaunch   = errors.New("the launch file is damaged")
	errProtocol = errors.New("the launch file is of another version")
)

// Decode reads what Encode wrote, whole or not at all.
func Decode(data []byte) (*Launch, error) {
	text, whole := strings.CutSuffix(string(data), "\x00")
	fields := strings.Split(text, "\x00")
	if !whole || !strings.HasPrefix(fields[0], magic) {
		return nil, errLaunch
	}
	if fields[0] != magic+strconv.Itoa(Protocol) {
		return nil, errProtocol
	}
	fields = fields[1:]
	if len(fields)%2 != 1 || fields[len(fields)-1] != "end" {
		return nil, errLaunch
	}
	var l Launch
	for ; len(fields) > 1; fields = fields[2:] {
		if err := l.set(fields[0], fields[1]); err != nil {
			return nil, err
		}
	}
	if len(l.Argv) == 0 {
		return nil, errLaunch
	}
	return &l, nil
}

func (l *Launch) set(name, value string) error {
	switch name {
	case "arg":
		l.Argv = append(l.Argv, value)
		return nil
	case "env":
		l.Env = append(l.Env, value)
		return nil
	case "keep":
		l.Keep = append(l.Keep, value)
		return nil
	case "dir":
		l.Dir = value
		return nil
	case "home":
		l.Home = value
		return nil
	case "machine":
		l.MachineID = value
		return nil
	case "boot":
		l.BootID = value
		return nil
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return errLaunch
	}
	return l.setNumber(name, n)
}

func (l *Launch) setNumber(name string, n uint64) error {
	switch name {
	case "grace":
		l.Grace = n
	case "segments":
		l.Segments = n
	case "terminal":
		l.Terminal = n == 1
	case "files":
		l.Limits.Files = n
	case "processes":
		l.Limits.Processes = n
	case "file-size":
		l.Limits.FileSize = n
	case "address-space":
		l.Limits.AddressSpace = n
	case "cpu-seconds":
		l.Limits.CPUSeconds = n
	case "nice":
		l.Limits.Nice = int(n)
	case "drop":
		l.Drop = n == 1
	case "uid":
		l.UID = uint32(n)
	case "gid":
		l.GID = uint32(n)
	case "outer":
		l.Outer = n
	default:
		return errLaunch // a limit that is not known must not be ignored
	}
	return nil
}
