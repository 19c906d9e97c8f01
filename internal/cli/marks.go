package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/booth"
	"holdfast/internal/booth/marks"
	"holdfast/internal/booth/reach"
	"holdfast/internal/plain"
)

// shownMarks is a booth's marks in JSON. Damage is why they cannot be read whole,
// and is there only then: the marks are what of them could be.
type shownMarks struct {
	Rev    int64             `json:"rev"`
	Marks  []json.RawMessage `json:"marks"`
	Damage string            `json:"damage,omitempty"`

	reading marks.Reading
}

func (r *run) boothMarks() *cobra.Command {
	return &cobra.Command{
		Use:   "marks NAME",
		Short: "Show a booth's notes, flags and questions, with their answers",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBooth(r, args[0], func(b booths, name string) (shownMarks, error) {
				got, err := b.Marks(cmd.Context(), name)
				if err != nil {
					return shownMarks{}, err
				}
				if !got.Whole() {
					r.status = exits[reach.StateBroken]
				}
				doc, err := got.Show()
				return shownMarks{doc.Rev, doc.Marks, got.Why(), got}, err
			}, func(s shownMarks) { r.printMarks(args[0], s.reading) })
		},
	}
}

func (r *run) printMarks(name string, got marks.Reading) {
	if len(got.Marks) == 0 && got.Whole() {
		fmt.Fprintf(r.out, "nobody has said anything in %s yet\n", plain.Text(name))
	}
	for _, m := range got.Marks {
		switch m := m.(type) {
		case marks.Note:
			fmt.Fprintf(r.out, "%s  note       %s%s%s\n", plain.Text(m.MarkID), lines(m.Text), about(m.Target), byline(m.By, m.At))
		case marks.Flag:
			fmt.Fprintf(r.out, "%s  flag       %s%s%s\n", plain.Text(m.MarkID), plain.Text(m.Target), colon(m.Text), byline(m.By, m.At))
		case marks.Pick:
			r.printPick(m)
		}
	}
	if !got.Whole() {
		fmt.Fprintf(r.err, "holdfast: these marks cannot be read whole: %s\nhint: holdfast booth repair %s\n", plain.Text(got.Why()), plain.Text(name))
	}
}

func about(item string) string {
	if item == "" {
		return ""
	}
	return "  (about " + plain.Text(item) + ")"
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + lines(text)
}

// byline says who and when, as far as that is known.
func byline(by string, at *time.Time) string {
	s := ""
	if by != "" {
		s += "  by " + plain.Text(by)
	}
	if at != nil {
		s += "  " + at.UTC().Format("2006-01-02 15:04Z")
	}
	return s
}

func (r *run) printPick(p marks.Pick) {
	fmt.Fprintf(r.out, "%s  %-9s  %s%s\n", plain.Text(p.MarkID), p.State(), plain.Text(p.Title), byline(p.By, p.At))
	if p.Why != "" {
		fmt.Fprintf(r.out, "    why: %s\n", lines(p.Why))
	}
	for _, part := range p.Parts {
		r.printPart(p, part)
	}
	if p.Answer != nil {
		if p.Answer.Comment != "" {
			fmt.Fprintf(r.out, "    comment: %s\n", lines(p.Answer.Comment))
		}
		fmt.Fprintf(r.out, "    answered%s\n", byline(p.Answer.By, p.Answer.At))
	}
	if p.Withdrawn != nil {
		fmt.Fprintf(r.out, "    withdrawn%s%s\n", byline(p.Withdrawn.By, p.Withdrawn.At), colon(p.Withdrawn.Reason))
	}
}

// printPart shows what a part offers, or what was said to it.
func (r *run) printPart(p marks.Pick, part marks.Part) {
	name := ""
	if len(p.Parts) > 1 {
		name = plain.Text(part.ID) + ": "
	}
	if part.Prompt != "" {
		name += plain.Text(part.Prompt) + " "
	}
	if v := p.Value(part.ID); !v.Empty() {
		fmt.Fprintf(r.out, "    %s%s\n", name, chosenWords(part, v))
		return
	}
	fmt.Fprintf(r.out, "    %s%s\n", name, offer(part))
}

// chosenWords is an answer with the labels of what was chosen.
func chosenWords(part marks.Part, v marks.Value) string {
	if v.None || len(v.Choices) == 0 {
		return valueWords(v)
	}
	var all []string
	for _, id := range v.Choices {
		all = append(all, optionWords(part, id))
	}
	return strings.Join(all, ", ")
}

func optionWords(part marks.Part, id string) string {
	for _, o := range part.Options {
		if o.ID == id && o.Label != "" && o.Label != id {
			return fmt.Sprintf("%s (%s)", plain.Text(id), plain.Text(o.Label))
		}
	}
	return plain.Text(id)
}

// offer is what can be answered to a part.
func offer(part marks.Part) string {
	switch part.Kind {
	case marks.Confirm:
		return "yes or no?"
	case marks.Text:
		return "in words?"
	}
	var all []string
	for _, o := range part.Options {
		words := optionWords(part, o.ID)
		if o.ID == part.Recommend {
			words += " [recommended]"
		}
		all = append(all, words)
	}
	if !part.Exact {
		all = append(all, "none of these")
	}
	how := "one of: "
	if part.Kind == marks.Multi {
		how = "some of: "
	}
	return how + strings.Join(all, ", ")
}

func (r *run) boothRepair() *cobra.Command {
	return &cobra.Command{
		Use:   "repair NAME",
		Short: "Mend damaged marks: keep the damaged file, write back what can be read",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBooth(r, args[0], func(b booths, name string) (booth.Repaired, error) {
				return b.Repair(cmd.Context(), name)
			}, r.printRepaired)
		},
	}
}

func (r *run) printRepaired(d booth.Repaired) {
	if d.Aside == "" {
		fmt.Fprintf(r.out, "the marks of %s can be read; nothing was changed\n", plain.Text(d.Name))
		return
	}
	fmt.Fprintf(r.out, "mended: %s of %s could be read and were written back\n", plain.Count(d.Kept, "mark"), plain.Text(d.Name))
	fmt.Fprintf(r.out, "the damaged file is kept as %s\n", plain.Text(d.Aside))
	for _, lost := range d.Lost {
		fmt.Fprintf(r.out, "  could not be read: %s\n", plain.Text(lost))
	}
}
