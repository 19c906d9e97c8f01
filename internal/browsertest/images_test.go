package browsertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// imagesDir is where the pictures go; they are only written where it is set.
const imagesDir = "HOLDFAST_IMAGES"

// TestPagesFitTheirWindow looks at every kind of page at a phone's and a desk's
// width, light and dark: nothing sticks out sideways. With HOLDFAST_IMAGES=DIR
// it keeps the pictures.
func TestPagesFitTheirWindow(t *testing.T) {
	home := t.TempDir()
	if out, err := exec.Command("../../scripts/demo-home", home).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d := StartAt(t, home)
	tab := Open(t, 1280, 800)
	tab.Open(d.SignIn)
	pages := []struct{ name, path string }{
		{"index", ""}, {"gallery", "b/renders/"}, {"report", "b/training-report/"}, {"board", "b/reading-list/"},
		{"picture", "b/renders/view?f=04-spiral.png"}, {"text", "b/renders/view?f=render.log"}, {"markdown", "b/renders/view?f=notes.md"},
		{"missing", "b/nowhere/"},
	}
	for _, width := range []int64{1280, 390} {
		height := map[int64]int64{1280: 900, 390: 844}[width]
		tab.Do(chromedp.EmulateViewport(width, height))
		for _, dark := range []bool{false, true} {
			tab.Dark(dark)
			for _, p := range pages {
				tab.Open(d.URL + p.path)
				Eval[bool](tab, `Promise.all([...document.images].map(i => i.complete ? 0 : new Promise(r => { i.onload = i.onerror = r }))).then(() => true)`)
				if over := Eval[int](tab, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
					t.Errorf("%s at %d px is %d px too wide", p.name, width, over)
				}
				keep(t, tab, fmt.Sprintf("%s-%d-%s.png", p.name, width, map[bool]string{false: "light", true: "dark"}[dark]))
			}
		}
	}
}

func keep(t *testing.T, tab *Tab, name string) {
	t.Helper()
	dir := os.Getenv(imagesDir)
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), tab.Picture(), 0o644); err != nil {
		t.Fatal(err)
	}
}
