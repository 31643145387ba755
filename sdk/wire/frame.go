package wire

import (
	"fmt"
	"math"
)

// Version is the version of frames and planes that this package writes and the only one it reads. A [Hello] carries
// it.
const Version = 1

// MaxRound is the highest round number that a frame takes.
const MaxRound = math.MaxInt32

// MaxDim is the highest dimension of a [Codec]; its frames are of 1 GiB.
const MaxDim = 1 << 28

// Kind says what a frame is about.
type Kind uint8

const (
	Message Kind = 1 // the message of a round, with a vector
	Done    Kind = 2 // the sender has all it needs and may leave; no vector
)

// String returns "message", "done", or the number of an unknown kind.
func (k Kind) String() string {
	switch k {
	case Message:
		return "message"
	case Done:
		return "done"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Frame is one thing that a node says to one neighbor. The sender is not in it: its name comes from the transport.
type Frame struct {
	Kind   Kind
	Round  int       // 0..MaxRound
	Resent bool      // sent again for a neighbor that fell behind; must not provoke an answer
	Vector []float32 // of a Message: as many finite numbers as the codec's dimension; of Done: empty
}

// MaxFrame returns an upper bound, in bytes, of every frame of dimension dim and of every [Hello]: four bytes a
// coordinate and [MaxHello] for all else. Plain vectors come close to it, and compressed ones are used only where
// they are shorter. It makes sense for dim in 1..MaxDim.
func MaxFrame(dim int) int { return MaxHello + 4*dim }

// checkFinite names the first coordinate that is not a number or not finite.
func checkFinite(v []float32) error {
	for i, x := range v {
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
			return fmt.Errorf("vector: found %v at coordinate %d, wanted a finite number", x, i)
		}
	}
	return nil
}
