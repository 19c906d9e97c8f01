package pages

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/internal/fleet"
	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// How much a page shows, and how far back it looks for what moved a binding.
const (
	maxRows = 200
	maxWalk = 200
)

type fleetPage struct {
	Page    page.Frame
	Version string
	Every   int
	Log     string
	Counts  string
	Stale   string
	// LogTrouble is why what moved the bindings is not known of all.
	LogTrouble  *trouble
	RunTrouble  *trouble // why what runs is not known
	Floor       floorView
	Boxes       []row
	None        bool // no box is there that is not retired
	Pager       pager
	Retired     []row
	MoreRetired string
	Asking      askings
	Held        []held
	Changing    []held
	AsOf        asOf
	ReadAt      when
}

// row is a box in a list.
type row struct {
	Name, URL, Label string
	State            string
	Lost             bool
	Region, Pool     string
	Role, Group      string
	Binding          string
	Root             rootView
	Runs             string // what it has, by state; empty where nothing is there, or it is not known
	Moved            *moved
	NotMoved         string // why Moved is nil
	Enrolled         when
}

// moved is the step that last moved a binding.
type moved struct {
	Changes  []change // none: the box was enrolled
	Revision uint64
	At       when
	By       string
	URL      string // of the version; empty where that is too far back to be listed
}

// movedOf is a step, as seen from a revision.
func (p *Pages) movedOf(s *fleet.Step, now uint64) *moved {
	if s == nil {
		return nil
	}
	return &moved{changesOf(s), s.Revision, at(s.WrittenAt), plain.Text(s.Writer), p.versionURL(s.Revision, now)}
}

type floorView struct {
	Publication string // empty: none is published
	Announced   bool   // and not fixed yet
	MinVersion  string
	Proofs      string
	SHA256      string
	Trouble     *trouble
}

// held is a hold or an activation.
type held struct {
	Operation, Scope, Console, Instance string
	Since                               when
}

// askings are the machines that are not in.
type askings struct {
	Waiting, Refused         []asking
	MoreWaiting, MoreRefused string
	Trouble                  *trouble
}

type asking struct {
	Name, Enrollment string
	Trouble          *trouble
}

// orNone is p.page, and says it where this home is no console.
func (p *Pages) orNone(room *page.Set, serve serving) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := p.page(serve)(w, r)
		if errors.Is(err, fleet.ErrNoFleet) {
			return p.serveNone(w, r, room)
		}
		return err
	}
}

type nonePage struct {
	Page page.Frame
	Box  bool // the home is a box
}

func (p *Pages) serveNone(w http.ResponseWriter, r *http.Request, room *page.Set) error {
	part, err := fleet.Look(p.Home)
	if err != nil {
		return p.unavailable(w, r, err)
	}
	return room.Write(w, "fleet-none.html", nonePage{room.Frame(r, "No fleet"), part.Box != ""})
}

func (p *Pages) serveBoxes(w http.ResponseWriter, r *http.Request, c *fleet.Console) error {
	o, err := c.Overview(r.Context(), &p.walked, maxWalk)
	if err != nil {
		return err
	}
	v := fleetPage{
		Every: everyList, Log: p.logURL(), Stale: stale(o.At, p.Now()), LogTrouble: troubleOf(o.LogTrouble), Floor: floorOf(o),
		Held: heldOf(o.Holds), Changing: heldOf(o.Activations), AsOf: asOfRoster(o.At),
	}
	if v.Asking, err = askingsOf(r, c); err != nil {
		return err
	}
	run := p.runningOn(r, c, o)
	v.RunTrouble = run.trouble
	var all, gone []row
	counts := map[string]int{}
	for _, b := range o.Boxes {
		counts[b.State]++
		if b.State == retired {
			gone = append(gone, p.rowOf(b, o))
		} else {
			w := p.rowOf(b, o)
			w.Root, w.Runs = run.root(b.Enrollment), run.counts(b.Enrollment)
			all = append(all, w)
		}
	}
	v.Counts, v.None = countsOf(counts), len(all) == 0
	if v.Boxes, v.Pager, err = p.turn(r, all); err != nil {
		return err
	}
	v.Retired = gone[:min(len(gone), maxRows)]
	if more := len(gone) - len(v.Retired); more > 0 {
		v.MoreRetired = plain.Count(more, "more row") + ": holdfast fleet boxes lists them all"
	}
	if v.Version, err = fingerprint(v); err != nil || unchanged(w, r, v.Version) {
		return err
	}
	v.ReadAt, v.Page = at(p.Now()), p.frame(r, "Fleet")
	return p.pages.Write(w, "fleet.html", v)
}

