package fleetfile

import (
	"errors"
	"net/url"
	"strings"
)

// NATS is the broker through which a node reaches its neighbors, see package transport/nats, a module with a program of
// its own. Nothing here connects to it. Of the files by which the broker knows the node at most one is given, besides
// the certificate; their paths are empty otherwise.
type NATS struct {
	URL string // "tls://host:port", "nats://host:port", "wss://host:port/path" or "ws://host:port/path"

	Credentials string // path of a file as the program nsc writes it: a JWT and a seed
	NKey        string // path of a file with the seed of an nkey
	User        string // path of a file with "user:password"
	Token       string // path of a file with a token

	Certificate, CertificateKey string // paths of PEM files for TLS, both or none
	CA                          string // path of a PEM file with who signs for the broker; empty: whom the system trusts
}

// broker reads the object of a node's broker.
func (o *object) broker(dir string) *NATS {
	n := new(NATS)
	known := 0
	for _, way := range []struct {
		name string
		to   *string
	}{{"credentials", &n.Credentials}, {"nkey_file", &n.NKey}, {"user_file", &n.User}, {"token_file", &n.Token}} {
		v := o.may(way.name)
		if v.path(way.to, dir); v.present() {
			known++
		}
	}
	if known > 1 {
		o.c.fault("transport has %d of credentials, nkey_file, user_file and token_file, want at most one", known)
	}
	certificate, key := o.may("certificate_file"), o.may("certificate_key_file")
	certificate.path(&n.Certificate, dir)
	key.path(&n.CertificateKey, dir)
	if certificate.present() != key.present() {
		o.c.fault("transport has one of certificate_file and certificate_key_file, want both or none")
	}
	o.may("ca_file").path(&n.CA, dir)
	broker := o.need("nats")
	if broker.text(&n.URL, "", anything[string]) {
		if err := CheckBroker(n.URL); err != nil {
			o.c.fault("%s %w", broker.at(), err)
		} else if u, _ := url.Parse(n.URL); n.Certificate+n.CA != "" && u.Scheme != "tls" && u.Scheme != "wss" {
			o.c.fault("%s is %s://, want tls:// or wss://, where certificates mean something", broker.at(), u.Scheme)
		}
	}
	return n
}

// CheckBroker returns what is wrong with the address of a broker. The error leaves out the address, which may contain a
// password.
func CheckBroker(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Opaque+u.RawQuery+u.Fragment != "" || !brokerScheme(u) {
		return errors.New("is not of the form tls://host:port or wss://host:port/path, nor without TLS nats:// or ws://")
	}
	if u.User != nil {
		return errors.New("has a user in it, want that in a file: credentials, nkey_file, user_file or token_file")
	}
	return nil
}

// brokerScheme reports whether a broker may have a URL's scheme, and a path with it.
func brokerScheme(u *url.URL) bool {
	switch u.Scheme {
	case "wss", "ws":
		return true
	case "tls", "nats":
		return strings.Trim(u.Path, "/") == ""
	}
	return false
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
