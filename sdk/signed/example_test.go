package signed_test

import (
	"crypto/ed25519"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// A member signs its releases; a neighbor that holds a release can later prove that the member made it.
func Example() {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	pinned := []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}
	scope := signed.NewScope("trial-7", [32]byte{1}, "ward-1")

	first := signed.Statement{Kind: signed.Release, Round: 1, Value: signed.Digest([]float32{0.5, -1}, nil)}
	first.Sign(key, scope)
	second := signed.Statement{Kind: signed.Release, Round: 1, Value: signed.Digest([]float32{0.25, -1}, nil)}
	second.Sign(key, scope)

	fmt.Println(first.Verify(scope, pinned), second.Verify(scope, pinned))
	fmt.Println("evidence of equivocation:", first.Contradicts(&second))
	second.Value[0]++
	fmt.Println(second.Verify(scope, pinned))
	// Output:
	// <nil> <nil>
	// evidence of equivocation: true
	// signed: release 1: the signature matches none of the member's keys (1 keys known)
}
