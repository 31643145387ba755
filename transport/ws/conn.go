package ws

//lint:file-ignore SA1019 the program is bound to this path; its successor has the same API under another

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	// The path is deprecated in favor of coder/websocket, which has the same API. A fix that only the successor has is
	// the reason to move: .github/COMPATIBILITY.md.
	"nhooyr.io/websocket"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// subprotocol is the name of the websocket subprotocol with this package's framing. If the framing changes
// incompatibly, the name must change.
const subprotocol = "spade-edge.1"

// kind is the type of a message. Each message is one binary websocket message that consists of the kind, a big-endian
// number and a body.
type kind byte

const (
	kindHello  kind = 'h' // number: length of the body. Sent once in each direction, as the first message.
	kindFrame  kind = 'f' // number: length of the body.
	kindCredit kind = 'c' // number: how many more frames the other end may send; 0 is a keepalive. No body.
)

const (
	headerLen = 5
	// chunk is the maximum length of one write, in bytes. It limits how long a control frame waits for a write to
	// finish.
	chunk     = 64 << 10
	maxReason = 123
)

func putHeader(k kind, number int) [headerLen]byte {
	h := [headerLen]byte{byte(k)}
	binary.BigEndian.PutUint32(h[1:], uint32(number))
	return h
}

// parseHeader parses a message header and checks that the number does not exceed the limit for the kind.
func parseHeader(h [headerLen]byte, maxFrame int) (k kind, number int, err error) {
	k = kind(h[0])
	n := binary.BigEndian.Uint32(h[1:])
	var limit int
	switch k {
	case kindHello:
		limit = endpoint.MaxHello
	case kindFrame:
		limit = maxFrame
	case kindCredit:
		limit = endpoint.LargestMaxFrame
	default:
		return 0, 0, fmt.Errorf("message of unknown kind %q", h[0])
	}
	if uint64(n) > uint64(limit) {
		return 0, 0, fmt.Errorf("message of kind %q: the number in the header is %d, want at most %d", h[0], n, limit)
	}
	return k, int(n), nil
}

// conn is a websocket that carries messages. One goroutine may read while another goroutine writes. The methods have no
// context parameter: to interrupt a call, set a deadline or close the TCP connection.
type conn struct {
	ws *websocket.Conn
	link
	dialed   string // the address that this end dialed; empty if the other end dialed
	maxFrame int

	// The buffer "in" contains the first bytes of the message being read. The slice rest is the part of these bytes
	// that readBody has not returned yet. One call into the library takes as long as reading a small message, so each
	// call reads the header together with the start of the body.
	in   [512]byte
	rest []byte
}

type link struct {
	secure net.Conn // TLS
	tcp    *tcpConn
	key    ed25519.PublicKey // the key that the other end proved
	via    string            // the proxy through which this end dialed; empty if none
}

func newConn(ws *websocket.Conn, l link, dialed string, maxFrame int) (*conn, error) {
	c := &conn{ws: ws, link: l, dialed: dialed, maxFrame: maxFrame}
	if got := ws.Subprotocol(); got != subprotocol {
		err := refusal{fmt.Errorf("websocket subprotocol is %q, want %q", got, subprotocol)}
		c.stop(err, time.Second)
		c.abort()
		return nil, err
	}
	ws.SetReadLimit(int64(max(maxFrame, endpoint.MaxHello)) + headerLen)
	return c, nil
}

func clientConn(l link, address string, maxFrame int) (*conn, error) {
	ws, _, err := websocket.Dial(context.Background(), transport.AddressURL(address), dialOptions(l))
	if err != nil {
		return nil, err
	}
	return newConn(ws, l, address, maxFrame)
}

func serverConn(l link, w *reply, r *http.Request, maxFrame int) (*conn, error) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:    []string{subprotocol},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	return newConn(ws, l, "", maxFrame)
}

type message struct {
	kind   kind
	number int
	body   []byte
}

// blocks is a pool of buffers for messages that are being written, so that an idle connection keeps none.
var blocks = sync.Pool{New: func() any { return new([chunk]byte) }}

