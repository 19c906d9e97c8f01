package booth

import (
	"encoding/json"
	"errors"
	"io/fs"

	"holdfast/internal/booth/folder"
	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// Change is what somebody wants to say about a booth from now on. A nil member
// leaves what is there.
type Change struct {
	Title *string `json:"title,omitempty"`
}

// ParseChange reads a change as it arrives over HTTP.
func ParseChange(data []byte) (Change, error) {
	var c Change
	if err := canon.Decode(data, &c); err != nil {
		return c, problem.New(problem.Usage, "change", "The change cannot be read: %v. Nothing was changed.", err)
	}
	return c, nil
}

// Describe writes a change into the booth's manifest. Members that this version
// does not know stay; a manifest that cannot be read is left as it is.
func Describe(b *folder.Booth, c Change) error {
	if c.Title == nil {
		return nil
	}
	members := map[string]json.RawMessage{}
	data, err := b.ReadDot(ManifestFile, maxManifest)
	if err == nil {
		if _, err = ParseManifest(data); err == nil {
			err = json.Unmarshal(data, &members)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return problem.Refusal("manifest", "The booth's %s cannot be read (%s), so its title was not changed.", ManifestFile, why(err)).
			WithHint("mend or remove that file")
	}
	title, err := json.Marshal(*c.Title)
	if err != nil {
		return err
	}
	members["title"] = title
	out, err := json.Marshal(members)
	if err != nil {
		return err
	}
	dir, err := durable.FromFile(b.Dir())
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.WriteFile(ManifestFile, append(out, '\n'), 0o644)
}
