package nats

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/spade-dfl/spade-edge/transport"
)

// configuration returns a server configuration from the README after replacing some words in it. The parameter words
// alternates between an old word and its replacement.
func configuration(t *testing.T, name string, words ...string) *server.Options {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "\n    # "+name)
	text, _, _ := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatalf("no %s in README.md", name)
	}
	for i := 0; i < len(words); i += 2 {
		if !strings.Contains(text, words[i]) {
			t.Fatalf("no %q in %s", words[i], name)
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#"+strings.NewReplacer(words...).Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.NoLog, o.NoSigs = "127.0.0.1", true, true
	return o
}

func ports(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all = append(all, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return all
}

// TestLeaf connects half of a fleet to one server (the hub) and half to another (the leaf node), which dials the hub
// through a proxy. Both servers have the configurations in the README. The link between them is cut twice, and the
// models must equal those of a fault-free run.
func TestLeaf(t *testing.T) {
	e := newEstate(t)
	e.Stop() // the test needs only its certificate
	free, p := ports(t, 4), brokertest.NewTunnel(t)
	hub := &broker{t: t, options: *configuration(t, "hub.conf", "/var/lib/nats", t.TempDir(), "port: 443", "port: "+free[0],
		"port: 7422", "port: "+free[1], "server.pem", e.estate.path("cert.pem"), "server.key", e.estate.path("key.pem"))}
	hub.options.Port, _ = strconv.Atoi(free[2])
	site := &broker{t: t, options: *configuration(t, "site.conf", "4222", free[3], "broker.example:443", "127.0.0.1:"+free[0],
		"ca.pem", e.estate.path("cert.pem"), "http://proxy.example:3128", p.URL("").String())}
	hub.Start()
	t.Cleanup(hub.Stop)
	site.Start()
	t.Cleanup(site.Stop)

	n := brokertest.Ring("leaf", 8, true, 8)
	want, _ := n.Quiet(t)
	var all []transport.Transport
	for i, name := range n.Fleet.Members {
		at := []*broker{hub, site}[i%2]
		cfg := at.of(n.Setup(name))
		cfg.timing.answer = time.Second // request lost messages again soon
		all = append(all, open(t, cfg))
	}
	for _, at := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond} {
		defer time.AfterFunc(at, p.HangUp).Stop()
	}
	got, _, err := n.Run(brokertest.Long(t), all, nil)
	if err != nil || got != want {
		t.Errorf("other releases than in memory, %v", err)
	}
	if asked := p.Asked(); len(asked) == 0 || asked[0] != "127.0.0.1:"+free[0] {
		t.Errorf("the proxy was asked for %q", asked)
	}
}

// TestTinyproxy sends a frame through Debian's tinyproxy, if it is installed. If tinyproxy blocks the broker's host,
// the error must name tinyproxy.
func TestTinyproxy(t *testing.T) {
	program, err := exec.LookPath("tinyproxy")
	if err != nil {
		t.Skip("no tinyproxy: apt-get install tinyproxy")
	}
	b := newEstate(t)
	web := "wss://127.0.0.1:" + strconv.Itoa(b.options.Port+1)
	start := func(extra string) (proxy string) {
		port := ports(t, 1)[0]
		path := filepath.Join(t.TempDir(), "tinyproxy.conf")
		text := "Port " + port + "\nListen 127.0.0.1\nTimeout 600\nMaxClients 20\nDisableViaHeader Yes\n" + extra
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(program, "-d", "-c", path)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		brokertest.Eventually(t, "tinyproxy listens", func() bool {
			conn, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err == nil {
				conn.Close()
			}
			return err == nil
		})
		return "127.0.0.1:" + port
	}
	member := func(name, other, proxy, who string) Config {
		cfg := b.config("run", name, other)
		cfg.URLs, cfg.Proxy = []string{web}, brokertest.ProxyURL(proxy, who)
		return cfg
	}
	plain := start("")
	a, c := open(t, member("a", "c", plain, "")), open(t, member("c", "a", plain, ""))
	brokertest.Send(t, a, "c", []byte("one"))
	brokertest.Receive(t, c, "a", []byte("one"))
	for _, test := range []struct{ conf, who, want string }{
		{"BasicAuth joe " + secret + "\n", "", "407"},
		{"BasicAuth joe " + secret + "\n", "joe:" + secret, ""},
		{"BasicAuth joe " + secret + "\n", "joe:wr0ng", "answers 40"},
		{"ConnectPort 443\n", "", "403"},
	} {
		a, err := Probe(t.Context(), member("a", "c", start(test.conf), test.who))
		switch {
		case err != nil:
			t.Error(err)
		case test.want == "" && a.Err != nil, test.want != "" && (a.Err == nil || !strings.Contains(a.Err.Error(), test.want)):
			t.Errorf("%+v: %+v", test, a)
		case a.Err != nil && (strings.Contains(a.Err.Error(), secret) || strings.Contains(a.Err.Error(), "wr0ng")):
			t.Errorf("a password in %v", a.Err)
		}
	}
}
