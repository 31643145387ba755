package sdk_test

import (
	"context"
	"io"
	"math"
	"strconv"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestReleaseBits measures the encoded size of a release of 10,000 numbers in a private run, for each grid width. With
// a width of four bits, a coordinate must take at most 7.5 bits or 3 % more than the entropy of the changes on the
// grid, whichever is larger. With -v, the test prints the table in the documentation.
func TestReleaseBits(t *testing.T) {
	const dim, nodes, rounds, cooldown = 10_000, 6, 8, 2
	f := &sdk.Fleet{
		Run: "bits", Dim: dim,
		Method: sdk.Method{Rounds: rounds, Cooldown: cooldown, Tau: 1, Rho: 1, Gain: 0.75, Eta: []float64{0.1},
			Mu: []float64{0.01}},
		Privacy: sdk.Privacy{Clip: 0.1, Sigma: 0.8, Delta: 1e-5},
	}
	for i := range nodes {
		f.Members = append(f.Members, strconv.Itoa(i))
		f.Edges = append(f.Edges, [2]string{strconv.Itoa(i), strconv.Itoa((i + 1) % nodes)})
	}
	widths := []int{2, 4, 8}
	if long || testing.Verbose() {
		widths = []int{2, 3, 4, 5, 6, 7, 8}
	}
	for _, bits := range widths {
		f.Wire = sdk.Wire{GridBits: bits}
		cfgs, err := sim.Machines(f, []int{2, 2, 2, 2, 2, 2}, func(i int) io.Reader {
			s := rng.New(1, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
			return &s
		})
		if err != nil {
			t.Fatal(err)
		}
		var clients []sim.Client
		for _, c := range cfgs {
			clients = append(clients, sim.Client{Config: c,
				Oracle: sdk.OracleFunc(func(_ context.Context, x []float32, sample int) (float64, error) {
					return 1 / (1 + float64(x[sample])*float64(x[sample])), nil
				})})
		}
		network, err := sim.New(clients)
		if err != nil {
			t.Fatal(err)
		}
		codec, err := wire.NewCodec(dim)
		if err != nil {
			t.Fatal(err)
		}
		var sent, messages, entropy float64
		network.OnSend = func(msg admm.Message) {
			b, err := codec.Append(nil, &msg)
			if err != nil {
				t.Error(err)
			}
			if msg.Round > rounds {
				if len(msg.Grid) > 0 || len(msg.Vector) != dim {
					t.Errorf("cool-down release of %d numbers and %d steps on the grid: want numbers only", len(msg.Vector),
						len(msg.Grid))
				}
				return
			}
			sent += float64(8 * len(b))
			messages++
			entropy += entropyOf(msg.Grid)
		}
		if err := network.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		perCoordinate, limit := sent/messages/dim, entropy/messages
		t.Logf("W = %d: %.2f bits a coordinate, entropy of the changes %.2f", bits, perCoordinate, limit)
		if bits == 4 && perCoordinate > max(7.5, 1.03*limit) {
			t.Errorf("W = 4: %.3f bits a coordinate, want at most 7.5 or %.3f", perCoordinate, 1.03*limit)
		}
		if perCoordinate < limit {
			t.Errorf("W = %d: %.3f bits a coordinate are less than the entropy %.3f: the count is wrong", bits, perCoordinate,
				limit)
		}
	}
}

func entropyOf(v []int32) float64 {
	count := map[int32]float64{}
	for _, x := range v {
		count[x]++
	}
	var h float64
	for _, c := range count {
		h -= c / float64(len(v)) * math.Log2(c/float64(len(v)))
	}
	return h
}
