package audit_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// In this example two nodes with keys sign their releases, and at the end each node countersigns the last release of
// the other node. A certificate contains these signatures, so anybody with the fleet and the public keys can audit it.
func ExampleCertificate() {
	fleet := &sdk.Fleet{
		Run: "wards", Dim: 2, Members: []string{"east", "west"}, Edges: [][2]string{{"east", "west"}},
		Method:  sdk.Method{Rounds: 5, Cooldown: 2, Tau: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.3}, Mu: []float64{0.5}},
		Privacy: sdk.Privacy{Clip: 0.1, Sigma: 0.5, Delta: 1e-5},
	}
	secret, public := map[string]ed25519.PrivateKey{}, map[string][]ed25519.PublicKey{}
	for _, name := range fleet.Members { // each device makes its key pair; the fleet file has the public keys
		pub, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			fmt.Println(err)
			return
		}
		secret[name], public[name] = key, []ed25519.PublicKey{pub}
	}
	keys := func(member string) []ed25519.PublicKey { return public[member] }

	net, nodes, work := mem.New(fleet.Members...), map[string]*sdk.Node{}, sync.WaitGroup{}
	for _, name := range fleet.Members {
		tr, err := net.Node(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		node, err := sdk.New(sdk.Config{
			Fleet: fleet, Name: name, Samples: 10, Transport: tr, Key: secret[name], Keys: keys,
			Oracle: sdk.OracleFunc(func(_ context.Context, x []float32, sample int) (float64, error) {
				off := float64(x[sample%2]) - 1
				return off * off / (1 + off*off), nil
			}),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		nodes[name] = node
		work.Go(func() {
			if err := node.Run(context.Background()); err != nil {
				fmt.Println(err)
			}
		})
	}
	work.Wait()

	certificate, err := nodes["east"].Certificate()
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := audit.Certificate(fleet, certificate, keys)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d releases, epsilon %.2f; release %d is signed, and countersigned by %q\n",
		certificate.Rounds, certificate.EpsilonGDP, report.Head.Round, report.Countersigned)

	certificate.Rounds--
	_, err = audit.Certificate(fleet, certificate, keys)
	fmt.Println("with a release less:", err != nil)
	// Output:
	// 5 releases, epsilon 3.85; release 7 is signed, and countersigned by ["west"]
	// with a release less: true
}
