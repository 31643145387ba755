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
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// keepDialing holds a connection to p until the transport is closed. The time between two rounds through the addresses
// doubles until a connection outlasts it.
func (t *Transport) keepDialing(p *peer) {
	wait := t.cfg.timing.backoffMin
	for {
		for _, address := range p.config.Load().Addresses {
			lasted, err := t.dial(p, address)
			if t.ctx.Err() != nil {
				return
			}
			if lasted == 0 {
				t.failed(p, address, err)
				continue
			}
			if lasted > wait {
				wait = t.cfg.timing.backoffMin
			}
			break
		}
		select {
		case <-time.After(endpoint.Jitter(wait)):
			wait = min(2*wait, t.cfg.timing.backoffMax)
		case <-p.redial:
			wait = t.cfg.timing.backoffMin
		case <-t.ctx.Done():
			return
		}
	}
}

func (t *Transport) dial(p *peer, address string) (lasted time.Duration, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.cfg.timing.handshake)
	defer cancel()
	l, err := t.connect(ctx, p, address)
	if err != nil {
		return 0, err
	}
	defer l.tcp.Close()
	deadline, _ := ctx.Deadline()
	l.tcp.SetDeadline(deadline)
	stop := context.AfterFunc(t.ctx, func() { l.tcp.Close() })
	defer stop()
	c, err := clientConn(l, address, t.cfg.MaxFrame)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the library's description of its own steps
		}
		return 0, t.explainRefusal(err)
	}
	c.dialed = address
	return t.serve(p, c, address, func() { stop() })
}

// connect makes a connection with a peer over which both ends have proved their keys. It ends with ctx.
func (t *Transport) connect(ctx context.Context, p *peer, address string) (link, error) {
	host, hostPort, err := transport.ParseAddress(address)
	if err != nil {
		return link{}, err
	}
	raw, err := t.cfg.dial(ctx, "tcp", hostPort)
	if err != nil {
		return link{}, err
	}
	tcp, out := newTCP(raw)
	tcp.countFor(&p.traffic)
	cfg := t.tls(func(cs tls.ConnectionState) error { return t.verifyPeer(p, cs) })
	cfg.ServerName = host // a pass-through proxy routes by it
	secure := tls.Client(out, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return link{}, t.explainRefusal(err)
	}
	return newLink(secure, tcp, out), nil
}

func newLink(secure *tls.Conn, tcp *tcpConn, out *coalescer) link {
	key, _ := presentedKey(secure.ConnectionState()) // the handshake has checked it
	return link{&coalescer{Conn: secure, below: out, blocks: records}, tcp, key}
}

// upgrade sends one request over a connection that is there already and hands the connection over with the answer.
type upgrade struct{ conn net.Conn }

// maxHTTP limits what is read of a request or an answer.
const maxHTTP = 16<<10 + endpoint.MaxHello

// ask sends a request and reads the answer's header, which must have the status that is wanted.
func ask(conn io.ReadWriter, r *http.Request, status int) (*http.Response, *bufio.Reader, error) {
	if err := r.Write(conn); err != nil {
		return nil, nil, err
	}
	br := bufio.NewReader(io.LimitReader(conn, maxHTTP))
	resp, err := http.ReadResponse(br, r)
	if err != nil || resp.StatusCode == status {
		return resp, br, err
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	text := strings.ToValidUTF8(strings.TrimSpace(string(body)), "?")
	if resp.StatusCode == http.StatusConflict {
		return nil, nil, fmt.Errorf("the other end: %w: %s", errHello, strings.TrimPrefix(text, errHello.Error()+": "))
	}
	return nil, nil, fmt.Errorf("the other end answers %s: %q", resp.Status, text)
}

func (u upgrade) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, br, err := ask(u.conn, r, http.StatusSwitchingProtocols)
	if err != nil {
		return nil, err
	}
	early, _ := br.Peek(br.Buffered())
	resp.Body = struct {
		io.Reader
		io.Writer
		io.Closer
	}{io.MultiReader(bytes.NewReader(early), u.conn), u.conn, u.conn}
	return resp, nil
}
