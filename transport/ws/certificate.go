package ws

import (
	"crypto/ed25519"
	"crypto/tls"
	"encoding/asn1"
	"time"
)

// certificate is an X.509 certificate (RFC 5280, section 4.1). The package crypto/x509 could create it, too, but would
// add 50 KB to a program, most of which serves extensions.
type certificate struct {
	Body      asn1.RawValue // certificateBody
	Algorithm algorithm
	Signature asn1.BitString
}

type certificateBody struct {
	Version   int `asn1:"explicit,tag:0"` // 2 stands for version 3
	Serial    int
	Algorithm algorithm
	Issuer    struct{} // no names
	Validity  struct{ NotBefore, NotAfter time.Time }
	Subject   struct{}
	Key       struct {
		Algorithm algorithm
		Bits      asn1.BitString
	}
}

type algorithm struct{ ID asn1.ObjectIdentifier }

var ed25519Algorithm = algorithm{asn1.ObjectIdentifier{1, 3, 101, 112}} // RFC 8410, section 3

// selfSigned returns a self-signed certificate for a key. TLS requires a certificate, but peers check only its key, so
// it has no names and no expiry date (RFC 5280, section 4.1.2.5). The same key always produces the same certificate.
func selfSigned(key ed25519.PrivateKey) tls.Certificate {
	c := certificateBody{Version: 2, Serial: 1, Algorithm: ed25519Algorithm}
	c.Validity.NotBefore = time.Unix(0, 0).UTC()
	c.Validity.NotAfter = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	c.Key.Algorithm, c.Key.Bits = ed25519Algorithm, bitString(key.Public().(ed25519.PublicKey))
	body, _ := asn1.Marshal(c) // types that asn1 supports always encode
	der, _ := asn1.Marshal(certificate{asn1.RawValue{FullBytes: body}, ed25519Algorithm, bitString(ed25519.Sign(key, body))})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func bitString(b []byte) asn1.BitString { return asn1.BitString{Bytes: b, BitLength: 8 * len(b)} }
