package ws

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// keepDialling holds a connection to p until the transport is closed. The time between two rounds through the addresses
// doubles; a connection that outlasts it resets it, one that breaks before does not.
func (t *Transport) keepDialling(p *peer) {
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
		// Jitter, so that those who lost the same machine do not come back all at once.
		timer := time.NewTimer(wait/2 + rand.N(wait/2+1))
		select {
		case <-timer.C:
			wait = min(2*wait, t.timing.backoffMax)
		case <-p.kick:
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
	raw, err := t.dialTCP(ctx, "tcp", a.hostPort)
	if err != nil {
		return 0, err
	}
	defer raw.Close()
	stop := context.AfterFunc(t.ctx, func() { raw.Close() })
	defer stop()
	tcp := newTCP(raw)
	tcp.charge(&p.count)
	tcp.SetDeadline(time.Now().Add(t.timing.handshake))

	secure := tls.Client(tcp, t.clientTLS(p, a.host))
	if err := secure.HandshakeContext(ctx); err != nil {
		return 0, t.explainRefusal(err)
	}
	c, err := clientConn(secure, tcp, a.url, t.maxFrame)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // leaves out what the library says about its own steps
		}
		return 0, t.explainRefusal(err)
	}
	c.key, _ = presentedKey(secure.ConnectionState()) // the handshake has seen it
	c.where = a.url
	return t.serve(p, c, a.url, func() { stop() })
}

// upgrade sends one request over a connection that is there already and hands the connection over with the answer.
type upgrade struct{ conn net.Conn }

// maxAnswer limits the header of the answer.
const maxAnswer = 16 << 10

func (u upgrade) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Write(u.conn); err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: u.conn, N: maxAnswer}
	br := bufio.NewReader(limited)
	resp, err := http.ReadResponse(br, r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf("the other end answers %s: %q", resp.Status, strings.TrimSpace(string(text)))
	}
	early, _ := br.Peek(br.Buffered())
	resp.Body = struct {
		io.Reader
		io.Writer
		io.Closer
	}{io.MultiReader(strings.NewReader(string(early)), u.conn), u.conn, u.conn}
	return resp, nil
}
