package ws

import (
	"crypto/ed25519"
	"crypto/tls"
	"slices"
)

// The parts of a self-signed Ed25519 certificate (RFC 5280 in DER, with the algorithm identifiers of RFC 8410) around the key and
// the signature: version 3, serial number 1, no names, no extensions, from 1970 to 9999-12-31 23:59:59, which section 4.1.2.5
// defines as no expiry. One shape is all that is ever needed, and a general encoder would be 130 KB of every program.
const (
	ed25519ID = "\x30\x05\x06\x03\x2b\x65\x70"

	toBeSigned = "\x30\x61" + "\xa0\x03\x02\x01\x02" + "\x02\x01\x01" + ed25519ID + "\x30\x00" +
		"\x30\x20" + "\x17\x0d700101000000Z" + "\x18\x0f99991231235959Z" + "\x30\x00" +
		"\x30\x2a" + ed25519ID + "\x03\x21\x00" // and 32 bytes of public key

	certificate = "\x30\x81\xad"             // and what is to be signed
	signatureIs = ed25519ID + "\x03\x41\x00" // and 64 bytes of signature
)

// selfSigned wraps a key in the certificate that TLS asks for. Nobody looks at anything but the key in it.
func selfSigned(key ed25519.PrivateKey) tls.Certificate {
	tbs := slices.Concat([]byte(toBeSigned), key.Public().(ed25519.PublicKey))
	der := slices.Concat([]byte(certificate), tbs, []byte(signatureIs), ed25519.Sign(key, tbs))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
