package broker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// ReadUser returns the user and the password from a file that has a single line of the form user:password. It fails if
// anyone but the file's owner may read the file.
func ReadUser(path string) (user, password string, err error) {
	text, err := fleetfile.ReadSecret(path, "broker user file")
	if err != nil {
		return "", "", err
	}
	user, password, found := strings.Cut(text, ":")
	if !found || user == "" || strings.ContainsAny(text, "\r\n") {
		return "", "", fmt.Errorf("%s: want one line of the form user:password for the broker", path)
	}
	return user, password, nil
}

// Config returns the TLS configuration from the files. It fails if anyone but the owner may read the file of the
// certificate's key. Config reports all errors at once, each with the name of its field in the node file.
func (t *TLS) Config() (*tls.Config, error) {
	cfg := new(tls.Config)
	var errs []error
	if t.CertificateKey != "" {
		_, err := fleetfile.ReadSecret(t.CertificateKey, "certificate key file")
		if err == nil {
			var pair tls.Certificate
			pair, err = tls.LoadX509KeyPair(t.Certificate, t.CertificateKey)
			cfg.Certificates = []tls.Certificate{pair}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("transport.certificate_key_file: %w", err))
		}
	}
	if t.CA != "" {
		cfg.RootCAs = x509.NewCertPool()
		text, err := os.ReadFile(t.CA)
		if err == nil && !cfg.RootCAs.AppendCertsFromPEM(text) {
			err = fmt.Errorf("%s has no PEM certificate", t.CA)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("transport.ca_file: %w", err))
		}
	}
	return cfg, errors.Join(errs...)
}
