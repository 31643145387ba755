package broker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

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
