package app

import (
	"context"
	"errors"
	"time"

	"holdfast/internal/app/config"
	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// FleetHome is where the home's folders of the fleet are.
func FleetHome(c *config.Config) fleet.Home {
	return fleet.Home{Console: c.Console(), Box: c.Box(), Bucket: c.Bucket()}
}

// OpenConsole opens the console of a home that is one.
func OpenConsole(c *config.Config) (*fleet.Console, error) {
	if err := checkHome(c); err != nil {
		return nil, err
	}
	return fleet.OpenConsole(FleetHome(c))
}

// InitFleet begins a fleet: its store at an address, or in the home itself where that
// is empty. It makes the home, if that has the default's place.
func InitFleet(ctx context.Context, c *config.Config, address string) (fleet.Begun, error) {
	if err := prepareFleet(c); err != nil {
		return fleet.Begun{}, err
	}
	if address == "" {
		address = fleet.Embedded
	}
	return fleet.Init(ctx, FleetHome(c), address)
}

// prepareFleet makes a home into which a part in a fleet can be written.
func prepareFleet(c *config.Config) error {
	if err := mayPrepare(c); err != nil {
		return err
	}
	for _, dir := range []string{c.Console(), c.Box(), c.Bucket()} {
		if err := writable(dir); err != nil {
			return err
		}
	}
	return prepareHome(c)
}

// ConsoleKey is the public key with which a home would be a console.
func ConsoleKey(c *config.Config) (string, error) {
	if err := prepareFleet(c); err != nil {
		return "", err
	}
	return fleet.ConsoleKey(FleetHome(c))
}

// JoinConsole makes a home the console that a word says it is.
func JoinConsole(ctx context.Context, c *config.Config, word string) (fleet.At, error) {
	if err := prepareFleet(c); err != nil {
		return fleet.At{}, err
	}
	return fleet.JoinConsole(ctx, FleetHome(c), word)
}

// askEvery is how often a machine looks whether it was answered.
const askEvery = time.Second

// JoinFleet asks to come in by an invitation, and waits so long for a console to
// answer. A home that is a console itself answers at once. What is not answered in
// time is still asked, and no failure.
func JoinFleet(ctx context.Context, c *config.Config, word string, d *enrollment.Document, wait time.Duration) (fleet.Joined, error) {
	if err := prepareFleet(c); err != nil {
		return fleet.Joined{}, err
	}
	asked, err := fleet.Join(ctx, FleetHome(c), word, d)
	if err == nil && asked.State == roster.Retired.String() {
		err = problem.Refusal("invitation-retired", "The box that this machine came in as by this invitation, %s, is retired, and the invitation is spent. Nothing was changed.", asked.BoxID).
			WithHint("ask for a new invitation, and move %s away before using it", shellQuote(c.Box()))
	}
	if err != nil || asked.State != fleet.Asked {
		return asked, err
	}
	if asked, err = admitHere(ctx, c, asked); err != nil || asked.State != fleet.Asked {
		return asked, err
	}
	ctx, done := context.WithTimeout(ctx, wait)
	defer done()
	answered, err := fleet.Await(ctx, FleetHome(c), askEvery)
	if err != nil && ctx.Err() != nil {
		return asked, nil // the time was up while the store was asked
	}
	return answered, err
}

// admitHere answers as the console that the home is, if it is one, and says what came
// of it.
func admitHere(ctx context.Context, c *config.Config, asked fleet.Joined) (fleet.Joined, error) {
	console, err := fleet.OpenConsole(FleetHome(c))
	if errors.Is(err, fleet.ErrNoFleet) {
		return asked, nil
	}
	if err != nil {
		return asked, err
	}
	defer console.Close()
	_, trouble := console.Admit(ctx)
	is, err := fleet.Status(ctx, FleetHome(c))
	if err == nil && is.State == fleet.Asked {
		err = trouble // else it is another's
	}
	return is, err
}

// BoxStatus says where this machine stands.
func BoxStatus(ctx context.Context, c *config.Config) (fleet.Joined, error) {
	if err := checkHome(c); err != nil {
		return fleet.Joined{}, err
	}
	return fleet.Status(ctx, FleetHome(c))
}
