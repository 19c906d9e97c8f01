package operation

import (
	"slices"
	"strings"

	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// Wish is where a run is to go. With neither, the only box that can take it gets it.
type Wish struct {
	Box  string // by name
	Role string // what the box is for
}

// Place finds the box for a run, by its enrollment. Its refusals have the steps
// box-unknown, box-retired, box-quarantined and box-choice.
func Place(r *roster.Roster, w Wish) (string, error) {
	if w.Box != "" {
		return named(r, w)
	}
	fit := []string{}
	for _, enrollment := range r.Enrollments() {
		b := r.Boxes[enrollment]
		if b.State == roster.Active && (w.Role == "" || b.Role == w.Role) {
			fit = append(fit, enrollment)
		}
	}
	// Where nothing else is said, work goes to the home region, if a box stands there.
	if home := slices.DeleteFunc(slices.Clone(fit), func(e string) bool { return r.Boxes[e].Region != r.HomeRegion }); len(home) > 0 {
		fit = home
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) == 0 && w.Role != "":
		return "", problem.Refusal("box-choice", "No active box has the role %q. Nothing was begun.", w.Role).
			WithHint("holdfast fleet boxes lists them; holdfast fleet role BOX ROLE gives one a role")
	case len(fit) == 0:
		return "", problem.Refusal("box-choice", "The fleet has no active box. Nothing was begun.").WithHint("holdfast fleet invite BOX")
	}
	names := []string{}
	for _, e := range fit {
		names = append(names, r.Boxes[e].BoxID)
	}
	return "", problem.Refusal("box-choice", "There are %d boxes that could take it: %s. Nothing was begun.", len(fit), strings.Join(names, ", ")).
		WithHint("say which: --box %s", names[0])
}

func named(r *roster.Roster, w Wish) (string, error) {
	enrollment, b, ok := r.Live(w.Box)
	if !ok {
		for _, b := range r.Boxes {
			if b.BoxID == w.Box {
				return "", problem.Refusal("box-retired", "Box %s is retired, for good. Nothing was begun.", w.Box)
			}
		}
		return "", problem.New(problem.Gone, "box-unknown", "No box is called %.80q. Nothing was begun.", w.Box).
			WithHint("holdfast fleet boxes lists those that are enrolled")
	}
	switch {
	case b.State == roster.Quarantined:
		return "", problem.Refusal("box-quarantined", "Box %s is in quarantine: what it has may be stopped, and it gets nothing new. Nothing was begun.", w.Box).
			WithHint("holdfast fleet readmit %s", w.Box)
	case w.Role != "" && b.Role != w.Role:
		return "", problem.Refusal("box-choice", "Box %s has the role %q, not %q. Nothing was begun.", w.Box, b.Role, w.Role)
	}
	return enrollment, nil
}

// Counts refuses a box of whose stops there would be no proof that counts. Weak proof
// counts only where it was said that it does; allowed are the proofs that the floor
// counts, nil where there is no floor.
func Counts(box, proof, why string, weak bool, allowed []string) error {
	switch {
	case proof == "weak" && !weak:
		return problem.Refusal("proof-weak", "Of what runs on box %s it could not be proved that all of it has ended: %s. Nothing was begun.", box, orElse(why, "it can give weak proof only")).
			WithHint("choose another box, or accept that: --accept-weak")
	case allowed != nil && !slices.Contains(allowed, proof):
		return problem.Refusal("floor-proof", "Box %s can prove a stop by %q, and the floor counts %s alone. Nothing was begun.", box, proof, strings.Join(allowed, ", "))
	}
	return nil
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return strings.TrimSuffix(text, ".")
}
