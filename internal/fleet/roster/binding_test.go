package roster_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/fleet/roster"
)

// golden is a roster in which every member is set.
func golden(t testing.TB) *roster.Roster {
	t.Helper()
	r, err := roster.Decode([]byte(goldenRoster))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func bindingOf(t testing.TB, r *roster.Roster, enrollment string) roster.Fresh {
	t.Helper()
	a, ok := r.Actor(enrollment)
	if !ok {
		t.Fatalf("no row of %s", enrollment)
	}
	return a.Binding
}

// L0. The digest was worked out with another program from the list as it is
// written in docs/FORMATS.md.
//
// Red when: a fact, its place or its spelling changes; holds are put into the tuple;
// quarantine_revision is dropped from it.
func TestL0TheBindingHasThisValue(t *testing.T) {
	if have := bindingOf(t, golden(t), renderOne).String(); have != goldenBinding {
		t.Errorf("%s, want %s", have, goldenBinding)
	}
	facts, _ := golden(t).Facts(renderOne)
	var values []any
	for _, f := range facts {
		values = append(values, f.Value)
	}
	if text, err := canon.Encode(append([]any{"holdfast.binding", "v1"}, values...)); string(text) != goldenTuple || err != nil {
		t.Errorf("%s, %v\nwant %s", text, err, goldenTuple)
	}
}

// L0. Every member of a roster and of a row is on one of the two lists, so that a
// member more must be put on one.
//
// Red when: holds are put into the tuple; quarantine_revision (or any other fact) is
// dropped from it; a member is added and nobody said which it is.
func TestL0EveryFactMovesTheBindingAndNothingElseDoes(t *testing.T) {
	other := strings.Repeat("9", 64)
	deployment := map[string]func(*roster.Roster){
		"bucket":           func(r *roster.Roster) { r.Bucket = other[:32] },
		"home_region":      func(r *roster.Roster) { r.HomeRegion = "us" },
		"request_limit_ns": func(r *roster.Roster) { r.RequestLimitNS++ },
		"publication":      func(r *roster.Roster) { r.Publication = "other" },
		"floor_sha256":     func(r *roster.Roster) { r.FloorSHA256 = other },
	}
	outside := map[string]func(*roster.Roster){
		"schema":              func(r *roster.Roster) { r.Schema = "x" },
		"revision":            func(r *roster.Roster) { r.Revision++ },
		"writes":              func(r *roster.Roster) { r.Writes = r.Writes[1:] },
		"written_at":          func(r *roster.Roster) { r.WrittenAt = r.WrittenAt.Add(time.Hour) },
		"prev_sha256":         func(r *roster.Roster) { r.PrevSHA256 = other },
		"holds":               func(r *roster.Roster) { clear(r.Holds) },
		"activations":         func(r *roster.Roster) { clear(r.Activations) },
		"enrollment_attempts": func(r *roster.Roster) { clear(r.EnrollmentAttempts) },
		"consoles":            func(r *roster.Roster) { clear(r.Consoles) },
		"regions":             func(r *roster.Roster) { clear(r.Regions) },
		"boxes":               func(r *roster.Roster) { delete(r.Boxes, renderTwo) }, // the other rows
	}
	row := map[string]func(*roster.Box){
		"namespace":           func(b *roster.Box) { b.Namespace = "other" },
		"box_id":              func(b *roster.Box) { b.BoxID = "other" },
		"region":              func(b *roster.Box) { b.Region = "other" },
		"pool":                func(b *roster.Box) { b.Pool = "other" },
		"cloud":               func(b *roster.Box) { b.Cloud = "other" },
		"evidence_sha256":     func(b *roster.Box) { b.EvidenceSHA256 = other },
		"state":               func(b *roster.Box) { b.State = roster.Quarantined },
		"quarantine_revision": func(b *roster.Box) { b.QuarantineRevision++ },
		"census_public_key":   func(b *roster.Box) { b.CensusPublicKey = other },
	}
	outsideRow := map[string]func(*roster.Box){
		"loss_ids":    func(b *roster.Box) { b.LossIDs = nil },
		"role":        func(b *roster.Box) { b.Role = "other" },
		"label":       func(b *roster.Box) { b.Label = "other" },
		"group":       func(b *roster.Box) { b.Group = "other" },
		"invitation":  func(b *roster.Box) { b.Invitation = other[:32] },
		"enrolled_at": func(b *roster.Box) { b.EnrolledAt = b.EnrolledAt.Add(time.Hour) },
	}
	everyMemberOnce(t, reflect.TypeFor[roster.Roster](), deployment, outside)
	everyMemberOnce(t, reflect.TypeFor[roster.Box](), row, outsideRow)

	was := bindingOf(t, golden(t), renderOne)
	moves := func(change func(*roster.Roster)) bool {
		r := golden(t)
		change(r)
		return !was.Stamp().Current(bindingOf(t, r, renderOne))
	}
	of := func(change func(*roster.Box)) func(*roster.Roster) {
		return func(r *roster.Roster) {
			b := r.Boxes[renderOne]
			change(&b)
			r.Boxes[renderOne] = b
		}
	}
	for name, change := range deployment {
		if !moves(change) {
			t.Errorf("%s does not move the binding", name)
		}
	}
	for name, change := range row {
		if !moves(of(change)) {
			t.Errorf("%s does not move the binding", name)
		}
	}
	for name, change := range outside {
		if moves(change) {
			t.Errorf("%s moves the binding", name)
		}
	}
	for name, change := range outsideRow {
		if moves(of(change)) {
			t.Errorf("%s moves the binding", name)
		}
	}
	again := golden(t)
	again.Boxes[renderTwo] = again.Boxes[renderOne] // the same row, another enrollment
	if was.Stamp().Current(bindingOf(t, again, renderTwo)) {
		t.Error("the enrollment does not move the binding")
	}
	if a, ok := golden(t).Actor("unknown"); ok || a != (roster.Actor{}) {
		t.Errorf("an unknown box is %+v", a)
	}
}

func everyMemberOnce[F any](t *testing.T, of reflect.Type, lists ...map[string]F) {
	t.Helper()
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		found := 0
		for _, list := range lists {
			if _, ok := list[name]; ok {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s of %s is on %d of the two lists", name, of.Name(), found)
		}
	}
}

// L1. Red when: Current, Same or Since compares without asking whether there is
// anything; an empty stamp is written or read.
func TestL1AnEmptyBindingVerifiesNothing(t *testing.T) {
	var stamp roster.Stamp
	if stamp.Current(roster.Fresh{}) || stamp.Same(roster.Stamp{}) || stamp.Since(roster.Pinned{}) {
		t.Error("an empty binding equals an empty one")
	}
	if roster.SameBinding(roster.Actor{}, roster.Actor{}) || roster.SameBinding(roster.Bound{}, roster.Bound{}) {
		t.Error("actors without a binding are the same")
	}
	if text, err := stamp.MarshalText(); err == nil {
		t.Errorf("written as %q", text)
	}
	for _, text := range []string{"", "7", "18446744073709551615", strings.Repeat("A", 64), strings.Repeat("a", 63), strings.Repeat("a", 65)} {
		if s, err := roster.ParseStamp(text); err == nil || s != (roster.Stamp{}) {
			t.Errorf("%q is read as a binding", text)
		}
	}
}

// L1. Red when: Bound leaves out another member, or keeps the revision; SameBinding
// compares less than Bound has.
func TestL1BoundDropsTheRevisionAndNothingElse(t *testing.T) {
	a, _ := golden(t).Actor(renderOne)
	actor, bound := reflect.TypeFor[roster.Actor](), reflect.TypeFor[roster.Bound]()
	for i := range actor.NumField() {
		name := actor.Field(i).Name
		if _, kept := bound.FieldByName(name); kept == (name == "Revision") {
			t.Errorf("%s: kept %v", name, kept)
		}
		changed := a
		switch f := reflect.ValueOf(&changed).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("other")
		case reflect.Uint8, reflect.Uint64:
			f.SetUint(f.Uint() + 1)
		default: // the binding, which nothing sets from outside
			r := golden(t)
			r.RequestLimitNS++
			now, _ := r.Actor(renderOne)
			changed.Binding = now.Binding
		}
		if same := roster.SameBinding(a, changed); same != (name == "Revision") {
			t.Errorf("with another %s they are the same: %v", name, same)
		}
	}
	if bound.NumField() != actor.NumField()-1 {
		t.Errorf("Bound has %d members, Actor %d", bound.NumField(), actor.NumField())
	}
	if !roster.SameBinding(a, a.Bound()) {
		t.Error("an actor is not the same as what was persisted of it")
	}
}

