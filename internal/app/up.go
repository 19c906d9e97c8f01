package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/app/config"
	"holdfast/internal/booth/desk"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/durable"
	fleetpages "holdfast/internal/fleet/pages"
	"holdfast/internal/obs"
	"holdfast/internal/page"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// How long a sign-in link is good: the one that up prints, which somebody may
// look for later in a log, and one that was asked for.
const (
	firstLinkLife = time.Hour
	linkLife      = 10 * time.Minute
)

// maxStreams is how many pages may listen for changes at once.
const maxStreams = 1024

// Up serves the desk until ctx is done. serving is called once, when requests
// are answered. What can be told beforehand is refused before anything is made.
func Up(ctx context.Context, c *config.Config, b Build, log io.Writer, serving func(Serving) error) error {
	if err := checkExposure(c); err != nil {
		return err
	}
	if err := mayPrepare(c); err != nil {
		return err
	}
	base, err := web.ParseBase(c.BasePath)
	if err != nil {
		return err
	}
	if err := alreadyServed(c); err != nil {
		return err
	}
	ln, err := web.Listen(c.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	hosts, err := web.NewHosts(ln.Addr(), c.Hosts, nil)
	if err != nil {
		return err
	}
	if err := prepareHome(c); err != nil {
		return err
	}
	deskDir, err := durable.OpenDir(c.DeskDir())
	if err != nil {
		return problem.Refusal("home", "%s cannot be opened.", c.DeskDir()).Because(err)
	}
	defer deskDir.Close()
	lock, err := takeHome(ctx, c, deskDir)
	if err != nil {
		return err
	}
	defer lock.Release()
	h, err := newHouse(ctx, c, base, log)
	if err != nil {
		return err
	}
	defer h.close()
	site, err := h.site(hosts)
	if err != nil {
		return err
	}
	now := h.serving(ln.Addr())
	if err := writeServing(deskDir, now); err != nil {
		return err
	}
	if err := serving(now); err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	watching, sweeping, planned, answered, fleeting := h.watch(ctx), h.sweep(ctx), h.planned(ctx), h.answered(ctx), h.fleeting(ctx)
	boxed := h.boxed(ctx, b)
	defer func() {
		end()
		<-watching
		<-sweeping
		<-planned
		<-answered
		<-fleeting
		<-boxed
	}()
	return web.Serve(ctx, ln, site, web.ServeConfig{Log: h.log})
}

// reachable is an address as a browser on this machine can use it: listening on
// every address, that is the loopback one.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}

// checkExposure refuses to show the desk beyond this machine to whoever asks.
func checkExposure(c *config.Config) error {
	if web.IsLoopback(c.Listen) {
		return nil
	}
	if c.Login != config.LoginRequired {
		return problem.Refusal("login", "%s can be reached from other machines, and desk.login is %q: whoever finds it could read everything. Nothing was started.", c.Listen, c.Login).
			WithHint("set desk.login = \"required\" in holdfast.toml, or listen on 127.0.0.1")
	}
	return nil
}

// house is one running "up".
type house struct {
	config  *config.Config
	base    web.Base
	key     access.Key
	deskDir *durable.Dir
	data    *folder.Data
	ledger  *ledger.Ledger
	sweeper *sweep.Sweeper
	watcher atomic.Pointer[watcher] // nil before, and where nothing can be watched
	log     *slog.Logger
	metrics *obs.Metrics
	events  *web.Events
	links   access.Links

	planning

	auth  *web.Auth
	desk  *desk.Desk
	boxes *fleetpages.Pages

	scraping sync.Mutex // held while the lanes are set and written
}

// newHouse opens what is in a home that is prepared.
func newHouse(ctx context.Context, c *config.Config, base web.Base, log io.Writer) (*house, error) {
	key, err := access.LoadOrCreateKey(c.DeskDir())
	if err != nil {
		return nil, err
	}
	deskDir, err := durable.OpenDir(c.DeskDir())
	if err != nil {
		return nil, problem.Refusal("home", "%s cannot be opened.", c.DeskDir()).Because(err)
	}
	data, err := folder.OpenData(c.Booths())
	if err != nil {
		deskDir.Close()
		return nil, err
	}
	h := &house{
		config: c, base: base, key: key, data: data, deskDir: deskDir, ledger: ledger.New(deskDir),
		log: obs.Logger(log, c.LogLevel), metrics: obs.NewMetrics(), events: web.NewEvents(maxStreams),
	}
	h.sweeper, err = OpenSweeper(ctx, c, Sweepable{Data: data, Desk: deskDir, Ledger: h.ledger, Log: h.log, Holder: holderUp})
	if err != nil {
		h.close()
		return nil, err
	}
	h.openPlanning(ctx, c)
	return h, nil
}

func (h *house) close() {
	if h.desk != nil {
		h.desk.Close()
	}
	if h.boxes != nil {
		h.boxes.Close()
	}
	if h.sweeper != nil {
		h.sweeper.Close()
	}
	h.planning.close()
	h.data.Close()
	h.deskDir.Close()
}

// serving is where the house answers, with a first sign-in link.
func (h *house) serving(addr net.Addr) Serving {
	origin := "http://" + reachable(addr)
	return Serving{
		URL:    origin + strings.TrimSuffix(h.base.String(), "/"),
		SignIn: origin + h.auth.SignInPath(h.links.Mint(time.Now(), firstLinkLife)),
		PID:    os.Getpid(),
		TTL:    h.config.TTL,
	}
}

// site joins the wings' routes into one site.
func (h *house) site(hosts *web.Hosts) (*web.Site, error) {
	policy := h.policy()
	var err error
	h.auth, err = web.NewAuth(web.AuthConfig{Key: h.key, Principal: principal(h.config), Links: &h.links, Base: h.base})
	if err != nil {
		return nil, err
	}
	frame, err := page.New(h.base, rooms...)
	if err != nil {
		return nil, err
	}
	h.desk, err = desk.New(desk.Config{
		House: frame, Data: h.data, Ledger: h.ledger, Sweeper: h.sweeper, FolderPath: h.config.Booths(), TTL: h.config.TTL,
		Base: h.base, Key: h.key, Policy: policy, Log: h.log, Now: time.Now,
		Watched: func(name string) bool {
			w := h.watcher.Load()
			return w != nil && w.watches(filepath.Join(h.config.Booths(), name))
		},
		Live: h.live,
	})
	if err != nil {
		return nil, err
	}
	plan, err := h.planPages(frame, h.live)
	if err != nil {
		return nil, err
	}
	h.boxes, err = h.fleetPages(frame)
	if err != nil {
		return nil, err
	}
	return web.NewSite(web.Config{
		Base: h.base, Hosts: hosts, Auth: h.auth, Policy: policy,
		Routes: append(h.siteRoutes(frame, plan), h.boxes.Routes()...), ErrorPage: frame.ErrorPage, Log: h.log,
		Count: h.metrics.Request,
	})
}

// routes are the house's own addresses, which belong to no wing.
func (h *house) routes() []web.Route {
	return []web.Route{
		{Method: http.MethodGet, Pattern: "/healthz", Action: access.ReadPublic, Handler: h.serveHealth},
		{Method: http.MethodGet, Pattern: "/metrics", Action: access.ReadMetrics, Handler: h.serveMetrics},
		{Method: http.MethodGet, Pattern: "/events", Action: access.ReadPages, Handler: h.events.Serve},
		{Method: http.MethodPost, Pattern: "/api/v1/sign-in-links", Action: access.MintSignInLink, Handler: h.serveLink},
	}
}

// principal names the operator: as configured, else who runs this, on which
// machine.
func principal(c *config.Config) string {
	if c.Principal != "" {
		return c.Principal
	}
	name := fmt.Sprintf("uid-%d", os.Getuid())
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && u.Username != "" {
		name = u.Username
	}
	return onThisMachine(name)
}

// onThisMachine is somebody who is known here by a bare name.
func onThisMachine(name string) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return "principal:local/" + host + "/" + name
}
