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

// door holds the connections whose other end has not said who it is, or not yet a fitting hello. When there are too many
// the one that has been at it longest has to go: a peer needs a moment to get through, a stranger stays as long as it can.
type door struct {
	mu     sync.Mutex
	inside []net.Conn // by time of entry, at most doorLimit

	// handled has a token for each connection that a goroutine still deals with, those included that had to go and have not
	// noticed: a busy processor must not have them pile up.
	handled chan struct{}
}

func (d *door) enter(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside = append(d.inside, c)
	if len(d.inside) > doorLimit {
		d.inside[0].Close()
		d.inside = slices.Delete(d.inside, 0, 1)
	}
}

func (d *door) leave(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside = slices.DeleteFunc(d.inside, func(o net.Conn) bool { return o == c })
}

// acceptAll takes in connections until the listener is closed.
func (t *Transport) acceptAll() {
	for {
		select {
		case t.door.handled <- struct{}{}:
		case <-t.ctx.Done():
			return
		}
		raw, err := t.listener.Accept()
		if err != nil {
			<-t.door.handled
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Most likely out of file descriptors, which passes.
			t.log.Warn("cannot accept", "err", err)
			select {
			case <-time.After(t.timing.backoffMin):
			case <-t.ctx.Done():
				return
			}
			continue
		}
		t.door.enter(raw)
		t.wg.Go(func() { t.receive(raw) })
	}
}

// receive finds out who is calling and serves the connection to its end.
func (t *Transport) receive(raw net.Conn) {
	leave := sync.OnceFunc(func() {
		t.door.leave(raw)
		<-t.door.handled
	})
	defer leave()
	defer raw.Close()
	stop := context.AfterFunc(t.ctx, func() { raw.Close() })
	defer stop()
	tcp := newTCP(raw)
	tcp.strange = true
	tcp.SetDeadline(time.Now().Add(t.timing.handshake))

	from := raw.RemoteAddr().String()
	secure := tls.Server(tcp, t.serverTLS())
	if err := secure.HandshakeContext(t.ctx); err != nil {
		t.refused(from, t.explainRefusal(err))
		drain(raw)
		return
	}
	p, err := t.caller(secure.ConnectionState())
	if err != nil {
		t.refused(from, err)
		return
	}
	tcp.charge(&p.count)
	c, err := t.answer(p, secure, tcp)
	if err != nil {
		secure.Close()
		if errors.Is(err, errProbed) {
			t.log.Debug("a peer has asked whether it could connect", "peer", p.name, "at", from)
		} else {
			t.failed(p, from, err)
		}
		return
	}
	c.key, _ = presentedKey(secure.ConnectionState()) // caller has seen it
	lasted, err := t.serve(p, c, from, func() {
		stop()
		leave()
	})
	if lasted == 0 {
		t.failed(p, from, err)
	}
}

// drain lets the caller read why it was refused: were the connection closed with something unread, the alert could be lost
// on the way to a reset.
func drain(raw net.Conn) {
	raw.SetDeadline(time.Now().Add(time.Second))
	if w, ok := raw.(interface{ CloseWrite() error }); ok {
		w.CloseWrite()
		io.CopyN(io.Discard, raw, 64<<10)
	}
}

// answer reads the one HTTP request of a connection and turns the connection into a websocket. An HTTP server would set
// deadlines of its own and keep connections that are no websockets.
func (t *Transport) answer(p *peer, secure net.Conn, tcp *tcpConn) (*conn, error) {
	// The websocket keeps both buffers. Small ones do: what is longer than a buffer passes by it.
	br := bufio.NewReaderSize(&io.LimitedReader{R: secure, N: maxAnswer + maxHello}, 1<<10)
	r, err := http.ReadRequest(br)
	if err != nil {
		return nil, t.explainRefusal(err)
	}
	out := &gather{Conn: secure, tcp: tcp}
	w := &reply{conn: out, br: br, bw: bufio.NewWriterSize(out, 256), header: make(http.Header)}
	if r.Method == http.MethodPost {
		t.answerProbe(p, w, r)
		w.bw.Flush()
		return nil, errProbed
	}
	if p.dial {
		text := fmt.Sprintf("%q must not dial %q: the lower name dials", p.name, t.name)
		http.Error(w, text, http.StatusForbidden)
		w.bw.Flush()
		return nil, errors.New(text)
	}
	c, err := serverConn(w, r, t.maxFrame)
	if err != nil {
		w.bw.Flush()
		return nil, err
	}
	return c, nil
}

// reply is the http.ResponseWriter of the only request a connection ever has.
type reply struct {
	conn   *gather
	br     *bufio.Reader
	bw     *bufio.Writer
	header http.Header
}

var _ http.Hijacker = (*reply)(nil)

func (w *reply) Header() http.Header { return w.header }

func (w *reply) WriteHeader(status int) {
	if status != http.StatusSwitchingProtocols {
		w.header.Set("Connection", "close")
	}
	fmt.Fprintf(w.bw, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	w.header.Write(w.bw)
	w.bw.WriteString("\r\n")
	w.bw.Flush() // an error shows again in whatever comes next
}

func (w *reply) Write(p []byte) (int, error) { return w.bw.Write(p) }

func (w *reply) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.conn, bufio.NewReadWriter(w.br, w.bw), nil
}
