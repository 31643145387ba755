package monitor

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// sampler is a function that receives one sample of a metric. labels holds further labels as alternating names and
// values. The function ignores the sample if v is unknown. A metric whose name ends in "_total" is a counter; all other
// metrics are gauges.
type sampler func(name, help string, v Value, labels ...string)

// samples calls put for each sample of the metrics of a status.
func (s *Status) samples(put sampler) {
	put("info", "Always 1; the label private says whether the run is private, the label program the program and its version.", 1,
		"private", strconv.FormatBool(!s.NonPrivate), "program", s.Program)
	put("ready", "1 if the node takes part in its run, as /readyz says, else 0.", truth(s.Ready))
	for _, p := range []Phase{Starting, Querying, Waiting, Cooling, Serving, Ended, Failed} {
		put("phase", "1 for the current phase of the node, 0 for the others.", truth(p == s.Phase), "phase", string(p))
	}
	if s.NonPrivate || s.Phase != Querying {
		put("phase_seconds", "Time in the current phase of this round; absent while a private run queries its oracle.",
			Value(s.Seconds))
	}
	stalled := Value(s.Stalled)
	if !s.NonPrivate { // rounded down to a multiple of ten seconds, too coarse to reveal how long a query takes
		stalled = Value(10 * math.Floor(s.Stalled/10))
	}
	put("stalled_seconds", "Time without progress while no neighbor's message is missing; rounded down to tens in a private run.", stalled)
	put("uptime_seconds", "Time since the process began to watch the node.", Value(s.Uptime))
	put("round", "Releases made so far, cool-down rounds included.", Value(s.Round))
	put("rounds", "Releases of the whole run, cool-down rounds included.", Value(s.Rounds+s.Cooldown))
	if s.Mixing > 0 {
		put("mixing", "Rounds of pure consensus after each round of learning.", Value(s.Mixing))
	}
	put("frame_sent_bytes_total", "Bytes of encoded frames handed to the transport.", Value(s.FrameBytes))
	put("refused_frames_total", "Invalid frames from neighbors.", Value(s.RefusedFrames))
	put("evidence", "Pieces of evidence that a member's key has signed two different releases of one round.",
		Value(len(s.Evidence)))
	put("consensus_error",
		"Mean squared distance between this node's release and its neighbors'; absent if unknown.",
		s.ConsensusError)
	for i := range s.Neighbors {
		n := &s.Neighbors[i]
		n.samples(func(name, help string, v Value, _ ...string) { put("neighbor_"+name, help, v, "neighbor", n.Name) })
	}
	if s.Privacy != nil {
		s.Privacy.samples(put)
	}
	if s.NonPrivate { // the number of queries reveals the number of samples
		put("queries_total", "Losses requested in this run, before restarts too; never in a private run.",
			Value(s.Queries))
	}
	if l := s.Local; l != nil && s.NonPrivate { // never in a private run
		put("loss", "Loss on the device's own data; never in a private run.", l.Loss)
		put("accuracy_ratio", "Accuracy on the device's own data; never in a private run.", l.Accuracy)
		put("majority_ratio", "Accuracy of always predicting the most frequent class; never in a private run.", l.Majority)
		put("failed_queries_total", "Losses that could not be obtained; never in a private run.", Value(l.FailedQueries))
		put("restarts_total", "Restarts of the program that computes losses; never in a private run.", Value(l.Restarts))
	}
}

// samples calls put for each sample about a neighbor. The names lack the prefix "neighbor_", which the function put
// must add.
func (n *Neighbor) samples(put sampler) {
	put("round", "The neighbor's last release that has arrived.", Value(n.Round))
	put("behind_rounds", "Rounds that the neighbor is behind this node; -1 if it is one ahead.", Value(n.Behind))
	put("missing", "1 if the round waits for the neighbor's message, else 0.", truth(n.Missing))
	if n.Refused > 0 {
		put("refused_frames_total", "Invalid frames from the neighbor.", Value(n.Refused))
	}
	if n.Quarantine != nil {
		put("quarantined", "1 if this node has excluded the neighbor because it violated the protocol.", 1)
	}
	if l := n.Link; l != nil {
		put("connected", "1 if there is a connection with the neighbor or, with a broker, it was heard recently, else 0.",
			truth(l.Connected))
		if l.Heard > 0 {
			put("heard_seconds", "Time since the neighbor's last message came through a broker.", Value(l.Heard))
		}
		put("refused", "1 if one end refuses the other, as with different fleet files, else 0.",
			truth(l.Refusal != ""))
		put("lost_total", "Connections with the neighbor that have ended.", Value(l.Lost))
		put("sent_bytes_total", "Bytes sent to the neighbor: with TLS or, with a broker, of sealed messages.", Value(l.Sent))
		put("received_bytes_total", "Bytes received from the neighbor: with TLS or, with a broker, of sealed messages.", Value(l.Received))
	}
}

// samples calls put for each figure of the privacy budget, with the adversary as a label.
func (p *Privacy) samples(put sampler) {
	of := func(unit dpmech.Unit, labels ...string) sampler {
		if unit != dpmech.Client { // figures of client-level privacy have no label "unit"
			labels = append(labels, "unit", unit.String())
		}
		return func(name, help string, v Value, _ ...string) { put(name, help, v, labels...) }
	}
	for _, a := range p.Against {
		put := of(p.Unit, "adversary", a.Adversary)
		put("epsilon", "Epsilon spent in this run, at delta, against an adversary.", Value(a.Epsilon))
		put("epsilon_limit", "Epsilon that this run may spend; absent if only its rounds limit it.", a.Limit)
		put("epsilon_planned", "Epsilon of all rounds of this run together.", a.Planned)
		put("zcdp_rho", "Rho of zero-concentrated differential privacy (zCDP) spent in this run.", Value(a.Rho))
	}
	of(p.Unit)("delta", "Delta at which every epsilon here holds.", Value(p.Delta))
	if l := p.Lifetime; l != nil {
		for _, a := range l.Against {
			of(l.Unit, "adversary", a.Adversary)("lifetime_epsilon", "Epsilon spent by all runs on the data set, according to its ledger, against "+
				"an adversary.", a.Epsilon)
		}
	}
}

func truth(b bool) Value {
	if b {
		return 1
	}
	return 0
}

// Metrics returns the metrics of nodes in the Prometheus text format 0.0.4, each sample with the labels run and node.
// The metrics may leave the device: in a private run they contain nothing that comes directly from the data or depends
// on the number of samples, such as the number or the duration of queries.
func Metrics(nodes ...Status) []byte {
	var names []string
	text := make(map[string]string) // text of each metric, by name
	for i := range nodes {
		s := &nodes[i]
		s.samples(func(name, help string, v Value, labels ...string) {
			if !v.Known() {
				return
			}
			name = "spade_edge_" + name
			if text[name] == "" {
				names = append(names, name)
				kind := "gauge"
				if strings.HasSuffix(name, "_total") {
					kind = "counter"
				}
				text[name] = "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n"
			}
			var pairs []string
			for l := range slices.Chunk(append([]string{"run", s.Run, "node", s.Name}, labels...), 2) {
				pairs = append(pairs, l[0]+`="`+escapes.Replace(l[1])+`"`)
			}
			text[name] += name + "{" + strings.Join(pairs, ",") + "} " + strconv.FormatFloat(float64(v), 'g', -1, 64) + "\n"
		})
	}
	var all []byte
	for _, name := range names {
		all = append(all, text[name]...)
	}
	return all
}

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`) // escapes the value of a label
