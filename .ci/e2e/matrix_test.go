package e2e

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

//go:embed audit.js
var audit string

// sound runs the checks of audit.js on the current page and reports each problem.
func (b *browser) sound(what string, planned bool) {
	b.t.Helper()
	for _, wrong := range eval[[]string](b, fmt.Sprintf("(%s)(%v)", audit, planned)) {
		b.t.Errorf("%s: %s", what, wrong)
	}
}

// everywhere checks the page on a phone and on a desktop, in light and in dark mode.
func (b *browser) everywhere(what string, planned bool) {
	b.t.Helper()
	for _, width := range []int64{390, 1280} {
		b.run("width", chromedp.EmulateViewport(width, 800))
		b.await(fmt.Sprintf(`innerWidth === %d && [...document.querySelectorAll(".plot svg, .graph svg")].every(e => `+
			`!e.clientWidth || +e.getAttribute("viewBox").split(" ")[2] === e.parentElement.clientWidth)`,
			width)) // wait until the charts are redrawn
		for _, scheme := range []string{"light", "dark"} {
			b.run("scheme", emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}}))
			name := fmt.Sprintf("%s, %d, %s", what, width, scheme)
			b.sound(name, planned)
			b.keep(strings.ReplaceAll(name, ", ", "-"))
		}
	}
}

// stage serves a monitor's page. It answers the page's requests with the data of the current scene.
func stage(t *testing.T, now *atomic.Pointer[scene]) string {
	t.Helper()
	f := newRun("none", true)
	m, err := monitor.New(monitor.Config{Fleet: f, Name: f.Members[0]})
	if err != nil {
		t.Fatal(err)
	}
	page := monitor.NewGroup(f, "", m).Handler()

	// Check that the types for a monitor's answers (group and history) have every field of these answers.
	for path, like := range map[string]any{"/status": &group{}, "/history": &history{}} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		r.RemoteAddr = "127.0.0.1:1"
		page.ServeHTTP(w, r)
		d := json.NewDecoder(w.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(like); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch s := now.Load(); {
		case s == nil:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/status":
			err = json.NewEncoder(w).Encode(s.status)
		case r.URL.Path == "/history":
			err = json.NewEncoder(w).Encode(s.history)
		default:
			page.ServeHTTP(w, r)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// TestPageMatrix checks that the page shows everything on small and large screens, in light and dark mode.
func TestPageMatrix(t *testing.T) {
	b := newBrowser(t)
	var now atomic.Pointer[scene]
	var origin string
	for _, s := range slices.Concat(matrix(), rare()) {
		now.Store(&s)
		if origin == "" {
			origin = stage(t, &now)
		}
		b.run(s.name, chromedp.Navigate(origin+"?"+url.QueryEscape(s.name)))
		b.await(fmt.Sprintf(`document.getElementById("round").textContent.trim() && `+
			`document.querySelectorAll("#rounds tbody tr").length === %d`, len(s.history.Points)))
		b.everywhere(s.name, s.planned)
		if ok := eval[bool](b, `fetch("/status").then(r => r.json()).then(s => (s.privacy ? s.privacy.against : []).map(p => p.text).join() === `+
			`(s.nodes ? [] : [...document.querySelectorAll("#bars b")]).map(e => e.textContent).join())`); !ok {
			t.Errorf("%s: the bars do not show what the status says", s.name)
		}
		if rows := eval[int](b, `document.getElementById("peers").tBodies[0].rows.length`); s.name == "unreached" && rows != 2 {
			t.Errorf("%s: %d rows for six neighbors with one reason and one with another, want 2", s.name, rows)
		}
	}
	b.clean(origin)
}

// TestPageGone checks that the page reports a lost connection to its node and stays readable.
func TestPageGone(t *testing.T) {
	b := newBrowser(t)
	s := matrix()[8]
	var now atomic.Pointer[scene]
	now.Store(&s)
	origin := stage(t, &now)
	b.run("loading", chromedp.Navigate(origin))
	b.await(`document.querySelectorAll("#rounds tbody tr").length > 100`)
	now.Store(nil)
	b.await(`!document.getElementById("gone").hidden`)
	b.everywhere("gone", false)
}

// TestPageKeys checks that the page can be used with the keyboard alone, and that it shows no animation to users who
// prefer reduced motion.
func TestPageKeys(t *testing.T) {
	b := newBrowser(t)
	s := matrix()[8]
	var now atomic.Pointer[scene]
	now.Store(&s)
	origin := stage(t, &now)
	b.run("loading", chromedp.EmulateViewport(390, 800), chromedp.Navigate(origin))
	b.await(`document.querySelectorAll("#rounds tbody tr").length > 100`)
	const focus = `(e => e.matches(":focus-visible") && getComputedStyle(e).outlineStyle === "solid" ? ` +
		`e.textContent.trim().slice(0, 22) : "nothing to see")(document.activeElement)`
	for i, want := range []string{"The charts as a table", "status", "history", "metrics", "health", "readiness"} {
		b.run("tab", chromedp.KeyEvent(kb.Tab))
		if got := eval[string](b, focus); got != want {
			t.Errorf("tab %d leads to %q, want %q", i+1, got, want)
		}
	}
	for range 5 {
		b.run("tab back", chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(input.ModifierShift)))
	}
	b.run("enter", chromedp.KeyEvent(kb.Enter))
	b.await(`document.getElementById("details").open`)
	b.run("tab", chromedp.KeyEvent(kb.Tab))
	b.run("down", chromedp.KeyEvent(kb.End)) // the table scrolls, not the page
	b.await(`document.activeElement.matches(".scroll") && document.activeElement.scrollTop > 100`)
	b.everywhere("table", true)

	for value, want := range map[string]int{"no-preference": 1, "reduce": 0} {
		b.run(value, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-reduced-motion", Value: value}}))
		if got := eval[int](b, `document.getAnimations().length`); got != want {
			t.Errorf("%s: %d animations, want %d", value, got, want)
		}
	}

	// value is a text that a screen reader announces.
	type value struct {
		Value any `json:"value"`
	}
	var tree struct {
		Nodes []struct {
			Ignored bool  `json:"ignored"`
			Role    value `json:"role"`
			Name    value `json:"name"`
		} `json:"nodes"`
	}
	b.run("accessibility tree", chromedp.ActionFunc(func(ctx context.Context) error {
		return cdp.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
	}))
	names := map[string][]string{}
	for _, n := range tree.Nodes {
		if !n.Ignored {
			role := fmt.Sprint(n.Role.Value)
			names[role] = append(names[role], fmt.Sprint(n.Name.Value))
		}
	}
	for role, want := range map[string]string{
		"heading": "ward-1; Now; Privacy spent; Neighbors; Loss; Consensus error; Epsilon spent",
		"image": "Loss over the rounds: 137 points, 0.17 in round 1, 0.0707 in round 137; Consensus error over the rounds: " +
			"137 points, 1 in round 1, 0.0073 in round 137; Epsilon spent over the rounds: 137 points, 0.4661 in round 1, " +
			"7.3944 in round 137",
		"progressbar": "Rounds",
	} {
		if got := strings.Join(names[role], "; "); got != want {
			t.Errorf("%s: %q, want %q", role, got, want)
		}
	}
}
