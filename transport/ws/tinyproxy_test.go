package ws

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestThroughTinyproxy connects two nodes on the loopback interface through tinyproxy, if it is installed. To connect
// nodes on different hosts through tinyproxy, use the script examples/fleet/hosts.sh.
func TestThroughTinyproxy(t *testing.T) {
	program, err := exec.LookPath("tinyproxy")
	if err != nil {
		t.Skip("no tinyproxy here (Debian: apt-get install tinyproxy)")
	}
	a := start(t, "a", nil, peerOf("b"))
	at := places(t)[0]
	host, port, _ := net.SplitHostPort(at)
	_, allowed, _ := net.SplitHostPort(a.listener.Addr().String())
	conf := filepath.Join(t.TempDir(), "conf")
	text := fmt.Sprintf("Port %s\nListen %s\nAllow 127.0.0.1\nConnectPort %s\nBasicAuth ward let-me-out\n", port, host, allowed)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	proxy := exec.CommandContext(ctx, program, "-d", "-c", conf)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); proxy.Wait() })
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	through := func(password string) func(*Config) {
		return func(c *Config) {
			c.Proxy, c.Listen = &url.URL{Scheme: "http", Host: at, User: url.UserPassword("ward", password)}, ""
		}
	}
	wrong := start(t, "b", through("guess"), peerOf("a"))
	wrong.reach(t, "a", a.Addr())
	wrong.log.await(t, "no connection", "rejects the user and the password")
	wrong.Close()
	b := start(t, "b", through("let-me-out"), peerOf("a"))
	b.reach(t, "a", "wss://127.0.0.1:1/")
	b.log.await(t, "no connection", "403")
	b.reach(t, "a", a.Addr())
	exchange(t, a, b)
}
