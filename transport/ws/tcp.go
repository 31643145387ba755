package ws

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// traffic counts the bytes that TCP carries, including the overhead of encryption and TLS handshakes.
type traffic struct{ sent, received atomic.Int64 }

// tcpConn is the TCP connection below TLS. It counts bytes, and it fails if no bytes are transferred during the idle
// timeout.
type tcpConn struct {
	net.Conn
	idle    atomic.Int64 // idle timeout, a time.Duration; 0 before keepAlive is called
	traffic *traffic
	unknown bool   // the other end dialed and has not proved a pinned key yet
	meter   *meter // the peer's meter; nil until TLS has proved the peer's key

	mu     sync.Mutex // held during a write, because TLS may answer a key update at any time
	held   []byte     // between hold and flush, the bytes that were written; otherwise nil
	failed error      // the error of flush, which may have written part of a TLS record
}

// unknownLimit is the maximum number of bytes to read from an unknown caller. A handshake takes about 2 KiB, but TLS
// itself would accept a certificate of 256 KiB.
const unknownLimit = 16 << 10

func newTCP(raw net.Conn) *tcpConn { return &tcpConn{Conn: raw, traffic: new(traffic)} }

// countFor adds the bytes counted so far to t (the traffic of a known peer), and counts all further bytes there. The
// connection must not be used by others during the call.
func (c *tcpConn) countFor(t *traffic) {
	t.sent.Add(c.traffic.sent.Load())
	t.received.Add(c.traffic.received.Load())
	c.traffic, c.unknown = t, false
}

// keepAlive replaces the handshake deadline with an idle timeout: reads and writes fail if no byte is transferred for
// the duration d.
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
			return 0, fmt.Errorf("the caller sent more than %d bytes without proving that it holds a known key", unknownLimit)
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

// hold makes Write append to buffer until flush is called.
func (c *tcpConn) hold(buffer []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = buffer
}

// flush writes what was held, within the time limit; 0 means no limit. After an error, it writes nothing more.
func (c *tcpConn) flush(limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.held
	c.held = nil
	if c.failed == nil {
		_, c.failed = c.write(held, limit)
	}
	return c.failed
}

func (c *tcpConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		return c.write(p, 0)
	}
	c.held = append(c.held, p...)
	return len(p), nil
}

// write extends its deadline whenever some bytes have been written, because a slow link may need more than one idle
// timeout. A write with a limit has only one timeout.
func (c *tcpConn) write(p []byte, limit time.Duration) (int, error) {
	for total := 0; ; {
		d := cmp.Or(limit, time.Duration(c.idle.Load()))
		if d > 0 {
			c.SetWriteDeadline(time.Now().Add(d))
		}
		n, err := c.Conn.Write(p[total:])
		c.traffic.sent.Add(int64(n))
		total += n
		if err == nil || d == 0 || limit > 0 || n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return total, err
		}
	}
}

// These constants limit the data that a peer may send in addition to frames. For comparison, the keepalives of a
// correct peer take two bytes per second.
const (
	uselessRate  = 1000      // bytes a second
	uselessLimit = 256 << 10 // burst in bytes: more than arrives of a frame before its bytes are taken back
	perFrame     = 256       // allowance for each frame: its headers, and a credit message
	perGreeting  = 4 << 10   // allowance for each connection: its request, and TLS messages
)

var errUseless = refusal{fmt.Errorf("received more than %d bytes outside frames", uselessLimit)}

// meter counts the bytes that a peer sends in addition to frames, over all its connections. Without a limit, a peer
// could keep this node busy: a node answers pings and skips empty fragments as fast as they arrive, and TLS
// processes empty records and key updates as fast as they arrive.
type meter struct {
	mu   sync.Mutex
	free time.Duration // time, since began, at which the count will have decayed to 0
}

var began = time.Now()

// count adds received bytes. A negative number subtracts bytes that turned out to belong to a frame. count fails if the
// total exceeds uselessLimit. A nil meter does nothing.
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
