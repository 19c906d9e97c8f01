package cli

import (
	"bytes"
	"strings"
	"testing"

	"holdfast/internal/booth"
)

// A booth of which part could not be deleted is not said to be deleted. Red when
// printTrashed looks at the time alone.
func TestWhatIsNotDeletedIsNotSaidToBe(t *testing.T) {
	var out bytes.Buffer
	(&run{out: &out}).printTrashed(booth.Trashed{Name: "x", PurgeIn: "0s", Trouble: "no permission"})
	if got := out.String(); strings.Contains(got, "is deleted") || !strings.Contains(got, "no permission") {
		t.Errorf("%q", got)
	}
	out.Reset()
	(&run{out: &out}).printTrashed(booth.Trashed{Name: "x", PurgeIn: "0s"})
	if got := out.String(); got != "x is deleted\n" {
		t.Errorf("%q", got)
	}
}
