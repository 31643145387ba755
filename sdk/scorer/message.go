package scorer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
)

// version is the version of the protocol that this package speaks.
const version = 1

// codec is one way to write the messages of a stream.
type codec interface {
	// appendQuery appends a query, as it is sent.
	appendQuery(dst []byte, id uint64, sample int, x []float32) []byte
	// next takes the next message off a reader whose buffer holds maxMessage bytes, and says how many bytes it took. The
	// message is valid until the next call. io.EOF means that there is none; io.ErrUnexpectedEOF, that it breaks off.
	next(r *bufio.Reader) (message []byte, size int, err error)
	// hello and answer read a message.
	hello(message []byte) (hello, error)
	answer(message []byte) (answer, error)
}

var codecs = map[Format]codec{JSON: jsonLines{}, Base64: base64Lines{}, CBOR: cborFrames{}}

// hello is the first message of a process.
type hello struct {
	version, dim, samples uint64
}

// check refuses what is out of range.
func (h hello) check() error {
	switch {
	case h.version != version:
		return fmt.Errorf("a hello of version %d, want %d", h.version, version)
	case h.dim < 1 || h.dim > maxDim:
		return fmt.Errorf("a hello with dim %d, want 1..%d", h.dim, maxDim)
	case h.samples < 1 || h.samples > maxSamples:
		return fmt.Errorf("a hello with samples %d, want 1..%d", h.samples, maxSamples)
	}
	return nil
}

// answer is what a process says to a query: a loss, or why there is none.
type answer struct {
	id   uint64
	loss float64
	why  error // nil if there is a loss
}

// noLoss is the reason why a loss that was given is of no use.
func noLoss(found string) error { return fmt.Errorf("has no loss, but %s", found) }

// usable turns a loss that nothing can be done with into the reason why there is none.
func (a *answer) usable() {
	if a.why == nil && !(math.Abs(a.loss) <= 1e30) { // as zoest.Usable
		a.why = noLoss(fmt.Sprint(a.loss))
	}
}

// complete checks that an answer has its id, and a loss or a reason, but not both.
func complete(id, loss, why bool) error {
	switch {
	case !id:
		return errors.New("an answer without id")
	case loss == why:
		return errors.New("an answer with neither or both of loss and error, want one")
	}
	return nil
}

// broken makes the end of input inside a message what it is.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
