package sdk

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Fleet is the public definition of a run. It must not change while in use.
type Fleet struct {
	Run     string      `json:"run"`     // identifies the run, 1 to 64 bytes of printable UTF-8
	Dim     int         `json:"dim"`     // d, the length of the parameter vector
	X0      []float32   `json:"x0"`      // x_0, the common start, length d; nil means zeros
	Members []string    `json:"members"` // the names of all clients, like Run; a client's place is its number
	Edges   [][2]string `json:"edges"`   // who talks to whom, by name; the graph must be connected
	Method  Method      `json:"method"`
	Privacy Privacy     `json:"privacy"`
	Wire    Wire        `json:"wire"`

	Stop *Stop           `json:"stop,omitempty"` // who may end the run early; nil for nobody
	Task json.RawMessage `json:"task,omitempty"` // what is learned: an opaque JSON object of at most 8 MiB, or nil
}

// maxTask bounds a task, in bytes.
const maxTask = 8 << 20

// Method holds the parameters of SPADE-DFL. [Suggest] fills in what is open.
type Method struct {
	Rounds   int `json:"rounds"`           // K, rounds of learning, at least 1
	Mixing   int `json:"mixing,omitempty"` // rounds of pure consensus after each of them, free of privacy cost
	Cooldown int `json:"cooldown"`         // C, further ones at the end
	Tau      int `json:"tau"`              // local steps a round, at least 1
	Batch    int `json:"batch"`            // queries a local step; 0, or more than a client has samples, means one of each

	Rho  float64       `json:"rho"`  // penalty parameter, > 0
	Gain float64       `json:"gain"` // tau*beta*eta*mu as a share of the limit of stability, in (0, 1); fixes beta
	Eta  admm.Schedule `json:"eta"`  // step size, > 0: one for all rounds or one for each
	Mu   admm.Schedule `json:"mu"`   // smoothing radius, likewise
	// Momentum, from 0 to less than 1, is the share of earlier rounds in a round's update, before it is clipped; see
	// [zoest.Estimator.Carry]. It costs no query and no privacy. The noise of the queries shrinks, so that there is more
	// signal in what is clipped; that of the releases stays.
	Momentum float64 `json:"momentum,omitempty"`

	Estimator  Estimator          `json:"estimator"`
	Directions zoest.Distribution `json:"directions"` // law of the query directions
	Seed       uint64             `json:"seed"`       // of directions and batches

	// Robust, if not 0, is 1 or more, and bounds what a neighbor can do to a member: see [admm.Config]. Where all follow
	// the method and nobody goes that far, it changes no bit.
	Robust float64 `json:"robust,omitempty"`
}

// Last returns the number of a member's last release, K*(1+Mixing) + C.
func (m Method) Last() int { return m.releases().Last() }

// Data returns how many of a member's first so many releases touch data: only these have a cost.
func (m Method) Data(releases int) int { return m.releases().Data(releases) }

// Learning returns the number of the last release before the cool-down, K*(1+Mixing).
func (m Method) Learning() int { return m.releases().Learning() }

// Phase says what a member's release is: "learning" or "cooling down", and with rounds of mixing which of them.
func (m Method) Phase(release int) string {
	switch data := m.Data(release); {
	case release > m.Learning():
		return "cooling down"
	case m.Mixing == 0:
		return "learning"
	case data > m.Data(release-1):
		return fmt.Sprintf("learning round %d of %d", data, m.Rounds)
	default:
		return fmt.Sprintf("learning round %d of %d (mixing %d of %d)", data, m.Rounds, (release-1)%(1+m.Mixing), m.Mixing)
	}
}

func (m Method) releases() *admm.Config {
	return &admm.Config{Rounds: m.Rounds, Mixing: m.Mixing, Cooldown: m.Cooldown}
}

// Privacy says what protects the members' data: noise or nothing.
type Privacy struct {
	NonPrivate bool    `json:"non_private"` // no clipping and no noise: what a member sends may reveal its data
	Clip       float64 `json:"clip"`        // R, radius to which each round's update is clipped
	Sigma      float64 `json:"sigma"`       // standard deviation of the noise in each coordinate of a release
	Delta      float64 `json:"delta"`       // at which epsilon is stated, in (0, 1)

	EpsilonLimit float64           `json:"epsilon_limit"` // at Delta, of the run; a release beyond it is refused; 0: none
	Accounting   dpmech.Accounting `json:"accounting"`

	// PairSigma, if not 0, makes the two ends of every edge share noise of this standard deviation, which cancels in the
	// mean of all members: Sigma times a power of two. EffectiveSigma is what is left of all noise to whoever sees all
	// releases and knows what any Colluders members know; see [dpmech.Shared]. EpsilonLimit then holds against these, and
	// LimitAll, if not 0, against all other members together.
	PairSigma      float64 `json:"pair_sigma,omitempty"`
	EffectiveSigma float64 `json:"effective_sigma,omitempty"`
	Colluders      int     `json:"colluders,omitempty"`
	LimitAll       float64 `json:"epsilon_limit_all,omitempty"`
}

