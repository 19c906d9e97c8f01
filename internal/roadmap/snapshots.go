package roadmap

import (
	"context"
	"errors"
	"time"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/census"
	"holdfast/internal/roadmap/snapshot"
)

// SnapshotRow is one private snapshot of this home's plan.
type SnapshotRow struct {
	Path   string `json:"path"`
	Seen   string `json:"seen"`                              // git, folder or both
	Owner  string `json:"owner"`                             // alive, gone or unknown
	Detail string `json:"detail"`                            // the evidence, or why it cannot be told
	Across bool   `json:"present_across_censuses,omitempty"` // as a census says; no ground to remove it
}

// CloseFailure is a snapshot that could not be removed.
type CloseFailure struct {
	Seq       int64     `json:"seq"`
	At        time.Time `json:"at"`
	Operation string    `json:"operation"`
	Worktree  string    `json:"worktree"`
	ExitCode  int       `json:"exit_code"`
	Stderr    string    `json:"stderr"`
}

// Census is what a census of the snapshots saw.
type Census struct {
	ObservedAt    time.Time      `json:"observed_at"`
	Namespace     string         `json:"namespace"`
	Snapshots     []SnapshotRow  `json:"snapshots"`
	CloseFailures []CloseFailure `json:"close_failures"` // since the last census that was read
	Prior         string         `json:"prior"`          // read, absent or unreadable
	PriorReason   string         `json:"prior_reason,omitempty"`
}

// Snapshots is the private snapshots that there are now.
type Snapshots struct {
	Snapshots []SnapshotRow `json:"snapshots"`
}

// Snapshots looks at the snapshots, and puts nothing on record.
func (p *Plan) Snapshots(ctx context.Context) (Snapshots, error) {
	seen, err := census.Look(ctx, p.carrier.Store())
	if err != nil {
		return Snapshots{}, censusFailed(err)
	}
	doc := Snapshots{Snapshots: []SnapshotRow{}}
	for _, s := range seen {
		doc.Snapshots = append(doc.Snapshots, snapshotRow(s, nil))
	}
	return doc, nil
}

// Census takes a census and writes its receipt.
func (p *Plan) Census(ctx context.Context) (Census, error) {
	r, err := census.Take(ctx, p.carrier.Store(), time.Now())
	if err != nil {
		return Census{}, censusFailed(err)
	}
	return censusDocument(r), nil
}

func censusFailed(err error) error {
	var p *problem.Error
	if errors.As(err, &p) {
		return err
	}
	return problem.New(problem.Failed, "census", "The snapshots could not be counted: %s. Nothing was removed.", problem.Words(err)).Because(err)
}

func censusDocument(r census.Receipt) Census {
	doc := Census{
		ObservedAt: r.ObservedAt, Namespace: r.Namespace.String(), Snapshots: []SnapshotRow{}, CloseFailures: []CloseFailure{},
	}
	for _, s := range r.Snapshots {
		doc.Snapshots = append(doc.Snapshots, snapshotRow(s, r.PresentAcross))
	}
	for _, f := range r.CloseFailures {
		doc.CloseFailures = append(doc.CloseFailures, CloseFailure{
			Seq: f.Seq, At: f.At, Operation: f.Operation, Worktree: f.Close.Worktree, ExitCode: f.Close.ExitCode, Stderr: f.Close.Stderr,
		})
	}
	switch prior := r.Prior.(type) {
	case census.Absent:
		doc.Prior = "absent"
	case census.Read:
		doc.Prior = "read"
	case census.Unreadable:
		doc.Prior, doc.PriorReason = "unreadable", prior.Reason
	}
	return doc
}

func snapshotRow(s census.Seen, across []snapshot.Name) SnapshotRow {
	row := SnapshotRow{Path: s.Name.String(), Seen: s.Where.String()}
	row.Owner, row.Detail = ownerWords(s.Owner)
	for _, n := range across {
		row.Across = row.Across || n == s.Name
	}
	return row
}

func ownerWords(o snapshot.Owner) (kind, detail string) {
	switch o := o.(type) {
	case snapshot.Alive:
		return "alive", ""
	case snapshot.Gone:
		return "gone", o.Evidence
	case snapshot.Unknown:
		return "unknown", o.Reason
	default:
		return "unknown", "it was not asked"
	}
}

// ReapDocument is what a reaping came to.
type ReapDocument struct {
	Removed []string       `json:"removed"`
	Spared  []SnapshotRow  `json:"spared"` // whose owner is not gone
	Failed  []SnapshotLeft `json:"failed"`
}

// SnapshotLeft is one that is gone and could not be removed.
type SnapshotLeft struct {
	Path   string `json:"path"`
	Detail string `json:"detail"`
}

// Reap removes the snapshots whose owners are gone.
func (p *Plan) Reap(ctx context.Context) (ReapDocument, error) {
	doc := ReapDocument{Removed: []string{}, Spared: []SnapshotRow{}, Failed: []SnapshotLeft{}}
	r, err := census.Reap(ctx, p.carrier.Store())
	for _, n := range r.Removed {
		doc.Removed = append(doc.Removed, n.String())
	}
	for _, s := range r.Spared {
		doc.Spared = append(doc.Spared, snapshotRow(s, nil))
	}
	for _, f := range r.Failed {
		doc.Failed = append(doc.Failed, SnapshotLeft{Path: f.Worktree, Detail: f.Stderr})
	}
	if err != nil {
		return doc, censusFailed(err)
	}
	return doc, nil
}
