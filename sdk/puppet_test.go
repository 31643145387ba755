package sdk_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
)

// journal is a log that can be read while it is being written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// endsAt returns a context that ends when the journal contains the text want.
func (j *journal) endsAt(t *testing.T, want string) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	go func() {
		for ; !strings.Contains(j.String(), want) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		}
		cancel()
	}()
	return ctx
}

// puppet plays the role of member "b" for a node "a".
type puppet struct {
	t     *testing.T
	f     *sdk.Fleet
	tr    transport.Transport
	codec *wire.Codec
}

func newPuppet(t *testing.T, change func(*sdk.Config)) (*puppet, *sdk.Node) {
	t.Helper()
	f := ring()
	f.Members, f.Edges = []string{"a", "b"}, [][2]string{{"a", "b"}}
	codec, err := wire.NewCodec(f.Dim)
	if err != nil {
		t.Fatal(err)
	}
	store, err := tinytest.MemStore()()
	if err != nil {
		t.Fatal(err)
	}
	trs := inMemory(t, f)
	cfg := sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: trs[0], Store: store,
		ResendAfter: time.Second}
	sign(&cfg)
	change(&cfg)
	n, err := sdk.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &puppet{t, f, trs[1], codec}, n
}

func (p *puppet) scope(member string) signed.Scope {
	return signed.NewScope(p.f.Run, p.f.Hash(), member)
}

func (p *puppet) send(m *admm.Message) {
	p.t.Helper()
	frame, err := p.codec.Append(nil, m)
	if err == nil {
		err = p.tr.Send(p.t.Context(), "a", frame)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// meet starts the node and answers its first probe. The returned function stops the node. If it is not called within
// three minutes, the puppet's transport is closed, so that the test fails instead of waiting indefinitely.
func (p *puppet) meet(n *sdk.Node) (end func()) {
	p.t.Helper()
	ctx, stop := context.WithCancel(p.t.Context())
	over := make(chan error)
	go func() { over <- n.Run(ctx) }()
	patience := time.AfterFunc(3*time.Minute, func() { _ = p.tr.Close() })
	ask := p.await(admm.Probe)
	p.send(&admm.Message{Kind: admm.ProbeReply, Incarnation: ask.Incarnation})
	return func() {
		patience.Stop()
		stop()
		<-over
	}
}

func (p *puppet) await(kind admm.Kind) (m admm.Message) {
	p.t.Helper()
	for m.Kind != kind {
		_, frame, err := p.tr.Recv(p.t.Context())
		if err == nil && wire.IsHeartbeat(frame) {
			continue
		}
		if err == nil {
			err = p.codec.Decode(frame, &m)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return m
}

// release makes and signs a release of the given round. before is the member's previous release, or nil for its first
// release. It returns the signed statement and the message that carries it.
func (p *puppet) release(before *signed.Statement, round int) (*signed.Statement, *admm.Message) {
	m := &admm.Message{Kind: admm.Release, Round: round, Vector: make([]float32, p.f.Dim)}
	m.Vector[1] = float32(round)
	r := &signed.Statement{Kind: signed.Release, Round: round, Value: signed.Digest(m.Vector, nil)}
	if before != nil {
		r.Prev = before.ID(p.scope("b"))
	}
	r.Sign(memberKey("b"), p.scope("b"))
	m.Signed.Own = r.Append(nil)
	return r, m
}
