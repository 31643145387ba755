package pair_test

import (
	"encoding/hex"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/pair"
)

// TestKeysDiffer checks that a key depends on the secret, the fleet and the release.
func TestKeysDiffer(t *testing.T) {
	seen := map[[32]byte][3]int{}
	for secret := range 3 {
		for fleet := range 3 {
			for _, release := range []int{1, 2, 255, 256, 1 << 24, 1<<31 - 1} {
				key := pair.Secret{byte(secret)}.Key([32]byte{byte(fleet)}, release)
				if before, is := seen[key]; is {
					t.Errorf("%v and %v have the same key", before, [3]int{secret, fleet, release})
				}
				seen[key] = [3]int{secret, fleet, release}
			}
		}
	}
}

// TestKeyStays checks that both ends derive the same keys in every version. The expected key was computed with Python's
// hmac.
func TestKeyStays(t *testing.T) {
	key := pair.Secret{1, 2, 3}.Key([32]byte{4, 5}, 6)
	if got := hex.EncodeToString(key[:]); got != "107e5e76b0b79f0f0c3f2f1396095583e6a968b674e687934ca92c758ce123ea" {
		t.Errorf("the key is %s", got)
	}
}
