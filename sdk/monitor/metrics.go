package monitor

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
)

// sampler takes one sample of a metric with further labels, names and values in turn. Unknown values are left out.
type sampler func(name, help string, v Value, labels ...string)

// samples gives the samples of a status, metric by metric.
func (s *Status) samples(gauge, counter sampler) {
	gauge("info", "Always 1; whether the run is private.", 1, "private", strconv.FormatBool(!s.NonPrivate))
	gauge("ready", "1 if the node takes part in its run, as /readyz says, else 0.", truth(s.Ready))
	for _, p := range []Phase{Starting, Querying, Waiting, Cooling, Serving, Ended, Failed} {
		gauge("phase", "1 for what the node is doing, 0 for what it is not.", truth(p == s.Phase), "phase", string(p))
	}
	if s.NonPrivate || s.Phase != Querying {
		gauge("phase_seconds", "For how long the node has been doing that, in this round; not while a private run asks its oracle.",
			Value(s.Seconds))
	}
	stalled := Value(s.Stalled)
	if !s.NonPrivate { // coarse enough to say nothing of how long a query takes
		stalled = Value(10 * math.Floor(s.Stalled/10))
	}
	gauge("stalled_seconds", "For how long the node has done nothing although it was its turn; whole tens in a private run.", stalled)
	gauge("uptime_seconds", "Since the process began to watch the node.", Value(s.Uptime))
	gauge("round", "Releases made so far, cool-down rounds included.", Value(s.Round))
	gauge("rounds", "Releases of the whole run, cool-down rounds included.", Value(s.Rounds+s.Cooldown))
	if s.Mixing > 0 {
		gauge("mixing", "Rounds of pure consensus after each round of learning.", Value(s.Mixing))
	}
	if s.Stop != nil {
		gauge("stop_asked", "Members that have asked for an early end of the run.", Value(len(s.Stop.Asked)))
		gauge("stop_round", "The last round with data if the run ends early, 0 before enough members have asked.",
			Value(s.Stop.Round))
	}
	counter("frame_sent_bytes_total", "Encoded frames handed to the transport.", Value(s.FrameBytes))
	counter("refused_frames_total", "Frames from neighbors that could not be right.", Value(s.RefusedFrames))
	gauge("evidence", "Pieces of evidence that a member's key has signed two different releases of one round.",
		Value(len(s.Evidence)))
	gauge("consensus_error",
		"Mean squared distance between this node's release and its neighbors'; absent where that is not known.",
		s.ConsensusError)
	for i := range s.Neighbors {
		n := &s.Neighbors[i]
		of := func(take sampler) sampler {
			return func(name, help string, v Value, _ ...string) { take("neighbor_"+name, help, v, "neighbor", n.Name) }
		}
		n.samples(of(gauge), of(counter))
	}
	if s.Privacy != nil {
		s.Privacy.samples(gauge)
	}
	if s.NonPrivate { // what is a function of the number of samples is about the data
		counter("queries_total", "Losses asked for, over all lives of the node in this run; never in a private run.",
			Value(s.Queries))
	}
	if l := s.Local; l != nil && s.NonPrivate { // never in a private run
		gauge("loss", "On the device's own data; never in a private run.", l.Loss)
		gauge("accuracy_ratio", "On the device's own data; never in a private run.", l.Accuracy)
		gauge("majority_ratio", "Accuracy of always saying the most frequent class; never in a private run.", l.Majority)
		counter("failed_queries_total", "Losses that could not be had; never in a private run.", Value(l.FailedQueries))
	}
}

