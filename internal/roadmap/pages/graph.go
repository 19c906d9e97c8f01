package pages

import (
	"fmt"

	"holdfast/internal/plain"
	"holdfast/internal/roadmap"
)

// drawing is the node among its neighbours, as SVG: what it is part of and waits for
// on the left, what waits for it and its parts on the right. It is made on the
// server; all of it stands as a list of links beside it.
type drawing struct {
	Width, Height int
	Desc          string
	Boxes         []box
	Lines         []edge
	Labels        []label
}

type box struct {
	TextX, TextY, SubY int
	X, Y, W, H         int
	Title, Sub         string
	URL, Class         string
	Whole              string // the whole title
}

type edge struct{ Path, Class string }

type label struct {
	X, Y int
	Text string
}

// The measures of a drawing.
const (
	boxWidth  = 244
	boxHeight = 46
	boxGap    = 10
	groupGap  = 26 // where the group's name stands
	columnGap = 64
	drawMost  = 6 // of each group
	drawChars = 26
)

// draw lays out the neighbours. Where there are none there is nothing to draw.
func (p *Pages) draw(d roadmap.Whole) *drawing {
	byTitle := map[string]linkGroup{}
	for _, g := range p.groups(d) {
		byTitle[g.Title] = g
	}
	if len(byTitle) == 0 {
		return nil
	}
	left := column(byTitle, "Part of", "Waits for")
	right := column(byTitle, "Blocks", "Parts", "Related")
	height := max(heightOf(left), heightOf(right), boxHeight+2*boxGap)
	g := &drawing{Width: boxWidth, Height: height}
	x := 0
	if len(left) > 0 {
		x = boxWidth + columnGap
	}
	center := box{X: x, Y: (height - boxHeight + groupGap - boxGap) / 2, W: boxWidth, H: boxHeight, Title: clip(title(d.Row), drawChars), Sub: plain.Text(d.Standing.Line), Class: "here " + d.Standing.Kind}
	g.place(&center)
	g.Width = x + boxWidth
	if len(left) > 0 {
		g.stack(left, 0, center, false)
	}
	if len(right) > 0 {
		g.stack(right, g.Width+columnGap, center, true)
		g.Width += columnGap + boxWidth
	}
	g.Desc = fmt.Sprintf("%s in the middle; %s around it, listed below with links.", clip(title(d.Row), 100), plain.Count(len(g.Boxes)-1, "node"))
	return g
}

func column(groups map[string]linkGroup, titles ...string) []linkGroup {
	var out []linkGroup
	for _, t := range titles {
		if g, ok := groups[t]; ok {
			g.Links.Shown = g.Links.Shown[:min(len(g.Links.Shown), drawMost)]
			out = append(out, g)
		}
	}
	return out
}

func heightOf(groups []linkGroup) int {
	h := 0
	for _, g := range groups {
		h += groupGap + len(g.Links.Shown)*(boxHeight+boxGap)
	}
	return h
}

// stack puts groups below each other, and joins each box to the middle one.
func (g *drawing) stack(groups []linkGroup, x int, center box, right bool) {
	y := (g.Height - heightOf(groups)) / 2
	for _, group := range groups {
		words := group.Title
		if more := group.Links.Count - len(group.Links.Shown); more > 0 {
			words += fmt.Sprintf(" · %d of %d", len(group.Links.Shown), group.Links.Count)
		}
		g.Labels = append(g.Labels, label{x, y + groupGap - 9, words})
		y += groupGap
		for _, l := range group.Links.Shown {
			b := box{X: x, Y: y, W: boxWidth, H: boxHeight, Title: clip(orNode(l), drawChars), Sub: l.Is, URL: l.URL, Class: "other"}
			g.place(&b)
			g.Lines = append(g.Lines, join(center, b, right, lineClass[group.Title]))
			y += boxHeight + boxGap
		}
	}
}

var lineClass = map[string]string{"Part of": "part", "Parts": "part", "Waits for": "block", "Blocks": "block", "Related": "related"}

func orNode(l nodeLink) string {
	if l.Title == "" {
		return l.Node
	}
	return l.Title
}

func (g *drawing) place(b *box) {
	b.TextX, b.TextY, b.SubY = b.X+12, b.Y+20, b.Y+37
	b.Sub = clip(b.Sub, drawChars+6)
	g.Boxes = append(g.Boxes, *b)
}

// join is a curve between the sides of two boxes that face each other.
func join(center, b box, right bool, class string) edge {
	from, to := center.X, b.X+b.W
	if right {
		from, to = center.X+center.W, b.X
	}
	mid := (from + to) / 2
	y1, y2 := center.Y+center.H/2, b.Y+b.H/2
	return edge{fmt.Sprintf("M%d %dC%d %d %d %d %d %d", from, y1, mid, y1, mid, y2, to, y2), class}
}
