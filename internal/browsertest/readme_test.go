//go:build browser

package browsertest

import (
	"bytes"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
)

// readmePictures are those in the README, all of the demonstration home.
var readmePictures = map[string]struct {
	path          string
	width, height int64
	dark          bool
}{
	"index-1280-light.png":    {"", 1280, 800, false},
	"question-1280-light.png": {"b/renders/", 1280, 1010, false},
	"question-390-dark.png":   {"b/renders/#cover", 390, 844, true},
	"report-1280-dark.png":    {"b/training-report/", 1280, 900, true},
}

// TestTheReadmeShowsTheProgram: every picture that the README links is there, and
// is one of the program that runs, in the size that it has here. With
// HOLDFAST_README_IMAGES=DIR it writes them anew. Red when a picture is missing,
// or linked under another name.
func TestTheReadmeShowsTheProgram(t *testing.T) {
	home := t.TempDir()
	demo := exec.Command("../../scripts/demo-home", home)
	demo.Env = append(os.Environ(), "HOLDFAST="+Binary(t))
	if out, err := demo.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d := StartAt(t, home, "--principal", "principal:local/desk/ada")
	tab := Open(t, 1280, 800)
	tab.Open(d.SignIn)
	fresh := map[string][]byte{}
	for name, p := range readmePictures {
		tab.Do(chromedp.EmulateViewport(p.width, p.height))
		tab.Dark(p.dark)
		tab.Open(d.URL + p.path)
		Eval[bool](tab, `new Promise(r => setTimeout(() => r(true), 600))`) // for the report's own frame to draw
		fresh[name] = tab.Picture()
	}
	if dir := os.Getenv("HOLDFAST_README_IMAGES"); dir != "" {
		for name, data := range fresh {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	linked := regexp.MustCompile(`\]\(docs/images/([^)]+)\)`).FindAllSubmatch(readme, -1)
	if len(linked) != len(readmePictures) {
		t.Errorf("the README links %d pictures, of %d", len(linked), len(readmePictures))
	}
	for _, l := range linked {
		name := string(l[1])
		kept, err := os.ReadFile(filepath.Join("../../docs/images", name))
		if err != nil {
			t.Error(err)
			continue
		}
		there, err := png.DecodeConfig(bytes.NewReader(kept))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		here, err := png.DecodeConfig(bytes.NewReader(fresh[name]))
		if err != nil || there.Width != here.Width || there.Height != here.Height {
			t.Errorf("%s is %dx%d, the program's %dx%d (%v)", name, there.Width, there.Height, here.Width, here.Height, err)
		}
	}
}
