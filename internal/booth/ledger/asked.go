package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"holdfast/internal/booth/folder"
	"holdfast/internal/canon"
	"holdfast/internal/durable"
)

// When somebody last waited for an answer is in the folder "asked", a file for
// each booth, whose name is a digest of the booth's:
//
//	{"schema":"holdfast.asked/v1","booth":NAME,"asked":{PICK:TIME,…}}
//
// It decides nothing. One that cannot be read is as good as none, and is
// replaced. One whose booth is gone goes with the next tick.
const (
	askedFolder = "asked"
	askedSchema = "holdfast.asked/v1"
	maxAsked    = 1 << 20
	askedEvery  = 30 * time.Second // what is newer is not written again
)

type askedDoc struct {
	Schema string               `json:"schema"`
	Booth  string               `json:"booth"`
	Asked  map[string]time.Time `json:"asked"`
}

func askedFile(name folder.Name) string {
	sum := sha256.Sum256([]byte(name.String()))
	return hex.EncodeToString(sum[:16]) + ".json"
}

// Asked is when somebody last waited for an answer to each pick of a booth.
func (l *Ledger) Asked(name folder.Name) map[string]time.Time {
	if l == nil || l.dir == nil {
		return nil
	}
	sub, err := l.dir.Sub(askedFolder)
	if err != nil {
		return nil
	}
	defer sub.Close()
	return readAsked(sub, name)
}

func readAsked(sub *durable.Dir, name folder.Name) map[string]time.Time {
	data, err := sub.ReadFile(askedFile(name), maxAsked)
	if err != nil {
		return nil
	}
	var doc askedDoc
	if canon.Decode(bytes.TrimSpace(data), &doc) != nil || doc.Schema != askedSchema || doc.Booth != url.PathEscape(name.String()) {
		return nil
	}
	return doc.Asked
}

// Waiting notes that somebody waits at this moment for an answer to the picks.
// Two at once may lose one of the notes; the next wait makes it again.
func (l *Ledger) Waiting(name folder.Name, picks []string, now time.Time) error {
	if l == nil || l.dir == nil || len(picks) == 0 {
		return nil
	}
	sub, err := l.dir.MakeSub(askedFolder, 0o700)
	if err != nil {
		return err
	}
	defer sub.Close()
	asked := readAsked(sub, name)
	if asked == nil {
		asked = map[string]time.Time{}
	}
	news := false
	for _, id := range picks {
		if age := now.Sub(asked[id]); age >= askedEvery || age < 0 {
			asked[id], news = now.UTC().Truncate(time.Second), true
		}
	}
	if !news {
		return nil
	}
	data, err := canon.Encode(askedDoc{askedSchema, url.PathEscape(name.String()), asked})
	if err != nil {
		return fmt.Errorf("note who waits: %w", err)
	}
	return sub.WriteFile(askedFile(name), append(data, '\n'), 0o600)
}

// KeepAsked forgets who waited in any booth but these. Whoever waits in one that
// came meanwhile may be forgotten too; the next wait notes it again.
func (l *Ledger) KeepAsked(booths []folder.Name) error {
	if l == nil || l.dir == nil {
		return nil
	}
	sub, err := l.dir.Sub(askedFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	files, err := sub.Names()
	if err != nil || len(files) == 0 {
		return err
	}
	keep := make(map[string]bool, len(booths))
	for _, name := range booths {
		keep[askedFile(name)] = true
	}
	var failed []error
	for _, file := range files {
		if isAskedFile(file) && !keep[file] {
			failed = append(failed, sub.Remove(file))
		}
	}
	return errors.Join(failed...)
}

// isAskedFile says whether a file has a name that [askedFile] gives.
func isAskedFile(name string) bool {
	digest, ok := strings.CutSuffix(name, ".json")
	raw, err := hex.DecodeString(digest)
	return ok && err == nil && len(raw) == sha256.Size/2
}
