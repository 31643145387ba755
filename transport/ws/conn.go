package ws

//lint:file-ignore SA1019 the program is bound to this path; its successor has the same API under another

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
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
	maxReason = maxControl - 2
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
	link
	dialed   string // the address that this end dialed; empty if the other end dialed
	maxFrame int

	// These fields are for reading. Longer reads bypass the small buffer of br.
	http   io.LimitedReader // below br; limits the HTTP request or response
	br     *bufio.Reader
	header [headerLen]byte
	left   uint64 // bytes of the current websocket frame that have not been read
	last   bool   // whether the current message ends with this websocket frame
	mask   uint32
}

type link struct {
	secure net.Conn // TLS
	tcp    *tcpConn
	key    ed25519.PublicKey // the key that the other end proved
	via    string            // the proxy through which this end dialed; empty if none
}

func newConn(l link, dialed string, maxFrame int) *conn {
	c := &conn{link: l, dialed: dialed, maxFrame: maxFrame, http: io.LimitedReader{R: l.secure, N: maxHTTP}}
	c.br = bufio.NewReaderSize(&c.http, 1<<10)
	return c
}

// begin begins to exchange websocket frames. The library has made the opening handshake; it also could carry the
// messages, but wakes a goroutine four times for each.
func (c *conn) begin(ws *websocket.Conn) error {
	defer ws.CloseNow()
	c.http.N = math.MaxInt64
	if got := ws.Subprotocol(); got != subprotocol {
		err := refusal{fmt.Errorf("websocket subprotocol is %q, want %q", got, subprotocol)}
		c.stop(err, time.Second, nil)
		return err
	}
	return nil
}

// noConn is the connection that the library gets.
type noConn struct{ net.Conn }

func (noConn) Close() error { return nil }

func clientConn(l link, address string, maxFrame int) (*conn, error) {
	c := newConn(l, address, maxFrame)
	ws, _, err := websocket.Dial(context.Background(), transport.AddressURL(address), dialOptions(c))
	if err != nil {
		return nil, err
	}
	return c, c.begin(ws)
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

// next waits for a message and reads its header. The caller must then read the whole body with readBody.
func (c *conn) next() (k kind, number int, err error) {
	if err := c.nextFragment(binaryFrame); err != nil {
		return 0, 0, err
	}
	if n, err := c.readPayload(c.header[:]); err != nil {
		return 0, 0, cutShort(n, headerLen, err)
	}
	k, number, err = parseHeader(c.header, c.maxFrame)
	if err != nil {
		return 0, 0, refusal{err}
	}
	return k, number, nil
}

// readBody reads the rest of a message into b.
func (c *conn) readBody(b []byte) error {
	for n := 0; n < len(b); {
		got, err := c.readPayload(b[n:min(n+chunk, len(b))])
		n += got
		c.tcp.meter.count(-got - got/16)
		if err != nil {
			return cutShort(n, len(b), err)
		}
	}
	for c.left == 0 && !c.last {
		if err := c.nextFragment(continuation); err != nil {
			return err
		}
	}
	if c.left > 0 {
		return refusal{fmt.Errorf("message is longer than the announced %d bytes", len(b))}
	}
	return nil
}

func cutShort(n, want int, err error) error {
	return fmt.Errorf("message cut short: received %d of %d bytes: %w", n, want, err)
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

// stop ends the connection because of err. If err is a refusal or [transport.ErrClosed], stop sends a reason to the
// other end and waits for its answer, but no longer than linger. An answer means that the other end has received
// everything that was written. If another goroutine reads, it closes readOver when it has received the answer.
func (c *conn) stop(err error, linger time.Duration, readOver <-chan struct{}) {
	defer c.tcp.Close()
	status, reason := websocket.StatusGoingAway, "going away"
	if r := (refusal{}); errors.As(err, &r) {
		status, reason = websocket.StatusPolicyViolation, r.Error()
	} else if !errors.Is(err, transport.ErrClosed) {
		return
	}
	defer time.AfterFunc(linger, func() { c.tcp.Close() }).Stop()
	payload := binary.BigEndian.AppendUint16(nil, uint16(status))
	c.secure.Write(c.appendFrame(nil, closeFrame, true, payload, []byte(shorten(reason, maxReason))))
	if readOver != nil {
		<-readOver
		return
	}
	c.skip()
}

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