// samples gives the samples of a neighbor, named without "neighbor_".
func (n *Neighbor) samples(gauge, counter sampler) {
	gauge("round", "The neighbor's last release that has arrived.", Value(n.Round))
	gauge("behind_rounds", "How many rounds behind this node's own that is; -1 if it is one ahead.", Value(n.Behind))
	gauge("missing", "1 if the neighbor's message holds the round up, else 0.", truth(n.Missing))
	if n.Refused > 0 {
		counter("refused_frames_total", "Frames of the neighbor that could not be right.", Value(n.Refused))
	}
	if n.Quarantine != nil {
		gauge("quarantined", "1 if the run goes on without the neighbor, which has sent what cannot be right.", 1)
	}
	if in := n.Influence; in != nil {
		counter("clipped_total", "Rounds in which the neighbor would have moved the node too far.", Value(in.Clipped))
		gauge("distance", "From the median of the neighbors, of what it has moved the node in all.", Value(in.Distance))
		gauge("bound", "What that distance may be.", Value(in.Bound))
		gauge("suspect", "1 if the neighbor is set aside, or was where no noise takes a member, else 0.",
			truth(in.Suspicion != ""))
	}
	if l := n.Link; l != nil {
		gauge("connected", "1 if there is a connection with the neighbor, else 0.", truth(l.Connected))
		gauge("refused", "1 if one end refuses the other, as with different fleet files, else 0.",
			truth(l.Refusal != ""))
		counter("lost_total", "Connections with the neighbor that have ended.", Value(l.Lost))
		counter("sent_bytes_total", "Handed to TCP for the neighbor, TLS included.", Value(l.Sent))
		counter("received_bytes_total", "Read from TCP from the neighbor, TLS included.", Value(l.Received))
	}
}

// samples gives each figure with its adversary.
func (p *Privacy) samples(gauge sampler) {
	all, unit := gauge, p.Unit
	gauge = func(name, help string, v Value, labels ...string) {
		if unit == sdk.UnitRecord { // a figure for each client has the labels that it always had
			labels = append(labels, "unit", unit.String())
		}
		all(name, help, v, labels...)
	}
	run := func(adversary string, rho float64, epsilon, limit, planned Value) {
		gauge("epsilon", "Spent in this run, at delta, against an adversary.", epsilon, "adversary", adversary)
		gauge("epsilon_limit", "What this run may spend; absent if it is limited by its rounds alone.", limit,
			"adversary", adversary)
		gauge("epsilon_planned", "What all rounds of this run cost together.", planned, "adversary", adversary)
		gauge("zcdp_rho", "Spent in this run, as zero-concentrated differential privacy.", Value(rho),
			"adversary", adversary)
	}
	run(p.Adversary, p.Rho, p.Epsilon, p.Limit, p.Planned)
	if a := p.AgainstAll; a != nil {
		run(dpmech.AllOthers, a.Rho, a.Epsilon, a.Limit, a.Planned)
	}
	gauge("delta", "At which every epsilon here holds.", Value(p.Delta))
	life := func(adversary string, epsilon Value) {
		gauge("lifetime_epsilon", "Spent by all runs on the data set, as its ledger has it, against an adversary.", epsilon,
			"adversary", adversary)
	}
	if l := p.Lifetime; l != nil {
		unit = l.Unit
		life(l.Adversary, l.Epsilon)
		if a := l.AgainstAll; a != nil {
			life(dpmech.AllOthers, a.Epsilon)
		}
	}
}

func truth(b bool) Value {
	if b {
		return 1
	}
	return 0
}

// Metrics returns the metrics of nodes in Prometheus' text format 0.0.4. Every sample has the labels run and node. A
// collector may take them off the device: in a private run they contain nothing that comes from the data directly, and
// nothing that depends on the number of samples, such as a count of queries or how long a round of them takes.
func Metrics(nodes ...Status) []byte {
	var names []string
	text := make(map[string]string) // by name
	for i := range nodes {
		s := &nodes[i]
		sample := func(kind string) sampler {
			return func(name, help string, v Value, labels ...string) {
				if !v.Known() {
					return
				}
				name = "spade_edge_" + name
				if text[name] == "" {
					names = append(names, name)
					text[name] = "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n"
				}
				var pairs []string
				for l := range slices.Chunk(append([]string{"run", s.Run, "node", s.Name}, labels...), 2) {
					pairs = append(pairs, l[0]+`="`+escapes.Replace(l[1])+`"`)
				}
				number := strconv.FormatFloat(float64(v), 'g', -1, 64)
				text[name] += name + "{" + strings.Join(pairs, ",") + "} " + number + "\n"
			}
		}
		s.samples(sample("gauge"), sample("counter"))
	}
	var all []byte
	for _, name := range names {
		all = append(all, text[name]...)
	}
	return all
}

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`) // in the value of a label
