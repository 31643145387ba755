package ws

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

// tls returns a TLS configuration that admits the other end if verify returns nil. Because keys are pinned, it checks
// no certificate chains, names or dates, and does not resume sessions.
func (t *Transport) tls(verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{t.cert},
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		InsecureSkipVerify:     true,
		VerifyConnection:       verify,

		DynamicRecordSizingDisabled: true, // large records only: a message is useful only when complete
	}
}

func (t *Transport) verifyPeer(p *peer, via string, cs tls.ConnectionState) error {
	key, err := presentedKey(cs)
	if err == nil {
		if p.pins(key) {
			return nil
		}
		err = errors.New("presents the key " + t.describeKey(key))
	}
	hint := proxyHint
	if via != "" {
		hint = "most likely the proxy " + via + " terminates TLS (it must pass TLS through: its operator can exempt the " +
			"address); otherwise a pin is out of date, or the address leads elsewhere"
	}
	return pinError{fmt.Errorf("peer %q %w; pinned for this peer: %s; %s; %s", p.name, err, p.formatKeys(), hint, brokerHint)}
}

// pinError is the error for an end that presented a key that is not pinned for it.
type pinError struct{ error }

func (e pinError) Unwrap() error { return e.error }

const brokerHint = "if TLS must end on the way, use a broker: see the topic networks"

const proxyHint = "either a pin is out of date, or the address leads elsewhere, or a proxy between the nodes " +
	"terminates TLS (it must pass TLS through)"

// caller returns the peer for which the caller's key is pinned. If there is none, the error lists the pinned keys.
func (t *Transport) caller(cs tls.ConnectionState) (*peer, error) {
	key, err := presentedKey(cs)
	if err == nil {
		if p := t.owner(key); p != nil {
			return p, nil
		}
		err = fmt.Errorf("presents the key %s, which is not pinned for any peer", t.describeKey(key))
	}
	var pins []string
	for _, p := range t.sorted {
		pins = append(pins, fmt.Sprintf("%s for %q", p.formatKeys(), p.name))
	}
	return nil, fmt.Errorf("the caller %w; pinned keys: %s; %s", err, strings.Join(pins, ", "), proxyHint)
}

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

func (t *Transport) describeKey(key ed25519.PublicKey) string {
	text := transport.FormatKey(key)
	if key.Equal(t.public) {
		return text + " (our own)"
	}
	if p := t.owner(key); p != nil {
		return fmt.Sprintf("%s (of %q)", text, p.name)
	}
	return text
}

// owner returns the peer for which key is pinned, or nil if there is no such peer.
func (t *Transport) owner(key ed25519.PublicKey) *peer {
	for _, p := range t.sorted {
		if p.pins(key) {
			return p
		}
	}
	return nil
}

func (p *peer) formatKeys() string {
	var text []string
	for _, k := range p.config.Load().Keys {
		text = append(text, transport.FormatKey(k))
	}
	return strings.Join(text, " or ")
}

// explainRefusal adds the likely reason to the error of a failed handshake. An alert from the other end means that the
// other end has not pinned this node's key. A caller without a certificate may be a proxy that terminates TLS.
func (t *Transport) explainRefusal(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		const text = "the peer refuses the TLS handshake, most likely because our key %s is not pinned there: %w"
		return pinError{fmt.Errorf(text, transport.FormatKey(t.public), op.Err)}
	}
	if strings.HasSuffix(err.Error(), "client didn't provide a certificate") {
		return fmt.Errorf("%w; perhaps a proxy between the nodes terminates TLS (it must pass TLS through)", err)
	}
	return err
}

// selfSigned returns a self-signed certificate for a key. TLS requires a certificate, but peers check only its key, so
// it has no names and no expiry date (RFC 5280, section 4.1.2.5). The same key always produces the same certificate.
func selfSigned(key ed25519.PrivateKey) tls.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC),
	}
	der, _ := x509.CreateCertificate(nil, template, template, key.Public(), key) // always succeeds with an Ed25519 key
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
