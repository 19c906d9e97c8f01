package fleet

import (
	"context"
	"time"

	"holdfast/internal/fleet/box/root"
)

// Own is what the root of the home's own box says of itself. It is display.
type Own struct {
	Enrollment string
	root.Status
	Trouble error // it does not say anything
}

// ownPatience is how long a root on the same machine may take to say how it is.
const ownPatience = 2 * time.Second

// OwnBox asks the root of the home's own box how it is; nil for a home that is no box.
func OwnBox(ctx context.Context, h Home) *Own {
	at, _, err := look(h.Box, nil)
	if err != nil {
		return nil
	}
	own := Own{Enrollment: at.Enrollment}
	client, err := root.Dial(h.Box)
	if err != nil {
		own.Trouble = err
		return &own
	}
	defer client.Close()
	ctx, done := context.WithTimeout(ctx, ownPatience)
	defer done()
	own.Status, own.Trouble = client.Status(ctx, 0)
	return &own
}

// instancesOf are the instances whose last claim was of a box, by name.
func (c *Console) instancesOf(ctx context.Context, enrollment string) ([]string, error) {
	list, err := c.Work(nil).List(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, i := range list {
		if i.Enrollment == enrollment {
			names = append(names, i.Instance)
		}
	}
	return names, nil
}

// Of is what it says of an incarnation, nil if it says nothing.
func (o *Own) Of(instance string, incarnation uint64) *root.Instance {
	if o == nil || o.Trouble != nil {
		return nil
	}
	for _, i := range o.Instances {
		if i.Instance == instance && i.Incarnation == incarnation {
			return &i
		}
	}
	return nil
}
