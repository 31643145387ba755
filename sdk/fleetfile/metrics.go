package fleetfile

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/secret"
)

// Metrics configures the address at which a collector on another machine reads a node's metrics, and how the collector
// authenticates: by a token, a certificate or both.
type Metrics struct {
	Listen string `json:"listen"` // address to listen on, host:port

	Token          string `json:"token_file"`           // path of a file with a token, 16 bytes or more; empty for none
	Certificate    string `json:"certificate_file"`     // path of a PEM file, the node's TLS certificate; may be empty on loopback only
	CertificateKey string `json:"certificate_key_file"` // path of a PEM file with the certificate's key; may be empty on loopback only
	ClientCA       string `json:"client_ca_file"`       // path of a PEM file with the CA of the collector's certificate; empty for none
}

func (m *Metrics) validate(dir string) (errs faults) {
	for _, path := range []*string{&m.Token, &m.Certificate, &m.CertificateKey, &m.ClientCA} {
		*path = Resolve(dir, *path)
	}
	errs.when(m.Listen == "", "metrics.listen is missing, want host:port")
	errs.when(m.Listen != "" && !hostPort(m.Listen), "metrics.listen is %q, want host:port", m.Listen)
	switch {
	case m.Token == "" && m.ClientCA == "":
		errs.when(true, "metrics has neither token_file nor client_ca_file, want one or both: clients must authenticate")
	case (m.Certificate == "") != (m.CertificateKey == ""):
		errs.when(true, "metrics has only one of certificate_file and certificate_key_file, want both or neither")
	case m.Certificate == "" && (!loopback(m.Listen) || m.ClientCA != ""):
		errs.when(true, "metrics has no certificate_file, want one with certificate_key_file: without TLS, others can read the "+
			"token, and a collector cannot present a certificate")
	}
	return errs
}

// Open reads the files that m names. It returns the token, or "" if none is configured, and the TLS configuration, or
// nil for plain HTTP.
func (m *Metrics) Open() (token string, config *tls.Config, err error) {
	if m.Token != "" {
		if token, err = secret.Read(m.Token, "metrics token file"); err != nil {
			return "", nil, err
		}
		if len(token) < 16 {
			return "", nil, fmt.Errorf("fleetfile: %s has a token of %d bytes, want at least 16", m.Token, len(token))
		}
	}
	if m.Certificate == "" {
		return token, nil, nil
	}
	key, err := secret.Read(m.CertificateKey, "a key file") // secret.Read checks the permissions
	if err != nil {
		return "", nil, err
	}
	chain, err := ReadFile(m.Certificate, MaxFile, "certificates in PEM")
	if err != nil {
		return "", nil, err
	}
	own, err := tls.X509KeyPair(chain, []byte(key))
	if err != nil {
		return "", nil, fmt.Errorf("fleetfile: %s and %s: %w", m.Certificate, m.CertificateKey, err)
	}
	config = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}}
	if m.ClientCA != "" {
		text, err := ReadFile(m.ClientCA, MaxFile, "certificates in PEM")
		if err != nil {
			return "", nil, err
		}
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return "", nil, fmt.Errorf("fleetfile: %s has no PEM certificate", m.ClientCA)
		}
	}
	return token, config, nil
}
