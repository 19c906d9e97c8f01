package browsertest

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// stuck is when a test gives up on the browser. It is no bound that a test
// measures anything by.
const stuck = 60 * time.Second

// poll is how often a condition is looked at.
const poll = 20 * time.Millisecond

// Tab is a window of Chromium with a profile of its own.
type Tab struct {
	ctx context.Context
	t   testing.TB
}

// endings end the browser.
var endings []context.CancelFunc

// Main runs a test binary's tests and ends the browser that they started. Call
// it from TestMain.
func Main(m *testing.M) int {
	code := m.Run()
	for _, end := range endings {
		end()
	}
	if built != "" {
		os.RemoveAll(built)
	}
	return code
}

// browser starts Chromium once for each test process; it ends with it.
var browser = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true), chromedp.Flag("hide-scrollbars", true),
	)
	alloc, endBrowser := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, endContext := chromedp.NewContext(alloc)
	endings = append(endings, endContext, endBrowser)
	return ctx, chromedp.Do(ctx)
})

// Open opens a tab, as wide and high as the given numbers of CSS pixels.
func Open(t testing.TB, width, height int64) *Tab {
	t.Helper()
	parent, err := browser()
	if err != nil {
		t.Fatalf("Chromium does not start: %v (make test installs what the tests need)", err)
	}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	// The first run makes the target, which lives as long as that run's context:
	// it must be the tab's own and not one with a time limit.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("browser: %v", err)
	}
	tab := &Tab{ctx, t}
	tab.Do(chromedp.EmulateViewport(width, height))
	return tab
}

// Do runs steps, and fails the test when one of them cannot be done.
func (tab *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, stuck)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		tab.t.Fatalf("browser: %v", err)
	}
}

// Get runs an action and gives its value.
func Get[T any](tab *Tab, a chromedp.Action[T]) T {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, stuck)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		tab.t.Fatalf("browser: %v", err)
	}
	return v
}

// Eval evaluates a script in the page; a promise is awaited.
func Eval[T any](tab *Tab, script string) T {
	tab.t.Helper()
	return Get(tab, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// Open goes to an address.
func (tab *Tab) Open(url string) {
	tab.t.Helper()
	tab.Do(chromedp.Navigate(url))
}

// Until waits for a condition in the page, also across a navigation.
func (tab *Tab) Until(condition string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, stuck)
	defer cancel()
	ask := chromedp.Evaluate[bool]("!!(" + condition + ")")
	for {
		met, err := chromedp.Run(ctx, ask)
		switch {
		case err == nil && met:
			return
		case ctx.Err() != nil:
			tab.t.Fatalf("the page never came to %s (last: %v)", condition, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

// Click clicks the first element that a CSS selector matches, as a person does
// with a mouse.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Follow clicks and waits until another page has loaded.
func (tab *Tab) Follow(selector string) {
	tab.t.Helper()
	Eval[bool](tab, "window.before = true")
	tab.Click(selector)
	tab.Until("window.before === undefined && document.readyState === 'complete'")
}

// Path is the address of the page, without its origin.
func (tab *Tab) Path() string {
	tab.t.Helper()
	return Eval[string](tab, "location.pathname + location.search")
}

// Front brings the tab before the windows that its page has opened.
func (tab *Tab) Front() {
	tab.t.Helper()
	tab.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, page.BringToFront, cdp.Empty{})
		return chromedp.Void{}, err
	})
}

// Dark makes the page think that the reader prefers dark colours, or not.
func (tab *Tab) Dark(dark bool) {
	tab.t.Helper()
	value := map[bool]string{true: "dark", false: "light"}[dark]
	tab.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}},
		})
		return chromedp.Void{}, err
	})
}

// Script allows or forbids the page's scripts from the next navigation on.
func (tab *Tab) Script(allowed bool) {
	tab.t.Helper()
	tab.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !allowed})
		return chromedp.Void{}, err
	})
}

// Picture is the window as PNG.
func (tab *Tab) Picture() []byte {
	tab.t.Helper()
	return Get(tab, chromedp.CaptureScreenshot())
}

// Text is the page's text as a reader sees it.
func (tab *Tab) Text() string {
	tab.t.Helper()
	return Get(tab, chromedp.Text(chromedp.CSS("body")))
}
