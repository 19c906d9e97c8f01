package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is the release; the linker sets it for one that is packaged.
var Version = "development"

func (r *run) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print which Holdfast this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			doc := struct {
				Version  string `json:"version"`
				Revision string `json:"revision"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{Version, revision(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if r.json {
				return r.document(doc)
			}
			fmt.Fprintf(r.out, "holdfast %s %s %s %s\n", doc.Version, doc.Revision, doc.Go, doc.Platform)
			return nil
		},
	}
}

// revision is the commit that the binary was built from, "unknown" where the
// build did not say.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	rev, dirty := "unknown", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+changes"
			}
		}
	}
	return rev + dirty
}
