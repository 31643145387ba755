package signed

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

// NewHead converts a [certificate.Head] to the form used in statements.
func NewHead(h certificate.Head) (Head, error) {
	id, errID := hex.DecodeString(h.ID)
	sum, errSum := hex.DecodeString(h.Hash)
	if err := errors.Join(errID, errSum); err != nil {
		return Head{}, fmt.Errorf("signed: ledger ID or hash: %w", err)
	}
	s := Head{Seq: uint64(h.Seq)}
	copy(s.ID[:], id)
	copy(s.Hash[:], sum)
	return s, nil
}

// Ledger is the inverse of [NewHead]. A Seq that is too large for a ledger becomes 2^31-1, a number that no ledger
// reaches.
func (h Head) Ledger() certificate.Head {
	seq := int(min(h.Seq, math.MaxInt32))
	return certificate.Head{ID: hex.EncodeToString(h.ID[:]), Seq: seq, Hash: hex.EncodeToString(h.Hash[:])}
}

// SealCertificate adds a member's last release, the countersignatures on this release and the member's signature to a
// certificate. The certificate must not change afterwards. head is nil if there is no release; held maps neighbors'
// names to their countersignatures on head.
func SealCertificate(c *certificate.Certificate, key ed25519.PrivateKey, head *Statement, held map[string][]byte) error {
	if len(key) != ed25519.PrivateKeySize {
		return fmt.Errorf("signed: certificate: the key has %d bytes, want %d", len(key), ed25519.PrivateKeySize)
	}
	c.Head, c.Countersigned, c.Signature = "", nil, ""
	c.Key = Fingerprint(key.Public().(ed25519.PublicKey))
	if head != nil {
		c.Head = hex.EncodeToString(head.Append(nil))
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		by := certificate.Countersignature{Member: name, Signature: hex.EncodeToString(held[name])}
		c.Countersigned = append(c.Countersigned, by)
	}
	c.NotCovered = slices.DeleteFunc(slices.Clone(c.NotCovered), func(s string) bool { return s == certificate.NotSigned })
	message, err := c.SignedBytes()
	if err != nil {
		return err
	}
	c.Signature = hex.EncodeToString(ed25519.Sign(key, message))
	return c.Verify()
}

// Fingerprint returns a public key as 30 digits in six groups, which two people can compare by phone: each group is five
// bytes of SHA-256("spade-edge fingerprint 1\n" and the key's 32 bytes), modulo 100,000.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(append([]byte("spade-edge fingerprint 1\n"), key...))
	groups := make([]string, 6)
	for i := range groups {
		n := uint64(0)
		for _, b := range sum[5*i : 5*i+5] {
			n = n<<8 | uint64(b)
		}
		groups[i] = fmt.Sprintf("%05d", n%100000)
	}
	return strings.Join(groups, " ")
}
