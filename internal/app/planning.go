package app

import (
	"context"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/app/config"
	"holdfast/internal/booth/desk"
	"holdfast/internal/durable"
	fleetpages "holdfast/internal/fleet/pages"
	"holdfast/internal/page"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/observation"
	"holdfast/internal/roadmap/pages"
	"holdfast/internal/web"
)

// planning is the plan of a house. A home whose plan cannot be opened is served all
// the same: its booths need no plan, and the roadmap's pages say why.
type planning struct {
	plan    *roadmap.Plan // nil where there is trouble
	trouble error
	dir     *durable.Dir // the plan's folder; nil where there is trouble
}

func (h *house) openPlanning(ctx context.Context, c *config.Config) {
	h.plan, h.trouble = openOrBegin(ctx, c, h.log)
	if h.trouble == nil {
		if h.dir, h.trouble = durable.OpenDir(c.Plan()); h.trouble != nil {
			h.plan.Close()
		}
	}
	if h.trouble != nil {
		h.plan, h.dir = nil, nil
		h.log.Warn("the roadmap is not served", "because", h.trouble)
		if problem.KindOf(h.trouble) == problem.Failed {
			h.trouble = problem.From(h.trouble, "The plan of this home cannot be opened. The cause is in the server's log.")
		}
	}
}

func (p *planning) close() {
	if p.plan != nil {
		p.plan.Close()
		p.dir.Close()
	}
}

// planPages is the roadmap's pages.
func (h *house) planPages(frame *page.House, live func() string) (*pages.Pages, error) {
	c := pages.Config{
		House: frame, Base: h.base, Plan: h.plan, Trouble: h.trouble, Live: live, Log: h.log,
		Operator: func() (event.Principal, error) { return PlanOperator(h.config) },
		Named:    func(name string) (event.Principal, error) { return PlanPrincipal(h.config, name) },
		Changed:  func() { h.events.Publish(pages.Topic) },
	}
	if h.dir != nil {
		c.Observations = observation.At(h.dir)
	}
	return pages.New(c)
}

// rooms are the wings, as the navigation has them.
var rooms = []page.Room{desk.Room, pages.Room, fleetpages.Room, fleetpages.InstancesRoom}

// How often the plan is looked at while somebody listens: in the home itself, and
// where another machine has to be asked.
const (
	planNear = 3 * time.Second
	planFar  = 15 * time.Second
)

// planned tells open pages that the plan moved, and keeps it up and observes it at
// each tick, the first at once, until ctx is done; the channel is closed then.
func (h *house) planned(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	if h.plan == nil {
		close(done)
		return done
	}
	pause := planNear
	if isMissing(h.config.EmbeddedPlan()) {
		pause = planFar
	}
	go func() {
		defer close(done)
		look, tick := time.NewTicker(pause), time.NewTicker(h.config.Tick)
		defer look.Stop()
		defer tick.Stop()
		h.keepUp(ctx)
		last := ""
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				h.keepUp(ctx)
			case <-look.C:
				last = h.lookAtPlan(ctx, last)
			}
		}
	}()
	return done
}

// lookAtPlan publishes that the plan is another one than at last, if anybody
// listens. What cannot be asked is not another one.
func (h *house) lookAtPlan(ctx context.Context, last string) string {
	if !h.events.Heard() {
		return last
	}
	_, head, err := h.plan.End(ctx, roadmap.Now)
	if err != nil {
		return last
	}
	is := head.AsOf.Commit
	if w := head.Rewritten; w != nil {
		is += " " + w.Is
	}
	if is != last {
		h.events.Publish(pages.Topic)
	}
	return is
}

// keepUp does what has to be done for the plan now and then, and observes it.
func (h *house) keepUp(ctx context.Context) {
	if err := h.plan.Upkeep(ctx, time.Now()); err != nil && ctx.Err() == nil {
		h.log.Error("the upkeep of the plan did not finish", "err", err)
	}
	err := observation.Observe(ctx, h.plan, observation.At(h.dir), time.Now())
	if err != nil && ctx.Err() == nil {
		h.log.Error("the plan's observation was not written", "err", err)
	}
}

// policy is who may do what here.
func (h *house) policy() access.Policy {
	return access.Policy{LoginRequired: h.config.Login == config.LoginRequired}
}

// live is the address of the event stream for a page that is rendered now.
func (h *house) live() string { return h.base.URL("events") + "?since=" + h.events.Current() }

// siteRoutes are those of the whole site.
func (h *house) siteRoutes(frame *page.House, p *pages.Pages) []web.Route {
	routes := append(h.routes(), frame.Routes()...)
	return append(append(routes, h.desk.Routes()...), p.Routes()...)
}
