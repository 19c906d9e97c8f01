package folder

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// Reason is why something in a booth is not served.
type Reason uint8

const (
	Link       Reason = iota + 1 // a symbolic link, wherever it leads
	BehindLink                   // a component of its path is a link
	Pipe                         // a FIFO
	Socket                       // a Unix socket
	Device                       // a character or block device
	Directory                    // a directory where a file was asked for
	NotFolder                    // a component of its path is no directory
	Mount                        // a mount point, file or directory, or behind one
	TooLong                      // its path is no [ItemPath]
	Changed                      // it was another thing a moment before
	Other                        // a kind of file that we do not know
)

// String says it to people, as in "not served: link, not followed".
func (r Reason) String() string {
	switch r {
	case Link:
		return "link, not followed"
	case BehindLink:
		return "behind a link, not followed"
	case Pipe:
		return "named pipe, not opened"
	case Socket:
		return "socket, not opened"
	case Device:
		return "device, not opened"
	case Directory:
		return "a folder"
	case NotFolder:
		return "behind something that is no folder"
	case Mount:
		return "mount, not entered"
	case TooLong:
		return "path too long"
	case Changed:
		return "replaced while it was opened"
	case Other:
		return "no regular file"
	default:
		return fmt.Sprintf("invalid-reason-%d", uint8(r))
	}
}

// Unserved is something that is there and is not served. In a [Survey] it is a
// row; as an error it says why a path was not opened or written.
type Unserved struct {
	Path string // as it was found or asked for; it may be no ItemPath
	Why  Reason
}

func (u *Unserved) Error() string { return fmt.Sprintf("%q is not served: %s", u.Path, u.Why) }

// reasonOf is why something of this kind is not served, 0 for a regular file.
func reasonOf(m meta) Reason {
	switch m.mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFLNK:
		return Link
	case unix.S_IFIFO:
		return Pipe
	case unix.S_IFSOCK:
		return Socket
	case unix.S_IFCHR, unix.S_IFBLK:
		return Device
	case unix.S_IFDIR:
		return Directory
	default:
		return Other
	}
}

// ErrTooLarge is in the chain of an error about a file over its stated limit.
var ErrTooLarge = errors.New("over the limit")

// whyNot turns an error that a lookup of path ended with into an *Unserved
// where it is one.
func whyNot(path string, err error) error {
	switch {
	case errors.Is(err, unix.ELOOP):
		return &Unserved{path, BehindLink}
	case errors.Is(err, unix.EXDEV):
		return &Unserved{path, Mount}
	default:
		return err
	}
}

// readWords puts an error met in reading path into public words.
func readWords(path string, err error) error {
	err = whyNot(path, err)
	var u *Unserved
	switch {
	case err == nil:
		return nil
	case errors.As(err, &u):
		return problem.New(problem.Gone, "not-served", "%s.", u.Error()).Because(u)
	case isAny(err, unix.ENOTDIR, unix.ENAMETOOLONG):
		return noItem(path).Because(fmt.Errorf("%w: %w", fs.ErrNotExist, err))
	case errors.Is(err, fs.ErrNotExist):
		return noItem(path).Because(err)
	case errors.Is(err, fs.ErrPermission):
		return problem.New(problem.Failed, "not-permitted", "%q may not be read by this service.", path).Because(err)
	default:
		return problem.New(problem.Failed, "unreadable", "%q cannot be read.", path).Because(err)
	}
}

// writeWords puts an error met before path was changed into public words.
func writeWords(path string, err error) error {
	err = whyNot(path, err)
	if errors.Is(err, unix.ENOTDIR) {
		err = &Unserved{path, NotFolder}
	}
	var known *problem.Error
	var u *Unserved
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.As(err, &u):
		return problem.Refusal("not-served", "%q is not written: %s. Nothing was changed.", u.Path, u.Why).Because(u)
	case isAny(err, unix.ENOSPC, unix.EDQUOT):
		return noSpace().Because(err)
	case errors.Is(err, fs.ErrPermission):
		return problem.Refusal("not-permitted", "%q may not be written by this service. Nothing was changed.", path).Because(err)
	default:
		return problem.New(problem.Failed, "unwritable", "%q cannot be written. Nothing was changed.", path).Because(err)
	}
}

func noItem(path string) *problem.Error {
	return problem.New(problem.Gone, "item", "There is no item %.300q.", path)
}

func noSpace() *problem.Error {
	return problem.New(problem.Failed, problem.StepNoSpace, "The disk is full. Nothing was changed.")
}

func tooLarge(path string, limit int64) *problem.Error {
	return problem.Refusal(problem.StepTooLarge, "%q is over the limit of %d bytes.", path, limit).Because(ErrTooLarge)
}

func isAny(err error, codes ...unix.Errno) bool {
	for _, c := range codes {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}
