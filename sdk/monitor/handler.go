package monitor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// source is what a handler serves.
type source interface {
	statuses() []Status // of every node
	object() any        // for /status
	course() History    // for /history
	Healthy() error
	Ready() error
}

// handler serves a source.
func handler(s source) http.Handler {
	return Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var reply func() (kind string, body []byte, code int)
		switch r.URL.Path {
		case "/":
			reply = func() (string, []byte, int) {
				text, policy := page()
				w.Header().Set("Content-Security-Policy", policy)
				return "text/html; charset=utf-8", text, http.StatusOK
			}
		case "/status":
			reply = func() (string, []byte, int) { return object(s.object()) }
		case "/history":
			reply = func() (string, []byte, int) { return object(s.course()) }
		case "/metrics":
			reply = func() (string, []byte, int) {
				return "text/plain; version=0.0.4; charset=utf-8", Metrics(s.statuses()...), http.StatusOK
			}
		case "/healthz":
			reply = func() (string, []byte, int) { return verdict(s.Healthy()) }
		case "/readyz":
			reply = func() (string, []byte, int) { return verdict(s.Ready()) }
		default:
			http.Error(w, "there are /, /status, /history, /metrics, /healthz and /readyz", http.StatusNotFound)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "nothing can be changed here: GET and HEAD only", http.StatusMethodNotAllowed)
			return
		}
		kind, body, code := reply()
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(code)
		if r.Method == http.MethodGet {
			_, _ = w.Write(body) // whoever has gone needs no answer
		}
	}))
}

// object returns a value as JSON.
func object(v any) (kind string, body []byte, code int) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return verdict(err)
	}
	return "application/json", b.Bytes(), http.StatusOK
}

// verdict answers with ok, or with what is wrong.
func verdict(err error) (kind string, body []byte, code int) {
	if err != nil {
		return "text/plain; charset=utf-8", fmt.Appendln(nil, err), http.StatusServiceUnavailable
	}
	return "text/plain; charset=utf-8", []byte("ok\n"), http.StatusOK
}
