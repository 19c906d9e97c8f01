// Package desk is the booths in a browser: an index in lanes, a page for each
// booth (gallery, report or board), a view of each item, the items' bytes, and
// the same as JSON.
//
// The model: a request looks at the folder as it is now (package booth) and
// shows what it found. The desk keeps nothing of its own about a booth but the index,
// for two seconds ([Desk.snapshot]), and no page decides anything: the lifetime line is the one that [lifetime.Line] made.
//
// Every byte that came out of a booth is hostile. Items are sent with a sandbox
// policy, from addresses that carry a token good for one booth's bytes only;
// names and texts are made plain and escaped for their sink; a report runs in a
// frame without an origin. Pages work without script.
package desk

import (
	"context"
	"embed"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/page"
	"holdfast/internal/web"
)

//go:embed templates static
var embedded embed.FS

// Room is the desk's entry of the navigation.
var Room = page.Room{Name: "Booths"}

// Config is what a desk needs. Every field but FolderPath is required.
type Config struct {
	House  *page.House
	Data   *folder.Data
	Ledger *ledger.Ledger
	// Sweeper deletes and gives back. Nothing else here does.
	Sweeper Sweeper
	// FolderPath is shown to the operator as the place to put booths.
	FolderPath string
	TTL        time.Duration
	Base       web.Base
	Key        access.Key
	Policy     access.Policy
	// Watched says whether the system reports each change in the folder of the
	// booth called name to [Desk.Touched], and has since the booth was last touched.
	Watched func(name string) bool
	// Live is the address of the event stream, for a page that shows things as
	// they are from now on.
	Live func() string
	Log  *slog.Logger
	Now  func() time.Time
}

// Desk serves booths. It is safe for concurrent use.
type Desk struct {
	Config
	pages     *page.Set
	bells     bells
	snapshots snapshots
	polls     chan struct{} // a place for each request that waits

	life       context.Context // of what goes on beside requests
	end        context.CancelFunc
	background sync.WaitGroup
}

// maxPolls is how many requests may wait for marks at once.
const maxPolls = 1024

// Close ends what goes on beside requests.
func (d *Desk) Close() {
	d.end()
	d.background.Wait()
}

// New makes a desk. It is to be closed.
func New(c Config) (*Desk, error) {
	pages, err := c.House.Wing(Room.Name, embedded, nil)
	if err != nil {
		return nil, err
	}
	d := &Desk{Config: c, pages: pages, polls: make(chan struct{}, maxPolls)}
	d.life, d.end = context.WithCancel(context.Background())
	return d, nil
}

// Routes are the desk's addresses, each with the right that it needs.
func (d *Desk) Routes() []web.Route {
	get, put, post := http.MethodGet, http.MethodPut, http.MethodPost
	return []web.Route{
		{Method: get, Pattern: "/{$}", Action: access.ReadPages, Handler: d.serveIndex},
		{Method: get, Pattern: "/b/{booth}/{$}", Action: access.ReadPages, Handler: d.serveBooth},
		{Method: get, Pattern: "/b/{booth}/view", Action: access.ReadPages, Handler: d.serveView},
		{Method: get, Pattern: "/b/{booth}/marks", Action: access.ReadPages, Handler: d.serveMarks},
		{Method: get, Pattern: "/b/{booth}/asks", Action: access.ReadPages, Handler: d.serveAsks},
		{Method: get, Pattern: "/b/{booth}/marks.json", Action: access.ReadPages, Handler: d.serveMarksJSON},
		{Method: post, Pattern: "/b/{booth}/marks/ask", Action: access.Ask, MaxBody: maxRequest, Handler: d.serveAsk},
		{Method: post, Pattern: "/b/{booth}/marks/answer", Action: access.Answer, MaxBody: maxRequest, Handler: d.serveAnswer},
		{Method: post, Pattern: "/b/{booth}/marks/withdraw", Action: access.Withdraw, MaxBody: maxRequest, Handler: d.serveWithdraw},
		{Method: post, Pattern: "/b/{booth}/marks/note", Action: access.Note, MaxBody: maxRequest, Handler: d.serveNote},
		{Method: post, Pattern: "/b/{booth}/marks/flag", Action: access.Flag, MaxBody: maxRequest, Handler: d.serveFlag},
		{Method: post, Pattern: "/b/{booth}/repair", Action: access.Repair, Handler: d.serveRepair},
		{Method: post, Pattern: "/b/{booth}/keep", Action: access.Keep, Handler: d.serveKeep},
		{Method: post, Pattern: "/b/{booth}/unkeep", Action: access.Keep, Handler: d.serveUnkeep},
		{Method: post, Pattern: "/b/{booth}/delete", Action: access.Delete, Handler: d.serveDelete},
		{Method: http.MethodDelete, Pattern: "/b/{booth}", Action: access.Delete, Handler: d.serveDelete},
		{Method: http.MethodDelete, Pattern: "/b/{booth}/{$}", Action: access.Delete, Handler: d.serveDelete},
		{Method: get, Pattern: "/trash", Action: access.ReadPages, Handler: d.serveTrash},
		{Method: post, Pattern: "/trash/{id}/restore", Action: access.Delete, Handler: d.serveUndo},
		{Method: get, Pattern: "/api/v1/trash", Action: access.ReadPages, Handler: d.serveTrashList},
		{Method: post, Pattern: "/api/v1/trash/{id}/restore", Action: access.Delete, Handler: d.serveRestore},
		{Method: post, Pattern: "/api/v1/sweep", Action: access.Delete, Handler: d.serveSweep},
		{Method: get, Pattern: "/b/{booth}/{item...}", Action: access.ReadPages, Handler: d.serveItem},
		{Method: put, Pattern: "/b/{booth}/{item...}", Action: access.Publish, MaxBody: booth.MaxItem, Handler: d.servePut},
		{Method: get, Pattern: "/c/{token}/{item...}", Action: access.ReadContent, Handler: d.serveContent},
		{Method: get, Pattern: "/api/v1/booths", Action: access.ReadPages, Handler: d.serveList},
		{Method: get, Pattern: "/api/v1/census", Action: access.ReadPages, Handler: d.serveCensus},
		{Method: get, Pattern: "/api/v1/booths/{booth}", Action: access.ReadPages, Handler: d.serveListing},
		{Method: get, Pattern: "/api/v1/booths/{booth}/explain", Action: access.ReadPages, Handler: d.serveExplain},
		{Method: http.MethodPatch, Pattern: "/api/v1/booths/{booth}", Action: access.Publish, Handler: d.servePatch},
	}
}

// terms are what a look is decided with at this moment.
func (d *Desk) terms() booth.Terms {
	return booth.Terms{Now: d.Now(), TTL: d.TTL, Records: d.Ledger.Records()}
}
