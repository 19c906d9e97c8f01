package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// owner is the file of a snapshot's owner, canonical JSON. A member is never given
// another meaning: that is a new schema.
type owner struct {
	Schema    string    `json:"schema"`
	Machine   string    `json:"machine_id"` // a digest of the machine's own id
	Boot      string    `json:"boot_id"`
	PID       int       `json:"pid"`
	Operation string    `json:"operation"`
	Since     time.Time `json:"since"`
}

const (
	ownerSchema = "holdfast.snapshot-owner/v1"
	maxOwner    = 4096
)

func decodeOwner(data []byte) (owner, error) {
	var o owner
	if err := canon.Decode(data, &o); err != nil {
		return owner{}, err
	}
	switch {
	case o.Schema != ownerSchema:
		return owner{}, errors.New("its schema is not " + ownerSchema)
	case o.Machine == "", o.Boot == "", o.PID < 1:
		return owner{}, errors.New("it names no machine, no boot or no process")
	}
	return o, checkOperation(o.Operation)
}

// checkOperation refuses a name of an operation that is none.
func checkOperation(name string) error {
	if name == "" || len(name) > 64 {
		return errors.New("the operation has no name, or a long one")
	}
	for _, r := range name {
		if r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return fmt.Errorf("the operation's name %q is not in lower case with hyphens", name)
		}
	}
	return nil
}

// Owner is what is known of the owner of a snapshot.
//
//sumtype:decl
type Owner interface{ isOwner() }

// Alive: the lock is held, by the owner or by a process that it has started.
type Alive struct{}

// Gone: neither the owner nor anything that it had started is there any more.
type Gone struct{ Evidence string }

// Unknown: that cannot be told.
type Unknown struct{ Reason string }

func (Alive) isOwner()   {}
func (Gone) isOwner()    {}
func (Unknown) isOwner() {}

// Judge asks who owns n, now. It takes the lock for an instant, so that of two that
// ask at once one may be told alive: the harmless mistake.
func (s *Store) Judge(n Name) Owner {
	verdict, lock := s.judge(n.owner())
	if lock != nil {
		_ = lock.Release()
	}
	return verdict
}

// judge asks for the owner in the file name. Where it is gone the lock is the
// caller's, so that it stays so.
func (s *Store) judge(name string) (Owner, *durable.Lock) {
	lock, err := s.owners.LockFile(name)
	var held *durable.Held
	switch {
	case errors.As(err, &held):
		return Alive{}, nil
	case errors.Is(err, fs.ErrNotExist):
		return Unknown{"it has no owner's file"}, nil
	case errors.Is(err, durable.ErrNotRegular):
		return Unknown{"its owner's file is no regular file"}, nil
	case err != nil:
		return Unknown{"its owner's file cannot be locked: " + problem.Words(err)}, nil
	}
	verdict := s.left(lock.File())
	if _, gone := verdict.(Gone); !gone {
		_ = lock.Release()
		return verdict, nil
	}
	return verdict, lock
}

// left judges by an owner's file whose lock could be had.
func (s *Store) left(f *os.File) Owner {
	if trusted, err := s.ident.trust(f); err != nil || !trusted {
		return Unknown{"its owner's file is on a file system whose locks do not say who is alive"}
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxOwner+1))
	if err == nil && len(data) > maxOwner {
		err = durable.ErrTooLarge
	}
	if err != nil {
		return Unknown{"its owner's file cannot be read: " + problem.Words(err)}
	}
	o, err := decodeOwner(data)
	switch {
	case err != nil:
		return Unknown{"its owner's file is damaged: " + err.Error()}
	case o.Machine != s.ident.machine:
		return Unknown{"its owner is on another machine"}
	case o.Boot != s.ident.boot:
		return Gone{"the machine was started anew since"}
	default:
		return Gone{"the lock of its owner's file was free"}
	}
}
