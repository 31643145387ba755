// Package fakes has the ground that fake proxies of tests stand on.
package fakes

import (
	"context"
	"net"
	"sync"
	"testing"
)

// Serve accepts connections on a loopback port until the test ends, and leaves each to handle. It closes a connection
// when handle returns or the test ends, and the test ends when all calls of handle have returned.
func Serve(t testing.TB, handle func(c net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { c.Close() })()
				handle(c)
			})
		}
	})
	return l.Addr().String()
}
