package mqtt

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

const password = "s3cr3t" // a password

// mosquitto runs Debian's Mosquitto broker in a separate process.
type mosquitto struct {
	t       testing.TB
	program string
	dir     string
	strict  bool   // the first listener requires certificates
	port    int    // the websocket port is port+1
	conf    string // configuration in addition to the listeners
	tls     bool
	web     bool
	login   string // "user:password", or empty
	proxy   *url.URL
	proc    *exec.Cmd
	said    *brokertest.Buffer
	before  func(cfg *Config) // changes the configuration of each new end; may be nil
}

// newMosquitto starts a broker with the lines of conf added to its configuration. If the first line is "tls", its
// listeners use TLS.
func newMosquitto(t testing.TB, conf ...string) *mosquitto {
	t.Helper()
	b := &mosquitto{t: t, program: brokertest.Mosquitto(t), dir: t.TempDir(), said: new(brokertest.Buffer)}
	for port := 21000 + os.Getpid()%4000; ; port += 2 { // outside the range of outgoing connections
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		next, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+1)))
		if l.Close(); err == nil {
			next.Close()
			b.port = port
			break
		}
	}
	if len(conf) > 0 && conf[0] == "tls" {
		b.tls, conf = true, conf[1:]
		b.authority("ca")
		b.certificate("server", "ca", time.Hour)
	}
	b.conf = strings.Join(conf, "\n") + "\n"
	b.Start()
	t.Cleanup(b.Stop)
	return b
}

func (b *mosquitto) path(name string) string { return filepath.Join(b.dir, name) }

