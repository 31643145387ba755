package ws

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// handshakeLimit is how many incoming connections may be on their way to being authenticated at a time.
const handshakeLimit = 64

// handshakeLimiter holds the connections that have no fitting hello yet. When there are too many the oldest is closed:
// a peer needs a moment to get through, a stranger stays as long as it can.
type handshakeLimiter struct {
	mu      sync.Mutex
	pending []net.Conn // by time of arrival, at most handshakeLimit

	// slots has a token for each connection that a goroutine still works on, closed ones included: on a busy processor
	// they must not pile up.
	slots chan struct{}
}

func (d *handshakeLimiter) enter(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending = append(d.pending, c)
	if len(d.pending) > handshakeLimit {
		d.pending[0].Close()
		d.pending = slices.Delete(d.pending, 0, 1)
	}
}

func (d *handshakeLimiter) leave(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending = slices.DeleteFunc(d.pending, func(o net.Conn) bool { return o == c })
	<-d.slots
}

func (t *Transport) acceptAll() {
	for {
		select {
		case t.handshakes.slots <- struct{}{}:
		case <-t.ctx.Done():
			return
		}
		raw, err := t.listener.Accept()
		if err == nil {
			t.handshakes.enter(raw)
			t.wg.Go(func() { t.receive(raw) })
			continue
		}
		<-t.handshakes.slots
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Most likely out of file descriptors, which passes.
		t.cfg.Logger.Warn("cannot accept", "err", err)
		select {
		case <-time.After(t.cfg.timing.backoffMin):
		case <-t.ctx.Done():
			return
		}
	}
}

func (t *Transport) receive(raw net.Conn) {
	leave := sync.OnceFunc(func() { t.handshakes.leave(raw) })
	defer leave()
	defer raw.Close()
	stop := context.AfterFunc(t.ctx, func() { raw.Close() })
	defer stop()
	tcp, out := newTCP(raw)
	tcp.unknown = true
	tcp.SetDeadline(time.Now().Add(t.cfg.timing.handshake))

	from := raw.RemoteAddr().String()
	var p *peer
	secure := tls.Server(out, t.tls(func(cs tls.ConnectionState) (err error) {
		p, err = t.caller(cs)
		return err
	}))
	if err := secure.HandshakeContext(t.ctx); err != nil {
		t.refused(from, t.explainRefusal(err))
		drain(raw)
		return
	}
	tcp.countFor(&p.traffic)
	c, err := t.answer(p, newLink(secure, tcp, out))
	if err != nil {
		secure.Close()
		if errors.Is(err, errProbed) {
			t.cfg.Logger.Debug("a peer has asked whether it could connect", "peer", p.name, "at", from)
		} else {
			t.failed(p, from, err)
		}
		return
	}
	lasted, err := t.serve(p, c, from, func() {
		stop()
		leave()
	})
	if lasted == 0 {
		t.failed(p, from, err)
	}
}

// drain lets the caller read why it was refused: a reset, if something is unread, could overtake the alert.
func drain(raw net.Conn) {
	raw.SetDeadline(time.Now().Add(time.Second))
	if w, ok := raw.(interface{ CloseWrite() error }); ok {
		w.CloseWrite()
		io.CopyN(io.Discard, raw, 64<<10)
	}
}

// answer reads the one HTTP request of a connection and makes it a websocket. An HTTP server would set deadlines of its
// own and keep connections that are no websockets.
func (t *Transport) answer(p *peer, l link) (*conn, error) {
	// The websocket keeps both buffers. Small ones do: what is longer than a buffer bypasses it.
	br := bufio.NewReaderSize(io.LimitReader(l.secure, maxHTTP), 1<<10)
	r, err := http.ReadRequest(br)
	if err != nil {
		return nil, t.explainRefusal(err)
	}
	rw := bufio.NewReadWriter(br, bufio.NewWriterSize(l.secure, 256))
	w := &reply{conn: l.secure, rw: rw, header: make(http.Header)}
	var c *conn
	switch {
	case r.Method == http.MethodPost:
		t.answerProbe(p, w, r)
		err = errProbed
	default:
		c, err = serverConn(l, w, r, t.cfg.MaxFrame)
	}
	if err != nil {
		w.rw.Flush()
	}
	return c, err
}

// reply is the http.ResponseWriter of the only request that a connection ever has.
type reply struct {
	conn   net.Conn
	rw     *bufio.ReadWriter
	header http.Header
}

var _ http.Hijacker = (*reply)(nil)

func (w *reply) Header() http.Header { return w.header }

func (w *reply) WriteHeader(status int) {
	if status != http.StatusSwitchingProtocols {
		w.header.Set("Connection", "close")
	}
	fmt.Fprintf(w.rw, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	w.header.Write(w.rw)
	w.rw.WriteString("\r\n")
	w.rw.Flush() // an error recurs in whatever is written next
}

func (w *reply) Write(p []byte) (int, error) { return w.rw.Write(p) }

func (w *reply) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.conn, w.rw, nil }
