package ws

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"testing"
	"time"
)

// TestCertificate checks that a member's certificate is byte for byte the certificate that the standard library creates
// for the same key. The certificate must contain the public key and have a valid signature.
func TestCertificate(t *testing.T) {
	for i := range 4 {
		key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(77 * i)}, ed25519.SeedSize))
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1),
			NotBefore:    time.Unix(0, 0),
			NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		}
		want, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		got := selfSigned(key).Certificate[0]
		if !bytes.Equal(got, want) {
			t.Errorf("key %d: the certificate is\n%x, want\n%x", i, got, want)
		}
		c, err := x509.ParseCertificate(got)
		if err != nil {
			t.Fatal(err)
		}
		if public, ok := c.PublicKey.(ed25519.PublicKey); !ok || !public.Equal(key.Public()) {
			t.Errorf("key %d: the certificate has %v", i, c.PublicKey)
		}
		if err := c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature); err != nil {
			t.Errorf("key %d: %v", i, err)
		}
	}
}
