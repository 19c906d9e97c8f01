package console_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
)

func TestShow(t *testing.T) {
	f := begin(t, "box-1")
	if _, err := f.ops.Show(t.Context(), "web"); step(err) != "instance-unknown" {
		t.Errorf("%v", err)
	}
	f.run(run(""))
	f.stop("op-2")
	s, err := f.ops.Show(t.Context(), "web")
	if err != nil || s.Claim != "released" || s.Operation != "op-2" || len(s.Receipts) != 1 || s.BoxSession == nil || s.BoxSession.ID != f.boxes[0].session || s.State != "stopped" {
		t.Errorf("%+v: %v", s, err)
	}
}

func TestAReceiptIsVerifiedByItsKey(t *testing.T) {
	f := begin(t, "box-1")
	f.run(run(""))
	s := f.stop("op-2")
	v, err := f.ops.Verify(t.Context(), s.Receipt.Key)
	if err != nil || !v.OK {
		t.Fatalf("%+v: %v", v, err)
	}
	var names []string
	for _, c := range v.Checks {
		names = append(names, c.Name)
	}
	want := "stop sha256 key envelope signature format bucket operation box enrollment instance incarnation fence binding directory_revision proof claim"
	if got := strings.Join(names, " "); got != want {
		t.Error(cmp.Diff(want, got))
	}
	data, _ := f.object(s.Receipt.Key)
	at := f.boxes[0].at(s.Receipt.Key)
	f.put(at, append(data[:len(data)-2], 'x', '}'))
	if v, err := f.ops.Verify(t.Context(), s.Receipt.Key); err != nil || v.OK || v.Checks[len(v.Checks)-1].OK {
		t.Errorf("changed: %+v: %v", v, err)
	}
	for k, want := range map[string]string{
		"evidence/none/web/1-op-2.json": "receipt-unknown", "control/roster.json": "receipt-key", "": "bucket-key",
	} {
		if _, err := f.ops.Verify(t.Context(), k); step(err) != want {
			t.Errorf("%q: %v", k, err)
		}
	}
}

// Red when: a beat from before the box's answer takes back that it started the work.
func TestWhatIsListed(t *testing.T) {
	f := begin(t, "box-1", "box-2")
	web := f.run(run("box-1"))
	lost := run("box-2")
	lost.Key, lost.Instance = "op-2", "lost"
	f.run(lost)
	ended := run("box-1")
	ended.Key, ended.Instance = "op-3", "ended"
	f.run(ended)
	f.boxes[0].down = true
	ctx, cancel := context.WithCancel(t.Context())
	f.waits = cancel
	asked := run("box-1")
	asked.Key, asked.Instance = "op-4", "asked"
	if _, err := f.ops.Run(ctx, asked); step(err) != "operation-unsettled" {
		t.Fatal(err)
	}
	f.waits = nil
	f.write(func(r *roster.Roster) error { return r.Quarantine("box-2", "loss-1") })
	started := noon.Add(-time.Hour)
	f.boxes[0].beat(noon.Add(-time.Minute),
		order.Beating{Instance: "ended", Incarnation: 1, Session: 1, State: order.BeatExited, Started: started, Exit: "exited 3"},
		order.Beating{Instance: "web", Incarnation: 1, Session: 1, State: order.BeatInstalled}, // from before the box answered
		order.Beating{Instance: "web", Incarnation: 7, Session: 1, State: order.BeatStopping})  // of no claim
	f.put(f.boxes[0].at("control/claims/torn.json"), []byte("{}"))

	list, err := f.ops.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []console.Instance{
		{Instance: "asked", Box: "box-1", State: "ordered", Incarnation: 1},
		{Instance: "ended", Box: "box-1", State: "exited", Incarnation: 1, Started: started, Exit: "exited 3", Seen: noon.Add(-time.Minute), AgeNS: int64(time.Minute)},
		{Instance: "lost", Box: "box-2", State: "lost", Incarnation: 1, Refusal: "box box-2 was given up for lost"},
		{Instance: "torn", State: "damaged"},
		{Instance: "web", Box: "box-1", State: "running", Incarnation: web.Incarnation, Seen: noon.Add(-time.Minute), AgeNS: int64(time.Minute)},
	}
	for i := range list {
		if list[i].State != "damaged" && len(list[i].Binding) != 64 {
			t.Errorf("%s has the binding %q", list[i].Instance, list[i].Binding)
		}
		if (list[i].Enrollment == "") != (list[i].State == "damaged") {
			t.Errorf("%s has the enrollment %q", list[i].Instance, list[i].Enrollment)
		}
		list[i].Binding, list[i].Enrollment = "", ""
		if list[i].State == "damaged" {
			list[i].Refusal = ""
		}
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
}

func TestHowLongIsWaited(t *testing.T) {
	for looks := range 100 {
		if d := console.Remote(looks); d < time.Second/2 || d >= time.Second {
			t.Errorf("a store that is reached over a network is looked at after %v", d)
		}
		most := min(20*time.Millisecond<<min(looks, 10), time.Second)
		if d := console.InFolder(looks); d < most/2 || d >= most {
			t.Errorf("after %d looks a folder is looked at after %v", looks, d)
		}
	}
}