func (b *mosquitto) write(name, text string) string {
	b.t.Helper()
	if err := os.WriteFile(b.path(name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return b.path(name)
}

// authority creates a self-signed certificate with the given name.
func (b *mosquitto) authority(name string) { b.sign(name, name, time.Hour) }

func (b *mosquitto) certificate(name, by string, lasts time.Duration) { b.sign(name, by, lasts) }

func (b *mosquitto) sign(name, by string, lasts time.Duration) {
	b.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	now := time.Now()
	about := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{brokertest.Nowhere},
		NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(lasts), IsCA: name == by, BasicConstraintsValid: true,
	}
	parent, signer := about, key
	if name != by {
		pair, err := tls.LoadX509KeyPair(b.path(by+".pem"), b.path(by+".key"))
		if err != nil {
			b.t.Fatal(err)
		}
		parent, signer = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	}
	der, err := x509.CreateCertificate(rand.Reader, about, parent, key.Public(), signer)
	if err != nil {
		b.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write(name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	b.write(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

func (b *mosquitto) password(user, password string) (line string) {
	path := b.path("passwords")
	if text, err := exec.Command("mosquitto_passwd", "-b", "-c", path, user, password).CombinedOutput(); err != nil {
		b.t.Skipf("mosquitto_passwd: %v %s", err, text)
	}
	return "password_file " + path
}

// Start starts the broker process and waits until it accepts connections.
func (b *mosquitto) Start() {
	b.t.Helper()
	secure := ""
	if b.tls {
		secure = fmt.Sprintf("cafile %s\ncertfile %s\nkeyfile %s\n", b.path("ca.pem"), b.path("server.pem"), b.path("server.key"))
	}
	conf := "user root\nallow_anonymous true\nset_tcp_nodelay true\n"
	for i, protocol := range []string{"mqtt", "websockets"} {
		conf += fmt.Sprintf("listener %d 127.0.0.1\nprotocol %s\n%s", b.port+i, protocol, secure)
	}
	conf += b.conf
	if strings.Contains(b.conf, "password_file") {
		conf = strings.Replace(conf, "allow_anonymous true\n", "", 1)
	}
	if b.strict {
		conf = strings.Replace(conf, "protocol mqtt\n", "protocol mqtt\nrequire_certificate true\n", 1)
	}
	b.proc = exec.Command(b.program, "-c", b.write("mosquitto.conf", conf))
	b.proc.Stderr, b.proc.Stdout = b.said, b.said
	if err := b.proc.Start(); err != nil {
		b.t.Fatal(err)
	}
	brokertest.Listens(b.t, net.JoinHostPort("127.0.0.1", strconv.Itoa(b.port)))
}

// Stop kills the broker process, which simulates a power failure.
func (b *mosquitto) Stop() {
	_ = b.proc.Process.Kill()
	_ = b.proc.Wait()
}

func (b *mosquitto) restart() { b.Stop(); b.Start() }

// HangUp does nothing, because there are no tunneled connections to close.
func (b *mosquitto) HangUp() {}

func (b *mosquitto) url() string {
	scheme, port, host := map[[2]bool]string{{false, false}: "mqtt", {true, false}: "tls", {false, true}: "ws",
		{true, true}: "wss"}[[2]bool{b.tls, b.web}], b.port, "127.0.0.1"
	if b.web {
		port++
	}
	if b.proxy != nil {
		host = brokertest.Nowhere
	}
	return fmt.Sprintf("%s://%s:%d", scheme, host, port)
}

// trusting returns a TLS configuration that trusts the certificate authority ca. If own is not empty, the client
// presents the certificate with that name.
func (b *mosquitto) trusting(ca, own string) func() (*tls.Config, error) {
	return func() (*tls.Config, error) {
		text, err := os.ReadFile(b.path(ca + ".pem"))
		if err != nil {
			return nil, err
		}
		cfg := &tls.Config{RootCAs: x509.NewCertPool()}
		cfg.RootCAs.AppendCertsFromPEM(text)
		if own != "" {
			pair, err := tls.LoadX509KeyPair(b.path(own+".pem"), b.path(own+".key"))
			cfg.Certificates = []tls.Certificate{pair}
			return cfg, err
		}
		return cfg, nil
	}
}

func (b *mosquitto) of(s brokertest.Setup) Config {
	cfg := configure(s, b.url())
	cfg.Proxy = b.proxy
	if b.tls {
		cfg.TLS = b.trusting("ca", "")
	}
	if user, password, ok := strings.Cut(b.login, ":"); ok {
		cfg.Login = func() (string, string, error) { return user, password, nil }
	}
	if b.before != nil {
		b.before(&cfg)
	}
	return cfg
}

func (b *mosquitto) End(s brokertest.Setup) (brokertest.End, error) { return New(b.of(s)) }

func open(t testing.TB, cfg Config) *Transport {
	t.Helper()
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Close() })
	return tr
}

// says waits until the error in the status of a connection contains all the given words.
func says(t *testing.T, tr brokertest.End, words ...string) {
	t.Helper()
	var last error
	for end := time.Now().Add(brokertest.Soon); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if last = tr.Peers()[0].Err; last == nil {
			continue
		}
		for i, word := range words {
			if !strings.Contains(last.Error(), word) {
				break
			}
			if i == len(words)-1 {
				if strings.Contains(last.Error(), password) {
					t.Errorf("a password in %v", last)
				}
				return
			}
		}
	}
	t.Fatalf("says %v, want %q", last, words)
}

func TestMosquittoConformance(t *testing.T) {
	for _, b := range []*mosquitto{newMosquitto(t), newMosquitto(t, "tls", "max_packet_size 40000")} {
		brokertest.Conformance(t, b.End)
	}
}

// TestMosquittoKills checks that five private members compute the correct models while members and brokers are killed
// and networks are cut. In one subtest the broker stores messages on disk, in the other only in memory.
func TestMosquittoKills(t *testing.T) {
	for name, conf := range map[string]func(dir string) string{
		"with persistence": func(dir string) string {
			return "persistence true\npersistence_location " + dir + "/\nautosave_interval 1\nautosave_on_changes true"
		},
		"without": func(string) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			brokertest.Faults(t, brokertest.Scale(t, "SPADE_KILLS", 12),
				func(run string) *brokertest.Network { return brokertest.Ring(run, 5, true, 16) },
				func(t *testing.T) brokertest.Broker { return newMosquitto(t, conf(t.TempDir())) })
		})
	}
}

