package ws

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
	"github.com/spade-dfl/spade-edge/transport/internal/proxy"
)

// keepDialing dials p whenever there is no connection to p, until the transport is closed. The wait between attempts
// doubles, up to a limit, each time all addresses have failed, and is reset once a connection has lasted longer than
// the wait. For some time after the start or the loss of a connection, the limit is lower, so that a peer that starts
// late is reached soon. The lower limit does not apply if the peer or a proxy refuses, because a proxy may lock an
// account after several failed attempts.
func (t *Transport) keepDialing(p *peer) {
	wait, lost := t.cfg.timing.backoffMin, time.Now()
	reset := func() { wait, lost = t.cfg.timing.backoffMin, time.Now() }
	for {
		if s := p.current(); s != nil {
			start := time.Now()
			select {
			case <-s.over:
			case <-t.ctx.Done():
				return
			}
			if time.Since(start) > wait {
				reset()
			}
		}
		most := t.cfg.timing.backoffMax
		for _, address := range p.config.Load().Addresses {
			lasted, err := t.dial(p, address)
			if t.ctx.Err() != nil {
				return
			}
			if lasted == 0 {
				t.failed(p, address, err)
				if !answered(err) && time.Since(lost) < t.cfg.timing.eager {
					most = min(most, t.cfg.timing.eagerMax)
				}
				continue
			}
			if lasted > wait && !errors.As(err, new(refusal)) {
				reset()
			}
			break
		}
		if p.current() != nil {
			continue
		}
		wait = min(wait, most)
		var soon <-chan time.Time // never fires if the peer has no address
		if len(p.config.Load().Addresses) > 0 {
			soon = time.After(endpoint.Jitter(wait))
		}
		select {
		case <-soon:
			wait *= 2
		case <-p.redial:
			reset()
		case <-t.ctx.Done():
			return
		}
	}
}

// answered reports whether an attempt failed because the peer, or a proxy on the way to the peer, refused the
// connection.
func answered(err error) bool {
	return errors.As(err, new(pinError)) || errors.Is(err, errHello) || errors.Is(err, errStatus) || errors.Is(err, proxy.ErrRefused)
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
	c, err := clientConn(l, address, &t.cfg)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // only the cause: the library's error also describes the steps that led to it
		}
		return 0, t.explainRefusal(err)
	}
	return t.serve(p, c, address, func() { stop() })
}

// connect opens a connection to a peer and returns it after both ends have proved their keys. If connect fails, the
// returned link contains only the name of the proxy, if any.
func (t *Transport) connect(ctx context.Context, p *peer, address string) (link, error) {
	host, hostPort, err := transport.ParseAddress(address)
	if err != nil {
		return link{}, err
	}
	raw, via, err := t.dialer.Dial(ctx, "tcp", hostPort)
	if err != nil {
		return link{via: via}, err
	}
	tcp := newTCP(raw)
	tcp.countFor(&p.traffic)
	cfg := t.tls(func(cs tls.ConnectionState) error { return t.verifyPeer(p, via, cs) })
	cfg.ServerName = host // a proxy that passes TLS through routes by server name
	cfg.NextProtos = t.tokens(p)
	secure := tls.Client(tcp, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return link{via: via}, t.explainRefusal(err)
	}
	l := newLink(p, secure, tcp)
	l.via = via
	return l, nil
}

func newLink(p *peer, secure *tls.Conn, tcp *tcpConn) link {
	key, _ := presentedKey(secure.ConnectionState()) // no error: the handshake already checked the key
	p.meter.count(-perGreeting)
	tcp.meter = &p.meter
	return link{secure: secure, tcp: tcp, key: key}
}

const maxHTTP = 16<<10 + endpoint.MaxHello

// errStatus is the error for an answer with an unexpected status.
var errStatus = errors.New("unexpected status from the peer")

// ask sends a request and reads the header of the response. It fails unless the response has the given status.
func (c *conn) ask(r *http.Request, status int) (*http.Response, error) {
	if err := r.Write(c.secure); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.br, r)
	if err != nil || resp.StatusCode == status {
		return resp, err
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	text := transport.Printable(strings.ReplaceAll(strings.TrimSpace(string(body)), "\n", "; "))
	if resp.StatusCode == http.StatusConflict {
		return nil, fmt.Errorf("the peer reports: %w: %s", errHello, strings.TrimPrefix(text, errHello.Error()+": "))
	}
	return nil, fmt.Errorf("%w: %s: %q", errStatus, transport.Printable(resp.Status), text)
}

// RoundTrip implements [http.RoundTripper] for the opening handshake.
func (c *conn) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.ask(r, http.StatusSwitchingProtocols)
	if err == nil {
		resp.Body = closedConn()
	}
	return resp, err
}
