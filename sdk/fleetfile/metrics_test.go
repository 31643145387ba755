package fleetfile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/secret"
)

// TestMetricsFaults checks that a collector must authenticate, and that no secret crosses a network unencrypted.
func TestMetricsFaults(t *testing.T) {
	dir := t.TempDir()
	node := func(metrics string) (*Node, error) {
		return ParseNode([]byte(`{"version": 1, "name": "a", "fleet": "f", "key": "k", "state": "s",
			"oracle": {"stream": ["x"]}, "metrics": `+metrics+`}`), dir)
	}
	for metrics, want := range map[string]string{
		`{"listen": ":9"}`:                                             "neither token_file nor client_ca_file",
		`{"listen": ":9", "token_file": "t"}`:                          "has no certificate_file",
		`{"listen": "127.0.0.1:9", "client_ca_file": "t"}`:             "has no certificate_file",
		`{"listen": ":9", "token_file": "t", "certificate_file": "c"}`: "one of certificate_file and certificate_key_file",
		`{"listen": "9", "token_file": "t"}`:                           "want host:port",
		`{"token_file": "t"}`:                                          "listen is missing",
		`{"listen": "localhost:9", "token": "secret"}`:                 `unknown field "token"`,
		`7`: "metrics: found number, want an object",
	} {
		if _, err := node(metrics); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", metrics, err, want)
		}
	}
	n, err := node(`{"listen": "127.0.0.1:9", "token_file": "token"}`)
	if err != nil || n.Metrics.Token != filepath.Join(dir, "token") {
		t.Fatalf("%+v, %v", n, err)
	}
	for _, c := range [][2]string{{"short", "a token of 5 bytes, want at least 16"}, {"0123456789abcdef\n", ""}} { // the last token is used below
		text, want := c[0], c[1]
		if err := os.WriteFile(n.Metrics.Token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		token, config, err := n.Metrics.Open()
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "short")) {
			t.Errorf("%q: %v", text, err)
		}
		if want == "" && (err != nil || token != "0123456789abcdef" || config != nil) {
			t.Errorf("%q, %v, %v", token, config, err)
		}
	}
	n = must(node(`{"listen": ":9", "token_file": "token", "certificate_file": "c", "certificate_key_file": "c.key"}`))(t)
	if _, _, err := n.Metrics.Open(); err == nil {
		t.Error("no certificate was enough")
	}
	write := func(path, kind string, der []byte) {
		t.Helper()
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must(x509.MarshalPKCS8PrivateKey(key))(t)
	form := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate := must(x509.CreateCertificate(rand.Reader, form, form, key.Public(), key))(t)
	write(n.Metrics.CertificateKey, "PRIVATE KEY", der)
	write(n.Metrics.Certificate, "CERTIFICATE", certificate)
	other, none := filepath.Join(dir, "other"), filepath.Join(dir, "none")
	if _, err := secret.CreateKey(other); err != nil {
		t.Fatal(err)
	}
	write(none, "CERTIFICATE", []byte("nothing"))
	n.Metrics.ClientCA = n.Metrics.Certificate
	if token, config, err := n.Metrics.Open(); err != nil || token == "" || config.ClientAuth != tls.RequireAndVerifyClientCert ||
		len(config.Certificates) != 1 || config.MinVersion != tls.VersionTLS13 {
		t.Errorf("%q, %+v, %v", token, config, err)
	}
	for want, m := range map[string]Metrics{
		"has no PEM certificate": {Certificate: n.Metrics.Certificate, CertificateKey: n.Metrics.CertificateKey, ClientCA: n.Metrics.Token},
		"does not match":         {Certificate: n.Metrics.Certificate, CertificateKey: other},
		"x509: malformed":        {Certificate: none, CertificateKey: n.Metrics.CertificateKey},
		"a key file: open ":      {Certificate: n.Metrics.Certificate, CertificateKey: filepath.Join(dir, "no")},
	} {
		if _, _, err := m.Open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(n.Metrics.CertificateKey, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, _, err := n.Metrics.Open(); err == nil || !strings.Contains(err.Error(), "has mode 0640") {
			t.Errorf("a key that others can read: %v", err)
		}
	}
}
