package pages

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/box/output"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// maxTail is how much of an instance's output a page shows: its end.
const maxTail = 256 << 10

const (
	stepNoOutput  = "output-absent"
	stepNoReceipt = "receipt-unknown"
)

// printedView is an instance's output as a page shows it.
type printedView struct {
	Incarnation uint64
	Text        string
	Download    string // the address of the whole of it; empty where there is none
	Size        string
	Cut         string // what is not shown, in words
	Here        bool   // it is read in the box's own folder
	Trouble     *trouble
}

// printedOf is the end of what an incarnation printed. What cannot be read of it hides
// nothing else.
func (p *Pages) printedOf(r *http.Request, c *fleet.Console, enrollment, instance string, incarnation uint64) printedView {
	v := printedView{Incarnation: incarnation}
	out, err := c.OpenPrinted(r.Context(), p.Home, enrollment, output.Of{Instance: instance, Incarnation: incarnation})
	if errors.Is(err, fleet.ErrNothingPrinted) {
		return v
	}
	if err != nil {
		v.Trouble = troubleOf(err)
		return v
	}
	defer out.Close()
	v.Here, v.Download, v.Size = out.Here, logURL(p.instanceURL(instance, "log"), incarnation), plain.Size(out.Size())
	tail := make([]byte, min(maxTail, out.Size()))
	if _, err := out.ReadAt(tail, out.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		v.Trouble = troubleOf(err)
		return v
	}
	switch {
	case out.Size() > maxTail:
		v.Cut = "The last " + plain.Size(maxTail) + " of " + v.Size + "."
	case !out.FromStart():
		v.Cut = "What was printed before is not kept any more."
	}
	v.Text = printedText(tail, out.Size() > maxTail)
	return v
}

func logURL(address string, incarnation uint64) string {
	return address + "?incarnation=" + strconv.FormatUint(incarnation, 10)
}

// colour is what a terminal takes for an order to change the looks of text, and no more.
var colour = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// printedText is output fit to be looked at: colours are left out, ends of lines and tabs
// stay, and all else that does not show as itself is written out. Output that was cut
// begins with a whole line, where there is one soon, and else with a whole character.
func printedText(b []byte, cut bool) string {
	if cut {
		if end := bytes.IndexByte(b[:min(len(b), 4<<10)], '\n'); end >= 0 {
			b = b[end+1:]
		}
		for n := 0; n < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); n++ {
			b = b[1:]
		}
	}
	lines := strings.Split(strings.ReplaceAll(colour.ReplaceAllString(string(b), ""), "\r\n", "\n"), "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for j := range cells {
			cells[j] = plain.Text(cells[j])
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// serveLogFile sends all that is kept of what an incarnation printed, as it was printed.
func (p *Pages) serveLogFile(w http.ResponseWriter, r *http.Request, c *fleet.Console) error {
	name := r.PathValue("instance")
	whole, err := c.Work(nil).Whole(r.Context(), name)
	if err != nil {
		return err
	}
	if whole.Trouble != nil {
		return whole.Trouble
	}
	incarnation, enrollment := whole.Incarnation, whole.Enrollment
	if text := r.URL.Query().Get("incarnation"); text != "" {
		if incarnation, err = incarnationOf(text); err != nil {
			return err
		}
		for _, n := range whole.Receipts {
			if n.Incarnation == incarnation {
				enrollment = n.Enrollment
			}
		}
	}
	out, err := c.OpenPrinted(r.Context(), p.Home, enrollment, output.Of{Instance: name, Incarnation: incarnation})
	if errors.Is(err, fleet.ErrNothingPrinted) {
		return problem.New(problem.Gone, stepNoOutput, "No output of incarnation %d of %s is kept here.", incarnation, name)
	}
	if err != nil {
		return err
	}
	defer out.Close()
	h := w.Header()
	web.Sandbox(w, false)
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%d.log"`, name, incarnation)) // a name has nothing that needs an escape
	if r.Method != http.MethodGet || !strings.HasPrefix(r.Header.Get("Range"), "bytes=") {
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(out, 0, out.Size()))
	return nil
}

func incarnationOf(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil || n == 0 {
		return 0, problem.New(problem.Usage, "incarnation", "An incarnation is a number from 1.")
	}
	return n, nil
}
