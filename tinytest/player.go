package tinytest

import (
	"context"
	"crypto/ed25519"
	"errors"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// Player is a member that a test plays by hand, such as an adversary with a valid key. Its methods are for one
// goroutine.
type Player struct {
	Transport transport.Transport // for frames that are no messages
	Scope     signed.Scope        // of what this member signs

	key   ed25519.PrivateKey
	codec *wire.Codec
}

// Play opens the network of a member for a [Player], which takes the place of the member's processes until the next
// Start of the member or until Close.
func (w *World) Play(member string) (*Player, error) {
	if err := errors.Join(w.init(), w.end(member)); err != nil {
		return nil, err
	}
	codec, err := wire.NewCodec(w.Fleet.Dim)
	if err != nil {
		return nil, err
	}
	tr, err := w.transport(member)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.closes[member] = tr.Close
	w.mu.Unlock()
	return &Player{tr, signed.NewScope(w.Fleet.Run, w.Fleet.Hash(), member), w.Key(member), codec}, nil
}

// Send sends a message.
func (p *Player) Send(ctx context.Context, to string, m *admm.Message) error {
	frame, err := p.codec.Append(nil, m)
	if err != nil {
		return err
	}
	return p.Transport.Send(ctx, to, frame)
}

// Await returns the next message of a kind, with its sender, and ignores all others.
func (p *Player) Await(ctx context.Context, kind admm.Kind) (from string, m admm.Message, err error) {
	for {
		from, frame, err := p.Transport.Recv(ctx)
		if err != nil {
			return "", m, err
		}
		if wire.IsHeartbeat(frame) {
			continue
		}
		if m = (admm.Message{}); p.codec.Decode(frame, &m) == nil && m.Kind == kind {
			return from, m, nil
		}
	}
}

// Sign puts the member's signature of the release in m into m and returns the signed statement. before is the statement
// of the release before, nil for the first.
func (p *Player) Sign(m *admm.Message, before *signed.Statement) *signed.Statement {
	s := &signed.Statement{Kind: signed.Release, Round: m.Round, Value: signed.Digest(m.Vector, m.Grid)}
	if before != nil {
		s.Prev = before.ID(p.Scope)
	}
	s.Sign(p.key, p.Scope)
	m.Signed.Own = s.Append(nil)
	return s
}
