package trust

import (
	"cmp"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Once names a message that a node sends to a neighbor at most once between two ticks.
type Once uint8

const (
	SayDouble     Once = 1 << iota // evidence against the neighbor
	SayQuarantine                  // this node dropped the neighbor
	SayHeld                        // what another device of the neighbor's name signed
	AskHeld                        // asks which release of this node the neighbor holds
	All           Once = 1<<iota - 1
)

// First reports whether a message has not been sent since the last tick, and marks it as sent.
func (p *Peer) First(what Once) bool {
	first := p.said&what == 0
	p.said |= what
	return first
}

// Again allows the given messages to be sent once more.
func (p *Peer) Again(what Once) { p.said &^= what }

// Notice returns a message of kind Conflict. It tells the neighbor that this member continues without the neighbor from
// the given release on, and why. Notice cuts the reason to 200 bytes, and the signature does not cover the reason. The
// notice also shows the neighbor's newest release that this member holds, with the number held: a device that has lost
// its state must not make this release again with its other neighbors.
func (l *Log) Notice(peer *Peer, release, held int, why string) *admm.Message {
	n := signed.Statement{Kind: signed.Notice, Round: release, Value: peer.Scope}
	if l.Signing() {
		n.Sign(l.Key, l.Scope)
	}
	why = cmp.Or(why[:min(len(why), 200)], "-")
	return &admm.Message{Kind: admm.Conflict, Round: release, Held: held,
		Signed: admm.Signed{Own: Encoded(peer.Held.Last()), Proof: n.Append(nil), Other: []byte(why)}}
}

// IsNotice reports whether a message is a neighbor's notice.
func IsNotice(m *admm.Message) bool {
	if m.Kind != admm.Conflict {
		return false
	}
	_, err := signed.Parse(m.Signed.Proof, signed.Notice)
	return err == nil
}

// CheckNotice checks a neighbor's notice. last is the number of the run's last release.
func (l *Log) CheckNotice(peer *Peer, m *admm.Message, last int) (n signed.Statement, err error) {
	n, err = signed.Parse(m.Signed.Proof, signed.Notice)
	switch {
	case err != nil:
	case n.Value != l.Scope || n.Round > last+2:
		err = fmt.Errorf("trust: the quarantine notice applies from release %d on, want release %d or earlier, or is for another member",
			n.Round, last+2)
	case l.Signing():
		err = n.Verify(peer.Scope, l.Keys(peer.Name))
	}
	return n, err
}

// Equivocation returns the message of kind Conflict that shows a neighbor two of its own statements.
func Equivocation(e *signed.Evidence) *admm.Message {
	return &admm.Message{Kind: admm.Conflict, Round: e.Round,
		Signed: admm.Signed{Proof: e.First.Append(nil), Other: e.Second.Append(nil)}}
}

// CheckEquivocation parses the two statements that a neighbor shows in m, and returns them if this member's keys signed
// both and they contradict each other. Statements of other members have no effect, even if they contradict each other:
// a member drops an edge only for statements that the edge itself has carried.
func (l *Log) CheckEquivocation(m *admm.Message) (e signed.Evidence, err error) {
	first, err1 := signed.Parse(m.Signed.Proof, signed.Release)
	second, err2 := signed.Parse(m.Signed.Other, signed.Release)
	if err = cmp.Or(err1, err2); err != nil {
		return e, err
	}
	keys := l.Keys(l.Name)
	if err = cmp.Or(first.Verify(l.Scope, keys), second.Verify(l.Scope, keys)); err != nil {
		return e, err
	}
	if !first.Contradicts(&second) {
		return e, fmt.Errorf("trust: the signed releases %d and %d of this member do not contradict each other", first.Round, second.Round)
	}
	return signed.NewEvidence(l.Name, &first, &second), nil
}
