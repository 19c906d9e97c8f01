package carrier

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/index"
)

// Steps at which something in the log is refused, beside those of package event.
const (
	StepLayout   = "layout"    // a file that is no part of the log, or no file
	StepTailName = "tail-name" // a tail file whose name is not its content's
	StepSequence = "sequence"  // a place is taken twice, or missing
)

// errRewritten: what was verified before is not in the log any more, or is
// another.
var errRewritten = errors.New("the log was rewritten")

// maxRead is how large a file of the log is looked at: larger ones are no
// envelopes, nor 256 of them.
const maxOdd = 16 << 20

// known is what the index has of the log, for comparison.
type known struct {
	at       index.Position
	segments []index.Segment
	tail     []event.Envelope // beyond the segments
}

func knownOf(v *index.View) (known, error) {
	k := known{at: v.Position()}
	var err error
	if k.segments, err = v.Segments(); err != nil {
		return k, err
	}
	err = v.Envelopes(k.at.SealedSeq+1, func(e event.Envelope) error {
		k.tail = append(k.tail, e)
		return nil
	})
	return k, err
}

// reader reads what a commit has beyond what is known, and checks that it has all
// that is known, unchanged and in order.
type reader struct {
	known   known
	format  git.Format
	objects interface {
		Read(name string, limit int64) (git.Object, error)
	}

	update index.Update
	named  []int64 // the places that files of the tail are named for, in order
	seen   int     // how many events of known.tail were found, in their order
	last   int64   // the newest place that was read
}

// read reads the tree of a commit, given as the list of its files.
func (r *reader) read(files []git.File) (index.Update, error) {
	r.last = r.known.at.SealedSeq
	r.update.Reread = true
	r.update.To.Sealed, r.update.To.SealedSeq = r.known.at.Sealed, r.known.at.SealedSeq
	segments, tail, err := r.sort(files)
	if err != nil {
		return index.Update{}, err
	}
	for _, f := range tail {
		seq, _, _ := parseTail(f.Path)
		r.named = append(r.named, seq)
	}
	for _, step := range []func() error{
		func() error { return r.readSegments(segments) },
		func() error { return r.readTail(tail) },
	} {
		if err := step(); err != nil {
			return index.Update{}, err
		}
	}
	if r.seen < len(r.known.tail) {
		return index.Update{}, errRewritten
	}
	r.update.To.Seq = max(r.last, r.known.at.Seq)
	return r.update, nil
}

// sort tells the files of a tree apart, each kind in the order of the log.
func (r *reader) sort(files []git.File) (segments, tail []git.File, err error) {
	format := false
	for _, f := range files {
		_, segment := parseSegment(f.Path)
		_, _, inTail := parseTail(f.Path)
		switch {
		case f.Path == formatPath:
			format = f.Regular() && f.ID == r.format.Blob([]byte(formatText))
		case !segment && !inTail:
			r.refuse(f.Path, "", StepLayout, "it is no part of the log")
		case !f.Regular():
			r.refuse(f.Path, "", StepLayout, "it is no file, but "+kindOf(f))
		case segment:
			segments = append(segments, f)
		default:
			tail = append(tail, f)
		}
	}
	if !format {
		return nil, nil, problem.Refusal("format", "The branch is not a log of the format %s: the file %q says something else or is not there. Nothing was read.", strings.TrimSpace(formatText), formatPath).
			WithHint("a newer Holdfast may read it; a branch of something else needs another name of the remote")
	}
	byPath := func(a, b git.File) int { return cmp.Compare(a.Path, b.Path) }
	slices.SortFunc(segments, byPath)
	slices.SortFunc(tail, byPath)
	return segments, tail, nil
}

func kindOf(f git.File) string {
	switch f.Mode {
	case "120000":
		return "a link"
	case "160000":
		return "another repository"
	default:
		return "of mode " + f.Mode
	}
}

func (r *reader) refuse(place string, node event.Node, step, reason string) {
	r.update.Refusals = append(r.update.Refusals, index.Refusal{Place: place, Node: node, Step: step, Reason: reason})
}

func (r *reader) readSegments(files []git.File) error {
	number := 0
	for _, f := range files {
		n, _ := parseSegment(f.Path)
		number++
		if n != number {
			if number <= r.known.at.Sealed {
				return errRewritten
			}
			r.refuse(f.Path, "", StepSequence, fmt.Sprintf("segment %d is missing before it", number))
			number = n
		}
		if err := r.readSegment(n, f); err != nil {
			return err
		}
	}
	if number < r.known.at.Sealed {
		return errRewritten
	}
	return nil
}

func (r *reader) readSegment(number int, f git.File) error {
	if i, ok := slices.BinarySearchFunc(r.known.segments, number, func(s index.Segment, n int) int { return cmp.Compare(s.Number, n) }); ok {
		if r.known.segments[i].Object != f.ID.String() {
			return errRewritten
		}
		return nil
	}
	object, err := r.objects.Read(f.ID.String(), maxSegment)
	var large *git.TooLarge
	switch {
	case errors.As(err, &large):
		r.refuse(f.Path, "", event.StepTooLarge, fmt.Sprintf("it has %d bytes, and a segment has at most %d", large.Size, maxSegment))
	case err != nil:
		return err
	default:
		if err := r.readLines(f.Path, object.Data); err != nil {
			return err
		}
	}
	r.update.Segments = append(r.update.Segments, index.Segment{Number: number, Object: f.ID.String()})
	r.update.To.Sealed, r.update.To.SealedSeq = number, r.last
	return nil
}

// decoded is one line of a segment.
type decoded struct {
	whole []byte // without its end
	ended bool
	env   event.Envelope
	err   error
}

