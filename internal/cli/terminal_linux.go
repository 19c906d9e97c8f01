package cli

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet"
	"holdfast/internal/problem"
)

// isTerminal says whether somebody may sit at the other end of f.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// raw makes a terminal pass on each key as it is, and returns what undoes that.
func raw(f *os.File) (func(), error) {
	was, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		return nil, problem.New(problem.Failed, "terminal", "This terminal cannot be set up.").Because(err)
	}
	is := *was
	is.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	is.Oflag &^= unix.OPOST
	is.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	is.Cflag = is.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	is.Cc[unix.VMIN], is.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, &is); err != nil {
		return nil, problem.New(problem.Failed, "terminal", "This terminal cannot be set up.").Because(err)
	}
	return func() { _ = unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, was) }, nil
}

// sized keeps the window of a as large as this one, until what it returns is called.
func sized(a *fleet.Attached) func() {
	changes, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changes, unix.SIGWINCH)
	go func() {
		for {
			if size, err := unix.IoctlGetWinsize(int(os.Stdin.Fd()), unix.TIOCGWINSZ); err == nil {
				a.Resize(size.Row, size.Col)
			}
			select {
			case <-changes:
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changes)
		close(over)
	}
}
