package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/edge"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/broker/mqtt"
)

// page is a tab of Chromium. It records errors, and the origins that the page has asked.
type page struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	problems []string
	asked    []string
}

func (p *page) note(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var to string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, e.ExceptionDetails.Error())
	case *network.EventRequestWillBeSent:
		to = e.Request.URL
	case *network.EventWebSocketCreated:
		to = e.URL
	}
	if u, err := url.Parse(to); err == nil && u.Host != "" && !slices.Contains(p.asked, u.Scheme+"://"+u.Host) {
		p.asked = append(p.asked, u.Scheme+"://"+u.Host)
	}
}

func (p *page) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p, actions...); err != nil {
		p.t.Fatalf("%v; problems %q", err, p.problems)
	}
}

func (p *page) text(id string) (text string) {
	p.t.Helper()
	p.run(chromedp.Evaluate(fmt.Sprintf(`document.getElementById(%q).textContent`, id), &text))
	return text
}

func (p *page) await(expression string) {
	p.t.Helper()
	err := chromedp.Run(p, chromedp.Poll(expression, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(time.Minute)))
	if err != nil {
		var shows string
		_ = chromedp.Run(p, chromedp.Evaluate(`document.body.innerText`, &shows))
		p.t.Fatalf("waiting for %s: %v; exceptions %q; the page shows\n%s", expression, err, p.problems, shows)
	}
}

// newPage opens a tab; a second one of the same browser if beside is not nil.
func newPage(t *testing.T, beside *page, at string) *page {
	t.Helper()
	p := &page{t: t}
	var cancel context.CancelFunc
	if beside != nil {
		p.Context, cancel = chromedp.NewContext(beside)
	} else {
		path, err := exec.LookPath("chromium")
		if err != nil {
			t.Skip("no chromium: apt-get install -y --no-install-recommends chromium")
		}
		within, stop := context.WithTimeout(context.Background(), 5*time.Minute)
		t.Cleanup(stop)
		within, stop = chromedp.NewExecAllocator(within, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
			chromedp.NoSandbox, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-dev-shm-usage", true))...)
		t.Cleanup(stop)
		p.Context, cancel = chromedp.NewContext(within)
	}
	t.Cleanup(cancel)
	chromedp.ListenTarget(p, p.note)
	p.run(network.Enable(), runtime.Enable(), chromedp.Navigate(at))
	return p
}

// serve builds the page and serves it.
func serve(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "member.wasm"), ".")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"), "index.html", "page.js"} {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL
}

// broker starts Mosquitto, and returns the URL of its websockets.
func broker(t *testing.T) string {
	t.Helper()
	var program string
	for _, name := range []string{"mosquitto", "/usr/sbin/mosquitto"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
		}
	}
	if program == "" {
		t.Skip("no mosquitto: apt-get install mosquitto")
	}
	port := 25000 + 2*(os.Getpid()%2000) // outside the range of outgoing connections
	conf := filepath.Join(t.TempDir(), "mosquitto.conf")
	text := fmt.Sprintf("user root\nallow_anonymous true\nlistener %d 127.0.0.1\nprotocol websockets\nlistener %d 127.0.0.1\n", port, port+1)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := exec.Command(program, "-c", conf)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _ = cmd.Process.Kill(); cmd.Wait() != nil && t.Failed() {
			t.Logf("the broker: %s", said.String())
		}
	})
	return fmt.Sprintf("ws://127.0.0.1:%d", port)
}

