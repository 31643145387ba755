package monitor

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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

// issue returns a new certificate, signed by parent or, if parent is nil, by its own key.
func issue(t *testing.T, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: parent == nil, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	by, with := form, key
	if parent != nil {
		by, with = parent.Leaf, parent.PrivateKey.(ed25519.PrivateKey)
	}
	text, err := x509.CreateCertificate(rand.Reader, form, by, public, with)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(text)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key, Leaf: leaf}
}

// TestRemoteTLS checks that over TLS, a collector is served only if its certificate comes from the configured
// authority.
func TestRemoteTLS(t *testing.T) {
	authority, stranger := issue(t, nil), issue(t, nil)
	trusted := x509.NewCertPool()
	trusted.AddCert(authority.Leaf)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	defer func() { stop(); <-over }()
	go func() {
		defer close(over)
		Serve(ctx, tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*issue(t, authority)},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted}), newWorld(t, pair(nil), nil, nil).mon.Remote(""))
	}()
	for name, own := range map[string][]tls.Certificate{
		"the right one": {*issue(t, authority)}, "another authority's": {*issue(t, stranger)}, "none": nil,
	} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: own}}}
		resp, err := client.Get("https://" + l.Addr().String() + "/metrics")
		if (err == nil) != (name == "the right one") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || !strings.Contains(string(text), "spade_edge_round{") {
				t.Errorf("%s: %v, %.200s", name, err, text)
			}
		}
	}
}

// TestRemoteHidesSamples checks that in a private run a collector learns nothing about the number of samples from the
// count or the duration of queries.
func TestRemoteHidesSamples(t *testing.T) {
	of := func(private bool, samples int) string {
		st := NewStatus(pair(nil), "a")
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
