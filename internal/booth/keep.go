package booth

import (
	"context"
	"errors"
	"time"

	"holdfast/internal/booth/folder"
	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// keepBody is what a keep marker of ours says.
type keepBody struct {
	Why string `json:"why,omitempty"`
	By  string `json:"by,omitempty"`
	At  string `json:"at"`
}

// Kept is what became of a booth that was to be kept or released, in JSON.
type Kept struct {
	Name    string `json:"name"`
	Changed bool   `json:"changed"`
	State   State  `json:"state"`
}

// Keeping is the look as the answer to keeping or releasing the booth.
func (l Look) Keeping(changed bool) Kept {
	return Kept{text(l.Name.String()), changed, l.stateJSON()}
}

// Keep puts the keep marker into a booth. A booth that is kept stays as it is,
// unless another reason is given for it. changed says whether it did anything.
func Keep(ctx context.Context, d *folder.Data, name folder.Name, why, by string, now time.Time) (changed bool, err error) {
	why = text(why)
	body, err := canon.Encode(keepBody{why, text(by), stamp(now)})
	if err != nil {
		return false, err
	}
	if body = append(body, '\n'); len(body) > maxKeep {
		return false, problem.Refusal(problem.StepTooLarge, "The reason for keeping is too long. Nothing was changed.")
	}
	err = locked(ctx, d, name, func(b *folder.Booth, dir *durable.Dir) error {
		there, err := b.Sentinel()
		if err != nil || there && (why == "" || why == keptWhy(b)) {
			return err
		}
		if odd := new(folder.Unserved); there && errors.As(oddMarker(b), &odd) && odd.Why == folder.Directory {
			return problem.Refusal("keep-marker", "The keep marker (.forever) is a folder, so no reason was written into it. The booth is kept as it was.").
				WithHint("holdfast booth unkeep takes it away")
		}
		err = dir.WriteFile(KeepFile, body, 0o644)
		changed = err == nil
		return err
	})
	return changed, err
}

// oddMarker is why the keep marker cannot be read.
func oddMarker(b *folder.Booth) error {
	_, err := b.ReadDot(KeepFile, maxKeep)
	return err
}

// Release takes the keep marker away, whatever kind of file it is. If there was
// one, that is activity and counts as a look: the booth counts down from now.
// Releasing a booth that is not kept changes nothing, not even its clock.
func Release(ctx context.Context, d *folder.Data, name folder.Name, now time.Time) (released bool, err error) {
	err = locked(ctx, d, name, func(b *folder.Booth, _ *durable.Dir) error {
		released, err = b.RemoveSentinel()
		if released {
			_ = b.RecordView(now) // it cannot fail the release
		}
		return err
	})
	return released, err
}
