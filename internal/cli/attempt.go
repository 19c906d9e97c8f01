package cli

import (
	"os"
	"path/filepath"

	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// attempt is what a worker finds around it: whose attempt it is, and the folder
// of its booth. Either makes this command line a worker's.
type attempt struct {
	id     string // HOLDFAST_ATTEMPT
	folder string // HOLDFAST_BOOTH
}

func surroundings() attempt {
	return attempt{os.Getenv("HOLDFAST_ATTEMPT"), os.Getenv("HOLDFAST_BOOTH")}
}

func (a attempt) inside() bool { return a.id != "" || a.folder != "" }

// who is the author of what a worker writes.
func (a attempt) who() string {
	if a.id != "" {
		return "attempt/" + a.id
	}
	return "worker/" + filepath.Base(a.folder)
}

// booth is the booth that a name means: "." is the worker's own. data is the
// data folder that has it, empty where the folder is not here or another booth is
// meant.
func (a attempt) booth(name string) (exact, data string) {
	if a.folder == "" {
		return name, ""
	}
	dir, err := filepath.Abs(a.folder)
	if err != nil || name != "." && name != filepath.Base(dir) {
		return name, ""
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return filepath.Base(dir), ""
	}
	return filepath.Base(dir), filepath.Dir(dir)
}

// operatorOnly refuses a worker what only the operator decides.
func operatorOnly(what string) error {
	a := surroundings()
	if !a.inside() {
		return nil
	}
	return problem.Refusal(problem.StepNotOperator, "This is the command line of a worker (%s), and only the operator may %s. Nothing was changed.", plain.Text(a.who()), what).
		WithHint("ask: holdfast ask NAME --title …")
}
