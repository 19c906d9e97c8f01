package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fleet/box/shim/wire"
)

func full() *wire.Launch {
	return &wire.Launch{
		Argv: []string{"sh", "", "-c"}, Env: []string{"A=1", "B="}, Dir: "/d", Home: "/h", Keep: []string{"/h/a", "/h/b"},
		Grace: 1, Segments: 2, Terminal: true,
		Limits: wire.Limits{Files: 3, Processes: 4, FileSize: 5, AddressSpace: 6, CPUSeconds: 7, Nice: 8},
		Drop:   true, UID: 9, GID: 10, MachineID: "m", BootID: "b", Outer: 11,
	}
}

// Red when: a member is written and not read, or the other way round.
func TestALaunchComesBackWhole(t *testing.T) {
	for _, l := range []*wire.Launch{full(), {Argv: []string{"x"}}} {
		got, err := wire.Decode(l.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l, got); diff != "" {
			t.Error(diff)
		}
	}
}

// Red when: Decode does not ask for the end, or passes over a name that it does not know.
func TestADamagedLaunchIsRefused(t *testing.T) {
	whole := full().Encode()
	for n := range whole {
		if l, err := wire.Decode(whole[:n]); err == nil {
			t.Errorf("its first %d bytes are %+v", n, l)
		}
	}
	for _, text := range []string{"holdfast-launch/2\x00arg\x00x\x00end\x00", "holdfast-launch/1\x00arg\x00x\x00memory\x001\x00end\x00", "holdfast-launch/1\x00end\x00"} {
		if l, err := wire.Decode([]byte(text)); err == nil {
			t.Errorf("%q is %+v", text, l)
		}
	}
}

// Red when: Text leaves a quote or a byte above ASCII as it is.
func TestAnObjectIsJSONWhateverItSays(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	var o wire.Object
	o.Bool("a", true)
	o.Number("b", 7)
	o.Text("c", string(all))
	var got struct {
		A bool
		B int
		C string
	}
	if err := json.Unmarshal(o.Bytes(), &got); err != nil || !got.A || got.B != 7 || len(got.C) != 256 {
		t.Errorf("%s: %+v, %v", o.Bytes(), got, err)
	}
}
