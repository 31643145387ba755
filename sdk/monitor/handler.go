package monitor

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// source is what a handler serves.
type source interface {
	statuses() []Status // of every node
	reply() any         // for /status
	history() history   // for /history
}

const metricsType = "text/plain; version=0.0.4; charset=utf-8"

var paths = []string{"/", "/status", "/history", "/metrics", "/healthz", "/readyz"}

func handler(s source) http.Handler {
	return Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(paths, r.URL.Path) {
			http.Error(w, "there are "+strings.Join(paths, ", "), http.StatusNotFound)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "nothing can be changed here: GET and HEAD only", http.StatusMethodNotAllowed)
			return
		}
		kind, code := "text/plain; charset=utf-8", http.StatusOK
		body, err := []byte("ok\n"), error(nil)
		switch r.URL.Path {
		case "/":
			var policy string
			body, policy = page()
			kind = "text/html; charset=utf-8"
			w.Header().Set("Content-Security-Policy", policy)
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
			_, _ = w.Write(body) // a client that has gone needs no answer
		}
	}))
}

// join returns what is wrong with each node; nil if nothing is.
func join(all []Status, wrong func(Status) string) error {
	var errs []error
	for _, one := range all {
		text := wrong(one)
		switch {
		case text == "":
		case len(all) == 1:
			errs = append(errs, errors.New(text))
		default:
			errs = append(errs, errors.New(one.Name+": "+text))
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

// pageZip is page.html with page.css and page.js in it, compressed: "go test ./sdk/monitor -run Page -update" makes it,
// and the same test without -update fails when it is out of date.
//
//go:embed page.gz
var pageZip string

// page returns one HTML file with everything in it, which must not be changed, and its policy. It is the same for every
// run, since its script fetches all that is shown. The policy lets a browser run this script and use this style, named
// by their hashes, ask this origin, and nothing else.
var page = sync.OnceValues(func() (text []byte, policy string) {
	zip, err := gzip.NewReader(strings.NewReader(pageZip))
	if err != nil {
		return nil, "" // the test has read it
	}
	text, _ = io.ReadAll(zip)
	source := func(tag string) string {
		_, rest, _ := bytes.Cut(text, []byte("<"+tag+">"))
		inner, _, _ := bytes.Cut(rest, []byte("</"+tag+">"))
		sum := sha256.Sum256(inner)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return text, "default-src 'none'; script-src " + source("script") + "; style-src " + source("style") +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
})
