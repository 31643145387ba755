package nats

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
)

const (
	nowhere = brokertest.Nowhere
	secret  = "s3cr3t" // a password

	excepted = "direct.invalid" // host that NO_PROXY excludes from the environment's proxy
)

// newFar creates a broker as newEstate does, but its members use websockets and reach it only through a proxy.
func newFar(t *testing.T) *broker {
	t.Helper()
	b := newEstate(t)
	b.tunnel = brokertest.NewTunnel(t)
	return b
}

// TestProxy sends a frame over websockets with TLS and credentials, through a proxy. The client must pass the broker's
// host name to the proxy, and the transport must report the proxy.
func TestProxy(t *testing.T) {
	b := newFar(t)
	a, c := open(t, b.config("run", "a", "c")), open(t, b.config("run", "c", "a"))
	brokertest.Send(t, a, "c", []byte("one"))
	brokertest.Receive(t, c, "a", []byte("one"))
	through := b.tunnel.URL("").String()
	if s := a.Peers()[0]; !s.Connected || s.Where != b.url() || s.Proxy != through || s.Lost != 0 || s.LostBy != nil {
		t.Errorf("state %+v", s)
	}
	b.tunnel.HangUp()
	brokertest.Eventually(t, "the loss is noticed", func() bool { return a.Peers()[0].Lost == 1 })
	brokertest.Eventually(t, "the node is connected again", func() bool { return a.Peers()[0].Connected })
	if s := a.Peers()[0]; s.Lost != 1 || s.LostBy == nil || s.Proxy != through {
		t.Errorf("state %+v", s)
	}
	for _, host := range b.tunnel.Asked() {
		if want := nowhere + ":" + strconv.Itoa(b.options.Port+1); host != want {
			t.Errorf("the proxy is asked for %q, want %q", host, want)
		}
	}
}

// TestKillsBehindProxy causes the same faults as TestKills, but the members use websockets through a proxy that
// sometimes closes all connections. The models must equal those of a fault-free run.
func TestKillsBehindProxy(t *testing.T) {
	brokertest.Faults(t, brokertest.Scale(t, "SPADE_KILLS", 12), ring8, func(t *testing.T) brokertest.Broker { return newFar(t) })
}

