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
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Fleet is the public definition of a run, the same on every member: who takes part, who talks to whom, and how. It
// must not be changed once a node or a simulation has been made from it.
type Fleet struct {
	Run     string      `json:"run"`     // identifies the run, 1 to 64 bytes of printable UTF-8
	Dim     int         `json:"dim"`     // d, the length of the parameter vector
	X0      []float32   `json:"x0"`      // x_0, the common start, length d; nil means zeros
	Members []string    `json:"members"` // the names of all clients, like Run; a client's place is its number
	Edges   [][2]string `json:"edges"`   // who talks to whom, by name; the graph must be connected
	Method  Method      `json:"method"`
	Privacy Privacy     `json:"privacy"`
	Wire    Wire        `json:"wire"`

	// Task says what the members learn and how they prepare their data: a JSON object of at most 8 MiB, or nil. It is
	// opaque here and part of the hash, whatever the order of its keys and its spacing.
	Task json.RawMessage `json:"task,omitempty"`
}

// maxTask bounds a task, in bytes.
const maxTask = 8 << 20

// Method holds the parameters of SPADE-DFL that all members share. [Suggest] fills in what is open.
type Method struct {
	Rounds   int `json:"rounds"`   // K, rounds of learning, at least 1
	Cooldown int `json:"cooldown"` // C, rounds of pure consensus at the end, free of privacy cost
	Tau      int `json:"tau"`      // local steps a round, at least 1
	Batch    int `json:"batch"`    // queries a local step; 0, or more than a client has samples, means one of each

	Rho  float64       `json:"rho"`  // penalty parameter, > 0
	Gain float64       `json:"gain"` // tau*beta*eta*mu as a share of the limit of stability, in (0, 1); fixes beta
	Eta  admm.Schedule `json:"eta"`  // step size, > 0: one for all rounds or one for each
	Mu   admm.Schedule `json:"mu"`   // smoothing radius, likewise

	Estimator  Estimator          `json:"estimator"`
	Directions zoest.Distribution `json:"directions"` // law of the query directions
	Seed       uint64             `json:"seed"`       // of directions and batches
}

// Privacy says what protects the members' data: either noise, or, asked for by name, nothing.
type Privacy struct {
	NonPrivate bool    `json:"non_private"` // no clipping and no noise: what a member sends may reveal its data
	Clip       float64 `json:"clip"`        // R, radius to which each round's update is clipped
	Sigma      float64 `json:"sigma"`       // standard deviation of the noise in each coordinate of a release
	Delta      float64 `json:"delta"`       // at which epsilon is stated, in (0, 1)

	// EpsilonLimit is the most that a member may spend in this run, at Delta, as Accounting reads it. A release that would
	// exceed it is refused before its noise is drawn. 0 means no limit but the number of rounds.
	EpsilonLimit float64           `json:"epsilon_limit"`
	Accounting   dpmech.Accounting `json:"accounting"`
}

// Wire says what members send each other. The zero value picks: the release on a grid of 4 bits in a private run, the
// paper's messages in one that is not.
type Wire struct {
	Payload Payload `json:"payload"`
	// GridBits W puts the releases of a private run on a grid of sigma/2^W, W of 2 to 8, so that short integers are sent.
	// 0 means no grid, or 4 with PayloadAuto.
	GridBits int `json:"grid_bits"`
	// Lossy, if not 0, makes the run another algorithm with other guarantees, see [admm.Config]: a round waits for a
	// silent neighbor no longer than so many times [Config].ResendAfter. For PayloadMessage in a fleet that is not private
	// only.
	Lossy int `json:"lossy"`
}

// wire returns what members send each other, with everything picked.
func (f *Fleet) wire() Wire { return f.Wire.pick(!f.Privacy.NonPrivate) }

// gaussian returns clip and noise of every release of a private run.
func (p Privacy) gaussian() dpmech.Gaussian { return dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma} }

