package booth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"holdfast/internal/booth/folder"
	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// Change is what somebody wants to say about a booth from now on.
type Change struct {
	Title *string `json:"title"`
}

// MaxItem is the most that one item may hold when it is put into a booth, and
// maxTitle the most that a title may, in bytes.
const (
	MaxItem  = 64 << 30
	maxTitle = 1 << 10
)

// Check refuses a change that says nothing, or too much.
func (c Change) Check() error {
	switch {
	case c.Title == nil:
		return problem.New(problem.Usage, "change", "The change says nothing. Nothing was changed.")
	case len(*c.Title) > maxTitle:
		return problem.Refusal(problem.StepTooLarge, "A title holds at most %d bytes. Nothing was changed.", maxTitle)
	}
	return nil
}

// ParseChange reads a change as it arrives over HTTP.
func ParseChange(data []byte) (Change, error) {
	var c Change
	if err := canon.Decode(data, &c); err != nil {
		return c, problem.New(problem.Usage, "change", "The change cannot be read: %v. Nothing was changed.", err)
	}
	return c, c.Check()
}

// withTitle is a manifest with another title, everything else as it was written.
func withTitle(members map[string]json.RawMessage, title string) ([]byte, error) {
	raw, err := canon.Encode(title)
	if err != nil {
		return nil, err
	}
	members["title"] = raw
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err = enc.Encode(members)
	return out.Bytes(), err
}

// Describe writes a change into a booth's manifest, making the booth if there is
// none. Members that this version does not know stay; a manifest that cannot be
// read is left as it is.
func Describe(ctx context.Context, d *folder.Data, name folder.Name, c Change) error {
	if err := c.Check(); err != nil {
		return err
	}
	return d.Fill(name, func(*folder.Booth) error {
		return locked(ctx, d, name, func(b *folder.Booth, dir *durable.Dir) error { return describe(b, dir, c) })
	})
}

// describe does it, with the booth's lock.
func describe(b *folder.Booth, dir *durable.Dir, c Change) error {
	members := map[string]json.RawMessage{}
	data, err := b.ReadDot(ManifestFile, maxManifest)
	if err == nil {
		if _, err = ParseManifest(data); err == nil {
			err = json.Unmarshal(data, &members)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return problem.Refusal("manifest", "The booth's %s cannot be read (%s), so its title was not changed.", ManifestFile, problem.Words(err)).
			WithHint("mend or remove that file")
	}
	out, err := withTitle(members, *c.Title)
	if err != nil {
		return err
	}
	if len(out) > maxManifest {
		return problem.Refusal(problem.StepTooLarge, "The booth's %s would hold more than %d bytes. Nothing was changed.", ManifestFile, maxManifest)
	}
	return dir.WriteFile(ManifestFile, out, 0o644)
}
