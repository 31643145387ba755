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
	linger   time.Duration // for control frames and an orderly end
	sending  sync.Mutex    // held by send

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

func newConn(l link, dialed string, cfg *Config) *conn {
	c := &conn{link: l, dialed: dialed, maxFrame: cfg.MaxFrame, linger: cfg.timing.linger}
	c.http = io.LimitedReader{R: l.secure, N: maxHTTP}
	c.br = bufio.NewReaderSize(&c.http, 1<<10)
	return c
}

func clientConn(l link, address string, cfg *Config) (*conn, error) {
	c := newConn(l, address, cfg)
	ws, _, err := websocket.Dial(context.Background(), transport.AddressURL(address), dialOptions(c))
	if err != nil {
		return nil, err
	}
	return c, c.begin(ws)
}

// begin continues after the opening handshake. The library makes only this handshake: to read a message, it would wake a
// goroutine four times.
func (c *conn) begin(ws *websocket.Conn) error {
	defer ws.CloseNow()
	c.http.N = math.MaxInt64
	if got := ws.Subprotocol(); got != subprotocol {
		err := refusal{fmt.Errorf("websocket subprotocol is %q, want %q", got, subprotocol)}
		c.stop(err, nil)
		return err
	}
	return nil
}

// closedConn returns the connection that the library gets.
func closedConn() net.Conn {
	c, _ := net.Pipe()
	c.Close()
	return c
}

type message struct {
	kind   kind
	number int
	body   []byte
}

// write sends the messages, each as one websocket frame if it is short, and otherwise in fragments. Only the last message
// may be long. Each call of send may take as long as limit; 0 means no limit. After an error, the connection is unusable.
func (c *conn) write(limit time.Duration, messages ...message) (err error) {
	buffer := buffers.Get().(*[bufferLen]byte)
	defer buffers.Put(buffer)
	b := buffer[:0]
	for _, m := range messages {
		h := putHeader(m.kind, m.number)
		op, head, body, last := byte(binaryFrame), h[:], m.body, false
		for !last {
			n := min(len(body), chunk-len(b)-frameRoom-len(head))
			last = n == len(body)
			b = c.appendFrame(b, op, last, head, body[:n])
			op, head, body = continuation, nil, body[n:]
			if !last {
				if err = c.send(limit, b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
	}
	return c.send(limit, b)
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
// other end and waits for an answer, but no longer than linger. An answer means that the other end has received
// everything that was written. If another goroutine reads, it receives the answer, and then closes readOver.
func (c *conn) stop(err error, readOver <-chan struct{}) {
	defer c.tcp.Close()
	status, reason := websocket.StatusGoingAway, "going away"
	if r := (refusal{}); errors.As(err, &r) {
		status, reason = websocket.StatusPolicyViolation, r.Error()
	} else if !errors.Is(err, transport.ErrClosed) {
		return
	}
	defer time.AfterFunc(c.linger, func() { c.tcp.Close() }).Stop()
	c.sendControl(closeFrame, append(binary.BigEndian.AppendUint16(nil, uint16(status)), shorten(reason, maxReason)...))
	if readOver == nil {
		c.skip()
	} else {
		<-readOver
	}
}

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
