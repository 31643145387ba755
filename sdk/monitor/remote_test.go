package monitor

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
)

// TestRemoteToken checks that a collector that sends the token gets the node's metrics, but cannot read any other path.
func TestRemoteToken(t *testing.T) {
	m := newWorld(t, pair(nil), nil, nil).mon
	h := m.Remote("0123456789abcdef")
	for _, c := range []struct {
		method, path, token string
		code                int
	}{
		{"GET", "/metrics", "Bearer 0123456789abcdef", 200}, {"GET", "/metrics", "bearer 0123456789abcdef", 200},
		{"GET", "/metrics", "BEARER 0123456789abcdef", 200}, {"GET", "/metrics", "Bearer  0123456789abcdef", 401},
		{"GET", "/metrics", "Bearer0123456789abcdef", 401}, {"GET", "/metrics", "bearer", 401}, {"GET", "/metrics", "Bearer 0123456789abcdeg", 401},
		{"GET", "/metrics", "", 401}, {"GET", "/metrics", "0123456789abcdef", 401}, {"GET", "/metrics", "Bearer ", 401},
		{"GET", "/metrics", "Basic 0123456789abcdef", 401}, {"GET", "/", "Bearer 0123456789abcdef", 404},
		{"GET", "/status", "Bearer 0123456789abcdef", 404}, {"POST", "/metrics", "Bearer 0123456789abcdef", 404},
		{"GET", "/status", "", 401},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.RemoteAddr = "192.0.2.1:1" // an address on another machine
		r.Header.Set("Authorization", c.token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.code || strings.Contains(w.Body.String(), "spade_edge_round{") != (c.code == 200) {
			t.Errorf("%+v: %d, %.200s", c, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	m.Remote("").ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 || w.Body.String() != string(Metrics(m.Status())) && !strings.Contains(w.Body.String(), "spade_edge_round{") {
		t.Errorf("without a token: %d", w.Code)
	}
}

// TestRemoteHidesSamples checks that in a private run a collector learns nothing about the number of samples from the
// count or the duration of queries.
func TestRemoteHidesSamples(t *testing.T) {
	of := func(private bool, samples int) string {
		st := NewStatus(pair(nil), "a", new(sdk.Status))
		st.NonPrivate, st.Running, st.Ready, st.Phase = !private, true, true, Querying
		st.Queries, st.Seconds, st.Stalled = int64(12*samples), 0.25*float64(samples), 0.03*float64(samples)
		st.Local = &Local{Losses: Losses{FailedQueries: int64(samples / 40)}}
		return string(Metrics(st))
	}
	if few, more := of(true, 120), of(true, 121); few != more {
		t.Errorf("with 120 samples\n%s\nand with 121\n%s", few, more)
	}
	if of(true, 120) != of(true, 160) || strings.Contains(of(true, 120), "queries") {
		t.Errorf("a private run tells\n%s", of(true, 160))
	}
	if text := of(false, 121); !strings.Contains(text, "spade_edge_queries_total{run=\"pair\",node=\"a\"} 1452\n") {
		t.Errorf("a run without privacy tells\n%s", text)
	}
}
