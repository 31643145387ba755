package e2e

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// certified runs a private fleet of four members with pairwise noise until the run is complete. It returns the path of
// the fleet's folder.
func certified(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fleet")
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"init", dir, "-n", "4", "-graph", "complete", "-unit", "record", "-epsilon", "1", "-colluders", "1", "-rounds", "6"}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	nodes, err := filepath.Glob(filepath.Join(dir, "*", "node.json"))
	if err != nil || len(nodes) != 4 {
		t.Fatalf("nodes %q, %v", nodes, err)
	}
	var all []*process
	for _, node := range nodes {
		all = append(all, start(t, "run", "-anyway", node))
	}
	for _, p := range all {
		if <-p.over; p.cmd.ProcessState.ExitCode() != 0 {
			t.Fatal(p.text())
		}
	}
	return dir
}

// TestReport checks that the report on a certificate is readable on a phone, on a desktop and on paper, in light and
// dark mode, and that the page makes no requests.
func TestReport(t *testing.T) {
	b := newBrowser(t)
	dir := certified(t)
	cert := filepath.Join(dir, "node-0", "state", "certificate.json")
	for _, c := range []struct {
		name, badge string
		args        []string
	}{
		{"signed", "Verified for these keys", []string{"-fleet", filepath.Join(dir, "fleet.json"), "-ledger", filepath.Join(dir, "node-0", "ledger.json")}},
		{"alone", "ONLY THE ARITHMETIC WAS CHECKED", nil},
	} {
		file := filepath.Join(t.TempDir(), "report.html")
		path, _ := program()
		out, err := exec.Command(path, append([]string{"privacy", "-verify", cert, "-report", file}, c.args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/favicon.ico" { // browsers request it by themselves
				requests++
			}
			_, _ = w.Write(text)
		}))
		defer server.Close()
		b.run("loading", chromedp.Navigate(server.URL+"/"))
		b.await(`document.readyState === "complete"`)
		b.everywhere("report "+c.name, true)
		if got := eval[string](b, `document.querySelector(".badge").textContent`); got != c.badge {
			t.Errorf("%s: badge %q, want %q", c.name, got, c.badge)
		}
		// There is one bar per adversary, and the length of each bar matches its number.
		if bad := eval[string](b, `[...document.querySelectorAll(".bars li")].filter(li => { const t = li.querySelector(".track"), n = parseInt(li.querySelector("b").textContent); `+
			`return Math.abs(t.firstChild.clientWidth / t.clientWidth - (n - 50) / 50) > .02 || n <= 50; }).map(li => li.textContent).join("; ")`); bad != "" {
			t.Errorf("%s: bars of another length: %s", c.name, bad)
		}
		if n, rows := eval[int](b, `document.querySelectorAll(".bars li").length`), eval[int](b, `document.querySelectorAll("#figures tr").length`); n != 2 || n != rows {
			t.Errorf("%s: %d bars and %d figures, want one for each adversary", c.name, n, rows)
		}
		if requests != 1 {
			t.Errorf("%s: %d requests, want the page alone", c.name, requests)
		}
		// The printed page is black on white even in dark mode, and is one page of A4.
		var pdf []byte
		b.run("dark", emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
		b.run("printing", emulation.SetEmulatedMedia().WithMedia("print"))
		b.await(`getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)" && getComputedStyle(document.body).color === "rgb(0, 0, 0)"`)
		b.run("printing", emulation.SetEmulatedMedia(), chromedp.ActionFunc(func(ctx context.Context) (err error) {
			pdf, _, err = page.PrintToPDF().WithPreferCSSPageSize(true).WithPrintBackground(true).Do(ctx)
			return err
		}))
		pages := len(regexp.MustCompile(`/Type\s*/Page\b[^s]`).FindAll(pdf, -1))
		if !bytes.HasPrefix(pdf, []byte("%PDF-")) || pages != 1 {
			t.Errorf("%s: %d bytes of PDF with %d pages, want one", c.name, len(pdf), pages)
		}
		if shots := os.Getenv("SPADE_EDGE_SHOTS"); shots != "" {
			if err := os.WriteFile(filepath.Join(shots, "report-"+c.name+".pdf"), pdf, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		t.Errorf("the browser complains: %s", strings.Join(b.problems, "\n"))
	}
}