// write sends the messages, each as one websocket frame if it is short, and otherwise in fragments. Each write to TLS has
// at most chunk bytes and only whole websocket frames, so the library can write control frames from other goroutines.
// It does not write messages through the library, which wakes a goroutine twice for each frame and copies 4 KiB at a
// time. Only the last message may be long. After an error, the connection is unusable.
func (c *conn) write(messages ...message) (err error) {
	block := blocks.Get().(*[chunk]byte)
	defer blocks.Put(block)
	b := block[:0]
	for _, m := range messages {
		h := putHeader(m.kind, m.number)
		op, head, body, last := byte(binaryFrame), h[:], m.body, false
		for !last {
			n := min(len(body), chunk-len(b)-frameRoom-len(head))
			last = n == len(body)
			b = c.appendFrame(b, op, last, head, body[:n])
			op, head, body = continuation, nil, body[n:]
			if !last {
				if _, err = c.secure.Write(b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
	}
	_, err = c.secure.Write(b)
	return err
}

// These constants are from RFC 6455, section 5.2.
const (
	fin    = 0x80
	masked = 0x80

	continuation = 0
	binaryFrame  = 2

	frameRoom = 8 // length of the header of a masked frame with a payload of 126 to 65,535 bytes
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

func maskPayload(b []byte, key uint32) {
	for wide := uint64(key)<<32 | uint64(key); len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^wide)
	}
	for i := range b {
		b[i] ^= byte(key >> (8 * (i & 3)))
	}
}

// next waits for a message and reads its header. The caller must then read the whole body with readBody.
func (c *conn) next() (k kind, number int, body io.Reader, err error) {
	typ, r, err := c.ws.Reader(context.Background())
	if err != nil {
		return 0, 0, nil, c.readError(err)
	}
	if typ != websocket.MessageBinary {
		return 0, 0, nil, refusal{errors.New("found a text message, want a binary message")}
	}
	n, err := io.ReadAtLeast(r, c.in[:], headerLen)
	if err != nil {
		return 0, 0, nil, c.readError(fmt.Errorf("message cut short: %w", err))
	}
	c.rest = c.in[headerLen:n]
	k, number, err = parseHeader([headerLen]byte(c.in[:]), c.maxFrame)
	if err != nil {
		return 0, 0, nil, refusal{err}
	}
	return k, number, r, nil
}

// readBody reads the rest of a message into b. If a connection ends between two websocket frames of a message, the
// library reports the end of the message; readBody detects the missing bytes, because the header contains the length.
func (c *conn) readBody(r io.Reader, b []byte) error {
	n, long := copy(b, c.rest), len(b) < len(c.rest)
	c.tcp.meter.count(-n)
	for n < len(b) {
		got, err := io.ReadFull(r, b[n:min(n+chunk, len(b))])
		n += got
		c.tcp.meter.count(-got - got/16)
		if err != nil {
			return c.readError(fmt.Errorf("message cut short: received %d of %d bytes: %w", n, len(b), err))
		}
	}
	switch got, err := io.ReadFull(r, c.in[:1]); {
	case got != 0 || long:
		return refusal{fmt.Errorf("message is longer than the announced %d bytes", len(b))}
	case err != io.EOF:
		return c.readError(err)
	}
	return nil
}

// closedError contains the reason that the other end gave for closing the connection.
type closedError struct{ reason string }

func (e closedError) Error() string { return "the peer closed the connection: " + e.reason }

// Is reports whether the other end closed the connection because of target. It recognizes errHello and errCrossed by
// their texts, because only the text of an error is sent.
func (e closedError) Is(target error) bool {
	return target == errHello && strings.HasPrefix(e.reason, errHello.Error()+": ") ||
		target == errCrossed && e.reason == errCrossed.Error()
}

// refusal is an error that the other end caused. The text of the error is sent to the other end.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// readError returns the other end's reason for closing the connection if err contains one. Otherwise it returns err.
func (c *conn) readError(err error) error {
	var ce websocket.CloseError
	if errors.As(err, &ce) {
		return closedError{transport.Printable(strings.ReplaceAll(ce.Reason, "\n", "; "))}
	}
	return err
}

// stop ends the connection because of err. If err is a refusal or [transport.ErrClosed], stop sends a reason to the
// other end and waits for an answer, but no longer than linger. An answer means that the other end has received
// everything that was written.
func (c *conn) stop(err error, linger time.Duration) {
	defer c.tcp.Close()
	status, reason := websocket.StatusGoingAway, "going away"
	if r := (refusal{}); errors.As(err, &r) {
		status, reason = websocket.StatusPolicyViolation, r.Error()
	} else if !errors.Is(err, transport.ErrClosed) {
		return
	}
	defer time.AfterFunc(linger, func() { c.tcp.Close() }).Stop()
	c.ws.Close(status, shorten(reason, maxReason))
}

// abort ends the connection immediately, without a close frame, and waits until the library's goroutine has ended.
func (c *conn) abort() {
	c.tcp.Close()
	c.ws.CloseNow()
}

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
