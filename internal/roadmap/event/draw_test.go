package event

import (
	"slices"
	"time"

	"pgregory.net/rapid"
)

// Drafts as anybody might make them, all good.
var (
	texts = rapid.OneOf(
		rapid.StringMatching(`[a-z<>&"\\/ \t\r\n\x08\x0c\x01\x7f]{0,20}x`),
		rapid.Map(rapid.StringN(0, 40, 400), func(s string) string { return "." + slicesOf(s) }),
	)
	lines      = rapid.Map(rapid.StringMatching(`[a-z<>&"'\\/ ÄΩ🔑]{0,30}`), func(s string) string { return "." + s })
	words      = rapid.SampledFrom([]Node{"a", "fix-login", "node-2-x", "0"})
	principals = rapid.SampledFrom([]Principal{"principal:local/studio/ada", "principal:a.b/c-d/e_f+g@h"})
	ids        = rapid.Map(rapid.StringMatching(`[0-9a-f]{64}`), func(s string) ID { return ID(s) })
	names      = rapid.Map(rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`), func(s string) Comment { return Comment(s) })
)

// slicesOf is s without what no text may hold.
func slicesOf(s string) string {
	return string(slices.DeleteFunc([]rune(s), func(r rune) bool { return r == 0 }))
}

func maybe[T ~string](t *rapid.T, g *rapid.Generator[T], label string) T {
	if rapid.Bool().Draw(t, label+"?") {
		return g.Draw(t, label)
	}
	return ""
}

func drawCard(t *rapid.T) Card {
	labels := rapid.SliceOfNDistinct(lines, 0, 4, rapid.ID).Draw(t, "labels")
	slices.Sort(labels)
	return Card{
		Title: lines.Draw(t, "title"), Body: maybe(t, texts, "body"), Labels: labels,
		Priority: maybe(t, rapid.SampledFrom([]Priority{"p0", "p4"}), "priority"), Run: maybe(t, lines, "run"),
	}
}

func drawOutcome(t *rapid.T) Outcome {
	switch rapid.IntRange(0, 3).Draw(t, "outcome") {
	case 0:
		return Published{Head: maybe(t, rapid.StringMatching(`[0-9a-f]{40}|[0-9a-f]{64}`), "head"), Booth: maybe(t, lines, "booth")}
	case 1:
		return Waiting{Picks: rapid.SliceOfNDistinct(lines, 1, 3, rapid.ID).Draw(t, "picks")}
	case 2:
		return VerificationFailed{Cause: texts.Draw(t, "cause")}
	default:
		return GivenBack{Reason: texts.Draw(t, "reason")}
	}
}

// draws makes a body of each kind.
var draws = map[Kind]func(*rapid.T) Body{
	KindOpened: func(t *rapid.T) Body { return Opened{drawCard(t)} },
	KindEdited: func(t *rapid.T) Body { return Edited{drawCard(t)} },
	KindLinked: func(t *rapid.T) Body {
		return Linked{rapid.SampledFrom(Relations).Draw(t, "relation"), words.Draw(t, "to")}
	},
	KindUnlinked: func(t *rapid.T) Body {
		return Unlinked{rapid.SampledFrom(Relations).Draw(t, "relation"), words.Draw(t, "to")}
	},
	KindClaimed: func(t *rapid.T) Body {
		return Claimed{principals.Draw(t, "assignee"), principals.Draw(t, "return to")}
	},
	KindReleased:   func(*rapid.T) Body { return Released{} },
	KindProgress:   func(t *rapid.T) Body { return Progress{texts.Draw(t, "note")} },
	KindBlocked:    func(t *rapid.T) Body { return Blocked{texts.Draw(t, "reason")} },
	KindHandedBack: func(t *rapid.T) Body { return HandedBack{texts.Draw(t, "reason")} },
	KindReceipt: func(t *rapid.T) Body {
		return Receipt{lines.Draw(t, "obligation"), lines.Draw(t, "address"), lines.Draw(t, "verdict")}
	},
	KindCommentCreated: func(t *rapid.T) Body {
		return CommentCreated{names.Draw(t, "comment"), texts.Draw(t, "body"), maybe(t, names, "parent")}
	},
	KindCommentEdited:  func(t *rapid.T) Body { return CommentEdited{names.Draw(t, "comment"), texts.Draw(t, "body")} },
	KindCommentDeleted: func(t *rapid.T) Body { return CommentDeleted{names.Draw(t, "comment")} },
	KindResultReturned: func(t *rapid.T) Body {
		return ResultReturned{Attempt(rapid.StringMatching(`[0-9a-f]{16}`).Draw(t, "attempt")), ids.Draw(t, "claim"), drawOutcome(t)}
	},
	KindAccepted:   func(t *rapid.T) Body { return Accepted{maybe(t, texts, "reason")} },
	KindDropped:    func(t *rapid.T) Body { return Dropped{maybe(t, texts, "reason")} },
	KindReopened:   func(t *rapid.T) Body { return Reopened{maybe(t, texts, "reason")} },
	KindReconciled: func(*rapid.T) Body { return Reconciled{} }, // drawDraft says which it keeps
}

func drawDraft(t *rapid.T) Draft {
	d := Draft{
		Node: words.Draw(t, "node"), Author: principals.Draw(t, "author"), Parents: []ID{},
		At:   time.UnixMilli(rapid.Int64Range(1, 253402300799999).Draw(t, "at")),
		Body: draws[rapid.SampledFrom(Kinds()).Draw(t, "kind")](t),
	}
	switch d.Body.(type) {
	case Opened:
	case Reconciled:
		d.Parents = rapid.SliceOfNDistinct(ids, 2, 5, rapid.ID).Draw(t, "parents")
		d.Body = Reconciled{rapid.SampledFrom(d.Parents).Draw(t, "keep")}
	default:
		d.Parents = []ID{ids.Draw(t, "parent")}
	}
	return d
}
