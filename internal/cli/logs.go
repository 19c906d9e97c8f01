package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/fleet"
	"holdfast/internal/plain"
)

func (r *run) logs() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print what an instance has written",
		Long: `Print what the newest incarnation of an instance has written, its two outputs as one. On
its box that is all of it, up to this moment. Elsewhere it is what the box has put into
the store: pieces of 1 MiB, and the last one when the instance has ended.

On a terminal what would move the cursor is written out; into a file or a pipe go the
bytes as they are. With --json each line is a JSON document.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: r.instanceNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := r.here("fleet")
			if err != nil {
				return err
			}
			s, err := app.OpenOutput(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			return r.printOutput(cmd.Context(), s, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes, until the instance has ended")
	return cmd
}

func (r *run) printOutput(ctx context.Context, s *fleet.Source, follow bool) error {
	if !s.Local && !r.json {
		fmt.Fprintf(r.err, "note: read from the store, where box %s puts what is finished: 1 MiB at a time, and the rest when the instance has ended\n", plain.Text(s.Box))
	}
	l := &logPrinter{run: r, source: s, visible: isTerminal(os.Stdout)}
	exit, err := s.Read(ctx, follow, l.piece)
	if err := l.flush(); err != nil {
		return err
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil // whoever followed has enough
		}
		return err
	}
	return l.ended(exit, follow)
}

// logPrinter prints the pieces of a log.
type logPrinter struct {
	*run
	source  *fleet.Source
	visible bool   // for a terminal
	segment uint64 // of the line that is begun
	line    []byte // that is begun
}

// maxLine is the longest line that is waited for.
const maxLine = 64 << 10

func (l *logPrinter) piece(p fleet.Piece) error {
	if p.Lost > 0 {
		if err := l.lost(p); err != nil {
			return err
		}
	}
	if !l.json && !l.visible {
		_, err := l.out.Write(p.Data)
		return err
	}
	l.segment = p.Segment
	for data := p.Data; len(data) > 0; {
		n := bytes.IndexByte(data, '\n') + 1
		if n == 0 {
			n = len(data)
		}
		l.line = append(l.line, data[:n]...)
		data = data[n:]
		if l.line[len(l.line)-1] == '\n' || len(l.line) >= maxLine {
			if err := l.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// logLine is one line of logs --json.
type logLine struct {
	Type        string `json:"type"` // output, lost, end
	Instance    string `json:"instance"`
	Incarnation uint64 `json:"incarnation"`
	Segment     uint64 `json:"segment,omitempty"`
	Text        string `json:"text,omitempty"`
	// Bytes are those of a text that is no UTF-8.
	Bytes    []byte `json:"bytes,omitempty"`
	Segments uint64 `json:"segments,omitempty"` // that were lost
	Exit     string `json:"exit,omitempty"`
}

// flush prints the line that is begun.
func (l *logPrinter) flush() error {
	if len(l.line) == 0 {
		return nil
	}
	line := l.line
	l.line = l.line[:0]
	if !l.json {
		text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		_, err := fmt.Fprintln(l.out, plain.Text(string(text)))
		return err
	}
	doc := logLine{Type: "output", Segment: l.segment, Text: plain.Unicode(string(line))}
	if !utf8.Valid(line) {
		doc.Bytes = line
	}
	return l.say(doc)
}

func (l *logPrinter) say(doc logLine) error {
	doc.Instance, doc.Incarnation = l.source.Instance, l.source.Incarnation
	enc := json.NewEncoder(l.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

func (l *logPrinter) lost(p fleet.Piece) error {
	if err := l.flush(); err != nil {
		return err
	}
	if l.json {
		return l.say(logLine{Type: "lost", Segments: p.Lost, Segment: p.Segment})
	}
	_, err := fmt.Fprintf(l.err, "note: %s before this is not there any more, or not in the store\n", plain.Count(int(p.Lost), "MiB"))
	return err
}

// ended says that no more comes.
func (l *logPrinter) ended(exit string, follow bool) error {
	switch {
	case exit == "" && !follow:
		return nil
	case l.json:
		return l.say(logLine{Type: "end", Exit: exit})
	case !follow:
		return nil
	case exit != "":
		_, err := fmt.Fprintf(l.err, "%s has ended: %s\n", plain.Text(l.source.Instance), plain.Text(exit))
		return err
	}
	_, err := fmt.Fprintf(l.err, "%s runs no more\n", plain.Text(l.source.Instance))
	return err
}
