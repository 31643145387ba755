package ws

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// traffic counts bytes as TCP carries them: all that TLS makes of the messages, handshakes included.
type traffic struct{ sent, received atomic.Int64 }

// tcpConn is the connection below TLS. It counts, and ends when nothing moves for too long.
type tcpConn struct {
	net.Conn
	idle    atomic.Int64 // a time.Duration; 0 until keepAlive
	traffic *traffic
	unknown bool   // the other end has dialed and not shown a pinned key yet
	meter   *meter // of the peer; nil until TLS has proved its key
}

// unknownLimit is how many bytes are read from an unknown caller. Our own handshake takes about 2 KiB; TLS alone would
// accept a certificate of 256 KiB.
const unknownLimit = 16 << 10

// newTCP returns the connection and the coalescer through which TLS writes to it.
func newTCP(raw net.Conn) (*tcpConn, *coalescer) {
	c := &tcpConn{Conn: raw, traffic: new(traffic)}
	return c, &coalescer{Conn: c, blocks: batches}
}

// countFor counts what was carried so far and will be for a known peer. Nobody else may use the connection meanwhile.
func (c *tcpConn) countFor(t *traffic) {
	t.sent.Add(c.traffic.sent.Load())
	t.received.Add(c.traffic.received.Load())
	c.traffic, c.unknown = t, false
}

// keepAlive replaces the deadline: the connection may last as long as it is never longer than d until a byte is read,
// and until there is room to write one.
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
			return 0, fmt.Errorf("more than %d bytes without a key that is known", unknownLimit)
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

// Write may take longer than one deadline on a slow line, as long as something moves.
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

// coalescer is a connection that collects writes while it is held, and passes them on in full blocks. The one above TLS
// turns the 4 KiB that the websocket library writes at a time into full records; the one below sends several in one
// system call. Control frames, which the library writes from any goroutine, pass through in their turn.
type coalescer struct {
	net.Conn
	below  *coalescer // nil for the lower one
	blocks *blockPool

	mu   sync.Mutex // guards the rest; held during a write
	held bool
	buf  *[]byte // nil while nothing is collected: an idle connection keeps no buffer
	err  error   // of an earlier write
}

type blockPool struct {
	size int
	pool sync.Pool // of *[]byte
}

var (
	records = &blockPool{size: 16 << 10}      // as much as a TLS record takes (RFC 8446, section 5.1)
	batches = &blockPool{size: chunk + 1<<10} // the records of one chunk
)

func (c *coalescer) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
	if c.below != nil {
		c.below.hold()
	}
}

// release writes what is left and stops collecting.
func (c *coalescer) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	c.flush()
	if c.below != nil {
		if err := c.below.release(); c.err == nil {
			c.err = err
		}
	}
	return c.err
}

func (c *coalescer) Write(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held {
		n = c.pass(p)
		return n, c.err
	}
	size := c.blocks.size
	for n < len(p) && c.err == nil {
		if whole := (len(p) - n) / size * size; c.buf == nil && whole > 0 {
			n += c.pass(p[n : n+whole])
			continue
		}
		if c.buf == nil {
			var ok bool
			if c.buf, ok = c.blocks.pool.Get().(*[]byte); !ok {
				fresh := make([]byte, 0, size)
				c.buf = &fresh
			}
		}
		k := min(size-len(*c.buf), len(p)-n)
		*c.buf = append(*c.buf, p[n:n+k]...)
		n += k
		if len(*c.buf) == size {
			c.flush()
		}
	}
	return n, c.err
}

func (c *coalescer) flush() {
	if c.buf == nil {
		return
	}
	c.pass(*c.buf)
	*c.buf = (*c.buf)[:0]
	c.blocks.pool.Put(c.buf)
	c.buf = nil
}

// pass writes to the connection unless an earlier write has failed.
func (c *coalescer) pass(p []byte) (n int) {
	if c.err == nil {
		n, c.err = c.Conn.Write(p)
	}
	return n
}