// Red when: Fresh or Pinned can be written with a record.
func TestAFreshBindingIsNotStored(t *testing.T) {
	f := bindingOf(t, golden(t), renderOne)
	for _, v := range []any{f, f.Pin(), map[string]any{"b": f}, struct{ B roster.Pinned }{f.Pin()}} {
		if text, err := json.Marshal(v); err == nil {
			t.Errorf("%s", text)
		}
		if text, err := canon.Encode(v); err == nil {
			t.Errorf("%s", text)
		}
	}
	text, err := json.Marshal(f.Stamp())
	var back roster.Stamp
	if err != nil || json.Unmarshal(text, &back) != nil || !back.Same(f.Stamp()) || !back.Current(f) || !back.Since(f.Pin()) {
		t.Errorf("%s, %v, %v", text, err, back)
	}
}

// Red when: the comparison is made to compile, say by making Fresh and Stamp one type.
func TestAComparisonThatMeansNothingDoesNotCompile(t *testing.T) {
	compiles := compiler(t)
	good := compiles("var s roster.Stamp; var f roster.Fresh; var p roster.Pinned; var a roster.Actor; _, _, _, _ = s.Current(f), s.Same(s), s.Since(p), roster.SameBinding(a, a.Bound())")
	if good != nil {
		t.Fatalf("the comparisons that there are do not compile: %v", good)
	}
	for _, wrong := range []string{
		"var s roster.Stamp; var f roster.Fresh; _ = s == f",
		"var s roster.Stamp; var p roster.Pinned; _ = s == p",
		"var p roster.Pinned; var f roster.Fresh; _ = p == f",
		"var s roster.Stamp; _ = s.Current(s)",
		"var s roster.Stamp; var p roster.Pinned; _ = s.Current(p)",
		"var s roster.Stamp; var f roster.Fresh; _ = s.Same(f)",
		"var s roster.Stamp; var f roster.Fresh; _ = s.Since(f)",
		"var a roster.Actor; _ = a == a.Bound()",
		"var s roster.Stamp; var a roster.Actor; _ = s.Current(a.Revision)",
		"var f roster.Fresh; _ = f <= f",
		"var s roster.Stamp; _ = s < s",
		"var a roster.Actor; _ = roster.Bound{Binding: a.Binding}",
		`_ = roster.Fresh{"00"}`,
		`_ = roster.SameBinding("", "")`,
	} {
		if compiles(wrong) == nil {
			t.Errorf("it compiles: %s", wrong)
		}
	}
}

