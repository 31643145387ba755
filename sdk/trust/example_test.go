package trust_test

import (
	"crypto/ed25519"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// Member a receives two releases of round 1 from b, each with b's signature: two devices use b's key, so the driver drops
// the edge.
func Example() {
	const run = "trial-7"
	fleet := [32]byte{1}                            // the hash of the fleet
	key := func(member string) ed25519.PrivateKey { // in practice each on its own device
		return ed25519.NewKeyFromSeed(append(make([]byte, 31), member...))
	}
	m := trust.New(trust.Config{Run: run, Fleet: fleet, Members: []string{"a", "b"}, Neighbors: []int{1}, Last: 9, Key: key("a"),
		Keys: func(member string) []ed25519.PublicKey {
			return []ed25519.PublicKey{key(member).Public().(ed25519.PublicKey)}
		}})
	for _, x := range []float32{0.5, 0.25} {
		release := signed.Statement{Kind: signed.Release, Round: 1, Value: signed.Digest([]float32{x}, nil)}
		release.Sign(key("b"), signed.NewScope(run, fleet, "b"))
		v := m.Receive(&admm.Message{Kind: admm.Release, From: 1, Round: 1, Vector: []float32{x}, Signed: admm.Signed{Own: release.Append(nil)}})
		fmt.Println(v.Action == trust.Take, v.Action == trust.Drop, v.Why)
	}
	fmt.Println("to store before anything else happens:", m.Unstored)
	// Output:
	// true false <nil>
	// false true trust: signed release 1 differs from the release 1 that the sender has signed before: the sender's device was copied or rolled back
	// to store before anything else happens: true
}
