package e2e

import (
	"fmt"
	"math"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

type scene struct {
	name    string
	status  any
	history history
	planned bool // whether the scene should cause no warnings
}

// history and group have the JSON form of the answers that a monitor sends.
type history struct {
	Stride int             `json:"stride"`
	Points []monitor.Point `json:"points"`
}

type compared struct {
	Name     string        `json:"name"`
	Accuracy monitor.Value `json:"accuracy"`
}

type group struct {
	Version    int              `json:"version"`
	Run        string           `json:"run"`
	NonPrivate bool             `json:"non_private"`
	Edges      [][2]string      `json:"edges"`
	Nodes      []monitor.Status `json:"nodes"`
	Scored     string           `json:"scored_on"`
	Compared   []compared       `json:"compared"`
}

const (
	learning, cooldown = 400, 60
	longName           = "st-elisabeth-hospital-cardiology-ward-12-north"
)

// newRun returns a fleet of eight members on a complete graph. One member has a long name.
func newRun(run string, private bool) *sdk.Fleet {
	f := &sdk.Fleet{Run: run, Dim: 30, Method: sdk.Method{Rounds: learning, Cooldown: cooldown, Tau: 3},
		Privacy: sdk.Privacy{Clip: 0.2, Sigma: 3, Delta: 1e-5, EpsilonLimit: 30, NonPrivate: !private}}
	for i := range 8 {
		f.Members = append(f.Members, fmt.Sprintf("ward-%d", i+1))
	}
	f.Members[3] = longName
	for i, a := range f.Members {
		for _, b := range f.Members[i+1:] {
			f.Edges = append(f.Edges, [2]string{a, b})
		}
	}
	return f
}

// newStatus returns the status of a member after some rounds.
func newStatus(f *sdk.Fleet, name string, phase monitor.Phase, round int, scorer bool) monitor.Status {
	s := monitor.NewStatus(f, name, new(sdk.Status))
	s.Running, s.Phase, s.Seconds, s.Round, s.Uptime = phase != monitor.Ended, phase, 2345, round, 1e5
	s.Queries, s.FrameBytes = int64(round)*98_765, int64(round)*123_456
	s.ConsensusError, s.Compared = 0.0123, round-1
	for i, other := range f.Members {
		if other == name {
			continue
		}
		n := monitor.Neighbor{Name: other, Round: round, Link: &monitor.Link{Connected: true, Seconds: 4567, How: "dialed",
			Address: "[2001:db8:85a3::8a2e:370:7334]:47654", Sent: int64(round) * 15_432 << i, Received: int64(round) * 15_678}}
		if phase == monitor.Waiting && other == longName {
			s.Waiting = append(s.Waiting, other)
			n.Round, n.Behind, n.Missing = round-1, 1, true
			n.Link = &monitor.Link{Seconds: 2345, Lost: 3, LostBy: monitor.InWords("the connection ended without a reason: EOF", false),
				Fault: monitor.InWords("wss://"+longName+".example.org:47654/: dial tcp 192.0.2.17:47654: connect: connection refused", false)}
		}
		s.Neighbors = append(s.Neighbors, n)
	}
	spent := f.Total(min(round, learning))
	if !f.Privacy.NonPrivate {
		s.Privacy = monitor.NewPrivacy(f, spent, nil)
		s.Privacy.Lifetime = &monitor.Lifetime{Dataset: "patients", Runs: 2, Text: "epsilon 12.4 against everybody else together",
			Against: []monitor.LifetimeAgainst{{Adversary: s.Privacy.Against[0].Adversary, Epsilon: 12.3456, Limit: monitor.Unknown()}}}
	}
	s.Local = &monitor.Local{Round: round, Loss: 0.0784, Accuracy: 0.895, Majority: 0.509, OfQueries: scorer}
	if scorer {
		s.Local.Accuracy, s.Local.Majority = monitor.Unknown(), monitor.Unknown()
	}
	return s
}

func newHistory(f *sdk.Fleet, round int, scorer bool) history {
	h := history{Stride: 1, Points: []monitor.Point{}}
	for k := 1; k <= round; k++ {
		p := monitor.Point{Round: k, Seconds: float64(k) * 7, Epsilon: monitor.Unknown(), ConsensusError: monitor.Unknown(),
			Loss:     monitor.Value(0.07 + 0.1/float64(k)),
			Accuracy: monitor.Value(0.89 - 0.4/float64(k) + 0.01*math.Sin(float64(k)))}
		if scorer {
			p.Accuracy = monitor.Unknown()
		}
		if p.ConsensusError = 1 / monitor.Value(k); k > learning {
			p.ConsensusError = 1e-13
		}
		if a := f.Privacy.Accounting; !f.Privacy.NonPrivate {
			p.Epsilon = monitor.Value(a.Epsilon(f.Total(min(k, learning)).Rho, f.Privacy.Delta))
		}
		h.Points = append(h.Points, p)
	}
	return h
}

// matrix returns scenes with one node and with eight, for each combination of phase (waiting, training, done), oracle
// (scorer, built-in model) and privacy (on, off).
func matrix() []scene {
	var all []scene
	for _, phase := range []monitor.Phase{monitor.Waiting, monitor.Querying, monitor.Ended} {
		for _, kind := range []string{"scorer", "builtin"} {
			for _, private := range []bool{true, false} {
				name, scorer := fmt.Sprintf("%s %s private=%v", phase, kind, private), kind == "scorer"
				f := newRun(name, private)
				round := map[monitor.Phase]int{monitor.Waiting: 1, monitor.Querying: 137,
					monitor.Ended: learning + cooldown}[phase]
				h := newHistory(f, round, scorer)
				planned := phase != monitor.Waiting
				all = append(all, scene{"one " + name, newStatus(f, "ward-1", phase, round, scorer), h, planned})
				g := group{Version: 1, Run: name, NonPrivate: !private, Edges: f.Edges, Compared: []compared{},
					Scored: "test data that no node has, with the average model"}
				for _, member := range f.Members {
					g.Nodes = append(g.Nodes, newStatus(f, member, phase, round, scorer))
				}
				if !scorer {
					g.Compared = []compared{{"majority", 0.509}, {"alone", 0.871}, {"pooled", 0.896}}
				}
				all = append(all, scene{"eight " + name, g, h, planned})
			}
		}
	}
	return all
}

func rare() []scene {
	var all []scene
	add := func(name string, private, planned bool, phase monitor.Phase, round int,
		change func(f *sdk.Fleet, s *monitor.Status) any) {
		f := newRun(name, private)
		s := newStatus(f, "ward-1", phase, round, false)
		h := newHistory(f, round, false)
		all = append(all, scene{name, change(f, &s), h, planned})
	}
	add("starting", true, true, monitor.Starting, 0, func(_ *sdk.Fleet, s *monitor.Status) any {
		s.Local.Round, s.Local.Loss, s.Local.Accuracy = 0, monitor.Unknown(), monitor.Unknown()
		s.ConsensusError, s.Compared = monitor.Unknown(), 0
		return s
	})
	add("failed", true, false, monitor.Failed, 37, func(_ *sdk.Fleet, s *monitor.Status) any {
		s.Fault = "state: write /var/lib/spade-edge/" + strings.Repeat("a-long-folder/", 12) +
			"ward-1.state/slot-0: no space left on device"
		return s
	})
	add("suspect", true, false, monitor.Querying, 211, func(_ *sdk.Fleet, s *monitor.Status) any {
		s.Evidence = []monitor.Evidence{{Member: longName, Round: 17}}
		s.Neighbors[1].Quarantine = &monitor.Quarantine{Release: 191, Reason: "coordinate 3 of release 190 is 9e+29, want -12 to 12"}
		s.Neighbors[0].Link = &monitor.Link{Seconds: 1e6,
			Refusal: "hello refused: wire: hello: fleet file hash: found " + strings.Repeat("ab", 32) + "..., wanted 0100000000000000..."}
		s.Neighbors[2].Refused, s.RefusedFrames = 12_345, 12_345
		return s
	})
	add("serving", true, true, monitor.Serving, learning+cooldown, func(_ *sdk.Fleet, s *monitor.Status) any {
		// This neighbor exited after it had received all messages of the run.
		s.Neighbors[2].Link = &monitor.Link{Seconds: 12, Lost: 1, LostBy: monitor.InWords("going away", false)}
		s.Waiting = []string{}
		return s
	})
	add("unreached", true, false, monitor.Waiting, 0, func(_ *sdk.Fleet, s *monitor.Status) any {
		for i := range s.Neighbors { // six share a row, and the one with another reason has its own
			n, reason := &s.Neighbors[i], "connection refused"
			if i == 2 {
				reason = "i/o timeout"
			}
			n.Round, n.Behind, n.Missing, n.Link = 0, 0, true, &monitor.Link{Seconds: 2345,
				Fault: monitor.InWords(fmt.Sprintf("wss://%s:47654/: dial tcp 192.0.2.%d:47654: connect: %s", n.Name, i, reason), false)}
			if i != 2 {
				n.Like, n.Link.Fault = s.Neighbors[0].Name, "nothing listens at its address (connection refused): the node is not running"
			}
		}
		return s
	})
	add("no neighbors", false, true, monitor.Querying, 12, func(_ *sdk.Fleet, s *monitor.Status) any {
		s.Neighbors = []monitor.Neighbor{}
		return s
	})
	add("mixing and pairwise noise", true, true, monitor.Querying, 138, func(f *sdk.Fleet, s *monitor.Status) any {
		s.Rounds, s.Mixing = 400, 4
		s.Privacy.Lifetime.Against = append(s.Privacy.Lifetime.Against, monitor.LifetimeAgainst{Epsilon: 234.5, Limit: monitor.Unknown()})
		s.Privacy.Against = nil
		for i, who := range []string{"any 5 other members, if at most 2 members vanish", "all others"} {
			e := []float64{19.2, 123.4567}[i]
			s.Privacy.Against = append(s.Privacy.Against, monitor.Against{Adversary: "any coalition of fewer than 7 other members", Limit: 400, Bar: explain.Bar{Who: who, Epsilon: e, Guess: 1 - 0.3/float64(1+i)}, Planned: monitor.Value(2 * e),
				Text: fmt.Sprintf("ε %.1f of %.1f, 85 in 100", e, 2*e), OfText: fmt.Sprintf("%.1f", 2*e)})
		}
		s.Privacy.Text = "epsilon 19.2 with any 5 other members, 124 with all, if at most 2 members vanish"
		return s
	})
	add("flat", false, true, monitor.Querying, 30, func(_ *sdk.Fleet, s *monitor.Status) any { return s })
	for i := range all[len(all)-1].history.Points {
		p := &all[len(all)-1].history.Points[i]
		p.Accuracy, p.Loss, p.ConsensusError = 1, monitor.Value(1.2345e-4+1e-9*float64(i)), monitor.Unknown()
	}
	add("one round", true, true, monitor.Waiting, 1, func(_ *sdk.Fleet, s *monitor.Status) any {
		s.Seconds, s.Neighbors[2].Link.Connected = 1, true // just connected, as at the beginning of every round
		return s
	})
	for _, size := range []int{1, 2, 20, 40} {
		name := fmt.Sprintf("network of %d", size)
		add(name, true, true, monitor.Cooling, learning+7, func(f *sdk.Fleet, s *monitor.Status) any {
			g := group{Version: 1, Run: f.Run, Edges: [][2]string{}, Compared: []compared{},
				Scored: "test data that no node has"}
			for i := range size {
				one := *s
				one.Name, one.Neighbors = fmt.Sprintf("sensor-%02d", i), []monitor.Neighbor{}
				for _, j := range []int{(i + size - 1) % size, (i + 1) % size} {
					one.Neighbors = append(one.Neighbors, monitor.Neighbor{Name: fmt.Sprintf("sensor-%02d", j), Round: learning + 7})
				}
				g.Nodes = append(g.Nodes, one)
				g.Edges = append(g.Edges, [2]string{one.Name, one.Neighbors[1].Name})
			}
			return g
		})
	}
	return all
}
