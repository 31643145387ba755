package transport

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const keyPrefix = "ed25519:"

// FormatKey returns the text form of a public key, which is also its fingerprint: "ed25519:" followed by the 32 bytes
// in unpadded base64 (RFC 4648, section 4).
func FormatKey(key ed25519.PublicKey) string {
	return keyPrefix + base64.RawStdEncoding.EncodeToString(key)
}

// ParseKey parses the output of [FormatKey]. Like [CheckKey], it refuses keys under which anyone can sign, such as 32
// zero bytes.
func ParseKey(text string) (ed25519.PublicKey, error) {
	b64, ok := strings.CutPrefix(text, keyPrefix)
	if !ok {
		return nil, fmt.Errorf("transport: public key %.80q does not begin with %q", text, keyPrefix)
	}
	key, err := base64.RawStdEncoding.DecodeString(b64)
	if err == nil {
		err = CheckKey(key)
	}
	if err == nil && FormatKey(key) != text { // the decoder skips line breaks, and bits beyond the last byte
		err = errors.New("the key has another text form")
	}
	if err != nil {
		return nil, fmt.Errorf("transport: public key %.80q: %w", text, err)
	}
	return key, nil
}

// smallOrder lists the points of order 1, 2, 4 and 8 on the curve edwards25519, encoded with the sign bit cleared.
var smallOrder = []string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}

// CheckKey returns an error if a public key has the wrong length or is a point of small order. Anyone can forge
// signatures under a point of small order, and could connect as the peer for which this key is pinned.
func CheckKey(key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize {
		return fmt.Errorf("the key has %d bytes, want %d", len(key), ed25519.PublicKeySize)
	}
	y := slices.Clone(key)
	y[len(y)-1] &^= 0x80
	if slices.Contains(smallOrder, hex.EncodeToString(y)) {
		return errors.New("the key is a point of small order: anyone could forge its signatures")
	}
	return nil
}
