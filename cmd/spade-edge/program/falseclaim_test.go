package program

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
)

// falseClaim is an attack: it returns the model that a malicious member claims to have released. It must be
// deterministic, and must neither retain nor modify its argument. Attacks with false data do not need a falseClaim:
// they replace the malicious member's oracle.
type falseClaim func(v attackView) []float32

// attackView is the information available to a malicious member. Attackers are assumed to know the state of every
// honest member.
type attackView struct {
	Round, From, To int // number of the release, the malicious member, and the receiver
	Start           []float32
	Own             []float32   // what the malicious member would release if it followed the method
	Honest          [][]float32 // this round's releases of all honest members
	Victims         []*victim   // the states of the honest members, in the order of Honest
}

// victim is the state of an honest member after its release.
type victim struct {
	client int
	x      []float32
	edges  map[int]admm.EdgeState // by neighbor
}

func (v attackView) mean() []float32 {
	x := make([]float32, len(v.Start))
	for c := range x {
		sum := 0.0
		for _, h := range v.Honest {
			sum += float64(h[c])
		}
		x[c] = float32(sum / float64(len(v.Honest)))
	}
	return x
}

// mirrored returns start - share*(x - start), where start is the initial model of the fleet's run.
func (v attackView) mirrored(x []float32, share float64) []float32 {
	y := make([]float32, len(x))
	for c := range y {
		y[c] = v.Start[c] - float32(float32(share)*(x[c]-v.Start[c]))
	}
	return y
}

// drag returns an attack that claims the same point in every round.
func drag(point []float32) falseClaim { return func(attackView) []float32 { return point } }

// tow returns an attack that claims the mean of the honest releases plus offset, so that the claim always stays ahead
// of the honest releases.
func tow(offset []float32) falseClaim {
	return func(v attackView) []float32 {
		x := v.mean()
		for c := range x {
			x[c] += offset[c]
		}
		return x
	}
}

// signFlip returns an attack that claims the member's own model, reflected about the fleet's initial model.
func signFlip() falseClaim { return func(v attackView) []float32 { return v.mirrored(v.Own, 1) } }

// innerProduct returns an attack that claims start - share*(mean - start), where start is the initial model and mean is
// the mean of the honest releases. This is the inner-product manipulation of Xie, Koyejo and Gupta, "Fall of empires"
// (UAI 2019).
func innerProduct(share float64) falseClaim {
	return func(v attackView) []float32 { return v.mirrored(v.mean(), share) }
}

// littleIsEnough returns an attack that claims the mean of the honest releases, moved toward the initial model. The
// distance in each coordinate is the given number of standard deviations of the honest releases (Baruch, Baruch and
// Goldberg, "A little is enough", NeurIPS 2019).
func littleIsEnough(deviations float64) falseClaim {
	return func(v attackView) []float32 {
		x := v.mean()
		for c, m := range x {
			sum := 0.0
			for _, h := range v.Honest {
				off := float64(h[c]) - float64(m)
				sum += float64(off * off)
			}
			shift := float64(deviations * math.Sqrt(sum/float64(len(v.Honest))))
			x[c] -= float32(math.Copysign(shift, float64(m)-float64(v.Start[c])))
		}
		return x
	}
}

// equivocate returns an attack that makes two different claims in a round: neighbors with even numbers receive the
// claim of the first attack, neighbors with odd numbers the claim of the second.
func equivocate(even, odd falseClaim) falseClaim {
	return func(v attackView) []float32 {
		if v.To%2 == 0 {
			return even(v)
		}
		return odd(v)
	}
}

type adversary struct {
	attack  falseClaim
	clients []sim.Client
	bad     map[int]bool
	mu      sync.Mutex
	models  map[int][]float32 // last release of each member
	victims map[int]*victim
	links   map[[2]int]*falsehood // by malicious member and receiver
}

// falsehood is the state of the attack on one edge: what the malicious member has sent to the neighbor and received
// from it.
type falsehood struct {
	z    []float32    // z_ij
	in   [2][]float32 // m_ji, by round mod 2
	at   []int32      // the last point that the malicious member claimed, on the grid
	told [2]admm.Message
}

// corrupt makes the malicious members of a simulation, whose numbers are in bad, send the claims of attack instead of
// their releases. Their machines keep running the method, so that the attack knows what they would honestly release.
// corrupt sets the fields OnRelease and Forge of network, which simulates the clients.
func corrupt(network *sim.Sim, clients []sim.Client, attack falseClaim, bad ...int) error {
	a := &adversary{attack: attack, clients: clients, bad: map[int]bool{}, models: map[int][]float32{}, victims: map[int]*victim{}, links: map[[2]int]*falsehood{}}
	for _, b := range bad {
		if b < 0 || b >= len(clients) {
			return fmt.Errorf("bad member %d, want 0..%d", b, len(clients)-1)
		}
		a.bad[b] = true
	}
	network.OnRelease = func(client int, m *admm.Machine) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.models[client] = m.AppendModel(a.models[client][:0])
		v := &victim{client, m.Model(), map[int]admm.EdgeState{}}
		for _, e := range m.State().Edges {
			v.edges[e.Peer] = admm.EdgeState{Z: slices.Clone(e.Z), PeerZ: slices.Clone(e.PeerZ)}
		}
		a.victims[client] = v
	}
	network.Forge = a.forge
	return nil
}

// link returns the state of the attack on the edge between a malicious member and a neighbor.
func (a *adversary) link(from, to int) *falsehood {
	l := a.links[[2]int{from, to}]
	if l == nil {
		cfg := a.clients[from].Config
		d := cfg.Estimator.Dim
		l = &falsehood{z: make([]float32, d), at: make([]int32, d)}
		for c, x := range cfg.X0 {
			l.z[c] = float32(cfg.Rho) * x
			if cfg.GridStep > 0 {
				l.at[c] = int32(math.RoundToEven(float64(x) / cfg.GridStep))
			}
		}
		a.links[[2]int{from, to}] = l
	}
	return l
}

func (a *adversary) forge(msg admm.Message) admm.Message {
	if !a.bad[msg.From] {
		return msg
	}
	cfg, l := a.clients[msg.From].Config, a.link(msg.From, msg.To)
	told := &l.told[msg.Round%2]
	if told.Round == msg.Round {
		told.Resent = msg.Resent
		return *told
	}
	v := attackView{Round: msg.Round, From: msg.From, To: msg.To, Start: cfg.X0, Own: a.models[msg.From]}
	if v.Start == nil {
		v.Start = make([]float32, cfg.Estimator.Dim)
	}
	for i := range a.clients {
		if !a.bad[i] {
			v.Honest = append(v.Honest, a.models[i])
			v.Victims = append(v.Victims, a.victims[i])
		}
	}
	x := slices.Clone(a.attack(v))
	switch {
	case len(msg.Grid) > 0:
		for c := range x {
			to := int32(math.RoundToEven(float64(x[c]) / cfg.GridStep))
			msg.Grid[c], l.at[c] = to-l.at[c], to
		}
	default:
		msg.Vector = x
	}
	*told = msg
	return msg
}