// countsOf is how many boxes there are of each state.
func countsOf(counts map[string]int) string {
	list := []string{fmt.Sprintf("%d boxes", counts[active]+counts[quarantined])}
	if list[0] == "1 boxes" {
		list[0] = "1 box"
	}
	if counts[quarantined] > 0 {
		list = append(list, fmt.Sprintf("%d quarantined", counts[quarantined]))
	}
	if counts[retired] > 0 {
		list = append(list, fmt.Sprintf("%d retired", counts[retired]))
	}
	return strings.Join(list, " · ")
}

func (p *Pages) rowOf(b fleet.Standing, o fleet.Overview) row {
	w := row{
		Name: plain.Text(b.BoxID), URL: p.boxURL(b.Box), Label: plain.Text(b.Label), State: b.State, Lost: len(b.LossIDs) > 0 && b.State == quarantined,
		Region: plain.Text(b.Region), Pool: plain.Text(b.Pool), Role: orNone(b.Role), Group: orNone(b.Group), Binding: short(b.Binding),
		Moved: p.movedOf(b.Moved, o.Revision), Enrolled: at(b.EnrolledAt),
	}
	switch {
	case w.Moved != nil:
	case o.LogTrouble != nil:
		w.NotMoved = "not known: the log cannot be read so far"
	default:
		w.NotMoved = fmt.Sprintf("before revision %d", o.Reach)
	}
	return w
}

func floorOf(o fleet.Overview) floorView {
	v := floorView{Publication: plain.Text(o.Floor.Publication), SHA256: short(o.Floor.SHA256), Trouble: troubleOf(o.FloorTrouble)}
	v.Announced = v.Publication != "" && o.Floor.SHA256 == ""
	if f := o.Floor.Floor; f != nil {
		v.MinVersion, v.Proofs = plain.Text(f.MinVersion), plain.Text(strings.Join(f.AllowedProofs, ", "))
	}
	return v
}

func heldOf(holds []fleet.Hold) []held {
	var list []held
	for _, h := range holds {
		list = append(list, held{plain.Text(h.Operation), scope(h.Scope), plain.Text(h.Console), plain.Text(h.Instance), at(h.ReservedAt)})
	}
	return list
}

// askingsOf are the machines that are not in. That they cannot be listed hides no box;
// a roster that is refused is an error.
func askingsOf(r *http.Request, c *fleet.Console) (askings, error) {
	list, err := c.Asking(r.Context())
	if err != nil {
		if _, head := c.Head(r.Context()); head != nil {
			return askings{}, head
		}
		return askings{Trouble: troubleOf(err)}, nil
	}
	return askings{
		Waiting: askingOf(list.Waiting), MoreWaiting: more(list.MoreWaiting),
		Refused: askingOf(list.Refused), MoreRefused: more(list.MoreRefused),
	}, nil
}

func askingOf(list []fleet.Asking) []asking {
	var all []asking
	for _, a := range list {
		all = append(all, asking{plain.Text(a.BoxID), plain.Text(a.Enrollment), troubleOf(a.Refused)})
	}
	return all
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("and %d more", n)
}

// pager leads through a list that has several pages.
type pager struct {
	Needed         bool
	Words          string
	Previous, Next string
}

// turn is the page of rows that was asked for.
func (p *Pages) turn(r *http.Request, all []row) ([]row, pager, error) {
	n, last := 1, max(1, (len(all)+maxRows-1)/maxRows)
	if text := r.URL.Query().Get("page"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			return nil, pager{}, problem.New(problem.Usage, "page", "A page is a number from 1.")
		}
	}
	n = min(n, last)
	from, to := (n-1)*maxRows, min(n*maxRows, len(all))
	v := pager{Needed: last > 1, Words: fmt.Sprintf("%d to %d of %d", from+1, to, len(all))}
	address := func(n int) string { return withQuery(p.fleetURL(), url.Values{"page": {strconv.Itoa(n)}}) }
	if n > 1 {
		v.Previous = address(n - 1)
	}
	if n < last {
		v.Next = address(n + 1)
	}
	return all[from:to], v, nil
}
