package monitor

import (
	"math"
	"strconv"
	"strings"
)

// metric is a family of samples.
type metric struct {
	name, kind, help string
	each             func(s *Status, sample func(v float64, labels ...string)) // labels: name, value, ...
}

// number reports a value if it is known.
func number(v Value, sample func(v float64, labels ...string)) {
	if v.Known() {
		sample(float64(v))
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// perNeighbor reports a number of each neighbor.
func perNeighbor(of func(n *Neighbor) float64) func(*Status, func(float64, ...string)) {
	return func(s *Status, sample func(float64, ...string)) {
		for i := range s.Neighbors {
			sample(of(&s.Neighbors[i]), "neighbor", s.Neighbors[i].Name)
		}
	}
}

// perLink reports a number of each connection that is known.
func perLink(of func(l *Link) float64) func(*Status, func(float64, ...string)) {
	return func(s *Status, sample func(float64, ...string)) {
		for _, n := range s.Neighbors {
			if n.Link != nil {
				sample(of(n.Link), "neighbor", n.Name)
			}
		}
	}
}

// plain reports one number.
func plain(of func(s *Status) float64) func(*Status, func(float64, ...string)) {
	return func(s *Status, sample func(float64, ...string)) { sample(of(s)) }
}

// spent reports a number of a private run.
func spent(of func(p *Privacy) Value) func(*Status, func(float64, ...string)) {
	return func(s *Status, sample func(float64, ...string)) {
		if s.Privacy != nil {
			number(of(s.Privacy), sample)
		}
	}
}

// ofData reports a number that comes from the data directly: never in a private run.
func ofData(of func(l *Local) Value) func(*Status, func(float64, ...string)) {
	return func(s *Status, sample func(float64, ...string)) {
		if s.NonPrivate && s.Local != nil {
			number(of(s.Local), sample)
		}
	}
}

var phases = []Phase{Starting, Querying, Waiting, Cooling, Serving, Ended, Failed}

var metrics = []metric{
	{"info", "gauge", "Always 1; whether the run is private.", func(s *Status, sample func(float64, ...string)) {
		sample(1, "private", strconv.FormatBool(!s.NonPrivate))
	}},
	{"ready", "gauge", "1 if the node takes part in its run, as /readyz says, else 0.", plain(func(s *Status) float64 { return truth(s.Ready) })},
	{"phase", "gauge", "1 for what the node is doing, 0 for what it is not.", func(s *Status, sample func(float64, ...string)) {
		for _, p := range phases {
			sample(truth(p == s.Phase), "phase", string(p))
		}
	}},
	{"phase_seconds", "gauge", "For how long the node has been doing that, in this round.", plain(func(s *Status) float64 { return s.Seconds })},
	{"stalled_seconds", "gauge", "For how long the node has done nothing although it was its turn.", plain(func(s *Status) float64 { return s.Stalled })},
	{"uptime_seconds", "gauge", "Since the process began to watch the node.", plain(func(s *Status) float64 { return s.Uptime })},
	{"round", "gauge", "Releases made so far, cool-down rounds included.", plain(func(s *Status) float64 { return float64(s.Round) })},
	{"rounds", "gauge", "Releases of the whole run, cool-down rounds included.", plain(func(s *Status) float64 { return float64(s.Rounds + s.Cooldown) })},
	{"queries_total", "counter", "Losses asked for, over all lives of the node in this run.", plain(func(s *Status) float64 { return float64(s.Queries) })},
	{"frame_sent_bytes_total", "counter", "Encoded frames handed to the transport.", plain(func(s *Status) float64 { return float64(s.FrameBytes) })},
	{"refused_frames_total", "counter", "Frames from neighbors that could not be right.", plain(func(s *Status) float64 { return float64(s.RefusedFrames) })},
	{"evidence", "gauge", "Pieces of evidence that a member's key has signed two different releases of one round.",
		plain(func(s *Status) float64 { return float64(len(s.Evidence)) })},
	{"consensus_error", "gauge", "Mean squared distance between this node's release and its neighbors'; absent where that is not known.",
		func(s *Status, sample func(float64, ...string)) { number(s.ConsensusError, sample) }},
	{"neighbor_round", "gauge", "The neighbor's last release that has arrived.", perNeighbor(func(n *Neighbor) float64 { return float64(n.Round) })},
	{"neighbor_behind_rounds", "gauge", "How many rounds behind this node's own that is; -1 if it is one ahead.",
		perNeighbor(func(n *Neighbor) float64 { return float64(n.Behind) })},
	{"neighbor_missing", "gauge", "1 if the neighbor's message holds the round up, else 0.", perNeighbor(func(n *Neighbor) float64 { return truth(n.Missing) })},
	{"neighbor_connected", "gauge", "1 if there is a connection with the neighbor, else 0.", perLink(func(l *Link) float64 { return truth(l.Connected) })},
	{"neighbor_refused", "gauge", "1 if one end refuses the other, as with different fleet files, else 0.", perLink(func(l *Link) float64 { return truth(l.Refusal != "") })},
	{"neighbor_sent_bytes_total", "counter", "Handed to TCP for the neighbor, TLS included.", perLink(func(l *Link) float64 { return float64(l.Sent) })},
	{"neighbor_received_bytes_total", "counter", "Read from TCP from the neighbor, TLS included.", perLink(func(l *Link) float64 { return float64(l.Received) })},
	{"epsilon", "gauge", "Spent in this run, at delta.", spent(func(p *Privacy) Value { return p.Epsilon })},
	{"epsilon_limit", "gauge", "What this run may spend; absent if it is limited by its rounds alone.", spent(func(p *Privacy) Value { return p.Limit })},
	{"epsilon_planned", "gauge", "What all rounds of this run cost together.", spent(func(p *Privacy) Value { return p.Planned })},
	{"delta", "gauge", "At which every epsilon here holds.", spent(func(p *Privacy) Value { return Value(p.Delta) })},
	{"zcdp_rho", "gauge", "Spent in this run, as zero-concentrated differential privacy.", spent(func(p *Privacy) Value { return Value(p.Rho) })},
	{"lifetime_epsilon", "gauge", "Spent by all runs on the data set, as its ledger has it.", spent(func(p *Privacy) Value {
		if p.Lifetime == nil {
			return Unknown()
		}
		return p.Lifetime.Epsilon
	})},
	{"loss", "gauge", "On the device's own data; never in a private run.", ofData(func(l *Local) Value { return l.Loss })},
	{"accuracy_ratio", "gauge", "On the device's own data; never in a private run.", ofData(func(l *Local) Value { return l.Accuracy })},
	{"failed_queries_total", "counter", "Losses that could not be had; never in a private run.", ofData(func(l *Local) Value { return Value(l.FailedQueries) })},
}

// Metrics returns the metrics of nodes in Prometheus' text format 0.0.4. Every sample has the labels run and node. What comes from
// the data directly is not there if a run is private.
func Metrics(nodes ...Status) []byte {
	var b strings.Builder
	for _, m := range metrics {
		begun := false
		for i := range nodes {
			s := &nodes[i]
			m.each(s, func(v float64, labels ...string) {
				if !begun {
					b.WriteString("# HELP spade_edge_" + m.name + " " + helpEscapes.Replace(m.help) + "\n# TYPE spade_edge_" + m.name + " " + m.kind + "\n")
					begun = true
				}
				b.WriteString("spade_edge_" + m.name)
				between := "{"
				for j, all := 0, append([]string{"run", s.Run, "node", s.Name}, labels...); j < len(all); j += 2 {
					b.WriteString(between + all[j] + `="` + labelEscapes.Replace(all[j+1]) + `"`)
					between = ","
				}
				b.WriteString("} " + formatted(v) + "\n")
			})
		}
	}
	return []byte(b.String())
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// formatted writes a number as the format wants it.
func formatted(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case math.IsNaN(v):
		return "NaN"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
