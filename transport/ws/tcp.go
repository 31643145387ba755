package ws

import (
	"errors"
	"fmt"
	"net"
	"os"
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
	unknown bool // the other end has dialed and not shown a pinned key yet
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
