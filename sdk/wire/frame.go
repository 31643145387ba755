package wire

import (
	"fmt"
	"math"
)

// Version is the version of frames that this package writes and the only one it reads.
const Version = 1

// Protocol is the version of what nodes say to each other, which a [Hello] carries. In 2, releases are signed and claims are proved.
const Protocol = 2

// MaxRound is the highest round number that a frame takes.
const MaxRound = math.MaxInt32

// MaxDim is the highest dimension of a [Codec]; its frames are of 1 GiB.
const MaxDim = 1 << 28

// Kind says what a frame is about.
type Kind uint8

const (
	Message Kind = 1 // the message of a round to one neighbor, with a vector
	Done    Kind = 2 // the sender has all it needs and may leave; no vector
	Release Kind = 3 // the release of a round, the same to all neighbors, with a vector or a grid
	Hail    Kind = 4 // where the sender is, told on starting and to whoever asks; no vector
	Ask     Kind = 5 // for a Part of what the receiver knows of the sender, who has lost it; no vector
	Tell    Kind = 6 // the answer to an Ask: a vector or a grid, as the Part demands, or none if it is not to be had
	Double  Kind = 7 // two releases of one round that the receiver has signed, in Proof and Other: it has a double
)

// String returns "message", "done", "release", "hail", "ask", "tell", "double", or the number of an unknown kind.
func (k Kind) String() string {
	switch k {
	case Message:
		return "message"
	case Done:
		return "done"
	case Release:
		return "release"
	case Hail:
		return "hail"
	case Ask:
		return "ask"
	case Tell:
		return "tell"
	case Double:
		return "double"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Part says what an [Ask] wants, and a [Tell] brings. Each is one vector at most, so that no frame is longer than others are.
// They speak of the state that the one who tells kept with its release of the frame's round, before it took in the releases of
// that round.
type Part uint8

const (
	Standing Part = 0 // how far the teller is: Round and Held of the Tell; no vector, and the Ask's round does not matter
	Sent     Part = 1 // the asker's release of the round as it was sent: a vector or a grid
	AskerZ   Part = 2 // the asker's z of the edge: a vector
	TellerZ  Part = 3 // the teller's z of the edge: a vector
	AskerAt  Part = 4 // the place of the asker's release before that of the round on the run's grid: a grid
	TellerAt Part = 5 // the place of the teller's release before that of the round on the run's grid: a grid
)

// maxPart is the highest part.
const maxPart = TellerAt

// Frame is one thing that a node says to a neighbor. The sender is not in it: its name comes from the transport.
type Frame struct {
	Kind   Kind
	Round  int       // 0..MaxRound; of a Hail and of a Tell of its Standing: how many releases the sender has made
	Resent bool      // answers a neighbor that fell behind, or a Hail; must not provoke an answer
	Vector []float32 // of a Message, of a Release without a grid, and of some Tells: as many finite numbers as the codec's dimension; else empty

	// Grid is the change of a Release since the sender's release before, in steps of the grid that the run's releases
	// lie on: as many numbers as the codec's dimension, or empty. Any number is taken; small ones take less space. Or it is what
	// the Part of a Tell says.
	Grid []int32

	Held int // of a Hail and a Tell: the highest round of the receiver's releases that the sender has held, 0..MaxRound; else 0

	// Life is, of a Hail, a number that tells the lives of the one who asks apart: its own, or if Resent the receiver's. It is the
	// sender's own of an Ask, and the receiver's of a Tell; else 0.
	Life uint64

	Part Part // of an Ask and a Tell; else 0

	// What follows is opaque here: package signed says what it is. Each has at most MaxSigned bytes, and may be empty but for a Double.
	Own         []byte // of a Message, a Release, a Hail and a Tell: the sender's signed release, of this round or its last one
	Proof       []byte // of a Hail, a Done, a Tell and a Double: the receiver's signed release, which shows what the frame says of it
	Other       []byte // of a Hail: one of an earlier run, with its scope before it; of a Double: the second one
	Ledger      []byte // of a Hail: the id of the sender's lifetime ledger
	Countersign []byte // of a Done: what the sender has signed of the receiver's last release
}

// MaxSigned bounds, in bytes, each of the last fields of a [Frame], and maxSigned those of one frame together.
const (
	MaxSigned = 256
	maxSigned = 448
)

// frameRoom is what a frame takes beside the numbers of its vector or grid.
const frameRoom = 64 + maxSigned

// MaxFrame returns an upper bound, in bytes, of every frame of dimension dim and of every [Hello]: four bytes a
// coordinate and 512 for all else. Plain vectors come close to it, and compressed ones are used only where
// they are shorter. It makes sense for dim in 1..MaxDim.
func MaxFrame(dim int) int { return frameRoom + 4*dim }
