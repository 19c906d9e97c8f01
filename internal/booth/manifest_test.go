package booth

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/booth/lifetime"
	"holdfast/internal/problem"
)

func titled(s string) Change { return Change{Title: &s} }

// damaged are manifests that say nothing.
var damagedManifests = map[string]string{
	"empty":          "",
	"cut":            `{"title":"x"`,
	"null":           "null",
	"list":           "[]",
	"text":           `"title"`,
	"a member twice": `{"title":"a","title":"b"}`,
	"wrong type":     `{"title":7}`,
	"null order":     `{"order":[7]}`,
	"two documents":  `{}{}`,
	"too large":      `{"x":"` + string(make([]byte, maxManifest)) + `"}`,
}

// A manifest decides nothing, so a damaged one holds nothing and hides nothing.
// Red when readManifest drops its error, or At makes a hold of it.
func TestADamagedManifestIsSaidAndHoldsNothing(t *testing.T) {
	for name, content := range damagedManifests {
		b, dir := makeBooth(t)
		write(t, dir, "a", "x")
		write(t, dir, ManifestFile, content)
		l := look(b)
		if l.Manifest.Damage == "" || l.Title() != "x" || len(l.Items) != 1 {
			t.Errorf("%s: damage %q, title %q, %d items", name, l.Manifest.Damage, l.Title(), len(l.Items))
		}
		if _, ok := l.State.(lifetime.Counting); !ok {
			t.Errorf("%s: %#v", name, l.State)
		}
	}
}

// Red when Describe writes over what it could not read; red for null when the
// map that it reads into is used as it comes back.
func TestDescribeLeavesADamagedManifestAsItIs(t *testing.T) {
	for name, content := range damagedManifests {
		_, dir := makeBooth(t)
		write(t, dir, ManifestFile, content)
		err := describeAt(t, dir, titled("new"))
		if p := problem.From(err, ""); err == nil || p.Kind != problem.Refused || p.Step != "manifest" {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(dir + "/" + ManifestFile); err != nil || string(got) != content {
			t.Errorf("%s: the bytes have changed (%v)", name, err)
		}
	}
	for kind, plant := range oddities {
		b, dir := makeBooth(t)
		plant(t, dir+"/"+ManifestFile)
		before, err := os.Lstat(dir + "/" + ManifestFile)
		check(t, err)
		if err := describeAt(t, dir, titled("new")); problem.KindOf(err) != problem.Refused {
			t.Errorf("%s: %v", kind, err)
		}
		if after, err := os.Lstat(dir + "/" + ManifestFile); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was replaced", kind)
		}
		if look(b).Manifest.Damage == "" {
			t.Errorf("%s: no damage said", kind)
		}
	}
}

// Red when Describe writes a Manifest and not the members that it read.
func TestDescribeKeepsMembersThatItDoesNotKnow(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, ManifestFile, `{"later":{"n":12345678901234567890},"order":["b"],"title":"old"}`)
	check(t, describeAt(t, dir, titled("new \u202e")))
	data, err := os.ReadFile(dir + "/" + ManifestFile)
	check(t, err)
	var got map[string]json.RawMessage
	check(t, json.Unmarshal(data, &got))
	want := map[string]json.RawMessage{
		"later": json.RawMessage(`{"n":12345678901234567890}`), "order": json.RawMessage(`["b"]`), "title": json.RawMessage("\"new \u202e\""),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if l := look(b); l.Manifest.Title != "new \u202e" || l.Manifest.Order[0] != "b" {
		t.Errorf("%+v", l.Manifest)
	}
}

// Red when a change is written before it is checked: a write is a stamp.
func TestAChangeThatSaysNothingOrTooMuchWritesNothing(t *testing.T) {
	_, dir := makeBooth(t)
	if err := describeAt(t, dir, Change{}); err == nil || problem.KindOf(err) != problem.Usage {
		t.Errorf("%v", err)
	}
	long := strings.Repeat("x", maxTitle+1)
	if err := describeAt(t, dir, titled(long)); err == nil || problem.From(err, "").Step != problem.StepTooLarge {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(dir + "/" + ManifestFile); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

// A title made twice with other letters is one title. Red when Describe sets
// "title" beside "Title", and the reader takes the other one.
func TestATitleIsTheOneThatWasDescribedLast(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, ManifestFile, `{"Title":"loud","titlE":"later"}`)
	check(t, describeAt(t, dir, titled("quiet")))
	if got := look(b).Manifest.Title; got != "quiet" {
		t.Errorf("%q", got)
	}
}

func TestParseChangeTakesKnownMembersOnly(t *testing.T) {
	if c, err := ParseChange([]byte(`{"title":""}`)); err != nil || c.Title == nil || *c.Title != "" {
		t.Errorf("%+v %v", c, err)
	}
	for _, bad := range []string{"", "{}", "null", "[]", `{"tilte":"x"}`, `{"title":7}`, `{"title":"a","title":"b"}`, `{}{}`, "{\"title\":\"\xff\"}"} {
		if _, err := ParseChange([]byte(bad)); problem.KindOf(err) != problem.Usage || err == nil {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
