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

// tally counts bytes as TCP sees them: everything that TLS makes of what we say, handshakes included.
type tally struct{ sent, received atomic.Int64 }

// tcpConn is the connection below TLS. At first it has the one deadline it was given; from pace on it ends when nothing
// moves for too long. It counts, and while held it collects TLS records so that several leave in one system call.
type tcpConn struct {
	net.Conn
	silence atomic.Int64
	count   *tally
	strange bool // the other end has called and not shown a key; ends with charge

	mu   sync.Mutex // of what follows; held during a write
	held bool
	buf  *batch // nil unless it has something
	n    int    // bytes in buf
	err  error  // of an earlier write
}

// batch has room for the records of one chunk.
type batch [chunk + 1<<10]byte

var batches = sync.Pool{New: func() any { return new(batch) }}

// strangerLimit is how many bytes of a connection are read before the other end has shown a key that is pinned. A handshake
// of our own takes about 2 KiB; TLS alone would collect a certificate of 256 KiB.
const strangerLimit = 16 << 10

func newTCP(raw net.Conn) *tcpConn { return &tcpConn{Conn: raw, count: new(tally)} }

// charge counts for a peer what has been said so far and will be. Nobody else may use the connection meanwhile.
func (c *tcpConn) charge(t *tally) {
	t.sent.Add(c.count.sent.Load())
	t.received.Add(c.count.received.Load())
	c.count, c.strange = t, false
}

// pace lets the connection live as long as there is no more than d between bytes read, and none between bytes that there is
// room to write.
func (c *tcpConn) pace(d time.Duration) {
	c.silence.Store(int64(d))
	c.SetDeadline(time.Now().Add(d))
}

func (c *tcpConn) Read(p []byte) (int, error) {
	if d := c.silence.Load(); d > 0 {
		c.SetReadDeadline(time.Now().Add(time.Duration(d)))
	}
	if c.strange {
		room := strangerLimit - c.count.received.Load()
		if room <= 0 {
			return 0, fmt.Errorf("more than %d bytes without a key that is known", strangerLimit)
		}
		p = p[:min(int64(len(p)), room)]
	}
	n, err := c.Conn.Read(p)
	c.count.received.Add(int64(n))
	return n, err
}

func (c *tcpConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if c.n+len(p) > len(batch{}) {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	if !c.held || len(p) > len(batch{}) {
		return c.through(p)
	}
	if c.buf == nil {
		c.buf = batches.Get().(*batch)
	}
	c.n += copy(c.buf[c.n:], p)
	return len(p), nil
}

// hold starts to collect.
func (c *tcpConn) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
}

// release writes what was collected and collects no more.
func (c *tcpConn) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	return c.flush()
}

// flush writes what was collected. An idle connection keeps no buffer.
func (c *tcpConn) flush() error {
	if c.buf == nil || c.err != nil {
		return c.err
	}
	_, err := c.through(c.buf[:c.n])
	batches.Put(c.buf)
	c.buf, c.n = nil, 0
	return err
}

// through writes to the network. On a slow line that may take longer than one deadline, which is fine as long as something
// moves.
func (c *tcpConn) through(p []byte) (int, error) {
	for total := 0; ; {
		d := c.silence.Load()
		if d > 0 {
			c.SetWriteDeadline(time.Now().Add(time.Duration(d)))
		}
		n, err := c.Conn.Write(p[total:])
		c.count.sent.Add(int64(n))
		total += n
		if err == nil {
			return total, nil
		}
		if d == 0 || n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			c.err = err
			return total, err
		}
	}
}
