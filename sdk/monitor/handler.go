package monitor

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed" // embeds the page
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

type source interface {
	statuses() []Status // status of every node
	reply() any         // content of /status
	history() history   // content of /history
}

const metricsType = "text/plain; version=0.0.4; charset=utf-8"

var paths = []string{"/", "/status", "/history", "/metrics", "/healthz", "/readyz"}

func handler(s source) http.Handler {
	return Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(paths, r.URL.Path) {
			http.Error(w, "no such path, want one of "+strings.Join(paths, ", "), http.StatusNotFound)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are allowed", http.StatusMethodNotAllowed)
			return
		}
		kind, code := "text/plain; charset=utf-8", http.StatusOK
		body, err := []byte("ok\n"), error(nil)
		switch r.URL.Path {
		case "/":
			body, kind = []byte(page), "text/html; charset=utf-8"
			w.Header().Set("Content-Security-Policy", pagePolicy)
		case "/status":
			kind = "application/json"
			body, err = encode(s.reply())
		case "/history":
			kind = "application/json"
			body, err = encode(s.history())
		case "/metrics":
			kind = metricsType
			body = Metrics(s.statuses()...)
		case "/healthz":
			err = join(s.statuses(), func(one Status) string { return one.Fault })
		case "/readyz":
			err = join(s.statuses(), func(one Status) string { return one.obstacle })
		}
		if err != nil {
			kind, body, code = "text/plain; charset=utf-8", fmt.Appendln(nil, err), http.StatusServiceUnavailable
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(code)
		if r.Method == http.MethodGet {
			_, _ = w.Write(body) // the client may be gone
		}
	}))
}

// join joins the errors of all nodes, or returns nil if there are none. wrong returns the error of one node, or "".
func join(all []Status, wrong func(Status) string) error {
	var errs []error
	for _, one := range all {
		if text := wrong(one); text != "" && len(all) > 1 {
			errs = append(errs, errors.New(one.Name+": "+text))
		} else if text != "" {
			errs = append(errs, errors.New(text))
		}
	}
	return errors.Join(errs...)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// The page is one HTML file that includes its style and script.
//
//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var page = strings.NewReplacer("/*style*/", pageCSS, "/*script*/", pageJS).Replace(pageHTML)

// pagePolicy allows a browser to run only the page's script and style, identified by their hashes, and to send requests
// only to the origin of the page.
var pagePolicy = "default-src 'none'; script-src " + hashSource(pageJS) + "; style-src " + hashSource(pageCSS) +
	"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Remote serves only /metrics, to a collector on another machine. The collector sends the token ("Authorization: Bearer
// TOKEN"), which Remote compares in constant time. If token is empty, Remote serves every client: the connection must
// then authenticate the collector, for example by a TLS client certificate.
func (m *Monitor) Remote(token string) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		bearer := strings.EqualFold(scheme, "Bearer") // RFC 9110, 11.1: case-insensitive
		got := sha256.Sum256([]byte(given))
		switch {
		case token != "" && (subtle.ConstantTimeCompare(got[:], want[:]) == 0 || !bearer):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
		case r.URL.Path != "/metrics" || r.Method != http.MethodGet:
			http.Error(w, "want GET /metrics", http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", metricsType)
			_, _ = w.Write(Metrics(m.Status())) // the client may be gone
		}
	})
}
