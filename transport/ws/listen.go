package ws

//lint:file-ignore SA1019 as in conn.go

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"nhooyr.io/websocket"
)

func (t *Transport) acceptAll() {
	for {
		select {
		case t.handshakes.slots <- struct{}{}:
		case <-t.ctx.Done():
			return
		}
		raw, err := t.listener.Accept()
		if err == nil {
			from := remoteSource(raw)
			c := t.handshakes.enter(raw, from, t.meets(from))
			t.wg.Go(func() { t.receive(c) })
			continue
		}
		<-t.handshakes.slots
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// The process has probably run out of file descriptors, which is temporary.
		t.cfg.Logger.Warn("cannot accept", "err", err)
		select {
		case <-time.After(t.cfg.timing.backoffMin):
		case <-t.ctx.Done():
			return
		}
	}
}

// meets reports whether a peer has connected from the given source before, or has an address in that source.
func (t *Transport) meets(from netip.Addr) bool {
	for _, p := range t.sorted {
		if at := p.met.Load(); at != nil && *at == from || slices.Contains(p.config.Load().sources, from) {
			return true
		}
	}
	return false
}

func (t *Transport) receive(by *caller) {
	raw := by.conn
	defer t.handshakes.leave(by)
	defer raw.Close()
	stop := context.AfterFunc(t.ctx, func() { raw.Close() })
	defer stop()
	tcp := newTCP(raw)
	tcp.unknown = true
	tcp.SetDeadline(time.Now().Add(t.cfg.timing.handshake))

	from := raw.RemoteAddr().String()
	var p *peer
	cfg := t.tls(func(cs tls.ConnectionState) (err error) {
		p, err = t.caller(cs)
		return err
	})
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		t.handshakes.begin(by, t.tokenOwner(hello.SupportedProtos))
		return nil, nil
	}
	secure := tls.Server(tcp, cfg)
	if err := secure.HandshakeContext(t.ctx); err != nil {
		if t.ctx.Err() == nil { // transport.Limited keeps callers from filling the log with this line
			t.cfg.Logger.Warn("caller refused", "at", from, "reason", t.handshakes.reason(by, t.explainRefusal(err)))
		}
		drain(raw)
		return
	}
	t.handshakes.begin(by, p)
	tcp.countFor(&p.traffic)
	c, err := t.answer(p, newLink(p, secure, tcp))
	if err != nil {
		secure.Close()
		if errors.Is(err, errProbed) {
			t.cfg.Logger.Debug("a peer has asked whether it could connect", "peer", p.name, "at", from)
		} else {
			t.failed(p, from, t.handshakes.reason(by, err))
		}
		return
	}
	lasted, err := t.serve(p, c, from, func() {
		stop()
		t.handshakes.leave(by)
	})
	if lasted == 0 {
		t.failed(p, from, t.handshakes.reason(by, err))
	}
}

// drain reads the data that the caller is still sending, so that the caller can read why it was refused. Closing a
// connection with unread data would reset it, and the reset could arrive before the alert.
func drain(raw net.Conn) {
	raw.SetDeadline(time.Now().Add(time.Second))
	if w, ok := raw.(interface{ CloseWrite() error }); ok {
		w.CloseWrite()
		io.CopyN(io.Discard, raw, 64<<10)
	}
}

// answer reads the only HTTP request on a connection. It answers a probe, or upgrades the connection to a websocket. It
// does not use an [http.Server], because that would set its own deadlines.
func (t *Transport) answer(p *peer, l link) (*conn, error) {
	c := newConn(l, "", &t.cfg)
	r, err := http.ReadRequest(c.br)
	if err != nil {
		return nil, t.explainRefusal(err)
	}
	w := &reply{bufio.NewWriter(l.secure), make(http.Header)}
	defer w.out.Flush()
	if r.Method == http.MethodPost {
		t.answerProbe(p, w, r)
		return nil, errProbed
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:    []string{subprotocol},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	return c, c.begin(ws)
}

// reply is the http.ResponseWriter for the only request on a connection.
type reply struct {
	out    *bufio.Writer
	header http.Header
}

var _ http.Hijacker = (*reply)(nil)

func (w *reply) Header() http.Header         { return w.header }
func (w *reply) Write(b []byte) (int, error) { return w.out.Write(b) }

func (w *reply) WriteHeader(status int) {
	if status != http.StatusSwitchingProtocols {
		w.header.Set("Connection", "close")
	}
	fmt.Fprintf(w.out, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	w.header.Write(w.out)
	w.out.WriteString("\r\n")
	w.out.Flush() // an error recurs at the next write
}

func (w *reply) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return closedConn(), bufio.NewReadWriter(bufio.NewReader(nil), w.out), nil
}
