package root

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"holdfast/internal/problem"
)

// The sessions that this folder's roots have taken, or asked for, the newest last, one a
// line. A root takes over a session only from one of them: where the store has another, a
// root of a copy of this folder has worked since the two were one, and the generations of
// the two journals say nothing of each other.
const (
	sessionsFile = "sessions"
	maxSessions  = 256
	sessionsSize = 64 << 10
)

func (r *Root) sessions() ([]string, error) {
	data, err := r.folder.ReadFile(sessionsFile, sessionsSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(data)), err
}

// note writes down that this root asks for a session, before it does.
func (r *Root) note(own []string, id string) error {
	if slices.Contains(own, id) {
		return nil
	}
	own = append(slices.Clone(own), id)
	data := []byte(strings.Join(own[max(0, len(own)-maxSessions):], "\n") + "\n")
	err := r.folder.WriteFile(sessionsFile, data, 0o600)
	if err != nil && problem.From(err, "").Step == problem.StepNoSpace && r.giveUpReserve() {
		return r.folder.WriteFile(sessionsFile, data, 0o600) // stops are ordered under it
	}
	return err
}
