//go:build linux

package main

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim/wire"
)

// world is what the work sees of the machine.
type world struct {
	isolation string // "namespace" or "none"
	why       string // there is none
	fresh     bool   // /proc shows the namespace alone
}

// isolate hides the home and gives the namespace a /proc of its own. What cannot be had is
// said, and is not a failure: whether the work may start so is for others to decide.
func isolate(l *wire.Launch) world {
	w := world{isolation: "namespace"}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return world{isolation: "none", why: "mounts cannot be made private: " + err.Error()}
	}
	if l.Home != "" {
		if err := cover(l.Home, l.Keep); err != nil {
			w = world{isolation: "none", why: "the home cannot be hidden: " + err.Error()}
		}
	}
	// Refused where something is mounted on the old one that must stay hidden.
	w.fresh = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "") == nil
	return w
}

// kept is a folder that stays visible, held open from before its parent was covered.
type kept struct {
	fd   int
	path string
}

func hold(path string) (kept, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return kept{}, errors.New(path + ": " + err.Error())
	}
	real, err := os.Readlink(self1(fd))
	return kept{fd, real}, err
}

// self1 is a path to what fd is, whatever is mounted above it.
func self1(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// cover puts an empty file system over home, in which only what is to be kept appears.
func cover(home string, keep []string) error {
	h, err := hold(home)
	if err != nil {
		return err
	}
	defer unix.Close(h.fd)
	var inside []kept
	for _, path := range keep {
		k, err := hold(path)
		if err != nil {
			return err
		}
		defer unix.Close(k.fd)
		if k.path == h.path {
			return errors.New("it is to be kept itself")
		}
		if strings.HasPrefix(k.path, strings.TrimSuffix(h.path, "/")+"/") {
			inside = append(inside, k)
		}
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("tmpfs", h.path, "tmpfs", flags, "mode=0755,size=64k,nr_inodes=1k"); err != nil {
		return err
	}
	for _, k := range inside {
		if err := show(k); err != nil {
			_ = unix.Unmount(h.path, unix.MNT_DETACH)
			return err
		}
	}
	// What is written there would be lost.
	_ = unix.Mount("", h.path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, "")
	return nil
}

// show binds k to where it was. Mounts below it come along: without them it may not be bound
// in a user namespace.
func show(k kept) error {
	if err := os.MkdirAll(k.path, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(self1(k.fd), k.path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return errors.New(k.path + ": " + err.Error())
	}
	return nil
}

// probe tries what a shim would need, and says how that went.
func probe() {
	w := world{isolation: "namespace"}
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("tmpfs", "/", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k")
	}
	if err != nil {
		w = world{isolation: "none", why: err.Error()}
	}
	w.fresh = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "") == nil
	say(wire.Ready + " " + w.isolation + " " + strconv.FormatBool(w.fresh) + " " + w.why)
}
