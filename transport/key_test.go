package transport

import (
	"crypto/ed25519"
	"encoding/hex"
	"testing"
)

// For every key that is refused as of small order, a signature can be had without a secret: with R the neutral element and
// S = 0 it verifies whenever the hash, which anybody can vary through the message, is a multiple of the order.
func TestSmallOrderKeysCanBeForged(t *testing.T) {
	sig := make([]byte, ed25519.SignatureSize)
	sig[0] = 1
	for _, text := range smallOrder {
		for _, sign := range []byte{0, 0x80} {
			key, err := hex.DecodeString(text)
			if err != nil || len(key) != 32 {
				t.Fatalf("bad entry %s", text)
			}
			key[31] |= sign
			if err := CheckKey(key); err == nil {
				t.Errorf("%x is not refused", key)
			}
			forged := false
			for m := 0; m < 256 && !forged; m++ {
				forged = ed25519.Verify(key, []byte{byte(m)}, sig)
			}
			if !forged {
				t.Errorf("%x: no signature found", key)
			}
		}
	}
}
