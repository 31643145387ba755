package broker

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/transport"
)

func init() {
	fleetfile.RegisterTransport("nats", parseNATS)
	fleetfile.RegisterTransport("mqtt", parseMQTT)
}

// Overhead is the approximate number of bytes by which a frame grows on each of two connections: from the sender to the
// broker, and from the broker to the receiver. A frame longer than 256 KiB is sent in pieces, each with this overhead.
// The seal and the signature take 251 bytes, the header of an MQTT message 22, the confirmation 4, two TLS records 44
// and three TCP/IP packets 120. Some brokers, such as Mosquitto 2.0, repeat the full topic to the receiver, which takes
// 76 more bytes on the second connection. Overhead includes half of them and is thus the mean of both connections.
const Overhead = 480

// TLS holds the paths of the files for a TLS connection to a broker. An empty path means that no file is configured.
type TLS struct {
	Certificate    string `json:"certificate_file"`     // path of a PEM file
	CertificateKey string `json:"certificate_key_file"` // path of a PEM file, the certificate's key; set both or neither
	CA             string `json:"ca_file"`              // path of a PEM file with the broker's CAs; empty: the system CAs
}

// NATS describes a NATS broker. Set at most one of Credentials, NKey, User and Token. An empty path means that no file
// is configured.
type NATS struct {
	URL string `json:"nats"` // "tls://host:port", "nats://host:port", "wss://host:port/path" or "ws://host:port/path"

	Credentials string `json:"credentials"` // path of a file written by the program nsc: a JWT and a seed
	NKey        string `json:"nkey_file"`   // path of a file with an nkey seed
	User        string `json:"user_file"`   // path of a file with "user:password"
	Token       string `json:"token_file"`  // path of a file with a token
	TLS
}

// MQTT describes a broker that speaks MQTT 5.
type MQTT struct {
	URL  string `json:"mqtt"`      // "tls://host:port", "mqtt://host:port", "wss://host:port/path" or "ws://host:port/path"
	User string `json:"user_file"` // path of a file with "user:password"; empty for none
	TLS
}

// Kind returns the kind of a node's broker, "nats" or "mqtt", or "" if the node uses no broker.
func Kind(node *fleetfile.Node) string {
	switch node.Transport.(type) {
	case *NATS:
		return "nats"
	case *MQTT:
		return "mqtt"
	}
	return ""
}

// parseNATS parses the section "transport" of a node file for a NATS broker. It resolves relative paths in the section
// against dir, the folder of the node file.
func parseNATS(section json.RawMessage, dir string) (any, error) {
	n := new(NATS)
	if err := fleetfile.ReadSection("transport", section, n); err != nil {
		return nil, err
	}
	known := 0
	for _, path := range []*string{&n.Credentials, &n.NKey, &n.User, &n.Token} {
		if *path != "" {
			known++
		}
		*path = fleetfile.Resolve(dir, *path)
	}
	var errs []error
	if known > 1 {
		errs = append(errs, fmt.Errorf("transport has %d of the fields credentials, nkey_file, user_file and "+
			"token_file, want at most one", known))
	}
	return n, errors.Join(append(errs, n.check("nats", n.URL, dir))...)
}

func parseMQTT(section json.RawMessage, dir string) (any, error) {
	n := new(MQTT)
	if err := fleetfile.ReadSection("transport", section, n); err != nil {
		return nil, err
	}
	n.User = fleetfile.Resolve(dir, n.User)
	return n, n.check("mqtt", n.URL, dir)
}

func (t *TLS) check(kind, address, dir string) error {
	for _, path := range []*string{&t.Certificate, &t.CertificateKey, &t.CA} {
		*path = fleetfile.Resolve(dir, *path)
	}
	var errs []error
	if (t.Certificate == "") != (t.CertificateKey == "") {
		errs = append(errs, errors.New("transport has only one of certificate_file and certificate_key_file, want both or neither"))
	}
	if err := Check(kind, address); err != nil {
		errs = append(errs, fmt.Errorf("transport.%s %w", kind, err))
	} else if u, _ := url.Parse(address); t.Certificate+t.CA != "" && u.Scheme != "tls" && u.Scheme != "wss" {
		errs = append(errs, fmt.Errorf("transport.%s is %s://, want tls:// or wss://, because transport has certificates", kind, u.Scheme))
	}
	return errors.Join(errs...)
}

// Check is [transport.CheckBroker] for an address in a file, which must not contain a user name.
func Check(kind, address string) error {
	if err := transport.CheckBroker(kind, address); err != nil {
		return err
	}
	if u, _ := url.Parse(address); u.User != nil {
		return errors.New("contains a user name: put the user name and password into a file, and give its path in a " +
			"field such as user_file")
	}
	return nil
}

// Config returns the TLS configuration from the files. It fails if anyone but the owner may read the file of the
// certificate's key. Config reports all errors at once, each with the name of its field in the node file.
func (t *TLS) Config() (*tls.Config, error) {
	cfg := new(tls.Config)
	var errs []error
	if t.CertificateKey != "" {
		_, err := secret.Read(t.CertificateKey, "certificate key file")
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
