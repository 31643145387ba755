package device_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	_ "github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin" // node files may have a built-in model
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// link makes an in-process transport usable as a Link. The neighbors of the Link have no keys and no addresses.
type link struct {
	transport.Transport
	transport.Notifier // lets Run resend at once what a neighbor missed while starting
}

func (link) Peers() []transport.PeerStatus { return nil }
func (link) Update([]transport.Peer) error { return nil }

// This example runs two nodes, each from its files: a key, a node file, and the fleet file that both share.
func Example() {
	dir, err := os.MkdirTemp("", "device")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fleet := &sdk.Fleet{
		Run: "pumps", Dim: 6, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}},
		Method:  sdk.Method{Rounds: 5, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{0.5}, Mu: []float64{0.5}},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	file := &fleetfile.File{Fleet: fleet}
	for i, name := range fleet.Members {
		key, err := secret.CreateKey(filepath.Join(dir, name+".key"))
		if err != nil {
			fmt.Println(err)
			return
		}
		file.Members = append(file.Members, fleetfile.Member{
			Name: name, Keys: []ed25519.PublicKey{key}, Addresses: []string{"wss://" + name + ".example:7443/"},
		})
		text := fmt.Sprintf(`{"version": 1, "name": %q, "fleet": "fleet.json", "key": "%s.key", "listen": "127.0.0.1:0", "state": "%s.state",
			"oracle": {"builtin": {"fit": "own", "model": "softmax", "data": "synthetic:clinical",
			"share": {"partition": "iid", "of": 2, "number": %d}}}}`, name, name, name, i)
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := file.Write(filepath.Join(dir, "fleet.json")); err != nil {
		fmt.Println(err)
		return
	}

	net, work := mem.New(fleet.Members...), sync.WaitGroup{}
	results := make([]string, len(fleet.Members))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i, name := range fleet.Members {
		work.Go(func() {
			outcome, err := start(ctx, filepath.Join(dir, name+".json"), net)
			if err != nil {
				cancel() // otherwise the other node would wait for this one
				results[i] = fmt.Sprint(name, ": ", err)
				return
			}
			results[i] = fmt.Sprint(name, ": ", outcome.Rounds, " rounds, done: ", outcome.Done)
		})
	}
	work.Wait()
	for _, r := range results {
		fmt.Println(r)
	}
	// Output:
	// a: 5 rounds, done: true
	// b: 5 rounds, done: true
}

func start(ctx context.Context, path string, net *mem.Net) (*device.Outcome, error) {
	file, err := fleetfile.ReadNode(path)
	if err != nil {
		return nil, err
	}
	d, err := device.Load(file)
	if err != nil {
		return nil, err
	}
	d.Open = func(*slog.Logger) (device.Link, error) {
		tr, err := net.Node(file.Name)
		if err != nil {
			return nil, err
		}
		return link{tr, tr.(transport.Notifier)}, nil
	}
	return d.Run(ctx)
}
