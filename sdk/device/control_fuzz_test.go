package device

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// FuzzControlAnswer checks that the caller of a request gets an answer or an error of this package, no matter what the
// process that listens on the socket in a state folder sends back.
func FuzzControlAnswer(f *testing.F) {
	for _, answer := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"round\":12}", "HTTP/1.1 409 Conflict\r\n\r\nno", "garbage",
		"HTTP/1.1 200 OK\r\n\r\n{\"privacy\":{\"epsilon\":1e999}}", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "",
		"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\n\r\n"} {
		f.Add([]byte(answer))
	}
	state, err := os.MkdirTemp("", "ask") // a socket path must be short
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = os.RemoveAll(state) })
	l, err := net.Listen("unix", filepath.Join(state, "control"))
	if err != nil {
		f.Skip(err)
	}
	f.Cleanup(func() { _ = l.Close() })
	say := make(chan []byte)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write(<-say)
			_ = c.Close()
		}
	}()
	f.Fuzz(func(t *testing.T, answer []byte) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for { // the client may ask twice
				select {
				case say <- answer:
				case <-ctx.Done():
					return
				}
			}
		}()
		st, err := AskStatus(ctx, state)
		if (st == nil) == (err == nil) || err != nil && !strings.HasPrefix(err.Error(), "asking the node: ") {
			t.Errorf("%q: %+v, %v", answer, st, err)
		}
		if st != nil {
			if _, err := json.Marshal(st); err != nil {
				t.Errorf("%q: %v", answer, err)
			}
		}
		if _, err := AskEnd(ctx, state, 3); err != nil && !strings.HasPrefix(err.Error(), "asking the node: ") {
			t.Errorf("%q: %v", answer, err)
		}
		cancel()
	})
}

// FuzzControlEnd checks that, for any requested round of an early end, the answer is either a round of the run or the
// HTTP status "conflict".
func FuzzControlEnd(f *testing.F) {
	for _, query := range []string{"3", "0", "-1", "99999999999999999999", "%33", "a=b", ""} {
		f.Add(query)
	}
	fleet := &sdk.Fleet{Run: "one", Dim: 2, Members: []string{"a"}, Privacy: sdk.Privacy{NonPrivate: true}, Stop: &sdk.Stop{Members: 1},
		Method: sdk.Method{Rounds: 9, Tau: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.3}, Mu: []float64{0.5}}}
	tr, err := mem.New("a").Node("a")
	if err != nil {
		f.Fatal(err)
	}
	node, err := sdk.New(sdk.Config{Fleet: fleet, Name: "a", Samples: 1, Transport: tr,
		Oracle: sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) { return 0, nil })})
	if err != nil {
		f.Fatal(err)
	}
	d := &Device{node: node}
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodPost, "/end", nil)
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		d.answerEnd(w, r)
		last := 0
		if w.Code == http.StatusOK && (json.Unmarshal(w.Body.Bytes(), &last) != nil || last < 1 || last > fleet.Method.Rounds) ||
			w.Code != http.StatusOK && w.Code != http.StatusConflict {
			t.Errorf("%q: %d %q", query, w.Code, w.Body)
		}
	})
}