// TestBrokenProxy checks that, for each failure at a proxy, the node reports one clear error that contains no
// credentials, and retries until the proxy works.
func TestBrokenProxy(t *testing.T) {
	b := newFar(t)
	p := b.tunnel
	say := func(text string) func(net.Conn, *http.Request) bool {
		return func(c net.Conn, _ *http.Request) bool { io.WriteString(c, text); return true }
	}
	const established = "HTTP/1.1 200 OK\r\n\r\n"
	pair, err := tls.LoadX509KeyPair(b.estate.path("cert.pem"), b.estate.path("key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	own := newEstate(t) // a different authority
	own.Stop()
	other, err := tls.LoadX509KeyPair(own.estate.path("cert.pem"), own.estate.path("key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	secured := func(pair tls.Certificate, then func(*tls.Conn)) func(net.Conn, *http.Request) bool {
		return func(c net.Conn, _ *http.Request) bool {
			io.WriteString(c, established)
			s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{pair}})
			if s.Handshake() == nil {
				then(s)
			}
			return true
		}
	}
	silent := func(text string) func(net.Conn, *http.Request) bool {
		return func(c net.Conn, _ *http.Request) bool {
			io.WriteString(c, text)
			_, _ = io.Copy(io.Discard, c)
			return true
		}
	}
	named := "proxy http://" + p.Addr().String()
	for _, test := range []struct {
		name  string
		fault func(net.Conn, *http.Request) bool
		want  []string
	}{
		{"407", say("HTTP/1.1 407 Who are you\r\n\r\n"), []string{named, "answers 407", "rejects the user"}},
		{"403", say("HTTP/1.1 403 No\r\n\r\n"), []string{named, "answers 403", "the proxy does not allow the address"}},
		{"garbage", say("220 mail.example ready\r\n"), []string{named, "is not an HTTP proxy"}},
		{"echo", func(c net.Conn, head *http.Request) bool {
			io.WriteString(c, "HTTP/1.1 403 "+head.Header.Get("Proxy-Authorization")+" "+secret+"\r\n\r\n")
			return true
		}, []string{named, "403"}},
		{"closes", func(net.Conn, *http.Request) bool { return true }, []string{named, "closed the connection"}},
		{"nothing", silent(""), []string{named, "did not answer"}},
		{"nothing after 200", silent(established), []string{"did not answer", "behind the " + named}},
		{"closes after 200", say(established), []string{"the connection ended before", "behind the " + named}},
		{"garbage after 200", say(established + "220 mail.example ready\r\n"), []string{"does not speak TLS, behind the " + named}},
		{"opens TLS", secured(other, func(*tls.Conn) {}), []string{"certificate", "the " + named + " may terminate TLS"}},
		{"closes after TLS", secured(pair, func(*tls.Conn) {}), []string{"ended before", "behind the " + named}},
		{"speaks HTTP", secured(pair, func(s *tls.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(s)); err == nil {
				io.WriteString(s, "HTTP/1.1 404 Not Found\r\n\r\n")
			}
		}), []string{"invalid websocket connection, behind the " + named}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.Breaks(test.fault)
			var log brokertest.Buffer
			cfg := b.config("run", "a", "c")
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			if strings.HasPrefix(test.name, "nothing") {
				cfg.timing.connect = time.Second / 2
			}
			tr := open(t, cfg)
			brokertest.Eventually(t, "the fault is told", func() bool {
				err := tr.Peers()[0].Err
				for _, want := range test.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						return false
					}
				}
				return true
			})
			if a, err := Probe(t.Context(), cfg); err != nil || a.Err == nil || !strings.Contains(a.Err.Error(), test.want[0]) {
				t.Errorf("a probe says %+v, %v", a, err)
			}
			p.Breaks(nil)
			brokertest.Eventually(t, "the node is connected", func() bool { return tr.Peers()[0].Connected })
			for _, word := range []string{secret, base64.StdEncoding.EncodeToString([]byte("joe:" + secret))} {
				if strings.Contains(log.String(), word) {
					t.Errorf("%s in the log:\n%s", word, &log)
				}
			}
		})
	}
}

// TestProxyOfTheEnvironment checks that HTTPS_PROXY applies only to wss URLs and that NO_PROXY excludes hosts. TestMain
// sets both variables.
func TestProxyOfTheEnvironment(t *testing.T) {
	for url, want := range map[string]string{
		"wss://" + nowhere:  "http://127.0.0.1:1",
		"wss://" + excepted: "",
		"tls://" + nowhere:  "",
	} {
		cfg := Config{Name: "a", Key: brokertest.Member("a"), Run: "run", URLs: []string{url}, timing: quick}
		a, err := Probe(t.Context(), cfg)
		if err != nil || a.Err == nil || a.Proxy != want || strings.Contains(a.Err.Error(), secret) {
			t.Errorf("%s: %+v, %v", url, a, err)
		}
	}
}

// TestPath connects to a broker through a proxy that terminates TLS and serves the broker under a path. This must work,
// because frames are sealed independently of TLS.
func TestPath(t *testing.T) {
	b := &broker{t: t, options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		Websocket: server.WebsocketOpts{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoTLS: true},
	}}
	b.Start()
	defer b.Stop()
	inner, err := url.Parse(b.server.WebsocketURL())
	if err != nil {
		t.Fatal(err)
	}
	inner.Scheme = "http"
	route := http.NewServeMux()
	route.Handle("/brokers/one", http.StripPrefix("/brokers/one", httputil.NewSingleHostReverseProxy(inner)))
	front := httptest.NewTLSServer(route)
	defer front.Close()
	where := "wss" + strings.TrimPrefix(front.URL, "https") + "/brokers/one/"
	pool := x509.NewCertPool()
	pool.AddCert(front.Certificate())
	member := func(name, other string) Config {
		cfg := b.config("run", name, other)
		cfg.URLs = []string{where}
		cfg.Options = []client.Option{client.Secure(&tls.Config{RootCAs: pool})}
		return cfg
	}
	a, c := open(t, member("a", "c")), open(t, member("c", "a"))
	brokertest.Send(t, a, "c", []byte("one"))
	brokertest.Receive(t, c, "a", []byte("one"))
	for _, urls := range [][]string{{"tls://a/path"}, {"wss://a/x", "wss://b/y"}, {"wss://a", "tls://b"}, {"http://a"}, {"wss://"}} {
		cfg := b.config("run", "a", "c")
		cfg.URLs = urls
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "URLs[") {
			t.Errorf("%q: %v", urls, err)
		}
	}
}

