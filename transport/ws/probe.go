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
	"strings"
	"sync"
	"time"
)

// Answer is what [Probe] has learned of one peer.
type Answer struct {
	Name  string
	Where string        // the address that this is about; empty if the peer has none
	Took  time.Duration // from dialing to the answer

	// Err says why no connection with the peer could be made now; nil if one could: it holds a key that is pinned here, ours is
	// pinned there, and neither end refuses the other's hello.
	Err error
	// Refused says that somebody is there and that the two ends do not belong together: by a key, by a hello, or because it is something
	// else that answers. Waiting does not help then. An Err without it may be a peer that is not up yet.
	Refused bool
}

// Probe asks every peer, once and side by side, whether a connection with it could be made, and returns the answers sorted by name.
// Nothing of what the peer is doing is touched: a connection that it has with this node, even one of another process, stays up,
// and its own state does not change. Whose name sorts lower plays no part, so a peer can be asked that would dial by itself, if it
// has an address. A peer that does not answer within 15 s, or until ctx ends, has not. Nothing is listened on; the error
// speaks of cfg alone.
//
// A probe is an HTTP request over the connection on which a websocket would be asked for: POST with the hello as its body, answered
// by 200 with the peer's hello, or by 409 with why ours is refused.
func Probe(ctx context.Context, cfg Config) ([]Answer, error) {
	t, err := build(cfg)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(t.sorted))
	var wg sync.WaitGroup
	for i, p := range t.sorted {
		answers[i] = Answer{Name: p.name, Err: errors.New("it has no address")}
		wg.Go(func() {
			for _, a := range p.where() {
				start := time.Now()
				err := t.probe(ctx, p, a)
				if answers[i].Refused && err != nil {
					continue // the first who is somebody else tells more than one who is not there
				}
				var stranger tls.RecordHeaderError
				answers[i] = Answer{Name: p.name, Where: a.url, Took: time.Since(start), Err: err,
					Refused: errors.As(err, new(pinError)) || errors.Is(err, errHello) || errors.As(err, &stranger)}
				if err == nil {
					break
				}
			}
		})
	}
	wg.Wait()
	return answers, nil
}

// probe asks the peer at one address.
func (t *Transport) probe(ctx context.Context, p *peer, a address) error {
	ctx, cancel := context.WithTimeout(ctx, t.timing.handshake)
	defer cancel()
	raw, err := t.dialTCP(ctx, "tcp", a.hostPort)
	if err != nil {
		return err
	}
	defer raw.Close()
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	secure := tls.Client(newTCP(raw), t.clientTLS(p, a.host))
	if err := secure.HandshakeContext(ctx); err != nil {
		return t.explainRefusal(err)
	}
	err = t.exchange(secure, p, a)
	if ctx.Err() != nil && !errors.Is(err, errHello) && !errors.As(err, new(pinError)) {
		return fmt.Errorf("no answer: %w", ctx.Err())
	}
	return err
}

// exchange swaps hellos over an authenticated connection.
func (t *Transport) exchange(secure net.Conn, p *peer, a address) error {
	var hello []byte
	if t.hello != nil {
		hello = t.hello(p.name)
	}
	r, err := http.NewRequest(http.MethodPost, a.url, bytes.NewReader(hello))
	if err != nil {
		return err
	}
	r.Close = true
	if err := r.Write(secure); err != nil {
		return t.explainRefusal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(secure, maxAnswer+maxHello)), r)
	if err != nil {
		return t.explainRefusal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHello+1))
	if err != nil {
		return err
	}
	text := strings.ToValidUTF8(strings.TrimSpace(string(body[:min(len(body), 1<<10)])), "?")
	switch {
	case resp.StatusCode == http.StatusConflict:
		return fmt.Errorf("the other end: %w: %s", errHello, strings.TrimPrefix(text, errHello.Error()+": "))
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the other end answers %s: %q", resp.Status, text)
	case len(body) > maxHello:
		return fmt.Errorf("a hello of more than %d bytes", maxHello)
	}
	if t.checkHello != nil {
		if err := t.checkHello(p.name, body); err != nil {
			return fmt.Errorf("%w: %w", errHello, err)
		}
	}
	return nil
}

// errProbed says that a connection was a probe's, and that it is over.
var errProbed = errors.New("a probe")

// answerProbe tells a peer whether it could connect. It changes nothing but the count of bytes.
func (t *Transport) answerProbe(p *peer, w *reply, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxHello+1))
	if err != nil || len(body) > maxHello {
		http.Error(w, fmt.Sprintf("want a hello of at most %d bytes", maxHello), http.StatusBadRequest)
		return
	}
	if t.checkHello != nil {
		if err := t.checkHello(p.name, body); err != nil {
			http.Error(w, fmt.Sprintf("%v: %v", errHello, err), http.StatusConflict)
			return
		}
	}
	var hello []byte
	if t.hello != nil {
		hello = t.hello(p.name)
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(hello)))
	w.WriteHeader(http.StatusOK)
	w.Write(hello)
}