// pick fills in what is left to be picked.
func (w Wire) pick(private bool) Wire {
	if w.Payload == PayloadAuto && private && w.Lossy == 0 {
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

// Rho returns the zCDP cost of all rounds of the run: infinite if it is not private.
func (f *Fleet) Rho() float64 {
	if f.Privacy.NonPrivate {
		return math.Inf(1)
	}
	g := f.Privacy.gaussian()
	return float64(f.Method.Rounds) * g.Rho()
}

// Graph returns who talks to whom, by the numbers of the members. It fails if the fleet is not valid.
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
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sdk: fleet: "+format, args...)) }

	if !validName(f.Run) {
		fault("run %q has %d bytes, want 1..%d of UTF-8, all printable", f.Run, len(f.Run), maxName)
	}
	if f.Dim > wire.MaxDim {
		fault("dim is %d, want 1..%d", f.Dim, wire.MaxDim)
	}
	p := &plan{number: make(map[string]int, len(f.Members))}
	if len(f.Members) == 0 {
		fault("no members")
	}
	for i, name := range f.Members {
		if !validName(name) {
			fault("name %q of member %d has %d bytes, want 1..%d of UTF-8, all printable", name, i, len(name), maxName)
		}
		if j, taken := p.number[name]; taken {
			fault("members %d and %d are both called %q", j, i, name)
		}
		p.number[name] = i
	}
	edges := make([][2]int, 0, len(f.Edges))
	for _, e := range f.Edges {
		i, okI := p.number[e[0]]
		j, okJ := p.number[e[1]]
		if !okI || !okJ {
			fault("edge %q joins somebody who is not a member", e)
			continue
		}
		edges = append(edges, [2]int{i, j})
	}
	if len(errs) == 0 {
		var err error
		if p.graph, err = graph.New(len(f.Members), edges); err != nil {
			fault("edges: %w", err)
		}
	}
	m := f.Method
	if !(m.Gain > 0 && m.Gain < 1) {
		fault("gain is %v, want more than 0 and less than 1: it is a share of the limit of stability, "+
			"tau*beta*eta*mu*rho*lambda_N < 8/3", m.Gain)
	}
	if f.Privacy.NonPrivate && (f.Privacy != Privacy{NonPrivate: true}) {
		fault("privacy is both non-private and %+v: choose one", f.Privacy)
	}
	if !f.Privacy.NonPrivate && !(f.Privacy.Delta > 0 && f.Privacy.Delta < 1) {
		fault("delta is %v, want more than 0 and less than 1", f.Privacy.Delta)
	}
	if l := f.Privacy.EpsilonLimit; !(l >= 0 && l <= 1e6) {
		fault("epsilon limit is %v, want 0 (none) or at most 1e6", l)
	}
	w := f.wire()
	for _, setting := range []encoding.TextMarshaler{m.Estimator, m.Directions, f.Privacy.Accounting, w.Payload} {
		if _, err := setting.MarshalText(); err != nil {
			fault("%w", err)
		}
	}
	switch {
	case w.GridBits != 0 && (w.GridBits < 2 || w.GridBits > 8):
		fault("grid bits are %d, want 2..8, or 0 for no grid", w.GridBits)
	case w.GridBits != 0 && f.Privacy.NonPrivate:
		fault("grid bits are %d in a fleet that is not private, which has no noise for a grid to hide in", w.GridBits)
	}
	if w.Lossy < 0 || w.Lossy > math.MaxInt32 {
		fault("lossy is %d ticks, want 0 (wait for all neighbors) or more", w.Lossy)
	}
	if w.Lossy > 0 && w.Payload != PayloadMessage {
		fault("payload %q together with lossy, want message: only then does a message say all by itself", w.Payload)
	}
	if w.Lossy > 0 && !f.Privacy.NonPrivate {
		fault("lossy is %d in a fleet with privacy, want 0 (or non_private): what a round waits for would depend on how "+
			"long local "+
			"work takes, which the noise does not cover, and a release would not wait until every neighbor has said what it "+
			"holds", w.Lossy)
	}
	if f.Task != nil {
		if err := checkTask(f.Task); err != nil {
			fault("task %w", err)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	p.beta = f.beta(p.graph)
	// What is left is checked by the machine's own rules, on a member that stands for all.
	if err := f.machine(p, 0, max(1, m.Batch), validationNoise(f)).Validate(); err != nil {
		return nil, fmt.Errorf("sdk: fleet: %w", err)
	}
	return p, nil
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
	if !(gain > 0) || !(step > 0) || m.Tau < 1 { // a single client has no penalty; faults are reported by the machine's rules
		return 1
	}
	return gain / (float64(m.Tau) * step)
}

// validationNoise stands in for a source of noise while a fleet is only checked.
func validationNoise(f *Fleet) io.Reader {
	if f.Privacy.NonPrivate {
		return nil
	}
	return bytes.NewReader(nil)
}

// machine returns the machine's configuration for one member.
func (f *Fleet) machine(p *plan, client, samples int, noise io.Reader) admm.Config {
	m := f.Method
	cfg := admm.Config{
		Estimator: zoest.Config{
			Dim:        f.Dim,
			Samples:    samples,
			Batch:      m.Batch,
			Directions: m.Directions,
			Centered:   m.Estimator == EstimatorCentered,
			Seed:       m.Seed,
			Client:     uint32(client),
		},
		Neighbors:  slices.Clone(p.graph.Neighbors(client)),
		X0:         f.X0,
		Rounds:     m.Rounds,
		Cooldown:   m.Cooldown,
		Tau:        m.Tau,
		Rho:        m.Rho,
		Beta:       p.beta,
		Eta:        m.Eta,
		Mu:         m.Mu,
		NonPrivate: f.Privacy.NonPrivate,
		Noise:      noise,
	}
	if cfg.Estimator.Batch > samples {
		cfg.Estimator.Batch = 0
	}
	w := f.wire()
	cfg.Releases, cfg.Lossy = w.Payload == PayloadRelease, w.Lossy
	if !f.Privacy.NonPrivate {
		cfg.Privacy = []dpmech.Gaussian{f.Privacy.gaussian()}
		if w.GridBits > 0 {
			cfg.GridStep = math.Ldexp(f.Privacy.Sigma, -w.GridBits)
		}
	}
	return cfg
}

// Machines returns the configuration of every member's machine, in the order of Members, as a node has it. samples[i]
// is m_i; noise(i) is the source of member i's release noise, and is not called in a non-private run.
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
	for i := range cfgs {
		var random io.Reader
		if !f.Privacy.NonPrivate {
			random = noise(i)
		}
		cfgs[i] = f.machine(p, i, samples[i], random)
	}
	return cfgs, nil
}
