package git

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Version is what the git program calls itself.
func Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "version")
	cmd.Env = environment(os.LookupEnv)
	out, err := cmd.Output()
	if err != nil {
		return "", &NotStarted{Err: err}
	}
	return strings.TrimSpace(string(out)), nil
}
