package signed

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"math"
)

// Offer is what a device of a member tells its neighbors, so that each agrees with it on a secret: the public half of a
// key pair of X25519 (RFC 7748), of which the device keeps the other.
type Offer struct {
	Epoch     uint16   // of the device, as in [Release]
	From      int      // the first release whose noise the secret makes, 1..MaxInt32
	Public    [32]byte // the public key
	Signature [ed25519.SignatureSize]byte
}

// OfferSize is the length in bytes of an offer as [Offer.Append] writes it.
const OfferSize = offerBody + ed25519.SignatureSize

const (
	offerBody = 2 + 4 + 32
	offerTag  = "spade-edge offer 1\n"
)

// Append appends the offer to dst: the epoch in two bytes and From in four, both big-endian, the key, and the
// signature.
func (o *Offer) Append(dst []byte) []byte { return append(o.appendBody(dst), o.Signature[:]...) }

func (o *Offer) appendBody(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, o.Epoch)
	return append(binary.BigEndian.AppendUint32(dst, uint32(o.From)), o.Public[:]...)
}

// ParseOffer reads what [Offer.Append] wrote. It looks neither at the signature nor at the key.
func ParseOffer(b []byte) (Offer, error) {
	if len(b) != OfferSize {
		return Offer{}, fmt.Errorf("signed: offer: found %d bytes, want %d", len(b), OfferSize)
	}
	from := binary.BigEndian.Uint32(b[2:])
	if from < 1 || from > math.MaxInt32 {
		return Offer{}, fmt.Errorf("signed: offer: found one from release %d on, want 1..%d", from, math.MaxInt32)
	}
	return Offer{Epoch: binary.BigEndian.Uint16(b), From: int(from), Public: [32]byte(b[6:]),
		Signature: [ed25519.SignatureSize]byte(b[offerBody:])}, nil
}

func (o *Offer) message(s Scope) []byte { return o.appendBody(append([]byte(offerTag), s[:]...)) }

// Sign signs the offer in a scope with the member's key.
func (o *Offer) Sign(key ed25519.PrivateKey, s Scope) {
	copy(o.Signature[:], ed25519.Sign(key, o.message(s)))
}

// Verify reports whether one of keys has signed the offer in a scope. The error wraps [ErrSignature].
func (o *Offer) Verify(s Scope, keys []ed25519.PublicKey) error {
	return verify(keys, o.message(s), o.Signature[:], "offer of epoch %d", o.Epoch)
}

// Same reports whether both offers say the same, whoever has signed them.
func (o *Offer) Same(p *Offer) bool {
	return o.Epoch == p.Epoch && o.From == p.From && o.Public == p.Public
}
