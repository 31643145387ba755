package sdk_test

import (
	"bytes"
	"crypto/ed25519"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// overTLS returns one websocket transport per member: transport i is for member i of fleets[i]. The fleets may differ.
func overTLS(t *testing.T, fleets []*sdk.Fleet, log *slog.Logger) []transport.Transport {
	t.Helper()
	f := fleets[0]
	keys := map[string]ed25519.PrivateKey{}
	for i, name := range f.Members {
		keys[name] = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i + 1)}, ed25519.SeedSize))
	}
	trs, peers := map[string]*ws.Transport{}, map[string][]ws.Peer{}
	for i, name := range f.Members {
		cfg := ws.Config{
			Name: name, Key: keys[name], Listen: "127.0.0.1:0",
			Hello: fleets[i].Hello(name), CheckHello: fleets[i].CheckHello(name), Logger: log,
		}
		for _, peer := range neighbors(f, name) {
			cfg.Peers = append(cfg.Peers,
				ws.Peer{Name: peer, Keys: []ed25519.PublicKey{keys[peer].Public().(ed25519.PublicKey)}})
		}
		tr, err := ws.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tr.Close() })
		trs[name], peers[name] = tr, cfg.Peers
	}
	var all []transport.Transport
	for _, name := range f.Members {
		for i, peer := range neighbors(f, name) {
			peers[name][i].Addresses = []string{trs[peer].Addr()}
		}
		if err := trs[name].Update(peers[name]); err != nil {
			t.Fatal(err)
		}
		all = append(all, trs[name])
	}
	return all
}

func neighbors(f *sdk.Fleet, name string) []string {
	var all []string
	for _, e := range f.Edges {
		if e[0] == name {
			all = append(all, e[1])
		} else if e[1] == name {
			all = append(all, e[0])
		}
	}
	return all
}

// TestDifferentFleetsRefuseEachOther checks that a member whose fleet differs in one number is refused, and that both
// sides log the difference.
func TestDifferentFleetsRefuseEachOther(t *testing.T) {
	fleets := []*sdk.Fleet{ring(), ring(), ring(), ring(), ring()}
	fleets[1].Method.Mu = []float64{0.31}
	var log syncBuffer
	trs := overTLS(t, fleets, slog.New(slog.NewTextHandler(&log, nil)))
	deadline := time.After(3 * time.Minute)
	for {
		text := log.String()
		if strings.Count(text, "fleet") >= 2 {
			break
		}
		select {
		case <-deadline:
			t.Fatalf("no refusal that names the fleet in the log:\n%s", text)
		case <-time.After(10 * time.Millisecond):
		}
	}
	for _, st := range trs[1].(*ws.Transport).Peers() {
		if st.Connected {
			t.Errorf("b is connected to %s in spite of its fleet", st.Name)
		}
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
