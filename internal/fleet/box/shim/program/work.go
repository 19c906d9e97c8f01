//go:build linux

package main

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim/wire"
)

// The descriptors that the second stage has besides the work's own three.
const (
	launchFD = 3
	wordsFD  = 4 // why the work could not be started; closed by its start
)

// work turns this process into the work. It is a stage of its own because a limit that was
// lowered for the work must not hold for the shim.
func work() {
	unix.CloseOnExec(launchFD)
	unix.CloseOnExec(wordsFD)
	err := become()
	_ = writeAll(wordsFD, []byte(err.Error()))
	os.Exit(127)
}

func become() error {
	data, err := readAll(launchFD)
	if err != nil {
		return errors.New("the launch file: " + err.Error())
	}
	l, err := wire.Decode(data)
	if err != nil {
		return err
	}
	if l.Limits.Nice > 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, l.Limits.Nice); err != nil {
			return errors.New("nice: " + err.Error())
		}
	}
	if err := disarm(l); err != nil {
		return err
	}
	if err := unix.Chdir(l.Dir); err != nil {
		return errors.New("the directory " + l.Dir + ": " + err.Error())
	}
	path, err := find(l)
	if err != nil {
		return err
	}
	if err := limit(&l.Limits); err != nil {
		return err
	}
	return errors.New(path + ": " + syscall.Exec(path, l.Argv, l.Env).Error())
}

// disarm gives up what the set-up needed and the work must not have.
func disarm(l *wire.Launch) error {
	if l.Drop {
		err := syscall.Setgroups([]int{int(l.GID)})
		if err == nil {
			err = syscall.Setresgid(int(l.GID), int(l.GID), int(l.GID))
		}
		if err == nil {
			err = syscall.Setresuid(int(l.UID), int(l.UID), int(l.UID))
		}
		if err != nil {
			return errors.New("becoming the user of the work: " + err.Error())
		}
	}
	if os.Geteuid() == 0 {
		return nil // whoever gives root's work to a box gives it all
	}
	err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err == nil {
		var none [2]unix.CapUserData
		err = unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
	}
	if err != nil {
		return errors.New("giving up capabilities: " + err.Error())
	}
	return nil
}

// limit lowers the limits, of this thread's process, for good.
func limit(l *wire.Limits) error {
	for _, one := range []struct {
		name  string
		what  int
		value uint64
	}{
		{"files", unix.RLIMIT_NOFILE, l.Files},
		{"processes", unix.RLIMIT_NPROC, l.Processes},
		{"file_size", unix.RLIMIT_FSIZE, l.FileSize},
		{"cpu_seconds", unix.RLIMIT_CPU, l.CPUSeconds},
		{"address_space", unix.RLIMIT_AS, l.AddressSpace},
	} {
		if one.value == 0 {
			continue
		}
		var now syscall.Rlimit
		err := syscall.Getrlimit(one.what, &now)
		if err == nil {
			now.Max = min(now.Max, one.value)
			now.Cur = now.Max
			err = syscall.Setrlimit(one.what, &now)
		}
		if err != nil {
			return errors.New("limit " + one.name + ": " + err.Error())
		}
	}
	return nil
}

// find looks for the program as a shell would, in the work's own PATH.
func find(l *wire.Launch) (string, error) {
	name := l.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, e := range l.Env {
		path, is := strings.CutPrefix(e, "PATH=")
		if !is {
			continue
		}
		for _, dir := range strings.Split(path, ":") {
			candidate := dir + "/" + name
			var st unix.Stat_t
			if dir != "" && unix.Stat(candidate, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && unix.Access(candidate, unix.X_OK) == nil {
				return candidate, nil
			}
		}
	}
	return "", errors.New(name + ": no such program in the PATH of the work")
}
