package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// logged is a log that is safe to read while it is being written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestEvidence checks that a node with evidence against a neighbor shows the evidence on its page and in its metrics,
// and sends the evidence to the neighbor over the broker. The neighbor must then exit with the same code as spade-edge
// would.
func TestEvidence(t *testing.T) {
	f := newFleet(t)
	key, err := secret.ReadKey(filepath.Join(f.dir, "b.key"))
	if err != nil {
		t.Fatal(err)
	}
	e := signed.Evidence{Member: "b", Round: 2}
	for i, to := range []*signed.Statement{&e.First, &e.Second} {
		r := signed.Statement{Kind: signed.Release, Round: e.Round, Value: [32]byte{byte(i)}}
		r.Sign(key, signed.NewScope(f.file.Fleet.Run, f.file.Fleet.Hash(), "b"))
		*to = r
	}
	line, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(f.dir, "a.state"), 0o700); err != nil {
		t.Fatal(err)
	}
	f.write(t, "a.state/journal.jsonl", fmt.Sprintf("{\"run\":%q,\"fleet\":\"%x\",\"member\":\"a\"}\n{\"evidence\":%s}\n", f.file.Fleet.Run,
		f.file.Fleet.Hash(), line))
	text, err := os.ReadFile(filepath.Join(f.dir, "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, "a.json", strings.Replace(string(text), `"version": 1,`, `"version": 1, "http": "127.0.0.1:0",`, 1))

	ctx, stop := context.WithTimeout(t.Context(), 60*time.Second)
	var log logged
	var work sync.WaitGroup
	work.Go(func() { run(ctx, []string{"run", "-anyway", filepath.Join(f.dir, "a.json")}, io.Discard, &log) })
	defer work.Wait()
	defer stop()
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)
	for address.FindString(log.String()) == "" {
		if ctx.Err() != nil {
			t.Fatalf("no page:\n%s", &log)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for path, want := range map[string]string{"metrics": "spade_edge_evidence{run=\"trial\",node=\"a\"} 1\n",
		"status": `"member": "b",`, "healthz": ""} {
		for { // the page answers before the node has read its journal
			resp, err := http.Get(address.FindString(log.String()) + path)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(text), want) {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("/%s: %s, %v, no %q in\n%s", path, resp.Status, err, want, text)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	var said logged
	code := run(ctx, []string{"run", "-anyway", filepath.Join(f.dir, "b.json")}, io.Discard, &said)
	if code != exitMismatch || !strings.Contains(said.String(), trust.ErrClone.Error()) ||
		!strings.Contains(said.String(), `"a" shows two different releases of round 2`) {
		t.Errorf("b: exit code %d\n%s", code, &said)
	}
}
