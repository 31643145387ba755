package ws

import (
	"cmp"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

// These constants are from RFC 6455, section 5.2.
const (
	fin    = 0x80
	masked = 0x80

	continuation = 0
	binaryFrame  = 2
	closeFrame   = 8
	ping         = 9
	pong         = 10

	anyFrame = 0xff // instead of the opcode of a frame with data

	frameRoom  = 8   // length of the header of a masked frame with a payload of 126 to 65,535 bytes
	maxControl = 125 // maximum payload of a close frame, a ping or a pong
)

// chunk is the maximum length of one write, in bytes. It limits how long a control frame waits for a write to finish. It
// is two records of TLS.
const chunk = 32 << 10

// bufferLen is the length of a buffer for one write: chunk, and what TLS adds to it.
const bufferLen = chunk + 256

// buffers is a pool, so that an idle connection keeps no buffer.
var buffers = sync.Pool{New: func() any { return new([bufferLen]byte) }}

// send writes whole websocket frames, together at most chunk bytes, within the time limit; 0 means no limit. The reading
// goroutine may send a control frame while another one sends a message. TLS writes each record by itself; send passes
// them to the system together, which makes long messages a fifth faster.
func (c *conn) send(limit time.Duration, frames []byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	buffer := buffers.Get().(*[bufferLen]byte)
	defer buffers.Put(buffer)
	c.tcp.hold(buffer[:0])
	_, err := c.secure.Write(frames)
	return cmp.Or(err, c.tcp.flush(limit))
}

func (c *conn) sendControl(op byte, payload []byte) error {
	return c.send(c.linger, c.appendFrame(nil, op, true, nil, payload))
}

// appendFrame appends a websocket frame with fewer than 64 KiB of payload, which consists of head and body. The end that
// dialed masks the payload, as the standard requires.
func (c *conn) appendFrame(b []byte, op byte, last bool, head, body []byte) []byte {
	if last {
		op |= fin
	}
	bit := byte(0)
	if c.dialed != "" {
		bit = masked
	}
	if n := len(head) + len(body); n < 126 {
		b = append(b, op, bit|byte(n))
	} else {
		b = append(b, op, bit|126, byte(n>>8), byte(n))
	}
	if bit == 0 {
		return append(append(b, head...), body...)
	}
	key := rand.Uint32()
	b = binary.LittleEndian.AppendUint32(b, key)
	for _, part := range [][]byte{head, body} {
		at := len(b)
		b = slices.Grow(b, len(part))[:at+len(part)]
		key = mask(b[at:], part, key)
	}
	return b
}

// mask writes src to dst, masked or unmasked. It returns the key for the bytes that follow. dst and src must be the
// same slice or not overlap.
func mask(dst, src []byte, key uint32) uint32 {
	var pattern [1024]byte // the key, repeated
	for i := 0; i < min(len(src), len(pattern)); i += 4 {
		binary.LittleEndian.PutUint32(pattern[i:], key)
	}
	for i := 0; i < len(src); {
		i += subtle.XORBytes(dst[i:], src[i:], pattern[:])
	}
	return bits.RotateLeft32(key, -8*(len(src)%4))
}

// nextFragment reads the header of the next websocket frame with data, whose opcode must be want. It answers the control
// frames before it.
func (c *conn) nextFragment(want byte) error {
	for {
		h, err := c.number(2)
		if err != nil {
			return err
		}
		op, last, toServer := byte(h>>8)&^fin, h>>8&fin != 0, h&masked != 0
		if toServer != (c.dialed == "") {
			return refusal{fmt.Errorf("found a websocket frame with masked %t, want %t", toServer, !toServer)}
		}
		length := h & 0x7f
		switch length {
		case 126:
			length, err = c.number(2)
		case 127:
			length, err = c.number(8)
		}
		if err == nil && toServer {
			var key uint64
			key, err = c.number(4)
			c.mask = bits.ReverseBytes32(uint32(key))
		}
		if err != nil {
			return err
		}
		c.left = length
		switch {
		case op == want, want == anyFrame && op <= binaryFrame:
			c.last = last
			return nil
		case op != closeFrame && op != ping && op != pong:
			return refusal{fmt.Errorf("found a websocket frame of type %#x, want %#x", op, want)}
		case length > maxControl || !last:
			return refusal{fmt.Errorf("found a control frame that is longer than %d bytes or a fragment", maxControl)}
		}
		if err := c.control(op); err != nil {
			return err
		}
	}
}

// number reads a number of up to 8 bytes in the header of a websocket frame.
func (c *conn) number(bytes int) (n uint64, err error) {
	b, err := c.br.Peek(bytes)
	if err == io.EOF {
		err = fmt.Errorf("the connection ended without a reason: %w", err)
	}
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	c.br.Discard(len(b))
	return n, err
}

// control reads and answers a control frame. If the other end closes the connection, control returns its reason.
func (c *conn) control(op byte) error {
	var payload [maxControl]byte
	n, err := c.readPayload(payload[:c.left])
	switch {
	case err != nil:
		return err
	case op == ping:
		return c.sendControl(pong, payload[:n])
	case op == closeFrame:
		c.sendControl(closeFrame, payload[:n])
		reason := strings.ReplaceAll(string(payload[min(n, 2):n]), "\n", "; ")
		return closedError{transport.Printable(reason)}
	}
	return nil
}

var errEnds = refusal{errors.New("the websocket message ended")}

// readPayload fills b from the payload of a message, across fragments. n is the number of bytes that it has read.
func (c *conn) readPayload(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		if c.left == 0 {
			if c.last {
				return n, errEnds
			}
			err = c.nextFragment(continuation)
			continue
		}
		var got int
		piece := b[n:][:min(uint64(len(b)-n), c.left)]
		got, err = io.ReadFull(c.br, piece)
		if c.dialed == "" {
			c.mask = mask(piece[:got], piece[:got], c.mask)
		}
		n += got
		c.left -= uint64(got)
	}
	return n, err
}

// skip ignores what the other end still sends, and returns the error with which the connection ends.
func (c *conn) skip() (err error) {
	for err == nil {
		io.CopyN(io.Discard, c.br, int64(c.left))
		err = c.nextFragment(anyFrame)
	}
	return err
}
