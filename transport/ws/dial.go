package ws

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// keepDialing holds a connection to p until the transport is closed. The time between two rounds through the addresses
// doubles; a connection that outlasts it resets it, one that breaks before does not.
func (t *Transport) keepDialing(p *peer) {
	wait := t.timing.backoffMin
	for {
		for _, a := range p.where() {
			lasted, err := t.dial(p, a)
			if t.ctx.Err() != nil {
				return
			}
			if lasted == 0 {
				t.failed(p, a.url, err)
				continue
			}
			if lasted > wait {
				wait = t.timing.backoffMin
			}
			break
		}
		timer := time.NewTimer(endpoint.Jitter(wait))
		select {
		case <-timer.C:
			wait = min(2*wait, t.timing.backoffMax)
		case <-p.redial:
			wait = t.timing.backoffMin
		case <-t.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// dial makes one connection and serves it to its end.
func (t *Transport) dial(p *peer, a address) (lasted time.Duration, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.timing.handshake)
	defer cancel()
	l, err := t.connect(ctx, p, a)
	if err != nil {
		return 0, err
	}
	defer l.tcp.Close()
	deadline, _ := ctx.Deadline()
	l.tcp.SetDeadline(deadline)
	stop := context.AfterFunc(t.ctx, func() { l.tcp.Close() })
	defer stop()
	c, err := clientConn(l, a.url, t.maxFrame)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the library's description of its own steps
		}
		return 0, t.explainRefusal(err)
	}
	c.dialed = a.url
	return t.serve(p, c, a.url, func() { stop() })
}

// connect makes a connection with a peer over which both ends have proved their keys. It ends with ctx.
func (t *Transport) connect(ctx context.Context, p *peer, a address) (link, error) {
	raw, err := t.dialTCP(ctx, "tcp", a.hostPort)
	if err != nil {
		return link{}, err
	}
	tcp, out := newTCP(raw)
	tcp.countFor(&p.traffic)
	secure := tls.Client(out, t.clientTLS(p, a.host))
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return link{}, t.explainRefusal(err)
	}
	return newLink(secure, tcp, out), nil
}

// newLink takes over a connection after its handshake.
func newLink(secure *tls.Conn, tcp *tcpConn, out *coalescer) link {
	key, _ := presentedKey(secure.ConnectionState()) // the handshake has checked it
	return link{&coalescer{Conn: secure, below: out, blocks: records}, tcp, key}
}

// upgrade sends one request over a connection that is there already and hands the connection over with the answer.
type upgrade struct{ conn net.Conn }

// maxAnswer limits the header of the answer.
const maxAnswer = 16 << 10

func (u upgrade) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Write(u.conn); err != nil {
		return nil, err
	}
	br := bufio.NewReader(io.LimitReader(u.conn, maxAnswer))
	resp, err := http.ReadResponse(br, r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf("the other end answers %s: %q", resp.Status, bytes.TrimSpace(text))
	}
	early, _ := br.Peek(br.Buffered())
	resp.Body = struct {
		io.Reader
		io.Writer
		io.Closer
	}{io.MultiReader(bytes.NewReader(early), u.conn), u.conn, u.conn}
	return resp, nil
}
