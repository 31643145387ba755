package sdk_test

import (
	"crypto/ed25519"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// A lie returns the messages that a malicious member sends to a neighbor instead of m. It may modify the numbers in m.
type lie func(to string, m admm.Message) []admm.Message

// jump returns a lie that moves the first coordinate of a release by the given number of grid steps or, without a grid,
// by this number itself. On a grid, it also moves all later releases.
func jump(release int, by int32) lie {
	return func(_ string, m admm.Message) []admm.Message {
		switch {
		case m.Round != release || m.Kind != admm.Release:
		case len(m.Grid) > 0:
			m.Grid[0] += by
		default:
			m.Vector[0] += float32(by)
		}
		return []admm.Message{m}
	}
}

// contradict returns a lie that sends a release twice, the second time with a different first coordinate.
func contradict(release int) lie {
	jumped := jump(release, 1)
	return func(to string, m admm.Message) []admm.Message {
		first := m
		first.Vector, first.Grid = slices.Clone(m.Vector), slices.Clone(m.Grid)
		if m.Round != release || m.Kind != admm.Release {
			return []admm.Message{m}
		}
		return append([]admm.Message{first}, jumped(to, m)...)
	}
}

// lying returns the link of a fleet with a malicious member. tell alters everything that the member sends. If key is not
// nil, altered releases are signed again with key, so that each neighbor sees an unbroken chain of signed releases. The
// member's own node is protected from evidence that would stop it: other members send it the lies told in its name, and
// it gets the release that it made in place of each.
func lying(f *sdk.Fleet, member string, key ed25519.PrivateKey, tell lie) (tinytest.Link, error) {
	codec, err := wire.NewCodec(f.Dim)
	l := &deceiver{codec: codec, key: key, scope: signed.NewScope(f.Run, f.Hash(), member), lie: tell,
		told: map[string]map[int]signed.Statement{}, truth: map[int]signed.Statement{}}
	return func(p tinytest.Packet) (all []tinytest.Packet) {
		frames := [][]byte{p.Frame}
		if p.From == member {
			frames = l.forge(p.To, p.Frame)
		} else if p.To == member {
			frames[0] = l.spared(p.Frame)
		}
		for _, p.Frame = range frames {
			if p.Frame != nil {
				all = append(all, p)
			}
		}
		return all
	}, err
}

type deceiver struct {
	key   ed25519.PrivateKey
	scope signed.Scope
	lie   lie

	mu    sync.Mutex // guards the fields below
	codec *wire.Codec
	told  map[string]map[int]signed.Statement // by neighbor and round: the first signed statement
	truth map[int]signed.Statement            // by round: what the member released
}

// spared returns the part of a frame that the malicious member's node may receive, or nil if there is none.
func (l *deceiver) spared(frame []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var m admm.Message
	if l.key == nil || l.codec.Decode(frame, &m) != nil {
		return frame
	}
	if m.Kind == admm.Conflict && len(m.Signed.Own) > 0 { // a notice
		m.Signed.Own = nil
		frame, _ = l.codec.Append(nil, &m)
		return frame
	}
	shown, err := signed.Parse(m.Signed.Proof, signed.Release)
	truth, known := l.truth[shown.Round]
	switch {
	case err != nil || m.Kind != admm.Conflict && (!known || shown.Value == truth.Value):
		return frame
	case m.Kind == admm.Conflict:
		return nil
	}
	m.Signed.Proof = truth.Append(nil)
	frame, _ = l.codec.Append(nil, &m) // m was decoded from a frame, so it can be encoded
	return frame
}

// forge returns the frames that the lie has in place of a frame. Frames that cannot be decoded pass unchanged.
func (l *deceiver) forge(to string, frame []byte) (frames [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var m admm.Message
	if l.codec.Decode(frame, &m) != nil {
		return [][]byte{frame}
	}
	for _, told := range l.lie(to, m) {
		l.sign(to, &told)
		if f, err := l.codec.Append(nil, &told); err == nil {
			frames = append(frames, f)
		}
	}
	return frames
}

func (l *deceiver) sign(to string, m *admm.Message) {
	r, err := signed.Parse(m.Signed.Own, signed.Release)
	if l.key == nil || err != nil {
		return
	}
	if l.told[to] == nil {
		l.told[to] = map[int]signed.Statement{}
	}
	switch before, told := l.told[to][r.Round-1]; {
	case m.Kind != admm.Release: // a probe shows the last release again
		if last, told := l.told[to][r.Round]; told {
			m.Signed.Own = last.Append(nil)
		}
		return
	case told:
		r.Prev = before.ID(l.scope)
	}
	if _, known := l.truth[r.Round]; !known {
		l.truth[r.Round] = r
	}
	r.Value = signed.Digest(m.Vector, m.Grid)
	r.Sign(l.key, l.scope)
	if _, told := l.told[to][r.Round]; !told {
		l.told[to][r.Round] = r
	}
	m.Signed.Own = r.Append(nil)
}