// decode reads the lines of a segment, on all processors: a newcomer has all of
// the log to read. No more of them than a segment has, and one to say so: a segment
// of line ends alone would be a line for each of its bytes.
func decode(data []byte) []decoded {
	list := []decoded{}
	for text := range bytes.Lines(data) {
		if len(list) > maxTail {
			break
		}
		whole, ended := bytes.CutSuffix(text, []byte("\n"))
		list = append(list, decoded{whole: whole, ended: ended})
	}
	var wg sync.WaitGroup
	for part := range slices.Chunk(list, max(1, len(list)/runtime.GOMAXPROCS(0)+1)) {
		wg.Go(func() {
			for i := range part {
				part[i].env, part[i].err = event.DecodeEnvelope(part[i].whole)
			}
		})
	}
	wg.Wait()
	return list
}

func (r *reader) readLines(path string, data []byte) error {
	for i, line := range decode(data) {
		place := fmt.Sprintf("%s:%d", path, i+1)
		switch {
		case i == maxTail:
			r.refuse(place, "", StepLayout, fmt.Sprintf("a segment has %d events, and what is beyond them here is not read", maxTail))
		case !line.ended:
			r.last++
			r.refuse(place, event.NodeOf(line.whole), event.StepEnvelope, "its line has no end: the segment was cut")
		case line.err != nil:
			r.last++
			r.fault(place, line.err)
		default:
			if err := r.take(place, line.env, line.whole); err != nil {
				return err
			}
		}
	}
	return nil
}

// fault notes bytes that are no envelope.
func (r *reader) fault(place string, err error) {
	var f *event.Fault
	if errors.As(err, &f) {
		r.refuse(place, f.Node, f.Step, f.Reason)
		return
	}
	r.refuse(place, "", event.StepEnvelope, err.Error())
}

// take takes an envelope at its place: one that is known must come out the same,
// a new one must be newer than all before.
func (r *reader) take(place string, env event.Envelope, data []byte) error {
	if env.Seq <= r.known.at.Seq && r.isKnown(env.Seq) {
		if r.seen == len(r.known.tail) {
			return errRewritten
		}
		if next := r.known.tail[r.seen]; next.Seq != env.Seq || !bytes.Equal(next.Bytes(), data) {
			return errRewritten
		}
		r.seen++
		r.last = max(r.last, env.Seq)
		return nil
	}
	if env.Seq <= r.last {
		r.refuse(place, env.Event.Node(), StepSequence, fmt.Sprintf("it is at place %d, which was passed: place %d came before it", env.Seq, r.last))
		return nil
	}
	if from, to := r.last+1, env.Seq-1; r.lacks(from, to) {
		r.refuse(place, "", StepSequence, missing(from, to)+": some node lacks an event, and nothing tells which")
	}
	r.last = env.Seq
	r.update.Events = append(r.update.Events, env)
	return nil
}

// isKnown reports whether the index has an event at a place beyond the segments.
func (r *reader) isKnown(seq int64) bool {
	_, ok := slices.BinarySearchFunc(r.known.tail, seq, func(e event.Envelope, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return ok
}

// lacks reports whether some place from one to another is taken by nothing. A
// damaged file stays in the tail when what is around it is sealed.
func (r *reader) lacks(from, to int64) bool {
	first, _ := slices.BinarySearch(r.named, from)
	after, _ := slices.BinarySearch(r.named, to+1)
	taken := slices.Compact(slices.Clone(r.named[first:max(first, after)]))
	return int64(len(taken)) < to-from+1
}

func missing(from, to int64) string {
	if from == to {
		return fmt.Sprintf("place %d is missing before it", from)
	}
	return fmt.Sprintf("the places %d to %d are missing before it", from, to)
}

// maxTailFiles is how many files of a tail are looked at: as many as it may have, and
// as many again that are damaged and were left there.
const maxTailFiles = 2 * maxTail

func (r *reader) readTail(files []git.File) error {
	if extra := len(files) - maxTailFiles; extra > 0 {
		r.refuse("tail/", "", StepLayout, fmt.Sprintf("it has %d files, and at most %d events stand there: the newest %d were not read", len(files), maxTail, extra))
		files = files[:maxTailFiles]
	}
	for _, f := range files {
		if err := r.readTailFile(f); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) readTailFile(f git.File) error {
	seq, short, _ := parseTail(f.Path)
	if r.seen < len(r.known.tail) {
		if next := r.known.tail[r.seen]; next.Seq == seq && f.ID == r.format.Blob(next.Bytes()) && tailPath(next) == f.Path {
			r.seen++
			r.last = max(r.last, seq)
			return nil
		}
	}
	object, err := r.objects.Read(f.ID.String(), maxOdd)
	var large *git.TooLarge
	if errors.As(err, &large) {
		r.passed(seq)
		r.refuse(f.Path, "", event.StepTooLarge, fmt.Sprintf("it has %d bytes, and an event has at most %d", large.Size, event.MaxBytes))
		return nil
	}
	if err != nil {
		return err
	}
	env, err := event.DecodeEnvelope(object.Data)
	if err != nil {
		r.passed(seq)
		r.fault(f.Path, err)
		return nil
	}
	if env.Seq != seq || !strings.HasPrefix(string(env.Event.ID()), short) {
		r.passed(seq)
		r.refuse(f.Path, env.Event.Node(), StepTailName, fmt.Sprintf("its name says place %d and %s, and it is at place %d and is %s", seq, short, env.Seq, env.Event.ID().Short()))
		return nil
	}
	return r.take(f.Path, env, object.Data)
}

// passed notes that a place is taken, though by nothing that can be read.
func (r *reader) passed(seq int64) { r.last = max(r.last, seq) }
