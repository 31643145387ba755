package ws

import (
	"net"
	"sync"
)

// coalescer is a connection that collects writes while it is held, and passes them on in full blocks. There are two for
// each websocket. The one above TLS turns the 4 KiB that a client of the websocket library writes at a time into full
// TLS records. The one below TLS collects records, so that several leave in one system call. Control frames, which the
// library writes from any goroutine, pass through in their turn.
type coalescer struct {
	net.Conn
	below  *coalescer // nil for the lower one
	blocks *blockPool

	mu   sync.Mutex // guards the rest; held during a write
	held bool
	buf  *[]byte // nil while nothing is collected: an idle connection keeps no buffer
	err  error   // of an earlier write
}

// blockPool has buffers of one length.
type blockPool struct {
	size int
	pool sync.Pool // of *[]byte
}

var (
	records = &blockPool{size: 16 << 10}      // as much as a TLS record takes (RFC 8446, section 5.1)
	batches = &blockPool{size: chunk + 1<<10} // the records of one chunk
)

// hold starts to collect.
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

// flush passes on what was collected.
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
