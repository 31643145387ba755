package monitor

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// request calls a handler with a request that seems to come from this machine. change may alter the request.
func request(h http.Handler, path string, change func(r *http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "127.0.0.1:8080"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestHandler checks that each request, allowed or refused, gets the expected status and answer.
func TestHandler(t *testing.T) {
	w := newWorld(t, pair(nil), func(c *Config) {
		c.Score = func(x []float32) (float64, float64) { return 0.5, 0.75 }
	}, nil)
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := w.mon.Handler()
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	method := func(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
	for _, c := range []struct {
		name   string
		path   string
		code   int
		want   string
		change func(r *http.Request)
	}{
		{"page", "/", 200, "<!doctype html>", nil},
		{"status", "/status", 200, `"run": "pair"`, nil},
		{"own data", "/status", 200, `"covered_by_privacy": false`, nil},
		{"history", "/history", 200, `"points": [`, nil},
		{"metrics", "/metrics", 200, "spade_edge_round{", nil},
		{"health", "/healthz", 200, "ok\n", nil},
		{"readiness", "/readyz", 503, "the run is over\n", nil},
		{"another path", "/debug/pprof/", 404, "want one of /,", nil},
		{"a path above", "/..//status", 404, "", nil},
		{"IPv6", "/healthz", 200, "ok", func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:4", "[::1]:8080" }},
		{"a bare IPv6 host", "/healthz", 200, "ok", host("[::1]")},
		{"localhost", "/healthz", 200, "ok", host("localhost:8080")},
		{"localhost without a port", "/healthz", 200, "ok", host("localhost")},
		{"HEAD", "/status", 200, "", method(http.MethodHead)},
		{"POST", "/status", 405, "only GET and HEAD", method(http.MethodPost)},
		{"DELETE", "/", 405, "only GET and HEAD", method(http.MethodDelete)},
		{"OPTIONS", "/metrics", 405, "only GET and HEAD", method(http.MethodOptions)},
		{"a rebound name", "/status", 403, "the Host of the request", host("evil.example:8080")},
		{"a name like localhost", "/status", 403, "the Host of the request", host("localhost.evil.example")},
		{"an address like loopback", "/status", 403, "the Host of the request", host("127.0.0.1.evil.example")},
		{"a user before the host", "/status", 403, "the Host of the request contains a user name", host("localhost:pw@evil.example")},
		{"no host", "/status", 403, "the Host of the request", host("")},
		{"another machine", "/status", 403, "comes from elsewhere", func(r *http.Request) { r.RemoteAddr = "192.0.2.7:4" }},
		{"another machine by IPv6", "/", 403, "comes from elsewhere", func(r *http.Request) { r.RemoteAddr = "[2001:db8::7]:4" }},
		{"nobody", "/", 403, "comes from elsewhere", func(r *http.Request) { r.RemoteAddr = "" }},
		{"a proxy", "/metrics", 403, "passed on by a proxy", func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.7") }},
		{"another proxy", "/metrics", 403, "passed on by a proxy", func(r *http.Request) { r.Header.Set("Via", "1.1 cache") }},
	} {
		r := request(h, c.path, c.change)
		if r.Code != c.code || !strings.Contains(r.Body.String(), c.want) {
			t.Errorf("%s: code %d, want %d with %q: %.80q", c.name, r.Code, c.code, c.want, r.Body)
		}
		head := r.Header()
		if head.Get("X-Content-Type-Options") != "nosniff" || head.Get("Cache-Control") != "no-store" ||
			head.Get("X-Frame-Options") != "DENY" ||
			!strings.HasPrefix(head.Get("Content-Security-Policy"), "default-src 'none'") ||
			head.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: headers %v", c.name, head)
		}
		for name := range head {
			if strings.HasPrefix(name, "Access-Control") {
				t.Errorf("%s: header %s", c.name, name)
			}
		}
	}
	if r := request(h, "/status", method(http.MethodHead)); r.Body.Len() > 0 ||
		r.Header().Get("Content-Length") == "0" {
		t.Errorf("HEAD: %q and %v", r.Body, r.Header())
	}
}

// TestPage checks that the page's content security policy allows the page's own script and style, and no other script
// or style.
func TestPage(t *testing.T) {
	var parts [3]string
	for i, name := range []string{"page.html", "page.css", "page.js"} {
		part, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parts[i] = string(part)
	}
	text := page
	if text != strings.Replace(strings.Replace(parts[0], "/*style*/", parts[1], 1), "/*script*/", parts[2], 1) {
		t.Error("the page is not page.html with page.css and page.js in it")
	}
	for _, tag := range []string{"style", "script"} {
		_, rest, _ := strings.Cut(text, "<"+tag+">")
		inner, _, _ := strings.Cut(rest, "</"+tag+">")
		sum := sha256.Sum256([]byte(inner))
		if want := tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';"; !strings.Contains(pagePolicy, want) {
			t.Errorf("policy %s, want %s in it", pagePolicy, want)
		}
	}
	for _, bad := range []string{"http:", "https:", "//cdn", "style=\"", "onclick", "innerHTML", "eval(", "/*style*/",
		"/*script*/", "@import", "url("} {
		at := strings.Index(text, bad)
		if at >= 0 && !strings.HasPrefix(text[at:], "http://www.w3.org/2000/svg") {
			t.Errorf("the page has %q: %.60s", bad, text[at:])
		}
	}
	if strings.Count(text, "<script>") != 1 || strings.Count(text, "</script>") != 1 ||
		strings.Count(text, "<style>") != 1 {
		t.Error("the page has not one script and one style")
	}
	for _, bad := range []string{"unsafe", "http", "*", " data:;"} {
		if strings.Contains(strings.Replace(pagePolicy, "img-src data:;", "", 1), bad) {
			t.Errorf("policy %s", pagePolicy)
		}
	}
}

// TestListen checks that Listen accepts only loopback addresses.
func TestListen(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "example.com:80", "127.0.0.1", "",
		"127.0.0.1.evil.example:0"} {
		if l, err := Listen(addr); err == nil {
			t.Errorf("%q is listened on", addr)
			_ = l.Close()
		}
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
