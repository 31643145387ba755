package fleetfile

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Metrics says where a collector of metrics on another machine finds those of a node, and how it shows who it is: by a
// token, by a certificate, or by both.
type Metrics struct {
	Listen string `json:"listen"` // host:port

	Token          string `json:"token_file"`           // path of a file with the token, of 16 bytes or more; empty for none
	Certificate    string `json:"certificate_file"`     // path of a PEM file, the node's own for TLS; empty, on loopback only, for none
	CertificateKey string `json:"certificate_key_file"` // path of a PEM file with its Ed25519 key, likewise
	ClientCA       string `json:"client_ca_file"`       // path of a PEM file with who signs the collector's certificate; empty for none
}

// validate checks what a node file in the folder dir says, and resolves its paths.
func (m *Metrics) validate(dir string) (errs faults) {
	for _, path := range []*string{&m.Token, &m.Certificate, &m.CertificateKey, &m.ClientCA} {
		*path = Resolve(dir, *path)
	}
	errs.when(m.Listen == "", "metrics.listen is missing, want host:port")
	errs.when(m.Listen != "" && !hostPort(m.Listen), "metrics.listen is %q, want host:port", m.Listen)
	switch {
	case m.Token == "" && m.ClientCA == "":
		errs.when(true, "metrics has neither token_file nor client_ca_file, want one or both: whoever asks has to say who they "+
			"are")
	case (m.Certificate == "") != (m.CertificateKey == ""):
		errs.when(true, "metrics has one of certificate_file and certificate_key_file, want both or none")
	case m.Certificate == "" && (!loopback(m.Listen) || m.ClientCA != ""):
		errs.when(true, "metrics has no certificate_file, want one with certificate_key_file: without TLS a token can be read "+
			"on the way, and a collector has no certificate")
	}
	return errs
}

// Open reads the files: the token, empty for none, and what TLS is to use, nil for none.
func (m *Metrics) Open() (token string, config *tls.Config, err error) {
	if m.Token != "" {
		if token, err = ReadSecret(m.Token, "a token for metrics"); err != nil {
			return "", nil, err
		}
		if len(token) < 16 {
			return "", nil, fmt.Errorf("fleetfile: %s has a token of %d bytes, want at least 16", m.Token, len(token))
		}
	}
	if m.Certificate == "" {
		return token, nil, nil
	}
	own, err := m.certificate()
	if err != nil {
		return "", nil, err
	}
	config = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}}
	if m.ClientCA == "" {
		return token, config, nil
	}
	text, err := ReadFile(m.ClientCA, MaxFile, "certificates in PEM")
	if err != nil {
		return "", nil, err
	}
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return "", nil, errors.New("fleetfile: " + m.ClientCA + " has no certificate in PEM")
	}
	return token, config, nil
}

// certificate reads the node's certificate and key. [tls.LoadX509KeyPair], which knows other keys than Ed25519, would add
// 200 KB to a program.
func (m *Metrics) certificate() (own tls.Certificate, err error) {
	key, err := ReadKey(m.CertificateKey)
	if err != nil {
		return own, err
	}
	text, err := ReadFile(m.Certificate, MaxFile, "certificates in PEM")
	if err != nil {
		return own, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			own.Certificate = append(own.Certificate, block.Bytes)
		}
	}
	if own.Certificate == nil {
		return own, errors.New("fleetfile: " + m.Certificate + " has no certificate in PEM")
	}
	leaf, err := x509.ParseCertificate(own.Certificate[0])
	if err != nil {
		return own, fmt.Errorf("fleetfile: %s: %w", m.Certificate, err)
	}
	if public, ok := leaf.PublicKey.(ed25519.PublicKey); !ok || !public.Equal(key.Public()) {
		return own, fmt.Errorf("fleetfile: %s is not the certificate of the Ed25519 key %s", m.Certificate, m.CertificateKey)
	}
	own.PrivateKey = key
	return own, nil
}

// ReadSecret reads a file with a secret on one line, of at most 16 KiB, without white space around it. On systems with
// file modes it refuses one that anybody but its owner may read or write. kind is what errors call the file; they never
// contain what is in it.
func ReadSecret(path, kind string) (string, error) {
	data, err := ReadFile(path, maxKeyFile, kind)
	if err != nil {
		return "", err
	}
	if err := checkOwners(path, kind, "the secret in it", "have another secret made"); err != nil {
		return "", err
	}
	return strings.TrimSpace(string(data)), nil
}
