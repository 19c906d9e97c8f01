package pages

import (
	"fmt"
	"net/http"

	"holdfast/internal/fleet"
	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

type boxPage struct {
	Page    page.Frame
	Version string
	Every   int
	Fleet   string
	Stale   string
	Box     row
	Stand   string
	// Binding is the whole digest.
	Binding            string
	Facts              []fact
	Since              string // what was written after the step that moved the binding
	QuarantineRevision uint64
	LossIDs            []string
	Invitation         string
	Enrollment         string
	Instances          rows
	MoreInstances      string
	All                string // the address of all instances
	LogTrouble         *trouble
	RunTrouble         *trouble // why what runs is not known
	AsOf               asOf
	ReadAt             when
}

// fact is one thing that the binding is made of; one that the last step changed has
// what it was.
type fact struct {
	Name, Value string
	Digest      bool // or another long word that nobody reads
	Changed     bool
	From        string
}

func (p *Pages) serveBox(w http.ResponseWriter, r *http.Request, c *fleet.Console) error {
	s, err := c.Show(r.Context(), r.PathValue("box"))
	if err != nil && (s.BoxID == "" || problem.From(err, "").Step != "roster-log") {
		return err
	}
	v := boxPage{
		Fleet: p.fleetURL(), Stale: stale(s.At, p.Now()), Box: p.rowOf(fleet.Standing{Box: s.Box, LossIDs: s.LossIDs, Moved: s.Moved}, fleet.Overview{LogTrouble: err, Reach: 1, At: s.At}),
		Stand: stand(s.State), Binding: plain.Text(s.Binding), Facts: factsOf(s), QuarantineRevision: s.QuarantineRevision,
		Invitation: plain.Text(s.Invitation), Enrollment: plain.Text(s.Enrollment), LogTrouble: troubleOf(err), AsOf: asOfRoster(s.At),
	}
	if s.Moved != nil {
		v.Since = since(s.Writes)
	}
	for _, id := range s.LossIDs {
		v.LossIDs = append(v.LossIDs, plain.Text(id))
	}
	run := p.runningOn(r, c, fleet.Overview{Boxes: []fleet.Standing{{Box: s.Box}}})
	has := run.instances[s.Enrollment]
	v.Box.Root, v.RunTrouble, v.Instances = run.root(s.Enrollment), run.trouble, rows{Rows: p.instanceRows(has)}
	if more := len(has) - len(v.Instances.Rows); more > 0 {
		v.MoreInstances = plain.Count(more, "more instance") + ": holdfast ps lists them all"
	}
	v.Every, v.All = everyList, p.Base.URL(instancesRoot)
	if v.Version, err = fingerprint(v); err != nil || unchanged(w, r, v.Version) {
		return err
	}
	v.ReadAt, v.Page = at(p.Now()), p.frame(r, v.Box.Name)
	return p.pages.Write(w, "fleet-box.html", v)
}

// factsOf are the facts, with those marked that the last step changed. Of a box that
// was only enrolled none is: all are as they were then.
func factsOf(s fleet.Shown) []fact {
	from := map[string]string{}
	if s.Moved != nil {
		for _, f := range s.Moved.Facts {
			if f.From != nil {
				from[f.Name] = factText(f.Name, f.From)
			}
		}
	}
	var list []fact
	for _, f := range s.Facts {
		was, changed := from[f.Name]
		value := factText(f.Name, f.Value)
		list = append(list, fact{fleet.FactName(f.Name), value, fleet.Clip(value) != value, changed, was})
	}
	return list
}

func since(writes uint64) string {
	switch writes {
	case 0:
		return "Nothing was written since."
	case 1:
		return "The roster was written once since, and that did not move it."
	default:
		return fmt.Sprintf("The roster was written %d times since, and none of that moved it.", writes)
	}
}

type logPage struct {
	Page      page.Frame
	Version   string
	Fleet     string
	Stale     string
	About     string
	Trouble   *trouble
	Versions  []version
	Instances string
	More      string // the address of a longer list
	ReadAt    when
}

// version is one in the log.
type version struct {
	Anchor   string
	Revision uint64
	At       when
	By       string
	Restored bool
	Changes  []string
	Moved    []movedBox
	SHA256   string
}

// movedBox is a box whose binding a version moved; From is empty for one that is new.
type movedBox struct{ Name, URL, From, To string }

// serveLog shows the newest versions. A log that is broken is shown as far as it is
// good.
func (p *Pages) serveLog(w http.ResponseWriter, r *http.Request, c *fleet.Console) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	list, err := c.Log(r.Context(), limit)
	if len(list) == 0 && err != nil {
		return err
	}
	v := logPage{Fleet: p.fleetURL(), Instances: p.Base.URL(instancesRoot), Stale: stale(list[0].At, p.Now()), About: about(list), Trouble: troubleOf(err)}
	for _, one := range list {
		v.Versions = append(v.Versions, p.versionOf(one))
	}
	if err == nil && !isWhole(list) && limit < maxVersions {
		v.More = fmt.Sprintf("%s?limit=%d", p.logURL(), min(limit+someVersions, maxVersions))
	}
	if v.Version, err = fingerprint(v); err != nil {
		return err
	}
	v.ReadAt, v.Page = at(p.Now()), p.frame(r, "Log of the fleet")
	return p.pages.Write(w, "fleet-log.html", v)
}

// about is how much of the log is shown.
func about(list []fleet.Version) string {
	each := ". Each was verified: a console signed it, and it follows from the one before."
	newest, oldest := list[0].Revision, list[len(list)-1].Revision
	if isWhole(list) {
		return fmt.Sprintf("The whole log, %s, back to the first%s", plain.Count(len(list), "version"), each)
	}
	return fmt.Sprintf("Revisions %d to %d, the newest first%s", newest, oldest, each)
}

func (p *Pages) versionOf(v fleet.Version) version {
	w := version{
		Anchor: anchor(v.Revision), Revision: v.Revision, At: at(v.WrittenAt), By: plain.Text(v.Writer), Restored: v.Restored, SHA256: short(v.SHA256),
	}
	for _, c := range v.Changes {
		w.Changes = append(w.Changes, plain.Text(c))
	}
	for _, m := range v.Moved {
		w.Moved = append(w.Moved, movedBox{plain.Text(m.BoxID), p.rowURL(m.Enrollment), short(m.From), short(m.To)})
	}
	return w
}

func anchor(revision uint64) string { return fmt.Sprintf("r-%d", revision) }

// versionURL is where a version is listed when the newest is now; empty for one that is
// too far back.
func (p *Pages) versionURL(revision, now uint64) string {
	address, back := p.logURL(), now-revision+1
	switch {
	case back > maxVersions:
		return ""
	case back > someVersions:
		address += fmt.Sprintf("?limit=%d", back)
	}
	return address + "#" + anchor(revision)
}