// compiler says what is wrong with a function of some statements.
func compiler(t *testing.T) func(statements string) error {
	t.Helper()
	const self = "holdfast/internal/fleet/roster"
	list, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", self).Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return func(statements string) error {
		file, err := parser.ParseFile(files, "x.go", fmt.Sprintf("package x\nimport %q\nfunc _() { %s }", self, statements), 0)
		if err != nil {
			t.Fatalf("%s: %v", statements, err)
		}
		_, err = (&types.Config{Importer: imports}).Check("x", files, []*ast.File{file}, nil)
		return err
	}
}

// L5, the pure half: what no writer does, by hand.
//
// Red when: the fact in question leaves the tuple, or the writer lets it through.
func TestL5WhatIsFixedMovesTheBindingAndNoWriterMovesIt(t *testing.T) {
	other := strings.Repeat("9", 64)
	for name, c := range map[string]struct {
		writer func(*roster.Roster) error
		byHand func(*roster.Roster)
	}{
		"floor":       {func(r *roster.Roster) error { return r.PinFloor(r.Publication, other) }, func(r *roster.Roster) { r.FloorSHA256 = other }},
		"home region": {func(r *roster.Roster) error { return r.SetHome("us") }, func(r *roster.Roster) { r.HomeRegion = "us" }},
		"census key": {func(r *roster.Roster) error { return r.BindCensusKey("render-1", other) }, func(r *roster.Roster) {
			b := r.Boxes[renderOne]
			b.CensusPublicKey = other
			r.Boxes[renderOne] = b
		}},
		"re-enrolment": {func(r *roster.Roster) error {
			return r.Enroll(roster.Admission{Invitation: other[:32], Uses: 1, BoxID: "render-1", Namespace: "default", Region: "eu", Pool: "default", Cloud: "none"}, other, noon)
		}, func(r *roster.Roster) {
			b := r.Boxes[renderOne]
			b.EvidenceSHA256 = other
			r.Boxes[renderOne] = b
		}},
	} {
		r := golden(t)
		before := r.Clone()
		if err := c.writer(r); err == nil || reflect.DeepEqual(r, before) == false {
			t.Errorf("%s: the writer says %v", name, err)
		}
		installed := bindingOf(t, r, renderOne).Stamp()
		c.byHand(r)
		if installed.Current(bindingOf(t, r, renderOne)) {
			t.Errorf("%s: what was installed before is still current", name)
		}
		r.Advance(other, strings.Repeat("8", 32), noon)
		if err := roster.Transition(before, r); err == nil {
			t.Errorf("%s: the step is taken for a writer's", name)
		}
	}
}
