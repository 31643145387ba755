package monitor

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Remote serves /metrics, and nothing else, to a collector of metrics on another machine. It has to send the token
// ("Authorization: Bearer TOKEN"); with an empty one everybody is served, so that the connection has to say who they are,
// as TLS with client certificates does. How long a comparison takes says nothing of the token.
func (m *Monitor) Remote(token string) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		switch {
		case token != "" && (subtle.ConstantTimeCompare(got[:], want[:]) == 0 || !bearer):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is missing, or another", http.StatusUnauthorized)
		case r.URL.Path != "/metrics" || r.Method != http.MethodGet:
			http.Error(w, "there is GET /metrics alone", http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", metricsType)
			_, _ = w.Write(Metrics(m.Status())) // a client that has gone needs no answer
		}
	})
}
