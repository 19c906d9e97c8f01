// Package config is where every setting comes from: flags, then HOLDFAST_*
// environment variables, then holdfast.toml in the home, then defaults.
//
// [Settings] is the list and the manual: a setting that is not in it does not
// exist, and a key in the file that is not in it is refused by name, so
// that a misspelt setting never silently means its default. [Config.Values] says
// what each setting is and which source it came from.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// File is the configuration file's name in the home.
const File = "holdfast.toml"

// Login says who may read without a credential.
type Login uint8

const (
	// LoginOpen: anybody who reaches the desk may read; only the operator may
	// decide.
	LoginOpen Login = iota + 1
	// LoginRequired: nothing is shown without a credential.
	LoginRequired
)

func (l Login) String() string {
	switch l {
	case LoginOpen:
		return "open"
	case LoginRequired:
		return "required"
	default:
		return "invalid"
	}
}

// Config holds every setting, checked. Only [Load] makes one.
type Config struct {
	// Home is the folder that everything lives in; absolute.
	Home string
	// HomeNamed says that somebody named the home, so that a missing one is a
	// mistake and not a first start.
	HomeNamed bool
	// Listen is the address that the desk listens on, host:port; port 0 picks one.
	Listen string
	// BasePath is where the desk stands on its host when a proxy gives it a
	// path; begins and ends with a slash.
	BasePath string
	// Hosts are further names that the desk answers to, beside the address that
	// it listens on.
	Hosts []string
	// Login says who may read without a credential.
	Login Login
	// Principal is whom the operator's acts are put down to; empty means the user
	// who runs the desk, on this machine.
	Principal string
	// TTL is how long a booth outlives its newest stamp.
	TTL time.Duration
	// Tick is how often the sweeper looks for booths whose time is up.
	Tick time.Duration
	// TrashTTL is how long the trash keeps a booth, in time that a desk runs; 0
	// deletes at once.
	TrashTTL time.Duration
	// LogLevel is what the log holds: this level and above.
	LogLevel slog.Level
	// BoxUser is whom work on this box runs as, empty for the user who runs the box.
	BoxUser string
	// BoxAllowRoot lets work on this box run as uid 0.
	BoxAllowRoot bool
	// BoxAllowWeak lets work start on this box though its stop could be proved only
	// weakly.
	BoxAllowWeak bool
	// NoBox says that up does not serve the box that the home may be.
	NoBox bool
	// URL is the server that commands talk to instead of the folder; nil for none.
	URL *url.URL
	// Token is the credential that commands show to that server.
	Token string

	values []Value
}

// Booths is the data folder.
func (c *Config) Booths() string { return filepath.Join(c.Home, "booths") }

// DeskDir is where the desk keeps what it needs to know beside the booths.
func (c *Config) DeskDir() string { return filepath.Join(c.Home, "desk") }

// Plan is where the home's part of the plan is: what was read of it, what waits
// to be appended.
func (c *Config) Plan() string { return filepath.Join(c.Home, "plan") }

// EmbeddedPlan is the repository of a plan that is kept in the home itself.
func (c *Config) EmbeddedPlan() string { return filepath.Join(c.Home, "roadmap.git") }

// Console is where the home is a console of a fleet: its keys, and what it verified.
func (c *Config) Console() string { return filepath.Join(c.Home, "console") }

// Box is where the home is a box of a fleet.
func (c *Config) Box() string { return filepath.Join(c.Home, "box") }

// Bucket is the store of a fleet that is kept in the home itself.
func (c *Config) Bucket() string { return filepath.Join(c.Home, "bucket") }

// Setting is one thing that can be set.
type Setting struct {
	Key     string // as in holdfast.toml, with its table: "desk.listen"; empty: not in the file
	Env     string // environment variable
	Flag    string // command line flag, without dashes; empty: has none
	Default string
	Secret  bool // never printed
	List    bool // a list of texts in the file
	Switch  bool // true or false
	Doc     string
	set     func(*Config, string) error
}

// Name is what the setting is called in messages and in `holdfast config`.
func (s Setting) Name() string {
	if s.Key != "" {
		return s.Key
	}
	return strings.ToLower(strings.TrimPrefix(s.Env, "HOLDFAST_"))
}

