package recovery

import (
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Node is what a node knows of itself and of a neighbor that has lost its state.
type Node struct {
	Machine *admm.Machine
	Own     signed.Chain                       // what the node has signed; empty without keys
	Held    signed.Chain                       // what the neighbor has signed, likewise
	Stored  func(round int) (admm.State, bool) // the state that was stored with the node's release of a round
}

// Respond returns the answer to a neighbor's StateRequest. All of it is the neighbor's own, or was released to it.
// Nothing changes: the machine goes on, and the neighbor asks again for what gets lost. The answer shares slices with
// the machine.
func Respond(request *admm.Message, n Node) *admm.Message {
	m := &admm.Message{Kind: admm.StateResponse, To: request.From, Part: request.Part, Round: request.Round,
		Held: n.Machine.Heard(request.From), Generation: n.Machine.Generation(request.From), Incarnation: request.Incarnation}
	// What the answer is about is shown with the neighbor's own signature. A grid point is about the release that led
	// there.
	var shown *signed.Release
	switch m.Part {
	case admm.Progress:
		shown = n.Held.Proving(m.Held)
		if latest := n.Held.Last(); shown != nil && latest.Generation > shown.Generation { // which has not come as far
			m.Signed.Other = latest.Append(nil)
		}
		m.Round = n.Machine.Status().Round
		if own := n.Own.Last(); own != nil {
			m.Signed.Own = own.Append(nil)
		}
	case admm.SentRelease:
		shown = n.Held.Of(m.Round)
		p := n.Machine.Received(request.From, m.Round)
		m.Vector, m.Grid = p.Vector, p.Grid
	case admm.RequesterBase:
		shown = n.Held.Of(m.Round - 1)
	}
	if shown != nil {
		m.Signed.Proof = shown.Append(nil)
	}
	if m.Part != admm.Progress && m.Part != admm.SentRelease {
		// The machine's own z may have gone on since.
		if s, ok := n.Stored(m.Round); ok {
			fill(m, &s)
		}
	}
	return m
}

// fill adds to an answer what it asks for of a stored state.
func fill(m *admm.Message, s *admm.State) {
	i := slices.IndexFunc(s.Edges, func(e admm.EdgeState) bool { return e.Peer == m.To })
	if i < 0 {
		return
	}
	switch e := &s.Edges[i]; m.Part {
	case admm.RequesterZ:
		m.Vector = e.PeerZ
	case admm.ResponderZ:
		m.Vector = e.Z
	case admm.RequesterBase:
		m.Grid = e.Base
	case admm.ResponderBase:
		m.Grid = difference(s.Grid, s.Delta)
	}
}