// TestPage trains with a page in Chromium and two other members. The page is loaded again in the middle of the run, as
// after a crash. It must end with the others' model and a certificate, and talk to nobody but its server and the broker.
func TestPage(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	site, at := serve(t), broker(t)
	data, err := os.ReadFile("../scorer/data.csv")
	if err != nil {
		t.Fatal(err)
	}
	names, dir := []string{"laptop", "north", "south"}, t.TempDir()
	file := &fleetfile.File{Fleet: &sdk.Fleet{Run: "pages", Dim: 4, Members: names, Records: []int{36, 36, 36},
		Edges: [][2]string{{"laptop", "north"}, {"north", "south"}, {"south", "laptop"}}}}
	file.Method, file.Privacy, err = plan.Suggest(plan.Known{Dim: 4, Samples: file.Records, Open: true,
		Privacy: sdk.Privacy{Unit: dpmech.Record, EpsilonLimit: 8, Delta: 1e-3}})
	if err != nil {
		t.Fatal(err)
	}
	p := newPage(t, nil, site)
	p.await(`!document.getElementById("start").disabled`)
	named := chromedp.Evaluate(`document.getElementById("name").value = "laptop"; document.getElementById("name").dispatchEvent(new Event("change"))`, nil)
	p.run(named)
	p.await(`document.getElementById("line").textContent`)
	line := p.text("line")
	member, err := fleetfile.ParseMember([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	file.Members = []fleetfile.Member{member}
	for _, name := range names[1:] {
		key, _, err := edge.Identity(filepath.Join(dir, name), name)
		if err != nil {
			t.Fatal(err)
		}
		file.Members = append(file.Members, fleetfile.Member{Name: name, Keys: append(member.Keys[:0:0], key)})
	}
	if err := file.Write(filepath.Join(dir, "fleet.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), data, 0o600); err != nil {
		t.Fatal(err)
	}

	second := newPage(t, p, site)
	second.await(`document.getElementById("problem").textContent.includes("open in another tab")`)
	if err := chromedp.Cancel(second); err != nil { // a page behind another one is slow
		t.Fatal(err)
	}
	start := []chromedp.Action{chromedp.SetUploadFiles("#fleet", []string{filepath.Join(dir, "fleet.json")}),
		chromedp.SetUploadFiles("#rows", []string{filepath.Join(dir, "rows.csv")}), chromedp.SetValue("#broker", at), chromedp.Click("#start")}
	p.run(start...)
	models := make([][]float32, len(names))
	var others sync.WaitGroup
	for i, name := range names[1:] {
		others.Go(func() {
			var err error
			if models[i+1], err = other(t.Context(), dir, file, name, at, string(data)); err != nil {
				t.Error(err)
			}
		})
	}
	const round = `+document.getElementById("round").textContent.match(/\d+|$/)[0]`
	p.await(round + " >= 5")
	p.run(chromedp.Reload())
	p.await(`!document.getElementById("start").disabled`)
	p.run(named)
	p.run(start...)
	if again := p.text("line"); again != line {
		t.Errorf("the page has the line %s, and had %s before it was loaded again", again, line)
	}
	p.await(`document.getElementById("result").textContent`)
	others.Wait()

	var model, sealed string
	p.run(chromedp.Evaluate(`JSON.stringify(done.model)`, &model), chromedp.Evaluate(`done.certificate`, &sealed))
	if err := json.Unmarshal([]byte(model), &models[0]); err != nil {
		t.Fatal(err)
	}
	for j, x := range models[0] {
		if off := math.Abs(float64(x - models[1][j])); off > 1e-3 || math.IsNaN(off) {
			t.Errorf("models %v", models)
		}
	}
	c, err := certificate.Parse([]byte(sealed))
	if err != nil || c.Verify() != nil || c.Member != "laptop" || c.Simulated {
		t.Errorf("certificate %s: %v", sealed, err)
	}
	if own, err := readRows(string(data), 4); err != nil || own.right(models[0]) < 24 {
		t.Errorf("the model is right for %d rows", own.right(models[0]))
	}
	var elsewhere string
	p.run(chromedp.Evaluate(`fetch("https://192.0.2.1/").then(() => "reached", () => "refused")`, &elsewhere,
		func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	if elsewhere != "refused" {
		t.Error("the page can send data over HTTP to another server")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = slices.DeleteFunc(p.asked, func(to string) bool { return to == "https://192.0.2.1" })
	slices.Sort(p.asked)
	if want := []string{site, at}; !slices.Equal(p.asked, want) || len(p.problems) > 0 {
		t.Errorf("the page talked to %q, want %q; problems %q", p.asked, want, p.problems)
	}
}

// other runs another member over the broker.
func other(ctx context.Context, dir string, file *fleetfile.File, name, at, text string) ([]float32, error) {
	data, err := readRows(text, file.Dim)
	if err != nil {
		return nil, err
	}
	key, err := secret.ReadKey(filepath.Join(dir, name, "node.key"))
	if err != nil {
		return nil, err
	}
	link, err := mqtt.New(mqtt.Config{Name: name, Key: key, Peers: file.Peers(name), Run: file.Run, Fleet: file.Hash(), URL: at,
		MaxFrame: file.MaxFrame(), Hello: file.Hello(name), CheckHello: file.CheckHello(name)})
	if err != nil {
		return nil, err
	}
	node, err := edge.Open(filepath.Join(dir, name), file, name, data, edge.Options{Samples: len(data.cells),
		Declared: state.NeverUsed, Transport: link})
	if err != nil {
		return nil, err
	}
	defer node.Close()
	err = node.Run(ctx)
	return node.Model(), err
}

// TestRows checks errors in rows.
func TestRows(t *testing.T) {
	for text, want := range map[string]string{
		"": "want a header", "a,b\n": "want a header", "a,b\n1,0\n": "want a header and at least one row, each with 2 features",
		"a,b,c\n1,2,0\n1,x,0\n": `row 2, column "b" is "x"`, "a,b,c\n1,2,3\n": `column "c" is "3"`, "a,b,c\n1,NaN,1\n": `column "b" is "NaN"`,
		"a,b,c\n1,2\n": "wrong number of fields", "a,b,c\n 1 ,-2e3,1\n": "<nil>",
	} {
		if _, err := readRows(text, 2); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
