package ws

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// Answer is the result of [Probe] for one peer.
type Answer struct {
	Name  string
	Where string        // the address that was probed; empty if the peer has none
	Took  time.Duration // from dialing to the answer
	Proxy string        // the proxy that was used; empty if none

	// Err is why no connection to the peer can be made now. It is nil if both ends accept each other's key and hello.
	Err error
	// Refused is true if waiting cannot help: one end refuses the key or hello of the other end, or the server at the
	// address is not a node. If Err is not nil and Refused is false, the peer may not be running yet.
	Refused bool
}

// Probe asks every peer that has an address whether a connection could be made. It asks each peer once, all in
// parallel, and returns the answers sorted by name. It does not disturb an existing connection between the peer and
// this node, even if another process of the node has that connection. If a peer does not answer within 15 s, or before
// ctx ends, its Answer.Err is not nil. Probe does not listen. It returns an error only if cfg is invalid.
//
// A probe is an HTTP POST request that contains the hello and is sent instead of a websocket request. The answer has
// status 200 and contains the peer's hello, or status 409 and the reason why the peer refuses the hello.
func Probe(ctx context.Context, cfg Config) ([]Answer, error) {
	t, err := build(&cfg)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(t.sorted))
	var wg sync.WaitGroup
	for i, p := range t.sorted {
		answers[i] = Answer{Name: p.name, Err: errors.New("the peer has no address")}
		wg.Go(func() {
			for _, address := range p.config.Load().Addresses {
				start := time.Now()
				via, err := t.probe(ctx, p, address)
				if answers[i].Refused && err != nil {
					continue // keep the first refusal, which tells more than an absent peer
				}
				answers[i] = Answer{Name: p.name, Where: address, Took: time.Since(start), Err: err, Proxy: via,
					Refused: errors.As(err, new(pinError)) || errors.Is(err, errHello) || errors.As(err, new(tls.RecordHeaderError))}
				if err == nil {
					break
				}
			}
		})
	}
	wg.Wait()
	return answers, nil
}

// probe asks the peer at one address. via names the proxy that was used, or is empty.
func (t *Transport) probe(ctx context.Context, p *peer, address string) (via string, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.timing.handshake)
	defer cancel()
	l, err := t.connect(ctx, p, address)
	if err != nil {
		return l.via, err
	}
	defer l.tcp.Close()
	defer context.AfterFunc(ctx, func() { l.tcp.Close() })()
	err = t.exchange(newConn(l, address, &t.cfg), p)
	if ctx.Err() != nil && !errors.Is(err, errHello) && !errors.As(err, new(pinError)) {
		err = fmt.Errorf("no answer: %w", ctx.Err())
	}
	return l.via, err
}

// exchange exchanges hellos with a peer over an authenticated connection.
func (t *Transport) exchange(c *conn, p *peer) error {
	hello, err := endpoint.Hello(t.cfg.Hello, p.name)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, transport.AddressURL(c.dialed), bytes.NewReader(hello))
	if err != nil {
		return err
	}
	r.Close = true
	resp, err := c.ask(r, http.StatusOK)
	if err != nil {
		return t.explainRefusal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, endpoint.MaxHello))
	if err != nil {
		return fmt.Errorf("the peer's hello (at most %d bytes): %w", endpoint.MaxHello, err)
	}
	if err := t.cfg.CheckHello(p.name, body); err != nil {
		return fmt.Errorf("%w: %w", errHello, err)
	}
	return nil
}

// errProbed is the error with which a connection ends after a probe on it has been answered.
var errProbed = errors.New("a probe")

// answerProbe answers a probe: it reports whether this node would accept a connection from p. It changes no state
// except the byte counts.
func (t *Transport) answerProbe(p *peer, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, endpoint.MaxHello))
	if err != nil {
		http.Error(w, fmt.Sprintf("want a hello of at most %d bytes", endpoint.MaxHello), http.StatusBadRequest)
		return
	}
	p.meter.count(-len(body))
	if err := t.cfg.CheckHello(p.name, body); err != nil {
		http.Error(w, fmt.Sprintf("%v: %v", errHello, err), http.StatusConflict)
		return
	}
	hello, err := endpoint.Hello(t.cfg.Hello, p.name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(hello)))
	w.WriteHeader(http.StatusOK)
	w.Write(hello)
}
