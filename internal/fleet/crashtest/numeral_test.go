package crashtest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

// TestN1: root is killed when the fence of a stop is in the journal, the roster goes on
// meanwhile, and the receipt that is made after has the numeral and the binding of the
// fence. L7a, of a receipt that was recovered.
//
// Red when: the numeral is that of the request, or of the roster at the receipt
// (commitReceipt asks the memory anew: it says 7, and the fence 4).
func TestN1ARecoveredReceiptHasTheNumeralOfItsFence(t *testing.T) {
	h := newHouse(t, "stop.commit-fenced:after")
	h.serve()
	if code, out := h.run("run-1", h.work("trap '' TERM; sleep 1000")...); code != 0 {
		t.Fatalf("run: %d %s", code, out)
	}
	v, err := h.ops.Roster.Read(t.Context())
	h.must(err)
	fenced := v.Revision
	ctx, done := context.WithTimeout(context.Background(), limit)
	defer done()
	cmd := h.command(ctx, "stop", h.mark, "--key", "stop-1", "--grace", "10ms")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	h.must(cmd.Start())
	for !h.killed() {
		time.Sleep(3 * time.Millisecond)
	}
	if n := h.alive(); n == 0 {
		t.Error("it was ended before the fence was written")
	}
	for _, role := range []string{"one", "two", "three"} {
		_, err := h.ops.Roster.Update(ctx, h.ops.Key, func(r *roster.Roster) error { return r.SetRole("one", role) })
		h.must(err)
	}
	h.restart()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("stop: %v %s\n%s", err, out.String(), h.logs())
	}
	h.noneAlive()
	found, err := filepath.Glob(filepath.Join(h.home, "bucket", "evidence", h.id, h.mark, "1-stop-1.json"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	data, err := os.ReadFile(found[0])
	h.must(err)
	var e struct {
		Payload string `json:"payload"`
	}
	h.must(json.Unmarshal(data, &e))
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	h.must(err)
	var says struct {
		Numeral string `json:"directory_revision"`
		Binding string `json:"binding"`
		Made    string `json:"made"`
	}
	h.must(json.Unmarshal(payload, &says))
	v, err = h.ops.Roster.Read(ctx)
	h.must(err)
	c := claimOf(h, v.Roster)
	if says.Numeral != strconv.FormatUint(fenced, 10) || v.Revision < fenced+3 || says.Binding != c.Binding.String() || says.Made != string(receipt.Recovered) {
		t.Errorf("it says %+v; the fence was made at %d, the roster is at %d, the binding is %s", says, fenced, v.Revision, c.Binding)
	}
	if err := (receipt.Target{Operation: "stop-1", BoxID: c.BoxID, Enrollment: c.Enrollment, Instance: c.Instance, Incarnation: 1, Session: 1, Binding: c.Binding}).Check(); err == nil {
		t.Error("a fence without a numeral is one")
	}
	h.settled()
}
