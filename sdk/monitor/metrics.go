package monitor

import (
	"slices"
	"strconv"
	"strings"
)

// families lists the metrics in the order of the text.
var families = []struct{ name, kind, help string }{
	{"info", "gauge", "Always 1; whether the run is private."},
	{"ready", "gauge", "1 if the node takes part in its run, as /readyz says, else 0."},
	{"phase", "gauge", "1 for what the node is doing, 0 for what it is not."},
	{"phase_seconds", "gauge", "For how long the node has been doing that, in this round."},
	{"stalled_seconds", "gauge", "For how long the node has done nothing although it was its turn."},
	{"uptime_seconds", "gauge", "Since the process began to watch the node."},
	{"round", "gauge", "Releases made so far, cool-down rounds included."},
	{"rounds", "gauge", "Releases of the whole run, cool-down rounds included."},
	{"queries_total", "counter", "Losses asked for, over all lives of the node in this run."},
	{"frame_sent_bytes_total", "counter", "Encoded frames handed to the transport."},
	{"refused_frames_total", "counter", "Frames from neighbors that could not be right."},
	{"evidence", "gauge", "Pieces of evidence that a member's key has signed two different releases of one round."},
	{"consensus_error", "gauge",
		"Mean squared distance between this node's release and its neighbors'; absent where that is not known."},
	{"neighbor_round", "gauge", "The neighbor's last release that has arrived."},
	{"neighbor_behind_rounds", "gauge", "How many rounds behind this node's own that is; -1 if it is one ahead."},
	{"neighbor_missing", "gauge", "1 if the neighbor's message holds the round up, else 0."},
	{"neighbor_connected", "gauge", "1 if there is a connection with the neighbor, else 0."},
	{"neighbor_refused", "gauge", "1 if one end refuses the other, as with different fleet files, else 0."},
	{"neighbor_sent_bytes_total", "counter", "Handed to TCP for the neighbor, TLS included."},
	{"neighbor_received_bytes_total", "counter", "Read from TCP from the neighbor, TLS included."},
	{"epsilon", "gauge", "Spent in this run, at delta."},
	{"epsilon_limit", "gauge", "What this run may spend; absent if it is limited by its rounds alone."},
	{"epsilon_planned", "gauge", "What all rounds of this run cost together."},
	{"delta", "gauge", "At which every epsilon here holds."},
	{"zcdp_rho", "gauge", "Spent in this run, as zero-concentrated differential privacy."},
	{"lifetime_epsilon", "gauge", "Spent by all runs on the data set, as its ledger has it."},
	{"loss", "gauge", "On the device's own data; never in a private run."},
	{"accuracy_ratio", "gauge", "On the device's own data; never in a private run."},
	{"failed_queries_total", "counter", "Losses that could not be had; never in a private run."},
}

var phases = []Phase{Starting, Querying, Waiting, Cooling, Serving, Ended, Failed}

// samples adds the samples of a status, family by family; labels are names and values in turn.
func (s *Status) samples(add func(family string, v float64, labels ...string)) {
	known := func(family string, v Value) {
		if v.Known() {
			add(family, float64(v))
		}
	}
	boolean := func(family string, b bool, labels ...string) {
		v := 0.0
		if b {
			v = 1
		}
		add(family, v, labels...)
	}
	add("info", 1, "private", strconv.FormatBool(!s.NonPrivate))
	boolean("ready", s.Ready)
	for _, p := range phases {
		boolean("phase", p == s.Phase, "phase", string(p))
	}
	add("phase_seconds", s.Seconds)
	add("stalled_seconds", s.Stalled)
	add("uptime_seconds", s.Uptime)
	add("round", float64(s.Round))
	add("rounds", float64(s.Rounds+s.Cooldown))
	add("queries_total", float64(s.Queries))
	add("frame_sent_bytes_total", float64(s.FrameBytes))
	add("refused_frames_total", float64(s.RefusedFrames))
	add("evidence", float64(len(s.Evidence)))
	known("consensus_error", s.ConsensusError)
	for _, n := range s.Neighbors {
		add("neighbor_round", float64(n.Round), "neighbor", n.Name)
		add("neighbor_behind_rounds", float64(n.Behind), "neighbor", n.Name)
		boolean("neighbor_missing", n.Missing, "neighbor", n.Name)
		if l := n.Link; l != nil {
			boolean("neighbor_connected", l.Connected, "neighbor", n.Name)
			boolean("neighbor_refused", l.Refusal != "", "neighbor", n.Name)
			add("neighbor_sent_bytes_total", float64(l.Sent), "neighbor", n.Name)
			add("neighbor_received_bytes_total", float64(l.Received), "neighbor", n.Name)
		}
	}
	if p := s.Privacy; p != nil {
		known("epsilon", p.Epsilon)
		known("epsilon_limit", p.Limit)
		known("epsilon_planned", p.Planned)
		known("delta", Value(p.Delta))
		known("zcdp_rho", Value(p.Rho))
		if p.Lifetime != nil {
			known("lifetime_epsilon", p.Lifetime.Epsilon)
		}
	}
	if l := s.Local; l != nil && s.NonPrivate { // never in a private run
		known("loss", l.Loss)
		known("accuracy_ratio", l.Accuracy)
		add("failed_queries_total", float64(l.FailedQueries))
	}
}

// Metrics returns the metrics of nodes in Prometheus' text format 0.0.4. Every sample has the labels run and node.
// Those that come from the data directly are left out if a run is private.
func Metrics(nodes ...Status) []byte {
	text := make(map[string]string) // by family
	for i := range nodes {
		s := &nodes[i]
		s.samples(func(family string, v float64, labels ...string) {
			var pairs []string
			for l := range slices.Chunk(append([]string{"run", s.Run, "node", s.Name}, labels...), 2) {
				pairs = append(pairs, l[0]+`="`+escapes.Replace(l[1])+`"`)
			}
			number := strconv.FormatFloat(v, 'g', -1, 64)
			text[family] += prefix + family + "{" + strings.Join(pairs, ",") + "} " + number + "\n"
		})
	}
	var b strings.Builder
	for _, f := range families {
		if text[f.name] != "" {
			b.WriteString("# HELP " + prefix + f.name + " " + f.help + "\n")
			b.WriteString("# TYPE " + prefix + f.name + " " + f.kind + "\n" + text[f.name])
		}
	}
	return []byte(b.String())
}

const prefix = "spade_edge_" // of every name

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`) // in the value of a label
