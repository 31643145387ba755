package ws

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// traffic counts bytes as TCP carries them: encrypted, and including TLS handshakes.
type traffic struct{ sent, received atomic.Int64 }

// tcpConn is the connection below TLS. It counts bytes, and fails when no byte moves for too long.
type tcpConn struct {
	net.Conn
	idle    atomic.Int64 // idle timeout, a time.Duration; 0 before keepAlive is called
	traffic *traffic
	unknown bool   // the other end dialed and has not proved a pinned key yet
	meter   *meter // the peer's meter; nil until TLS has proved the peer's key
}

// unknownLimit is the maximum number of bytes read from an unknown caller. A handshake takes about 2 KiB; TLS alone
// would accept a certificate of 256 KiB.
const unknownLimit = 16 << 10

func newTCP(raw net.Conn) *tcpConn { return &tcpConn{Conn: raw, traffic: new(traffic)} }

// countFor adds the bytes counted so far to t, the traffic of a known peer, and counts later bytes there. Nothing else
// may use the connection during the call.
func (c *tcpConn) countFor(t *traffic) {
	t.sent.Add(c.traffic.sent.Load())
	t.received.Add(c.traffic.received.Load())
	c.traffic, c.unknown = t, false
}

// keepAlive replaces the deadline of the handshake by an idle timeout: within d, a byte must arrive or be written.
func (c *tcpConn) keepAlive(d time.Duration) {
	c.idle.Store(int64(d))
	c.SetDeadline(time.Now().Add(d))
}

func (c *tcpConn) Read(p []byte) (int, error) {
	if d := c.idle.Load(); d > 0 {
		c.SetReadDeadline(time.Now().Add(time.Duration(d)))
	}
	if c.unknown {
		room := unknownLimit - c.traffic.received.Load()
		if room <= 0 {
			return 0, fmt.Errorf("more than %d bytes from a caller without a known key", unknownLimit)
		}
		p = p[:min(int64(len(p)), room)]
	}
	n, err := c.Conn.Read(p)
	c.traffic.received.Add(int64(n))
	if err == nil {
		err = c.meter.count(n)
	}
	return n, err
}

// Write extends its deadline as long as some bytes move, because a slow link may take longer than one idle timeout.
func (c *tcpConn) Write(p []byte) (int, error) {
	for total := 0; ; {
		d := c.idle.Load()
		if d > 0 {
			c.SetWriteDeadline(time.Now().Add(time.Duration(d)))
		}
		n, err := c.Conn.Write(p[total:])
		c.traffic.sent.Add(int64(n))
		total += n
		if err == nil || d == 0 || n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return total, err
		}
	}
}

// The limits of what a peer may send in addition to its frames. The keepalives of a correct peer take two bytes a
// second.
const (
	uselessRate  = 1000      // bytes a second
	uselessLimit = 256 << 10 // burst in bytes: more than arrives of a frame before its bytes are taken back
	perFrame     = 256       // allowance for each frame: its headers, and a credit message
	perGreeting  = 4 << 10   // allowance for each connection: its request, and TLS messages
)

var errUseless = refusal{fmt.Errorf("more than %d bytes outside frames", uselessLimit)}

// meter counts what a peer sends in addition to frames, on all of its connections. Without a limit a peer could keep
// this end busy: the websocket library answers pings and skips empty fragments as fast as they arrive, and TLS skips
// empty records and key updates as fast.
type meter struct {
	mu   sync.Mutex
	free time.Duration // time, since began, at which the count will have decayed to 0
}

var began = time.Now()

// count adds bytes that were received. A negative number takes back bytes that belong to a frame. count fails if the
// total exceeds uselessLimit. A nil meter counts nothing.
func (m *meter) count(bytes int) error {
	if m == nil {
		return nil
	}
	now := time.Since(began)
	m.mu.Lock()
	m.free = max(m.free, now) + time.Duration(bytes)*(time.Second/uselessRate)
	late := m.free - now
	m.mu.Unlock()
	if late > uselessLimit*(time.Second/uselessRate) {
		return errUseless
	}
	return nil
}

// coalescer is a connection above TLS. While it is held, it collects writes and passes them on in blocks of a chunk,
// which are full TLS records; the websocket library writes only 4 KiB at a time. Control frames, which the library
// writes from any goroutine, stay in order with other writes. After an error, every write fails with that error.
type coalescer struct {
	net.Conn

	mu  sync.Mutex    // guards the fields below; held during a write
	buf *bufio.Writer // nil unless held, so that an idle connection keeps no buffer
	err error         // error of an earlier write
}

// blocks is a pool of buffers for coalescers that are held.
var blocks = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, chunk) }}

func (c *coalescer) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf = blocks.Get().(*bufio.Writer)
	c.buf.Reset(c.Conn)
}

// release writes what was collected, and stops collecting.
func (c *coalescer) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = cmp.Or(c.err, c.buf.Flush())
	c.buf.Reset(nil)
	blocks.Put(c.buf)
	c.buf = nil
	return c.err
}

func (c *coalescer) Write(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
	case c.buf != nil:
		n, c.err = c.buf.Write(p)
	default:
		n, c.err = c.Conn.Write(p)
	}
	return n, c.err
}
