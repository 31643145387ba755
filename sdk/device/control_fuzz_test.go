package device

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		cancel()
	})
}
