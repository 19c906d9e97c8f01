package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"holdfast/internal/app/config"
	"holdfast/internal/fleet"
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
