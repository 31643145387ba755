package wire_test

import (
	"fmt"
	"log"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

func Example() {
	codec, err := wire.NewCodec(3)
	if err != nil {
		log.Fatal(err)
	}
	sent := admm.Message{Kind: admm.Release, Round: 7, Vector: []float32{1, -2.5, 0}}
	frame, err := codec.Append(nil, &sent)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes: %x\n", len(frame), frame)

	var got admm.Message
	if err := codec.Decode(frame, &got); err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Kind, got.Round, got.Resent, got.Vector)

	fmt.Println(codec.Decode(frame[:12], &got))
	// Output:
	// 21 bytes: a4010102020307054c0100010000802000003fc000
	// release 7 false [1 -2.5 0]
	// wire: frame: unexpected EOF
}

// A release consists of integers that count steps of the run's grid. All neighbors get the same frame. Most of the
// integers are noise of a few steps.
func Example_release() {
	codec, err := wire.NewCodec(10)
	if err != nil {
		log.Fatal(err)
	}
	sent := admm.Message{Kind: admm.Release, Round: 7, Grid: []int32{3, -14, 0, 8, -1, 22, -9, 5, -17, 11}}
	frame, err := codec.Append(nil, &sent)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes: %x\n", len(frame), frame)

	var got admm.Message
	if err := codec.Decode(frame, &got); err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Kind, got.Round, got.Grid)
	// Output:
	// 18 bytes: a4010102020307064904ac05811817749101
	// release 7 [3 -14 0 8 -1 22 -9 5 -17 11]
}

// A node stores its state before it sends a release, and reads the state when it starts again.
func ExampleAppendSnapshot() {
	b, err := wire.AppendSnapshot(nil, &wire.Snapshot{
		Member: "gateway-a", Build: "v1",
		State: admm.State{Round: 7, X: []float32{1, -2.5}, Edges: []admm.EdgeState{{Z: []float32{0.5, 0}}}, Queries: 1400},
		Peers: []wire.Peer{{Name: "gateway-b"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(b) <= wire.MaxSnapshot(2, 1, 0))

	var c wire.Snapshot
	if err := wire.DecodeSnapshot(b, &c); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Member, c.State.Round, c.State.X, c.Peers[0].Name, c.State.Edges[0].Z, c.State.Grid == nil)

	fmt.Println(wire.DecodeSnapshot(b[:110], &c))
	// Output:
	// true
	// gateway-a 7 [1 -2.5] gateway-b [0.5 0] true
	// wire: snapshot: unexpected EOF
}

// Check rejects a node of another run and gives the reason.
func ExampleHello_Check() {
	want := wire.Hello{Run: "ward-7", From: "b", To: "a", Codec: wire.Protocol,
		Fleet: [32]byte{1}, Sections: []wire.Section{{Name: "graph", Sum: [4]byte{1}}, {Name: "method", Sum: [4]byte{2}}}}
	b, err := wire.EncodeHello(wire.Hello{Run: "ward-8", From: "b", To: "a", Codec: wire.Protocol,
		Fleet: [32]byte{9}, Sections: []wire.Section{{Sum: [4]byte{1}}, {Sum: [4]byte{7}}}})
	if err != nil {
		log.Fatal(err)
	}
	h, err := wire.DecodeHello(b)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Check(want))
	// Output:
	// wire: hello: run: found "ward-8", wanted "ward-7"
	// wire: hello: fleet file hash: found 0900000000000000..., wanted 0100000000000000...: method differs
}