// TestProbe checks that a probe reports which peers have a hello at the broker, that it is invisible to the peers, and
// that it reports an error if the broker is down.
func TestProbe(t *testing.T) {
	b := newBroker(t)
	n := brokertest.Ring("run", 8, false, 2)
	cfg := b.of(n.Setup("a"))
	ask := func() *Answer {
		t.Helper()
		a, err := Probe(t.Context(), cfg)
		if err != nil || a.Err != nil {
			t.Fatal(a, err)
		}
		return a
	}
	if a := ask(); a.Stream || len(a.Peers) != 3 || !a.Peers[0].Here.IsZero() || a.Where != b.url() {
		t.Errorf("nobody was here: %+v", a)
	}
	friend := open(t, b.of(n.Setup("b")))
	other := brokertest.Ring("run", 8, false, 3)
	open(t, b.of(other.Setup("h")))
	brokertest.Eventually(t, "both are there", func() bool {
		p := ask().Peers
		return !p[0].Here.IsZero() && !p[2].Here.IsZero()
	})
	p := ask().Peers
	if p[0].Name != "b" || p[0].Refused != nil || p[1].Name != "e" || !p[1].Here.IsZero() || p[2].Refused == nil {
		t.Errorf("peers %+v", p)
	}
	if s := friend.Peers()[0]; s.Received > 0 {
		t.Errorf("a probe was heard: %+v", s)
	}
	b.Stop()
	if a, err := Probe(t.Context(), cfg); err != nil || a.Refused || !strings.Contains(fmt.Sprint(a.Err), "refused") {
		t.Errorf("no broker: %+v, %v", a, err)
	}
	b.Start()
}

// TestSilentBroker probes a server that admits the client and then answers nothing but pings.
func TestSilentBroker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, `INFO {"max_payload":1000000,"headers":true}`+"\r\n")
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if lines.Text() == "PING" {
				io.WriteString(c, "PONG\r\n")
			}
		}
	}()
	cfg := Config{Name: "a", Key: brokertest.Member("a"), Run: "run", URLs: []string{"nats://" + l.Addr().String()}, timing: quick}
	cfg.timing.answer = 200 * time.Millisecond
	if a, err := Probe(t.Context(), cfg); err != nil || a.Err == nil || a.Refused || !strings.HasPrefix(a.Err.Error(), "the broker did not answer within 200ms: stream ") {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestRefusedCertificate checks that the error states why the broker refused a certificate, not only that the
// connection broke. In TLS 1.3, a broker refuses a certificate after the client has finished its handshake, and may
// then close the connection. So the client's next write may fail before the client has read the reason.
func TestRefusedCertificate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what has arrived on a connection that is reset cannot be read here")
	}
	front := httptest.NewTLSServer(nil) // used only for its certificate
	defer front.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, `INFO {"tls_required":true,"max_payload":1000000}`+"\r\n")
		tls.Server(c, &tls.Config{Certificates: front.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert}).Handshake()
	}()
	pool := x509.NewCertPool()
	pool.AddCert(front.Certificate())
	cfg := Config{Name: "a", Key: brokertest.Member("a"), Run: "run", URLs: []string{"tls://" + l.Addr().String()}, timing: quick,
		Options: []client.Option{client.Secure(&tls.Config{RootCAs: pool}),
			client.TokenHandler(func() string { <-gone; return "" })}} // called after the TLS handshake
	a, err := Probe(t.Context(), cfg)
	if err != nil || a.Err == nil || !a.Refused || !strings.Contains(a.Err.Error(), "certificate required") {
		t.Errorf("%+v, %v", a, err)
	}
}
