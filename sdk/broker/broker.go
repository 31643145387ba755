package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

func init() { fleetfile.RegisterTransport("nats", parse) }

// NATS is the broker through which a node reaches its neighbors. Of the files by which the broker knows the node at most
// one is given, besides the certificate; their paths are empty otherwise.
type NATS struct {
	URL string `json:"nats"` // "tls://host:port", "nats://host:port", "wss://host:port/path" or "ws://host:port/path"

	Credentials string `json:"credentials"` // path of a file as the program nsc writes it: a JWT and a seed
	NKey        string `json:"nkey_file"`   // path of a file with the seed of an nkey
	User        string `json:"user_file"`   // path of a file with "user:password"
	Token       string `json:"token_file"`  // path of a file with a token

	Certificate    string `json:"certificate_file"`     // path of a PEM file for TLS; empty for none
	CertificateKey string `json:"certificate_key_file"` // path of a PEM file with its key; both or none
	CA             string `json:"ca_file"`              // path of a PEM file with the broker's authorities; empty: the system's
}

// Of returns a node's broker, or nil if it has none.
func Of(node *fleetfile.Node) *NATS {
	n, _ := node.Transport.(*NATS)
	return n
}

// parse reads the section "transport" of a node file in the folder dir.
func parse(section json.RawMessage, dir string) (any, error) {
	n := new(NATS)
	if err := fleetfile.ReadSection("transport", section, n); err != nil {
		return nil, err
	}
	known := 0 // of the first four
	for i, path := range []*string{&n.Credentials, &n.NKey, &n.User, &n.Token, &n.Certificate, &n.CertificateKey, &n.CA} {
		if i < 4 && *path != "" {
			known++
		}
		*path = fleetfile.Resolve(dir, *path)
	}
	var errs []error
	if known > 1 {
		errs = append(errs, fmt.Errorf("transport has %d of credentials, nkey_file, user_file and token_file, want at most one",
			known))
	}
	if (n.Certificate == "") != (n.CertificateKey == "") {
		errs = append(errs, errors.New("transport has one of certificate_file and certificate_key_file, want both or none"))
	}
	if err := Check(n.URL); err != nil {
		errs = append(errs, fmt.Errorf("transport.nats %w", err))
	} else if u, _ := url.Parse(n.URL); n.Certificate+n.CA != "" && u.Scheme != "tls" && u.Scheme != "wss" {
		errs = append(errs, fmt.Errorf("transport.nats is %s://, want tls:// or wss://, where certificates mean something",
			u.Scheme))
	}
	return n, errors.Join(errs...)
}

// Check returns what is wrong with the address of a broker. The error leaves out the address, which may contain a
// password.
func Check(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		u = new(url.URL)
	}
	bare := strings.Trim(u.Path, "/") == ""
	schemes := map[string]bool{"wss": true, "ws": true, "tls": bare, "nats": bare}
	if u.Hostname() == "" || u.Opaque+u.RawQuery+u.Fragment != "" || !schemes[u.Scheme] {
		return errors.New("is not of the form tls://host:port or wss://host:port/path, nor without TLS nats:// or ws://")
	}
	if u.User != nil {
		return errors.New("has a user in it, want that in a file: credentials, nkey_file, user_file or token_file")
	}
	return nil
}
