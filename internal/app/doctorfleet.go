package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"holdfast/internal/app/config"
	"holdfast/internal/fleet"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/plain"
)

// checkFleet looks at the home's part in a fleet. It changes nothing but what is
// remembered of the roster, which it verifies.
func checkFleet(ctx context.Context, c *config.Config, _ *slog.Logger) []Check {
	part, err := fleet.Look(FleetHome(c))
	if err != nil {
		return []Check{ill("fleet", err)}
	}
	if part.Console == "" && part.Box == "" {
		return []Check{well("fleet", "this home is no console and no box of one")}
	}
	checks := []Check{
		well("fleet", "%s of the fleet that is kept %s", partOf(part), storeAt(part.Store)),
		well("keys", "%s: for their owner alone", strings.Join(part.Keys, ", ")),
	}
	if part.Console != "" {
		checks = append(checks, checkConsole(ctx, c)...)
	}
	if part.Box != "" {
		checks = append(checks, checkBox(ctx, c))
		checks = append(checks, checkMachine(ctx, c)...)
		checks = append(checks, checkRoot(ctx, c)...)
	}
	return checks
}

func partOf(p fleet.Part) string {
	switch {
	case p.Box == "":
		return "this home is the console " + p.Console
	case p.Console == "":
		return "this home is a box"
	default:
		return "this home is the console " + p.Console + ", and a box,"
	}
}

// storeAt is where a store is, in words.
func storeAt(address string) string {
	if address == fleet.Embedded {
		return "in the home itself"
	}
	return "at " + plain.Text(address)
}

// checkConsole verifies the roster and the last step of its log.
func checkConsole(ctx context.Context, c *config.Config) []Check {
	console, err := fleet.OpenConsole(FleetHome(c))
	if err != nil {
		return []Check{ill("roster", err)}
	}
	defer console.Close()
	boxes, err := console.Boxes(ctx)
	if err != nil {
		return []Check{ill("roster", err)}
	}
	roster := well("roster", "verified at revision %d, with %s", boxes.Revision, plain.Count(len(boxes.Boxes), "row"))
	last, err := console.Log(ctx, 1)
	if err == nil && len(last) == 0 {
		err = errors.New("the log of the roster is empty")
	}
	if err != nil {
		return []Check{roster, ill("log", err)}
	}
	return []Check{roster, well("log", "revision %d, by %s: %s", last[0].Revision, last[0].Writer, plain.Text(strings.Join(last[0].Changes, ", ")))}
}

func checkBox(ctx context.Context, c *config.Config) Check {
	j, err := fleet.Status(ctx, FleetHome(c))
	switch {
	case err != nil:
		return ill("box", err)
	case j.State == fleet.Asked:
		return well("box", "%s has asked to come in, and no console has answered yet", j.BoxID)
	default:
		return well("box", "%s is %s, as the roster of revision %d says", j.BoxID, j.State, j.Revision)
	}
}

// checkMachine tries what this machine can give to work, by starting a process that does
// nothing and ends.
func checkMachine(ctx context.Context, c *config.Config) []Check {
	means, err := fleet.Means(ctx, FleetHome(c))
	if err != nil {
		return []Check{ill("shim", err)}
	}
	checks := []Check{well("shim", "the program that watches over work starts on this machine")}
	proof := well("proof", "a stop is proved by %s", means.Proof)
	if means.ProofWhy != "" {
		proof.Detail = fmt.Sprintf("a stop could be proved only by %s: %s", means.Proof, plain.Text(means.ProofWhy))
		if proof.OK = c.BoxAllowWeak; !proof.OK {
			proof.Hint = "allow this user namespaces; or set box.allow_weak = true in holdfast.toml, which accepts it"
		}
	}
	isolation := well("isolation", "%s: work does not see the home", means.Isolation)
	if means.Isolation == "none" {
		isolation = well("isolation", "none: work sees the home, and everything of this user (%s)", plain.Text(means.IsolationWhy))
	}
	return append(checks, proof, isolation, checkUser(c))
}

// checkUser looks at whom work runs as.
func checkUser(c *config.Config) Check {
	switch {
	case os.Geteuid() != 0 && c.BoxUser == "":
		return well("user", "work runs as the user who runs the box")
	case c.BoxUser != "":
		return well("user", "work runs as %s", plain.Text(c.BoxUser))
	case c.BoxAllowRoot:
		return well("user", "work runs as root, which box.allow_root allows")
	}
	return Check{Name: "user", Detail: "work would run as root, and is refused", Hint: "set box.user in holdfast.toml to the user that it is to run as, or allow it by box.allow_root = true"}
}

// checkRoot asks the box's root.
func checkRoot(ctx context.Context, c *config.Config) []Check {
	s, err := RootStatus(ctx, c)
	switch {
	case err != nil:
		return []Check{ill("root", err)}
	case s == nil:
		return []Check{well("root", "none runs: nothing is started or stopped here until holdfast up starts one")}
	}
	standing := well("root", "takes orders, with %s and %s under way (process %d)", plain.Count(len(s.Instances), "instance"), plain.Count(len(s.Intents), "act"), s.PID)
	if s.Mode != root.Ready {
		standing.OK, standing.Detail = false, "takes no orders: "+plain.Text(s.Why)
	}
	reserve := well("reserve", "room for stops on a full disk is kept")
	switch {
	case s.Reserve:
	case len(s.Instances) == 0:
		reserve.Detail = "room for stops on a full disk is set aside when work is first started"
	default:
		reserve = Check{Name: "reserve", Detail: "the room for stops on a full disk is not kept: nothing new is started", Hint: "make room on the disk of the home"}
	}
	return []Check{standing, reserve}
}
