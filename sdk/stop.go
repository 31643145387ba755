package sdk

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// Stop configures early-stop requests.
type Stop struct {
	Members int `json:"members"` // number that must ask, 1 to 8; the run ends with the earliest round that this many members have asked for
}

// EndedAt returns m with Rounds limited to last, or m unchanged if last is 0.
func (m Method) EndedAt(last int) Method {
	if last > 0 {
		m.Rounds = min(m.Rounds, last)
	}
	return m
}

// Wish is a member's early-stop request.
type Wish struct {
	Member string `json:"member"`
	Last   int    `json:"round"` // the last round with data, counted from 1
}

// stops holds the early-stop requests ("stops") that a node knows of. The node stores a stop before it acts on it or
// relays it.
//
// All members end with the same round. A member that has made r releases asks for a round whose last release is at
// least r + 1 + the largest distance, in edges, from this member to another. From release r+1 on, every message of this
// member carries the stop. To make release s+1, a node needs release s of each neighbor. So a member h edges away knows
// of the stop before it makes release r+1+h, and thus before it begins any round after the requested one.
//
// If more than [Stop.Members] members ask for a stop, only the [Stop.Members] requests for the earliest rounds count.
// The run ends with the latest of these rounds.
type stops struct {
	trust.Stops
	fresh bool // the machine does not know the new stop yet
}

// keepStops stores valid stops, and then adds them to the known stops. The caller holds n.mu.
func (n *Node) keepStops(list ...signed.Relayed) error {
	next, more := n.stops, false
	for _, s := range list {
		more = next.Take(s) || more
	}
	if !more {
		return nil
	}
	j := n.journal
	j.Stops = next.Known
	if err := n.writeJournal(&j); err != nil {
		return fmt.Errorf("sdk: the early-stop request for round %d has no effect yet, because it cannot be stored: %w", list[0].Round, err)
	}
	next.fresh = true
	n.journal, n.unkept, n.stops = j, false, next
	return nil
}

// requests returns the known stops. The caller holds n.mu.
func (n *Node) requests() (list []Wish) {
	for _, s := range n.stops.Known {
		list = append(list, Wish{n.cfg.Fleet.Members[s.Member], s.Round})
	}
	return list
}

// Stop requests that round number last be the final round with data. If last is 0, Stop chooses the earliest round that
// lets the request reach every member in time. It returns the requested round, or that of an earlier call. The request
// is final, and takes effect once [Stop.Members] members have made one. The privacy guarantee excludes requests that
// depend on private data.
func (n *Node) Stop(last int) (int, error) {
	m := n.cfg.Fleet.Method
	refuse := func(format string, args ...any) (int, error) {
		return 0, fmt.Errorf("sdk: the run cannot be ended early: "+format, args...)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.stops.Enough == 0:
		return refuse("the fleet file lacks stop.members, the number of members that must request an early stop")
	case !n.claims.Signing():
		return refuse("the fleet's members have no keys, so no member can sign a request")
	}
	self := n.number[n.cfg.Name]
	for _, s := range n.stops.Known {
		if s.Member == self && (last == 0 || s.Round <= last) {
			return s.Round, nil
		}
	}
	// The sum includes 1 because status.Round may count a release that is being sent without the stop.
	earliest := m.Data(n.status.Round + eccentricity(n.graph, self) + 1)
	if last == 0 {
		last = earliest
	}
	if last < earliest || last >= m.Rounds {
		return refuse("round %d cannot be the last: want %d or later, so that the request reaches all members in time, and less than %d, "+
			"because the run ends with round %[3]d anyway", last, earliest, m.Rounds)
	}
	s := signed.Relayed{Member: self, Statement: signed.Statement{Kind: signed.Stop, Round: last}}
	s.Sign(n.claims.Key, n.claims.Scope)
	return last, n.keepStops(s)
}

// eccentricity returns the largest distance, in edges, from the given member to another member.
func eccentricity(g *graph.Graph, from int) (most int) {
	away := make([]int, g.N())
	away[from] = 1
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		most = away[queue[0]]
		for _, j := range g.Neighbors(queue[0]) {
			if away[j] == 0 {
				away[j] = most + 1
				queue = append(queue, j)
			}
		}
	}
	return most - 1
}

func (n *Node) attachStops(m *admm.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m.Signed.Stops = n.stops.Text
}

// receiveStops handles the stops in a message. It rejects and counts invalid stops, but accepts the rest of the
// message.
func (r *run) receiveStops(from string, m *admm.Message) {
	var list []signed.Relayed
	for b := range slices.Chunk(m.Signed.Stops, signed.RelayedSize) {
		if s, err := r.receiveStop(m, b); err != nil {
			r.refuse(from, err)
		} else if s != nil {
			list = append(list, *s)
		}
	}
	r.mu.Lock()
	err := r.keepStops(list...) // once per frame
	r.mu.Unlock()
	if err != nil {
		r.refuse(from, err)
	}
	r.stopEarly()
}

// receiveStop checks a stop. It returns nil and no error if the stop adds nothing to the known stops.
func (r *run) receiveStop(m *admm.Message, b []byte) (*signed.Relayed, error) {
	f := r.cfg.Fleet
	s, err := signed.ParseRelayed(b, signed.Stop)
	switch {
	case err != nil:
		return nil, err
	case f.Stop == nil || !r.claims.Signing():
		return nil, errors.New("sdk: the sender relays an early-stop request, but this fleet does not allow an early stop")
	case s.Member >= len(f.Members) || s.Round >= f.Method.Rounds:
		return nil, fmt.Errorf("sdk: found an early-stop request from member %d for round %d, want member 0..%d and round 1..%d",
			s.Member, s.Round, len(f.Members)-1, f.Method.Rounds-1)
	}
	r.mu.Lock()
	next := r.stops
	r.mu.Unlock()
	if !next.Take(s) {
		return nil, nil
	}
	name := f.Members[s.Member]
	if err := s.Verify(signed.NewScope(f.Run, r.hash, name), r.claims.Keys(name)); err != nil {
		return nil, err
	}
	carries := m.Kind == admm.Release
	if first := m.Round + eccentricity(r.graph, s.Member); s.Member == m.From && carries && f.Method.EndedAt(s.Round).Learning() < first {
		return nil, fmt.Errorf("sdk: %q asks in release %d to stop after round %d: this request cannot reach all "+
			"members in time", name, m.Round, s.Round)
	}
	return &s, nil
}

// stopEarly tells the machine which round is the last, once enough members have requested a stop.
func (r *run) stopEarly() {
	r.mu.Lock()
	fresh, last := r.stops.fresh, r.stops.Agreed()
	r.stops.fresh = false
	var by []string
	if fresh {
		for _, w := range r.requests() {
			by = append(by, w.Member)
		}
	}
	r.mu.Unlock()
	if !fresh || last == 0 {
		return
	}
	if r.end = r.machine.Stop(last); r.end >= r.cfg.Fleet.Method.Rounds {
		r.end = 0
	}
	r.log.Info("the run ends early", "last_round_with_data", r.end, "asked_by", strings.Join(by, ", "))
}

// method returns the fleet's method, with fewer rounds if the node knows that the run ends early.
func (n *Node) method() Method { return n.cfg.Fleet.Method.EndedAt(n.end) }
