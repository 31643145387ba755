package ws

import (
	"net"
	"sync"
)

// gather sits between the websocket library and TLS. A client of the library writes 4 KiB at a time, each of which would
// become a TLS record and a system call of its own. What belongs to one message is made into full records instead, and
// these are held back below TLS until several can leave together. Control frames, which the library writes from whichever
// goroutine it likes, pass through here in their turn.
type gather struct {
	net.Conn // TLS
	tcp      *tcpConn

	mu   sync.Mutex // of what follows; held during a write
	held bool
	buf  *record // nil unless it has something
	n    int     // bytes in buf
}

// record is as much as a TLS record takes (RFC 8446, section 5.1).
type record [16 << 10]byte

var records = sync.Pool{New: func() any { return new(record) }}

// begin starts to collect.
func (g *gather) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = true
	g.tcp.hold()
}

// end writes what is left and collects no more.
func (g *gather) end() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = false
	err := g.flush()
	if failed := g.tcp.release(); err == nil {
		err = failed
	}
	return err
}

func (g *gather) Write(p []byte) (n int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.held {
		return g.Conn.Write(p)
	}
	for n < len(p) {
		if whole := (len(p) - n) / len(record{}) * len(record{}); g.n == 0 && whole > 0 {
			k, err := g.Conn.Write(p[n : n+whole])
			n += k
			if err != nil {
				return n, err
			}
			continue
		}
		if g.buf == nil {
			g.buf = records.Get().(*record)
		}
		k := copy(g.buf[g.n:], p[n:])
		g.n += k
		n += k
		if g.n == len(g.buf) {
			if err := g.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush makes a record of what was collected. An idle connection keeps no buffer.
func (g *gather) flush() error {
	if g.buf == nil {
		return nil
	}
	_, err := g.Conn.Write(g.buf[:g.n])
	records.Put(g.buf)
	g.buf, g.n = nil, 0
	return err
}
