package carrier

import (
	"fmt"
	"regexp"
	"strconv"

	"holdfast/internal/roadmap/event"
)

// The tree that the log's branch points to.
const (
	formatPath = "format"
	formatText = "holdfast-roadmap/1\n"

	// maxTail is how many events stand in files of their own, and how many a
	// segment holds.
	maxTail = 256
	// maxSegments is where the log ends: six digits.
	maxSegments = 999_999
	maxSegment  = maxTail * (event.MaxEnvelope + 1)
)

var (
	segmentShape = regexp.MustCompile(`^segments/(\d\d)/(\d\d)/(\d{6})\.jsonl$`)
	tailShape    = regexp.MustCompile(`^tail/(\d{10})-([0-9a-f]{12})\.json$`)
)

// segmentPath is where the segment of a number stands, so that no folder has more
// than a hundred entries and paths sort in the order of the log.
func segmentPath(number int) string {
	return fmt.Sprintf("segments/%02d/%02d/%06d.jsonl", number/10_000, number/100%100, number)
}

// parseSegment is the number of a segment's path.
func parseSegment(path string) (int, bool) {
	m := segmentShape.FindStringSubmatch(path)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[3])
	return n, err == nil && n > 0 && segmentPath(n) == path
}

// tailPath is where an event stands until it is sealed into a segment.
func tailPath(e event.Envelope) string {
	return fmt.Sprintf("tail/%010d-%.12s.json", e.Seq, e.Event.ID())
}

// parseTail is the place and the id's beginning that a tail file's path has.
func parseTail(path string) (seq int64, id string, ok bool) {
	m := tailShape.FindStringSubmatch(path)
	if m == nil {
		return 0, "", false
	}
	seq, err := strconv.ParseInt(m[1], 10, 64)
	return seq, m[2], err == nil && seq > 0
}
