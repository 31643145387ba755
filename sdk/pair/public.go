package pair

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Public is the public half of a one-time key, in the encoding of RFC 7748.
type Public [32]byte

// Keys is a device's collection of one-time keys. Package state has an implementation in a file. The argument fleet is
// the hash of the fleet of a run. A key belongs to the run for which it was first bound, also after its private half is
// deleted: for any other run, all methods return an error that wraps [ErrUsed].
type Keys interface {
	// Find returns the private half of a key, or nil if it was deleted. It changes nothing. If the device does not have
	// the key, the error wraps [ErrMissing].
	Find(public Public, fleet [32]byte) (*ecdh.PrivateKey, error)
	// Bind durably records that the key belongs to this run.
	Bind(public Public, fleet [32]byte) error
	// Delete durably deletes the private half and records that the key belonged to this run.
	Delete(public Public, fleet [32]byte) error
}

var (
	// ErrUsed reports a one-time key that was used in another run.
	ErrUsed = errors.New("this one-time key belongs to another run, and one key serves one run")
	// ErrMissing reports a one-time key whose private half was never on this device, or was lost.
	ErrMissing = errors.New("this device does not have this one-time key")
)

const publicPrefix = "x25519:"

var encoding = base64.RawStdEncoding.Strict()

// NewPrivate returns a fresh private key.
func NewPrivate() (*ecdh.PrivateKey, error) { return ecdh.X25519().GenerateKey(rand.Reader) }

// PublicOf returns the public half of a private key.
func PublicOf(private *ecdh.PrivateKey) Public { return Public(private.PublicKey().Bytes()) }

// String returns the text form: "x25519:" followed by the 32 bytes in unpadded base64 (RFC 4648, section 4).
func (p Public) String() string { return publicPrefix + encoding.EncodeToString(p[:]) }

// MarshalText returns the text form.
func (p Public) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses the text form, and refuses keys that [Public.Check] refuses.
func (p *Public) UnmarshalText(text []byte) error {
	b64, ok := strings.CutPrefix(string(text), publicPrefix)
	b, err := encoding.DecodeString(b64)
	switch {
	case !ok:
		err = fmt.Errorf("does not begin with %q", publicPrefix)
	case err == nil && len(b) != len(p):
		err = fmt.Errorf("has %d bytes, want %d", len(b), len(p))
	case err == nil:
		err = Public(b).Check()
	}
	if err == nil && Public(b).String() != string(text) { // the decoder skips line breaks
		err = errors.New("has another text form")
	}
	if err != nil {
		return fmt.Errorf("pair: public key %.80q %w", text, err)
	}
	*p = Public(b)
	return nil
}

// Check refuses a key of low order, with which everybody could compute the secrets, and a second encoding of a key
// (RFC 7748 accepts 19 numbers that are not reduced, and ignores the highest bit), so that equal keys have equal bytes.
func (p Public) Check() error {
	if !p.reduced() {
		return errors.New("is not reduced modulo 2^255 - 19")
	}
	scalar, err := ecdh.X25519().NewPrivateKey(make([]byte, 32)) // every scalar maps a point of low order to zero
	if err == nil {
		_, err = exchange(scalar, p)
	}
	if err != nil {
		return errors.New("is a point of low order: everybody could compute the secrets")
	}
	return nil
}

// reduced reports whether the little-endian number is below 2^255 - 19.
func (p Public) reduced() bool {
	for _, b := range p[1:31] {
		if b != 0xff {
			return p[31] < 0x80
		}
	}
	return p[31] < 0x7f || p[31] == 0x7f && p[0] < 0xed
}

// exchange returns the result of X25519. A result of zero is an error.
func exchange(own *ecdh.PrivateKey, public Public) ([]byte, error) {
	theirs, err := ecdh.X25519().NewPublicKey(public[:])
	if err != nil {
		return nil, err
	}
	return own.ECDH(theirs)
}
