package ws

import (
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spade-dfl/spade-edge/transport"
)

// serverTLS admits whoever proves to hold a key that is pinned for some peer.
func (t *Transport) serverTLS() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{t.cert},
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,

		DynamicRecordSizingDisabled: true, // what is sent is of use only when all of it is there
		VerifyConnection: func(cs tls.ConnectionState) error {
			_, err := t.caller(cs)
			return err
		},
	}
}

// clientTLS admits one peer. It offers no session to resume: it has no session cache.
func (t *Transport) clientTLS(p *peer, serverName string) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{t.cert},
		ServerName:   serverName,

		DynamicRecordSizingDisabled: true,
		InsecureSkipVerify:          true, // of chains, names and dates; the key is what counts, and VerifyConnection checks it
		VerifyConnection: func(cs tls.ConnectionState) error {
			key, err := presentedKey(cs)
			if err != nil {
				return pinError{fmt.Errorf("peer %q %w; pinned for it: %s; %s", p.name, err, formatKeys(p.pins()), proxyHint)}
			}
			if p.pinned(key) {
				return nil
			}
			return pinError{fmt.Errorf("peer %q presents the key %s; pinned for it: %s; %s",
				p.name, t.describeKey(key), formatKeys(p.pins()), proxyHint)}
		},
	}
}

// pinError says that one of the ends has not the key that the other has pinned for it.
type pinError struct{ error }

func (e pinError) Unwrap() error { return e.error }

const proxyHint = "either a pin is out of date, or the address leads elsewhere, " +
	"or a proxy on the way ends TLS (it must pass TLS through)"

// caller returns the peer at the other end of an incoming connection.
func (t *Transport) caller(cs tls.ConnectionState) (*peer, error) {
	var found string
	if key, err := presentedKey(cs); err != nil {
		found = err.Error()
	} else if p := (*t.byKey.Load())[string(key)]; p != nil {
		return p, nil
	} else {
		found = "presents the key " + t.describeKey(key) + ", pinned for no peer"
	}
	var pins []string
	for _, p := range t.sorted {
		pins = append(pins, fmt.Sprintf("%s for %q", formatKeys(p.pins()), p.name))
	}
	return nil, fmt.Errorf("the caller %s; pinned are: %s; %s", found, strings.Join(pins, ", "), proxyHint)
}

// presentedKey returns the key that the other end has proved to hold.
func presentedKey(cs tls.ConnectionState) (ed25519.PublicKey, error) {
	if len(cs.PeerCertificates) == 0 {
		return nil, errors.New("presents no certificate")
	}
	key, ok := cs.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("presents a key of type %s, want Ed25519", cs.PeerCertificates[0].PublicKeyAlgorithm)
	}
	return key, nil
}

// describeKey writes a key and, if we know it, whose it is.
func (t *Transport) describeKey(key ed25519.PublicKey) string {
	switch p := (*t.byKey.Load())[string(key)]; {
	case key.Equal(t.public):
		return transport.FormatKey(key) + " (our own)"
	case p != nil:
		return fmt.Sprintf("%s (of %q)", transport.FormatKey(key), p.name)
	}
	return transport.FormatKey(key)
}

func formatKeys(keys []ed25519.PublicKey) string {
	var text []string
	for _, k := range keys {
		text = append(text, transport.FormatKey(k))
	}
	return strings.Join(text, " or ")
}

// explainRefusal makes clear what a failed handshake means. A TLS alert from the other end speaks of a pin: there is no other
// certificate trouble. A caller without a certificate, which TLS itself turns away, may be a proxy.
func (t *Transport) explainRefusal(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return pinError{fmt.Errorf("the other end refuses the TLS handshake, most likely because our key %s is not pinned there: %w",
			transport.FormatKey(t.public), op.Err)}
	}
	if strings.HasSuffix(err.Error(), "client didn't provide a certificate") {
		return fmt.Errorf("%w; perhaps a proxy on the way ends TLS (it must pass TLS through)", err)
	}
	return err
}