// Settings is every setting but the home, in the order in which they are shown.
// A list is written with commas outside the file.
var Settings = []Setting{
	{
		Key: "desk.listen", Env: "HOLDFAST_LISTEN", Flag: "listen", Default: "127.0.0.1:7433",
		Doc: "address to listen on, HOST:PORT; port 0 picks a free one; anything but loopback needs desk.login = \"required\" and desk.hosts",
		set: setListen,
	},
	{
		Key: "desk.base_path", Env: "HOLDFAST_BASE_PATH", Flag: "base-path", Default: "/",
		Doc: "path that a proxy gives the desk, such as /desk/",
		set: setBasePath,
	},
	{
		Key: "desk.hosts", Env: "HOLDFAST_HOSTS", Flag: "hosts", Default: "", List: true,
		Doc: "further host names that the desk answers to, such as desk.example",
		set: setHosts,
	},
	{
		Key: "desk.login", Env: "HOLDFAST_LOGIN", Flag: "login", Default: "open",
		Doc: "open: whoever reaches the desk may read; required: nothing is shown without a credential",
		set: setLogin,
	},
	{
		Key: "desk.principal", Env: "HOLDFAST_PRINCIPAL", Flag: "principal", Default: "",
		Doc: "whom the operator's acts are put down to; empty: principal:local/HOST/USER",
		set: func(c *Config, v string) error { c.Principal = v; return nil },
	},
	{
		Key: "booths.ttl", Env: "HOLDFAST_TTL", Flag: "ttl", Default: "24h",
		Doc: "how long a booth outlives the newest thing in it",
		set: setTTL,
	},
	{
		Key: "booths.tick", Env: "HOLDFAST_TICK", Flag: "tick", Default: "15m",
		Doc: "how often the sweeper looks for booths whose time is up; one goes no earlier than the second time",
		set: setTick,
	},
	{
		Key: "booths.trash_ttl", Env: "HOLDFAST_TRASH_TTL", Flag: "trash-ttl", Default: "48h",
		Doc: "how long the trash keeps a booth, in time that the desk runs; 0 deletes at once",
		set: setTrashTTL,
	},
	{
		Key: "desk.log", Env: "HOLDFAST_LOG", Flag: "log", Default: "info",
		Doc: "what the log holds: debug (every request), info, warn or error",
		set: func(c *Config, v string) error { return c.LogLevel.UnmarshalText([]byte(v)) },
	},
	{
		Key: "box.off", Env: "HOLDFAST_NO_BOX", Flag: "no-box", Default: "false", Switch: true,
		Doc: "leave the box that the home may be alone",
		set: func(c *Config, v string) error { return setSwitch(&c.NoBox, v) },
	},
	{
		Key: "box.user", Env: "HOLDFAST_BOX_USER", Default: "",
		Doc: "whom work on this box runs as, where the box runs as uid 0; empty: the user who runs the box",
		set: func(c *Config, v string) error { c.BoxUser = v; return nil },
	},
	{
		Key: "box.allow_root", Env: "HOLDFAST_BOX_ALLOW_ROOT", Default: "false", Switch: true,
		Doc: "let work on this box run as uid 0",
		set: func(c *Config, v string) error { return setSwitch(&c.BoxAllowRoot, v) },
	},
	{
		Key: "box.allow_weak", Env: "HOLDFAST_BOX_ALLOW_WEAK", Default: "false", Switch: true,
		Doc: "let work start on this box though its stop could be proved only weakly",
		set: func(c *Config, v string) error { return setSwitch(&c.BoxAllowWeak, v) },
	},
	{
		Env: "HOLDFAST_URL",
		Doc: "server that commands talk to instead of the folder",
		set: setURL,
	},
	{
		Env: "HOLDFAST_TOKEN", Secret: true,
		Doc: "credential that commands show to that server",
		set: func(c *Config, v string) error { c.Token = v; return nil },
	},
}

func setListen(c *Config, v string) error {
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return fmt.Errorf("it is HOST:PORT, as in 127.0.0.1:7433")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("its port is a number from 0 to 65535")
	}
	c.Listen = v
	return nil
}

func setBasePath(c *Config, v string) error {
	base, err := web.ParseBase(v)
	if err != nil {
		return errors.New(problem.Words(err))
	}
	c.BasePath = base.String()
	return nil
}

func setHosts(c *Config, v string) error {
	c.Hosts = nil
	for h := range strings.SplitSeq(v, ",") {
		h = strings.TrimSpace(h)
		if strings.ContainsAny(h, "/ \t@") {
			return fmt.Errorf("%q is no host name; write it without scheme and path", h)
		}
		if h != "" {
			c.Hosts = append(c.Hosts, h)
		}
	}
	return nil
}

func setLogin(c *Config, v string) error {
	for _, l := range []Login{LoginOpen, LoginRequired} {
		if l.String() == v {
			c.Login = l
			return nil
		}
	}
	return fmt.Errorf("it is open or required")
}

func setSwitch(to *bool, v string) error {
	if v != "true" && v != "false" {
		return fmt.Errorf("it is true or false")
	}
	*to = v == "true"
	return nil
}

func setTTL(c *Config, v string) (err error) {
	c.TTL, err = parsePositive(v)
	return err
}

func setTick(c *Config, v string) (err error) {
	c.Tick, err = parsePositive(v)
	return err
}

func setTrashTTL(c *Config, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return fmt.Errorf("it is a duration, as in 48h, or 0")
	}
	c.TrashTTL = d
	return nil
}

func parsePositive(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, fmt.Errorf("it is a duration, as in 24h or 90m")
	}
	if d <= 0 {
		return 0, fmt.Errorf("it must be longer than nothing")
	}
	return d, nil
}

func setURL(c *Config, v string) error {
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("it is an address without a login in it, as in http://127.0.0.1:7433")
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	c.URL = u
	return nil
}
