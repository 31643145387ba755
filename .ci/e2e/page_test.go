package e2e

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium with one page. It records the page's errors and requests.
type browser struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	problems []string
	asked    map[string]int // number of requests by origin
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	program := os.Getenv("SPADE_EDGE_CHROMIUM")
	if program == "" {
		program = "chromium"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("no %s: apt-get install -y --no-install-recommends chromium fonts-dejavu-core", program)
	}
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // retry: for a moment after the browser's end, its processes may still write
		for range 100 {
			if err = os.RemoveAll(profile); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Log(err)
	})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true))
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{Context: ctx, t: t, asked: map[string]int{}}
	chromedp.ListenTarget(ctx, b.note)
	b.run("start of the browser", network.Enable(), cdplog.Enable(), runtime.Enable())
	return b
}

// note records an event: either an error that the page reports, or the origin of a request.
func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			b.problems = append(b.problems, fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Error())
	case *cdplog.EventEntryAdded:
		b.problems = append(b.problems, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "data" {
			b.asked[u.Scheme+"://"+u.Host]++
		}
	}
}

// clean checks that the page had no errors and sent requests only to the given origin.
func (b *browser) clean(origin string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		b.t.Errorf("the browser complains: %s", strings.Join(b.problems, "\n"))
	}
	if len(b.asked) != 1 || b.asked[strings.TrimSuffix(origin, "/")] < 3 {
		b.t.Errorf("requests by origin: %v, want %s alone", b.asked, origin)
	}
}

func (b *browser) run(what string, actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b, actions...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

func (b *browser) await(expression string) {
	b.t.Helper()
	b.run("waiting for "+expression, chromedp.Poll(expression, nil, chromedp.WithPollingInterval(100*time.Millisecond),
		chromedp.WithPollingTimeout(60*time.Second)))
}

func eval[T any](b *browser, expression string) (value T) {
	b.t.Helper()
	b.run(expression, chromedp.Evaluate(expression, &value,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return value
}

// look sets the screen size and the color scheme, and saves a screenshot of the whole page.
func (b *browser) look(name string, width, height int64, scheme string) {
	b.t.Helper()
	var shot []byte
	b.run("looking at "+name,
		chromedp.EmulateViewport(width, height, chromedp.EmulateScale(2)),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}}),
		chromedp.Sleep(300*time.Millisecond), // the charts are redrawn in the next frame
		chromedp.FullScreenshot(&shot, 100))
	dir := os.Getenv("SPADE_EDGE_SHOTS")
	if dir == "" {
		dir = b.t.TempDir()
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o600); err != nil {
		b.t.Fatal(err)
	}
	if len(shot) < 10_000 {
		b.t.Errorf("the picture of %s has %d bytes", name, len(shot))
	}
}

