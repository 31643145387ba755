package monitor

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestSlowClients checks that clients that send nothing, or do not read a long answer, do not block other clients.
func TestSlowClients(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	long := make([]byte, 16<<20) // longer than the system's socket buffers
	go func() {
		defer close(over)
		Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/long" {
				_, _ = w.Write(long)
			}
		}))
	}()
	for i := range 5 * maxConns {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			fmt.Fprint(c, "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
	client := &http.Client{Timeout: requestTime / 2, Transport: &http.Transport{DisableKeepAlives: true}}
	begin := time.Now()
	resp, err := client.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	t.Logf("answered after %v", time.Since(begin))
	cancel()
	<-over
}
