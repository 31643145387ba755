// Package mobile is a node for apps on Android and iOS, in the types that gomobile binds: strings, bytes, numbers and
// interfaces. README.md says how it is bound, and what that takes.
package mobile

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/spade-dfl/spade-edge/examples/c/host"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Loss is the app's: an object of Java, Kotlin, Swift or Objective-C.
type Loss interface {
	// Loss returns the loss of a sample at a model, which is float32 numbers of 4 bytes each, little endian. The bytes are
	// valid during the call. One call comes at a time, in whatever thread. What it throws counts as a loss that cannot be
	// had.
	Loss(model []byte, sample int) (float64, error)
}

// Lines is told what happens.
type Lines interface {
	// Line is given a line of text, from several threads.
	Line(text string)
}

// Node is a node of the app, as Open and OpenText return it. Its methods may be called from any thread.
type Node struct{ node *host.Node }

// Open reads a node file. With nil for the loss and 0 samples the node learns from what its file says.
func Open(path string, samples int, loss Loss) (*Node, error) {
	return open(host.Files{Path: path}, samples, loss)
}

// OpenText is Open for the content of the node file and of the fleet file. Paths in it, of key, state and ledger, start
// from folder, which should be the app's own.
func OpenText(node, fleet, folder string, samples int, loss Loss) (*Node, error) {
	return open(host.Files{Node: []byte(node), Fleet: []byte(fleet), Folder: folder}, samples, loss)
}

func open(files host.Files, samples int, loss Loss) (*Node, error) {
	return host.Guard(func() (*Node, error) {
		var own host.Loss
		if loss != nil {
			own = host.OneByOne{OracleFunc: oracle(loss)}
		}
		n, err := host.Open(files, own, samples)
		if err != nil {
			return nil, err
		}
		return &Node{n}, nil
	})
}

// Run takes the node through all rounds that are left, once. It returns when that is over: call it in a thread of its
// own. With anyway it begins even if the forecast is bad; with restore it takes the place of a lost device. lines may
// be nil.
func (n *Node) Run(lines Lines, anyway, restore bool) error {
	o := host.Options{Anyway: anyway, Recover: restore}
	if lines != nil {
		o.Lines = lines.Line
	}
	_, err := host.Guard(func() (any, error) { return nil, n.node.Run(o) })
	return err
}

// Stop ends the run once the loss has returned. The node can be opened again to go on.
func (n *Node) Stop() {
	if n.node != nil { // the binding offers Nodes that nobody has opened
		n.node.Stop()
	}
}

// Status says where the node stands, in the JSON of "spade-edge status -json".
func (n *Node) Status() (string, error) {
	text, err := host.Guard(n.node.Status)
	return string(text), err
}

// Model returns the node's last release, in the bytes that Loss gets.
func (n *Node) Model() ([]byte, error) {
	x, err := host.Guard(n.node.Model)
	return encode(nil, x), err
}

// Certificate returns in JSON what the releases so far have leaked at most.
func (n *Node) Certificate() (string, error) {
	text, err := host.Guard(n.node.Certificate)
	return string(text), err
}

// encode appends a model in bytes.
func encode(b []byte, x []float32) []byte {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// oracle is what an app's loss makes of a point.
func oracle(loss Loss) zoest.OracleFunc {
	var model []byte
	return func(_ context.Context, x []float32, sample int) (float64, error) {
		model = encode(model[:0], x)
		return loss.Loss(model, sample)
	}
}