func (b *browser) keep(name string) {
	b.t.Helper()
	if dir := os.Getenv("SPADE_EDGE_SHOTS"); dir != "" {
		var shot []byte
		b.run("picture", chromedp.FullScreenshot(&shot, 100))
		if err := os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// fits checks that the page does not scroll horizontally on a screen of the given width.
func (b *browser) fits(width int) {
	b.t.Helper()
	if w := eval[int](b, `document.documentElement.scrollWidth`); w > width {
		b.t.Errorf("the page is %d wide on a screen of %d: %s", w, width, eval[string](b,
			fmt.Sprintf(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > %d).map(e => `+
				`e.tagName + "." + e.className).join(" ")`, width)))
	}
}

const roundNumber = `+(document.getElementById("round").textContent.match(/Round (\d+)/) || [0, 0])[1]`

// TestNodePage checks that the page of a node in a private fleet is correct from the first rounds to the end, even if a
// neighbor dies during the run.
func TestNodePage(t *testing.T) {
	b := newBrowser(t)
	dir := newFleet(t)
	node := func(name string) string { return filepath.Join(dir, name+".json") }
	first, second := start(t, "run", "-anyway", node("ward-1")), start(t, "run", "-anyway", node("ward-2"))
	origin := first.address(t)
	b.run("loading", chromedp.EmulateViewport(1200, 900), chromedp.Navigate(origin))
	b.await(`document.getElementById("name").textContent === "ward-1"`)
	b.await(`document.getElementById("peers").textContent.includes("not connected")`) // ward-3 is not up yet
	third := start(t, "run", "-anyway", node("ward-3"), "-http", "")

	b.await(roundNumber + " > 3")
	before := eval[int](b, roundNumber)
	b.await(fmt.Sprintf("%s > %d", roundNumber, before+3))
	b.await(`document.querySelectorAll(".plot .curve").length === 4`) // accuracy, loss, consensus error, epsilon
	for what, want := range map[string]string{
		`document.title`: "ward-1 · ward-study · SPADE-Edge",
		`document.getElementById("run").textContent`:   "run ward-study",
		`document.getElementById("badge").textContent`: "private: ε 24.8",
		`document.querySelector(".accuracy .note").textContent`: "On this device's own data: not covered by the privacy " +
			"guarantee, for this device only; majority 50.6 %",
		`document.querySelector(".epsilon .note").textContent`: "Dashed: the budget of 30, at δ 1e-5 (gdp), against everybody else together",
	} {
		if got := eval[string](b, what); got != want {
			t.Errorf("%s is %q, want %q", what, got, want)
		}
	}
	if text := eval[string](b, `document.body.innerText`); strings.Contains(text, "NOT PRIVATE") {
		t.Error("a private run is called NOT PRIVATE")
	}

	// For users who cannot see the charts, each chart has an accessible name, and a table shows the same numbers.
	if bad := eval[int](b,
		`[...document.querySelectorAll("svg")].filter(e => e.getAttribute("role") !== "img" || `+
			`!e.getAttribute("aria-label")).length`); bad > 0 {
		t.Errorf("%d charts have no name", bad)
	}
	b.run("opening the table", chromedp.Click("#details summary"))
	if head := eval[string](b,
		`[...document.querySelectorAll("#rounds thead th[scope=col]")].map(e => e.textContent).join()`,
	); head != "Round,Accuracy,Loss,Consensus error,Epsilon" {
		t.Errorf("the table's head is %s", head)
	}
	if rows := eval[int](b,
		`[...document.querySelectorAll("#rounds tbody tr")].filter(r => r.cells[0].scope === "row" && `+
			`r.cells[4].textContent > "0").length`); rows < 3 {
		t.Errorf("%d rows in the table", rows)
	}
	b.run("closing the table", chromedp.Click("#details summary"))

	b.everywhere("real node", true)
	b.look("node-light", 1200, 900, "light")
	light := eval[string](b, `getComputedStyle(document.body).backgroundColor`)
	b.look("node-dark", 1200, 900, "dark")
	if dark := eval[string](b, `getComputedStyle(document.body).backgroundColor`); dark == light {
		t.Errorf("dark and light have the same ground, %s", dark)
	}
	b.look("node-phone", 360, 740, "light")
	b.fits(360)

	// The layout is stable: the part of the page above the neighbors keeps its height. On a phone they are above the charts.
	top := eval[float64](b, `document.getElementById("peers-card").getBoundingClientRect().top + scrollY`)
	if charts := eval[float64](b, `document.getElementById("charts").getBoundingClientRect().top + scrollY`); charts < top {
		t.Errorf("on a phone the charts are at %v, above the neighbors at %v", charts, top)
	}

	third.kill()
	b.await(`[...document.querySelectorAll("#peers tbody tr")].some(r => r.cells[0].textContent === "ward-3" && ` +
		`r.cells[1].className === "state down" && r.cells[1].textContent.startsWith("not connected"))`)
	b.await(`document.getElementById("doing").textContent === "Waiting for ward-3" && ` +
		`document.getElementById("phase").classList.contains("waiting")`)
	if now := eval[float64](b, `document.getElementById("peers-card").getBoundingClientRect().top + scrollY`); now != top {
		t.Errorf("the neighbors have moved from %v to %v", top, now)
	}
	b.fits(360)
	b.look("node-waiting-phone-dark", 360, 740, "dark")
	b.look("node-waiting", 1200, 900, "light")
	b.everywhere("real node waiting", false)
	b.clean(origin)

	// The page's content security policy prevents requests to other origins.
	if got := eval[string](b, `fetch("http://127.0.0.2:1/").then(() => "reached", e => String(e))`); got == "reached" {
		t.Error("a request has left the page's origin")
	}

	if out, err := exec.Command(first.cmd.Path, "stop", node("ward-1")).CombinedOutput(); err != nil {
		t.Fatalf("stop: %v\n%s", err, out)
	}
	<-first.over
	b.await(`!document.getElementById("gone").hidden && document.getElementById("gone").` +
		`textContent.includes("the node has ended")`)
	if round := eval[int](b, roundNumber); round < before {
		t.Errorf("the page ends at round %d, after it showed %d", round, before)
	}
	b.look("node-gone", 1200, 900, "light")

	// When a node runs again at the same address, the page recovers by itself.
	again := start(t, "run", "-anyway", node("ward-1"), "-http", strings.TrimSuffix(strings.TrimPrefix(origin, "http://"), "/"))
	if again.address(t) != origin {
		t.Error("another address")
	}
	b.await(`document.getElementById("gone").hidden`)
	second.kill()
}

// TestScorerPage checks that the page of a node with a scorer program shows the mean loss but no accuracy.
func TestScorerPage(t *testing.T) {
	b := newBrowser(t)
	files, err := filepath.Abs("../../examples/scorer")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile(filepath.Join(files, "data.csv"))
	if err != nil {
		t.Fatal(err)
	}
	few := filepath.Join(t.TempDir(), "few.csv") // few rows, because the shell is slow
	text := strings.Join(strings.SplitAfter(string(rows), "\n")[:5], "")
	if err := os.WriteFile(few, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := newFleetOf(t, 4, 1, fmt.Sprintf(`{"stream": ["sh", %q, "json", %q]}`, filepath.Join(files, "score.sh"), few))
	var origin string
	for i := range 3 {
		p := start(t, "run", "-anyway", filepath.Join(dir, fmt.Sprintf("ward-%d.json", i+1)))
		if i == 0 {
			origin = p.address(t)
		}
	}
	b.run("loading", chromedp.Navigate(origin))
	b.await(roundNumber + ` > 3 && ` +
		`[...document.querySelectorAll(".chart")].map(e => +e.checkVisibility()).join() === "0,1,1,1"`)
	b.everywhere("scorer", true)
	note := eval[string](b, `document.querySelector(".loss .note").textContent`)
	if !strings.HasPrefix(note, "Mean of what the program has answered for each round. On this device's own data") {
		t.Errorf("the note of the loss is %q", note)
	}
	b.clean(origin)
}

// TestDemoPage checks that the demo's page shows all nodes, the graph between them and, in large letters, NOT PRIVATE.
// The page remains available after the run.
func TestDemoPage(t *testing.T) {
	b := newBrowser(t)
	demo := start(t, "demo", "-non-private", "-rounds", "400", "-cooldown", "40", "-http", "127.0.0.1:0")
	origin := demo.address(t)
	b.run("loading", chromedp.EmulateViewport(1200, 900), chromedp.Navigate(origin))
	b.await(`document.getElementById("badge").textContent === "NOT PRIVATE"`)
	b.await(`document.querySelectorAll("#graph circle").length === 8 && ` +
		`document.querySelectorAll("#graph line.up").length === 28`)
	b.await(roundNumber + " > 5")
	b.everywhere("demo", true)
	b.look("demo-light", 1200, 900, "light")
	b.look("demo-phone", 360, 740, "dark")
	b.fits(360)
	b.await(roundNumber + ` === 440 && document.querySelectorAll("#graph g.ended").length === 8`)
	b.await(`document.querySelectorAll("#rounds tbody tr").length > 100`)
	<-demo.stay
	b.await(`document.querySelectorAll(".compared").length === 3`) // majority, alone, pooled
	b.look("demo-over", 1200, 900, "dark")
	b.everywhere("demo over", true)
	b.clean(origin)
	if err := demo.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-demo.over
	if code := demo.cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(demo.out.String(), "with the others") {
		t.Errorf("exit code %d\n%s", code, &demo.out)
	}
}
