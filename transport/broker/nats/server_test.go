package nats

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// asServer is an environment variable that makes the test binary act as a server. Its value consists of the folder that
// contains the server's files, a colon, and a port.
const asServer = "SPADE_EDGE_NATS_TEST_SERVER"

func TestMain(m *testing.M) {
	if dir, port, err := net.SplitHostPort(os.Getenv(asServer)); err == nil {
		n, _ := strconv.Atoi(port)
		serve(dir, n)
	}
	// Set these variables here, because Go reads them only once. They do not affect loopback addresses, which are
	// always dialed directly.
	os.Setenv("HTTPS_PROXY", "http://joe:"+secret+"@127.0.0.1:1")
	os.Setenv("NO_PROXY", excepted)
	os.Exit(m.Run())
}

// estate is a broker set up as in production: it runs in a separate process with TLS, and has a NATS operator, an
// account and a user. The folder dir contains the files of the broker and its members.
type estate struct {
	dir  string
	port int // the websocket port is port+1
	proc *exec.Cmd
}

func (e *estate) path(name string) string { return filepath.Join(e.dir, name) }

// newEstate creates an estate with all its files, starts its server, and returns the broker.
func newEstate(t *testing.T) *broker {
	t.Helper()
	e := &estate{dir: t.TempDir()}
	write := func(name string, text []byte, err error) {
		t.Helper()
		if err == nil {
			err = os.WriteFile(e.path(name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for port := 27000 + os.Getpid()%4000; ; port++ { // outside the range that systems use for outgoing connections
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		next, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+1)))
		if l.Close(); err == nil {
			next.Close()
			e.port = port
			break
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "broker"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{nowhere},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	write("cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), err)

	operator, _ := nkeys.CreateOperator()
	account, _ := nkeys.CreateAccount()
	system, _ := nkeys.CreateAccount() // account for the server's internal use
	user, _ := nkeys.CreateUser()
	name := func(k nkeys.KeyPair) string { s, _ := k.PublicKey(); return s }
	text, err := jwt.NewOperatorClaims(name(operator)).Encode(operator)
	write("operator.jwt", []byte(text), err)
	claims := jwt.NewAccountClaims(name(account))
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	text, err = claims.Encode(operator)
	write("account.jwt", []byte(text), err)
	text, err = jwt.NewAccountClaims(name(system)).Encode(operator)
	write("system.jwt", []byte(text), err)
	text, err = jwt.NewUserClaims(name(user)).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := user.Seed()
	creds, err := jwt.FormatUserConfig(text, seed)
	write("user.creds", creds, err)

	b := &broker{t: t, options: server.Options{Port: e.port}, estate: e}
	b.Start()
	t.Cleanup(b.Stop)
	return b
}

// start starts the server process and waits until it answers.
func (e *estate) start(t testing.TB) {
	t.Helper()
	e.proc = exec.Command(os.Args[0])
	e.proc.Env = append(os.Environ(), asServer+"="+net.JoinHostPort(e.dir, strconv.Itoa(e.port)))
	e.proc.Stderr = os.Stderr
	if err := e.proc.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := client.Connect("tls://127.0.0.1:"+strconv.Itoa(e.port), e.options()...)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not start: %v", err)
		}
	}
}

// kill kills the server process, which simulates a power failure.
func (e *estate) kill() {
	_ = e.proc.Process.Kill()
	_ = e.proc.Wait()
}

// options returns the client options that authenticate a member.
func (e *estate) options() []client.Option {
	return []client.Option{client.RootCAs(e.path("cert.pem")), client.UserCredentials(e.path("user.creds"))}
}

func serve(dir string, port int) {
	path := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		if err != nil {
			os.Stderr.WriteString("server: " + err.Error() + "\n")
			os.Exit(1)
		}
	}
	pair, err := tls.LoadX509KeyPair(path("cert.pem"), path("key.pem"))
	must(err)
	text, err := os.ReadFile(path("operator.jwt"))
	must(err)
	operator, err := jwt.DecodeOperatorClaims(string(text))
	must(err)
	accounts := &server.MemAccResolver{}
	var last string // subject of the account in the last file, which is the system account
	for _, name := range []string{"account.jwt", "system.jwt"} {
		text, err := os.ReadFile(path(name))
		must(err)
		claims, err := jwt.DecodeAccountClaims(string(text))
		must(err)
		must(accounts.Store(claims.Subject, string(text)))
		last = claims.Subject
	}
	secure := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: path("store"), NoLog: true, NoSigs: true,
		TLS: true, TLSConfig: secure, Websocket: server.WebsocketOpts{Host: "127.0.0.1", Port: port + 1, TLSConfig: secure},
		TrustedOperators: []*jwt.OperatorClaims{operator}, AccountResolver: accounts, SystemAccount: last,
	})
	must(err)
	s.Start()
	s.WaitForShutdown()
	os.Exit(0)
}

// TestKilledServer uses a broker that is set up as in production. A client must not be able to connect if it presents
// no credentials or does not trust the broker's certificate authority. The test then kills nodes, and kills the server
// process while it has unwritten data. The models must equal those of a fault-free run.
func TestKilledServer(t *testing.T) {
	b := newEstate(t)
	for what, options := range map[string][]client.Option{
		"no credentials": {client.RootCAs(b.estate.path("cert.pem"))},
		"no authority":   {client.UserCredentials(b.estate.path("user.creds"))},
	} {
		if conn, err := client.Connect(b.url(), options...); err == nil {
			conn.Close()
			t.Errorf("%s, and let in", what)
		}
	}
	b.Stop()
	brokertest.Faults(t, brokertest.Scale(t, "SPADE_KILLS", 12), ring8, func(t *testing.T) brokertest.Broker { return newEstate(t) })
}