// TestMosquittoBehindProxy checks that the members compute the correct models if they connect to the broker over
// websockets with TLS, through a proxy that sometimes closes all connections.
func TestMosquittoBehindProxy(t *testing.T) {
	brokertest.Faults(t, brokertest.Scale(t, "SPADE_KILLS", 6),
		func(run string) *brokertest.Network { return brokertest.Ring(run, 5, true, 16) },
		func(t *testing.T) brokertest.Broker {
			b := newMosquitto(t, "tls")
			p := brokertest.NewTunnel(t)
			b.web, b.proxy = true, p.URL("joe:"+password)
			return behind{b, p}
		})
}

type behind struct {
	*mosquitto
	tunnel *brokertest.Tunnel
}

func (b behind) HangUp() { b.tunnel.HangUp() }

// TestMosquittoLongCut cuts members off from the broker for a second each.
func TestMosquittoLongCut(t *testing.T) { brokertest.LongCut(t, time.Second, newMosquitto(t)) }

// same opens the transports of five private members with the function open, runs the members, and checks that their
// releases equal those of a fault-free run.
func same(t *testing.T, name string, open brokertest.Opener, released func(member, round int)) {
	t.Helper()
	n := brokertest.Ring(name, 5, true, 16)
	want, _ := n.Quiet(t)
	got, _, err := n.Run(brokertest.Long(t), n.Open(t, open), released)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Error("other releases than in the quiet run")
	}
}

// TestMosquittoFullQueue uses a broker that queues at most two messages for an absent member and drops all others. It
// checks that the sender repeats the dropped frames.
func TestMosquittoFullQueue(t *testing.T) {
	b := newMosquitto(t, "max_queued_messages 2", "max_inflight_messages 1")
	var way brokertest.Way
	away := func(member, round int) {
		if member == 0 && round%4 == 1 {
			way.Set(true)
			time.AfterFunc(300*time.Millisecond, func() { way.Set(false) })
		}
	}
	same(t, "full", func(s brokertest.Setup) (brokertest.End, error) {
		if s.Name == "a" {
			s.Way = &way
		}
		return b.End(s)
	}, away)
	if !strings.Contains(b.said.String(), "messages are being dropped") {
		t.Errorf("the queue was never full:\n%s", b.said)
	}

	// While the receiver is disconnected, send frames with more pieces than the queue can hold.
	c := open(t, b.of(brokertest.Setup{Run: "long", Name: "c", Peers: []string{"a"}}))
	brokertest.Eventually(t, "c is known", func() bool { return c.Peers()[0].Connected })
	_ = c.Close()
	a := open(t, b.of(brokertest.Setup{Run: "long", Name: "a", Peers: []string{"c"}}))
	frame := bytes.Repeat([]byte("long"), sealed.MaxPiece)
	brokertest.Send(t, a, "c", frame)
	c = open(t, b.of(brokertest.Setup{Run: "long", Name: "c", Peers: []string{"a"}}))
	brokertest.Pass(t, a, "a", c, "c", frame)
}

