package ws

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"strings"

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

	frameRoom  = 8   // length of the header of a masked frame with a payload of 126 to 65,535 bytes
	maxControl = 125 // maximum payload of a close frame, a ping or a pong
)

// appendFrame appends a websocket frame with fewer than 64 KiB of payload, which consists of head and body. The end that
// dialed masks the payload, as the standard requires.
func (c *conn) appendFrame(b []byte, op byte, last bool, head, body []byte) []byte {
	if last {
		op |= fin
	}
	mask := byte(0)
	if c.dialed != "" {
		mask = masked
	}
	if n := len(head) + len(body); n < 126 {
		b = append(b, op, mask|byte(n))
	} else {
		b = append(b, op, mask|126, byte(n>>8), byte(n))
	}
	if mask == 0 {
		return append(append(b, head...), body...)
	}
	key := rand.Uint32()
	b = binary.LittleEndian.AppendUint32(b, key)
	at := len(b)
	b = append(append(b, head...), body...)
	maskPayload(b[at:], key)
	return b
}

// maskPayload masks or unmasks b. It returns the key for the bytes that follow.
func maskPayload(b []byte, key uint32) uint32 {
	for wide := uint64(key)<<32 | uint64(key); len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^wide)
	}
	for i := range b {
		b[i] ^= byte(key)
		key = bits.RotateLeft32(key, -8)
	}
	return key
}

// nextFragment reads the header of the next websocket frame with data, which must have the opcode want. It answers the
// control frames before it.
func (c *conn) nextFragment(want byte) error {
	for {
		h, err := c.take(2)
		if err != nil {
			return err
		}
		op, last, toServer := h[0]&^fin, h[0]&fin != 0, h[1]&masked != 0
		if toServer != (c.dialed == "") {
			return refusal{fmt.Errorf("websocket frame: masked is %t, want %t", toServer, !toServer)}
		}
		length, more := uint64(h[1]&^masked), 0
		switch length {
		case 126:
			more = 2
		case 127:
			more = 8
		}
		if h, err = c.take(more); err != nil {
			return err
		}
		switch more {
		case 2:
			length = uint64(binary.BigEndian.Uint16(h))
		case 8:
			length = binary.BigEndian.Uint64(h)
		}
		if toServer {
			if h, err = c.take(4); err != nil {
				return err
			}
			c.mask = binary.LittleEndian.Uint32(h)
		}
		c.left = length
		switch {
		case op == want:
			c.last = last
			return nil
		case op != closeFrame && op != ping && op != pong:
			return refusal{fmt.Errorf("websocket frame: type is %#x, want %#x", op, want)}
		case length > maxControl || !last:
			return refusal{fmt.Errorf("websocket frame: control frame is longer than %d bytes, or a fragment", maxControl)}
		}
		if err := c.control(op); err != nil {
			return err
		}
	}
}

// take reads n bytes. They are valid until the next read.
func (c *conn) take(n int) ([]byte, error) {
	b, err := c.br.Peek(n)
	c.br.Discard(len(b))
	return b, err
}

// control reads the payload of a control frame. It answers a ping. It answers a close frame and returns the reason.
func (c *conn) control(op byte) error {
	var payload [maxControl]byte
	n, err := c.readPayload(payload[:c.left])
	switch {
	case err != nil:
		return err
	case op == ping:
		_, err = c.secure.Write(c.appendFrame(nil, pong, true, nil, payload[:n]))
	case op == closeFrame:
		c.secure.Write(c.appendFrame(nil, closeFrame, true, nil, payload[:n]))
		reason := strings.ReplaceAll(string(payload[min(n, 2):n]), "\n", "; ")
		return closedError{transport.Printable(reason)}
	}
	return err
}

var errEnds = refusal{errors.New("the message ends")}

// readPayload fills b from the payload of a message, and returns the number of bytes.
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
			c.mask = maskPayload(piece[:got], c.mask)
		}
		n += got
		c.left -= uint64(got)
	}
	return n, err
}

// skip ignores the rest of what the other end sends, and returns the error with which the connection ends.
func (c *conn) skip() (err error) {
	for err == nil || errors.As(err, new(refusal)) {
		io.CopyN(io.Discard, c.br, int64(c.left))
		err = c.nextFragment(binaryFrame)
	}
	return err
}