// Wire says what members send each other. The zero value is the release on a grid of 4 bits in a private run, and the
// paper's messages in another.
type Wire struct {
	Payload Payload `json:"payload"`
	// GridBits W, 2 to 8, puts private releases on a grid of sigma/2^W; 0 means no grid, or 4 with PayloadAuto.
	GridBits int `json:"grid_bits"`
}

// Shared returns the noise that neighbors share, and names against whom a run protects; zero if they share none.
func (p Privacy) Shared() dpmech.Shared {
	return dpmech.Shared{Sigma: p.PairSigma, Effective: p.EffectiveSigma, Colluders: p.Colluders}
}

// gaussian returns clip and noise of every release of a private run.
func (p Privacy) gaussian() dpmech.Gaussian {
	return dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma, Shared: p.Shared()}
}

// wire returns what members send each other, with everything picked.
func (f *Fleet) wire() Wire {
	w := f.Wire
	if w.Payload == PayloadAuto && !f.Privacy.NonPrivate {
		w.Payload, w.GridBits = PayloadRelease, cmp.Or(w.GridBits, 4)
	}
	w.Payload = cmp.Or(w.Payload, PayloadMessage)
	return w
}

// maxName bounds the length of names and of the run id, in bytes.
const maxName = 64

// validName reports whether s can be a member's name or a run's id. It goes into ledgers, certificates and logs, which
// people read.
func validName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsFunc(s,
		func(r rune) bool { return !unicode.IsPrint(r) })
}

// Total returns the cost of the releases of so many rounds, of at most Method.Rounds: infinite if the run is not
// private.
func (f *Fleet) Total(rounds int) dpmech.Total {
	if f.Privacy.NonPrivate {
		return dpmech.Total{Rho: math.Inf(1), All: math.Inf(1)}
	}
	return f.Privacy.gaussian().Total(min(rounds, f.Method.Rounds))
}

// Rho returns the zCDP cost of all rounds, against the adversary that the fleet names: infinite if the run is not
// private.
func (f *Fleet) Rho() float64 { return f.Total(f.Method.Rounds).Rho }

// Graph returns who talks to whom. It fails if the fleet is not valid.
func (f *Fleet) Graph() (*graph.Graph, error) {
	p, err := f.plan()
	if err != nil {
		return nil, err
	}
	return p.graph, nil
}

// Validate reports every fault of the fleet at once.
func (f *Fleet) Validate() error {
	_, err := f.plan()
	return err
}

