package sdk

import (
	"time"

	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

// Events holds optional functions that a node calls in a run. Unless noted, the goroutine of Run calls them, one at a
// time, and waits for each to return. They may call [Node.Status], [Node.Model] and [Node.Spend], but not Run. What they
// receive depends on no data of this node, except where noted. They own no slice that they receive.
type Events struct {
	// Began is called before the first query of each release that uses data.
	Began func(release int)
	// Released is called after every release x, 1 to Method.Last, once it is stored and before it is sent.
	// [Fleet.Model] makes the model of it.
	Released func(release int, x []float32)
	// Waiting is called at most once per round, after ResendAfter without progress, with the members being waited for.
	Waiting func(release int, neighbors []string)

	// Connected is called when a transport that reports it has opened a connection to a neighbor.
	Connected func(neighbor string)
	// Silent is called by a goroutine of its own when a neighbor has sent nothing for 5 s since the start of Run, or for
	// 90 s, and then less and less often. reason is the state of the connection in words, or "". If both Silent and
	// Waiting are nil, the log reports silent neighbors.
	Silent func(neighbor string, long time.Duration, reason string)
	// Dropped is called when the node stops working with a neighbor, for the reason in q.
	Dropped func(q state.Quarantine)
	// Refused is called for each invalid frame of a neighbor, except repeats.
	Refused func(neighbor string, why error)

	// Failed is called in a private run after a query without a loss, which a constant replaces. The error depends on
	// the data of the device and must stay there. A goroutine of its own calls Failed, so that its time delays no release,
	// perhaps even after Run. What fails meanwhile is not reported; [Status] counts it.
	Failed func(why error)
	// Done is called with the final model, after the last release.
	Done func(model []float32)
}

// Metrics returns numbers that a collector may read, by name: release, last_release, bytes_sent, frames_refused,
// neighbors, neighbors_dropped, neighbors_waited_for, consensus_error and, in a private run, rho. They depend on no data
// of this node beyond its releases.
func (n *Node) Metrics() map[string]float64 {
	st := n.Status()
	m := map[string]float64{
		"release": float64(st.Round), "last_release": float64(n.fleet.Method.Last()), "bytes_sent": float64(st.BytesSent),
		"frames_refused": float64(st.Refused), "neighbors": float64(len(st.Neighbors)), "neighbors_dropped": 0,
		"neighbors_waited_for": float64(len(st.Waiting)), "consensus_error": st.ConsensusError,
	}
	for _, of := range st.Neighbors {
		if of.Quarantine.Release > 0 {
			m["neighbors_dropped"]++
		}
	}
	if !n.fleet.Privacy.NonPrivate {
		m["rho"] = n.Spend().Rho
	}
	return m
}

// released reports a release and, if it is the last one, the final model.
func (r *run) released(release int) {
	e := &r.cfg.Events
	if e.Released != nil {
		e.Released(release, r.machine.Model())
	}
	if release != r.fleet.Method.Last() {
		return
	}
	r.logFlat()
	if e.Done != nil {
		e.Done(r.Model())
	}
}

// began reports the first query of a release.
func (r *run) began() {
	if now := r.machine.Begun(); r.cfg.Events.Began != nil && now != r.begun {
		r.begun = now
		r.cfg.Events.Began(now)
	}
}

// silent reports neighbors that have sent nothing.
func (r *run) silent(names []string, longest time.Duration) {
	switch e := r.cfg.Events; {
	case e.Silent != nil:
		for _, name := range names {
			e.Silent(name, longest, transport.Way(r.cfg.Transport, name))
		}
	case e.Waiting == nil && len(names) > 0:
		r.log.Warn("waiting for neighbors that have sent nothing",
			"for", longest.Round(time.Second), "from", transport.Ways(r.cfg.Transport, names))
	}
}