// TestMosquittoRefusals checks that a node reports one clear error when the broker restricts the node, and continues
// once the restriction is lifted.
func TestMosquittoRefusals(t *testing.T) {
	one := brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}}
	with := func(t *testing.T, b *mosquitto, change func(cfg *Config)) *Transport {
		cfg := b.of(one)
		change(&cfg)
		return open(t, cfg)
	}
	t.Run("password", func(t *testing.T) {
		b := newMosquitto(t)
		b.conf += b.password("joe", password) + "\n"
		b.restart()
		for _, password := range []string{"wr0ng", ""} {
			tr := with(t, b, func(cfg *Config) {
				cfg.Login = func() (string, string, error) { return "joe", password, nil }
			})
			says(t, tr, "mqtt: broker: ", "not authorized")
		}
		tr := with(t, b, func(cfg *Config) { cfg.Login = func() (string, string, error) { return "joe", password, nil } })
		brokertest.Eventually(t, "the right one is let in", func() bool { return tr.Peers()[0].Connected })
	})
	t.Run("access list", func(t *testing.T) {
		b := newMosquitto(t)
		publish, read := Topics("run", "a")
		b.conf += b.password("joe", password) + "\nacl_file " + b.write("acl", "user joe\ntopic read "+read+"\n") + "\n"
		b.login = "joe:" + password
		b.restart()
		tr := with(t, b, func(*Config) {})
		says(t, tr, "cannot publish on "+publish, "not authorized")
		b.write("acl", "user joe\ntopic write "+publish+"\ntopic read "+read+"\n")
		b.restart()
		brokertest.Eventually(t, "all is well", func() bool { return tr.Peers()[0].Err == nil && tr.Peers()[0].Sent > 0 })
	})
	t.Run("certificates", func(t *testing.T) {
		b := newMosquitto(t, "tls")
		b.authority("other")
		says(t, with(t, b, func(cfg *Config) { cfg.TLS = b.trusting("other", "") }), "failed to verify certificate")
		says(t, with(t, b, func(cfg *Config) { cfg.URL = strings.Replace(cfg.URL, "tls", "mqtt", 1) }), "mqtt: broker: ")
		says(t, with(t, b, func(cfg *Config) { cfg.URL = strings.Replace(cfg.URL, "127.0.0.1", "localhost", 1) }),
			"not localhost")
		b.certificate("server", "ca", -time.Hour)
		b.restart()
		tr := with(t, b, func(*Config) {})
		says(t, tr, "certificate has expired")
		b.certificate("server", "ca", time.Hour)
		b.restart()
		brokertest.Eventually(t, "the new one is taken", func() bool { return tr.Peers()[0].Connected })
	})
	t.Run("certificates of members", func(t *testing.T) {
		b := newMosquitto(t, "tls")
		b.certificate("good", "ca", time.Hour)
		b.certificate("old", "ca", -time.Hour)
		b.strict = true
		b.restart()
		says(t, with(t, b, func(*Config) {}), "certificate")
		says(t, with(t, b, func(cfg *Config) { cfg.TLS = b.trusting("ca", "old") }), "certificate")
		tr := with(t, b, func(cfg *Config) { cfg.TLS = b.trusting("ca", "good") })
		brokertest.Eventually(t, "the good one is let in", func() bool { return tr.Peers()[0].Connected })
	})
	t.Run("long messages", func(t *testing.T) {
		b := newMosquitto(t, "message_size_limit 20000")
		c := open(t, b.of(brokertest.Setup{Run: "run", Name: "c", Peers: []string{"a"}}))
		_ = c
		tr := with(t, b, func(*Config) {})
		err := tr.Send(brokertest.Within(t), "c", make([]byte, 30000))
		if err == nil || !strings.Contains(err.Error(), "packet too large") {
			t.Errorf("a message that is too long: %v", err)
		}
		brokertest.Pass(t, tr, "a", c, "c", make([]byte, 10000))
	})
}

// TestMosquittoSameClient lets another client repeatedly connect with a member's client id and take the member's
// messages. The node must report one clear error, and the models must equal those of a fault-free run.
func TestMosquittoSameClient(t *testing.T) {
	b := newMosquitto(t)
	h := hello{client: ClientID("twins", "a"), expiry: 60, peers: 4, maxPacket: 1 << 20}
	tr := make(chan brokertest.End, 1)
	var seen bool
	impostor := func(member, round int) {
		if member != 0 || round%5 != 1 {
			return
		}
		a := <-tr
		tr <- a
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			c, err := net.Dial("tcp", strings.TrimPrefix(b.url(), "mqtt://"))
			if err != nil {
				t.Error(err)
				return
			}
			if n, err := connect(t.Context(), c, h, &quick, func(string, []byte) {}); err == nil {
				defer n.end(net.ErrClosed)
			}
			if err := a.Peers()[0].LostBy; err != nil && strings.Contains(err.Error(), "another client") {
				seen = true
				return
			}
		}
	}
	same(t, "twins", func(s brokertest.Setup) (brokertest.End, error) {
		e, err := b.End(s)
		if s.Name == "a" {
			tr <- e
		}
		return e, err
	}, impostor)
	if !seen {
		t.Error("nobody says that there is another client")
	}
}