// plan checks the fleet and works out what its members share.
func (f *Fleet) plan() (*plan, error) {
	var errs []error
	refuse := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("sdk: fleet: "+format, args...))
		}
	}
	refuse(!validName(f.Run), "run %q has %d bytes, want 1..%d of UTF-8, all printable", f.Run, len(f.Run), maxName)
	refuse(f.Dim > wire.MaxDim, "dim is %d, want 1..%d", f.Dim, wire.MaxDim)
	refuse(len(f.Members) == 0, "no members")
	p := &plan{number: make(map[string]int, len(f.Members))}
	for i, name := range f.Members {
		refuse(!validName(name), "name %q of member %d has %d bytes, want 1..%d of UTF-8, all printable", name, i, len(name),
			maxName)
		j, taken := p.number[name]
		refuse(taken, "members %d and %d are both called %q", j, i, name)
		p.number[name] = i
	}
	edges := make([][2]int, 0, len(f.Edges))
	for _, e := range f.Edges {
		i, okI := p.number[e[0]]
		j, okJ := p.number[e[1]]
		if !okI || !okJ { // asked first: a large fleet has millions of edges
			refuse(true, "edge %q joins somebody who is not a member", e)
		}
		edges = append(edges, [2]int{i, j})
	}
	if len(errs) == 0 {
		var err error
		p.graph, err = graph.New(len(f.Members), edges)
		refuse(err != nil, "edges: %w", err)
	}
	m, pr, w := f.Method, f.Privacy, f.wire()
	refuse(!(m.Gain > 0 && m.Gain < 1), "gain is %v, want more than 0 and less than 1: it is a share of the limit of "+
		"stability, tau*beta*eta*mu*rho*lambda_N < 8/3", m.Gain)
	refuse(pr.NonPrivate && (pr != Privacy{NonPrivate: true}), "privacy is both non-private and %+v: choose one", pr)
	refuse(pr == Privacy{}, "privacy is empty: give Clip, Sigma and Delta, or NonPrivate")
	refuse(pr != Privacy{} && !pr.NonPrivate && !(pr.Delta > 0 && pr.Delta < 1), "delta is %v, want more than 0 and less than 1", pr.Delta)
	refuse(!(pr.EpsilonLimit >= 0 && pr.EpsilonLimit <= 1e6), "epsilon limit is %v, want 0 (none) or at most 1e6",
		pr.EpsilonLimit)
	refuse(pr.LimitAll != 0 && !(pr.EpsilonLimit > 0 && pr.LimitAll >= pr.EpsilonLimit && pr.LimitAll <= 1e6),
		"epsilon limit against all is %v, want 0 (none), or the epsilon limit (which is %v, and needed with it) to 1e6",
		pr.LimitAll, pr.EpsilonLimit)
	refuse(pr.PairSigma == 0 && (pr.EffectiveSigma != 0 || pr.Colluders != 0 || pr.LimitAll != 0),
		"pair sigma is 0: effective sigma (%v), colluders (%d) and an epsilon limit against all (%v) are for noise that "+
			"neighbors share", pr.EffectiveSigma, pr.Colluders, pr.LimitAll)
	for _, setting := range []encoding.TextMarshaler{m.Estimator, m.Directions, pr.Accounting, w.Payload} {
		_, err := setting.MarshalText()
		refuse(err != nil, "%w", err)
	}
	bits := w.GridBits != 0 && (w.GridBits < 2 || w.GridBits > 8)
	refuse(bits, "grid bits are %d, want 2..8, or 0 for no grid", w.GridBits)
	refuse(!bits && w.GridBits != 0 && pr.NonPrivate, "grid bits are %d in a fleet that is not private, which has no "+
		"noise for a grid to hide in", w.GridBits)
	if s := f.Stop; s != nil {
		refuse(s.Members < 1 || s.Members > min(signed.MaxStops, len(f.Members)),
			"stop: members is %d, want 1..%d: so many have to ask for an early end", s.Members,
			min(signed.MaxStops, len(f.Members)))
	}
	if f.Task != nil {
		err := checkTask(f.Task)
		refuse(err != nil, "task %w", err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	p.beta = f.beta(p.graph)
	// What is left is checked by the machine's own rules, on a member that stands for all.
	var noise io.Reader
	if !pr.NonPrivate {
		noise = bytes.NewReader(nil)
	}
	cfg := f.machine(p, 0, max(1, m.Batch), noise)
	if pr.PairSigma != 0 {
		if err := f.checkShared(p.graph); err != nil {
			return nil, err
		}
		cfg.PairKey = func(int, int) (key [32]byte, ok bool) { return key, true }
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("sdk: fleet: %w", err)
	}
	return p, nil
}

// checkShared refuses an effective sigma that the graph does not give.
func (f *Fleet) checkShared(g *graph.Graph) error {
	p := f.Privacy
	least := p.gaussian()
	least.Shared.Effective = least.Sigma
	if least.Validate() != nil { // the machine's rules say what is wrong
		return nil
	}
	c, err := g.Conductance(p.PairSigma/p.Sigma, p.Colluders)
	if err != nil {
		return fmt.Errorf("sdk: fleet: %w", err)
	}
	if most := p.Sigma * math.Sqrt(c.Least); !(p.EffectiveSigma >= p.Sigma && p.EffectiveSigma <= most) {
		want := fmt.Sprintf("at most %v (a proved bound; the exact figure takes too long): so much noise is left to %v", most,
			p.Shared().Adversary())
		if c.Exact {
			var colluders []string
			for _, v := range c.Without {
				colluders = append(colluders, f.Members[v])
			}
			want = fmt.Sprintf("at most %v: so much noise is left to %v; the worst is %q if %q collude", most,
				p.Shared().Adversary(), f.Members[c.Node], colluders)
		}
		return fmt.Errorf("sdk: fleet: effective sigma is %v, want sigma (%v) or more, and %s", p.EffectiveSigma, p.Sigma, want)
	}
	return nil
}

// affordable refuses a run whose rounds cost more than may be spent, before the first release.
func (f *Fleet) affordable() error {
	l, g := f.Privacy.Limit(), f.Privacy.gaussian()
	if f.Privacy.NonPrivate || l == nil || g.Validate() != nil { // the machine's rules say what is wrong
		return nil
	}
	if most, err := dpmech.MaxRounds(g, l.Epsilon, l.Delta, l.Accounting); err != nil || most < f.Method.Rounds {
		return errors.Join(err, fmt.Errorf("sdk: fleet: %d rounds: %w: epsilon limit %v (%v at delta %v) covers %d",
			f.Method.Rounds, dpmech.ErrBudget, l.Epsilon, l.Accounting, l.Delta, most))
	}
	if all := l.Accounting.Epsilon(f.Total(f.Method.Rounds).All, l.Delta); l.EpsilonAll > 0 && all > l.EpsilonAll {
		return fmt.Errorf("sdk: fleet: %d rounds: %w: against all other members together they cost epsilon %s (%v at delta "+
			"%v), and the limit is %v", f.Method.Rounds, dpmech.ErrBudget, dpmech.FormatEpsilon(all, 4), l.Accounting, l.Delta,
			l.EpsilonAll)
	}
	return nil
}

// plan is what follows from a valid fleet.
type plan struct {
	graph  *graph.Graph
	number map[string]int // place of a name in Members
	beta   float64
}

// beta returns the weight of the penalty that gives the chosen share of the limit of stability. With schedules, the
// round with the largest eta*mu has it.
func (f *Fleet) beta(g *graph.Graph) float64 {
	m := f.Method
	var step float64
	for k := range max(len(m.Eta), len(m.Mu)) {
		if len(m.Eta) > 0 && len(m.Mu) > 0 {
			step = max(step, m.Eta.At(k)*m.Mu.At(k))
		}
	}
	gain := g.Gain(m.Gain, m.Rho)
	if !(gain > 0) || !(step > 0) || m.Tau < 1 { // a single client has no penalty; the machine's rules report faults
		return 1
	}
	return gain / (float64(m.Tau) * step)
}

// machine returns the machine's configuration for one member.
func (f *Fleet) machine(p *plan, client, samples int, noise io.Reader) admm.Config {
	m, w := f.Method, f.wire()
	cfg := admm.Config{
		Estimator: zoest.Config{
			Dim: f.Dim, Samples: samples, Batch: m.Batch, Directions: m.Directions,
			Kind: zoest.Kind(m.Estimator), Seed: m.Seed, Client: uint32(client),
			Momentum: m.Momentum, Window: Window(f.Dim),
		},
		Neighbors: slices.Clone(p.graph.Neighbors(client)), X0: f.X0,
		Rounds: m.Rounds, Mixing: m.Mixing, Cooldown: m.Cooldown, Tau: m.Tau, Rho: m.Rho, Beta: p.beta, Eta: m.Eta, Mu: m.Mu,
		NonPrivate: f.Privacy.NonPrivate, Noise: noise,
		Releases: w.Payload == PayloadRelease,
		Robust:   m.Robust, Members: len(f.Members),
	}
	if cfg.Estimator.Batch > samples {
		cfg.Estimator.Batch = 0
	}
	if !f.Privacy.NonPrivate {
		cfg.Privacy = []dpmech.Gaussian{f.Privacy.gaussian()}
		if w.GridBits > 0 {
			cfg.GridStep = math.Ldexp(f.Privacy.Sigma, -w.GridBits)
		}
	}
	return cfg
}

// Machines returns the configuration of every member's machine, in the order of Members. samples[i] is m_i; noise(i) is
// the source of member i's release noise, not called in a non-private run. Window is meant for losses that take next to
// no time; it changes no result.
func (f *Fleet) Machines(samples []int, noise func(client int) io.Reader) ([]admm.Config, error) {
	p, err := f.plan()
	if err != nil {
		return nil, err
	}
	if len(samples) != len(f.Members) {
		return nil, fmt.Errorf("sdk: %d sample counts for %d members", len(samples), len(f.Members))
	}
	if noise == nil && !f.Privacy.NonPrivate {
		return nil, errors.New("sdk: a private fleet needs a source of noise for every member")
	}
	cfgs := make([]admm.Config, len(samples))
	hash := f.Hash()
	for i := range cfgs {
		var random io.Reader
		if !f.Privacy.NonPrivate {
			random = noise(i)
		}
		cfgs[i] = f.machine(p, i, samples[i], random)
		if f.Privacy.PairSigma > 0 {
			cfgs[i].PairKey = func(peer, release int) (key [32]byte, ok bool) {
				return pair.Simulated(f.Method.Seed, i, peer).Key(hash, release), true
			}
		}
	}
	return cfgs, nil
}
