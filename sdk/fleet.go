package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/settings"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Fleet is the public definition of a run. It must not change while in use.
type Fleet struct {
	Run     string      `json:"run"`               // identifies the run, 1 to 64 bytes of printable UTF-8
	Dim     int         `json:"dim"`               // d, the length of the parameter vector
	X0      []float32   `json:"x0"`                // x_0, the common start, of length d; nil means zeros
	X0Hash  string      `json:"-"`                 // [ModelHash] of X0 if X0 is not at hand: enough for Hash, not for New
	Members []string    `json:"members"`           // client names, limited like Run; the index is the client's number
	Edges   [][2]string `json:"edges"`             // pairs of members that exchange messages; the graph must be connected
	Records []int       `json:"records,omitempty"` // each member's public number of records, for record-level privacy
	Method  Method      `json:"method"`
	Privacy Privacy     `json:"privacy"`
	Wire    Wire        `json:"wire"`

	// PairKeys has one public key of each member, used in this run only, from which members derive the secrets of
	// pairwise noise; see [Config].PairKeys. It may be nil in simulations, and if all nodes have Config.Secret.
	PairKeys []pair.Public   `json:"pair_keys,omitempty"`
	Task     json.RawMessage `json:"task,omitempty"` // the learning task: a JSON object of at most 8 MiB, or nil
}

const maxTask = 8 << 20 // bytes

// Method holds the parameters of SPADE-DFL. Package plan chooses them.
type Method struct {
	Rounds   int `json:"rounds"`           // K, rounds of learning, at least 1
	Mixing   int `json:"mixing,omitempty"` // consensus rounds after each round of learning; they cost no privacy
	Cooldown int `json:"cooldown"`         // C, additional consensus rounds at the end
	Tau      int `json:"tau"`              // local steps per round, at least 1
	Batch    int `json:"batch"`            // queries per local step; 0, or more than the client has samples, means one per sample

	Rho      float64       `json:"rho"`                // penalty parameter, > 0
	Gain     float64       `json:"gain"`               // tau*beta*eta*mu as a fraction of the stability limit, in (0, 1); determines beta
	Eta      admm.Schedule `json:"eta"`                // step size, > 0: one for all rounds, or one per round
	Mu       admm.Schedule `json:"mu"`                 // smoothing radius, > 0: one for all rounds, or one per round
	Momentum float64       `json:"momentum,omitempty"` // weight of earlier updates, before clipping, in [0, 1): see [zoest.Estimator.Carry]

	Estimator  zoest.Kind         `json:"estimator"`
	Directions zoest.Distribution `json:"directions"` // distribution of the query directions
	Seed       uint64             `json:"seed"`       // of directions and batches

	Shrink float64 `json:"shrink,omitempty"` // shift to X0 in standard deviations of the mean's noise, 0 to 16: see [Fleet.Model]
}

// Last returns the index of the final release, K*(1+Mixing) + C.
func (m Method) Last() int { return m.releases().Last() }

// Data returns how many of the first releases use data and cost privacy.
func (m Method) Data(releases int) int { return m.releases().Data(releases) }

// Learning returns the last release before the cool-down, K*(1+Mixing).
func (m Method) Learning() int { return m.releases().Learning() }

// Phase describes a release, such as "learning" or "cooling down".
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

func validName(s string) bool {
	return s != "" && len(s) <= wire.MaxName && utf8.ValidString(s) && !strings.ContainsFunc(s,
		func(r rune) bool { return !unicode.IsPrint(r) })
}

// unbounded is the cost of any number of releases without noise.
var unbounded = dpmech.Total{Rho: math.Inf(1), All: math.Inf(1)}

// Total returns the zCDP cost of a number of rounds, or +Inf without privacy.
func (f *Fleet) Total(rounds int) dpmech.Total {
	if f.Privacy.NonPrivate {
		return unbounded
	}
	return f.Privacy.Gaussian().Total(min(rounds, f.Method.Rounds))
}

// Rho returns the zCDP cost of all rounds; see [dpmech.Total].
func (f *Fleet) Rho() float64 { return f.Total(f.Method.Rounds).Rho }

// Graph returns the communication graph. It fails if the fleet is invalid.
func (f *Fleet) Graph() (*graph.Graph, error) {
	p, err := f.plan()
	if err != nil {
		return nil, err
	}
	return p.graph, nil
}

// Validate reports all errors in the fleet at once.
func (f *Fleet) Validate() error {
	_, err := f.plan()
	return err
}

type faults []error

// refuse adds a [FieldError] for the named field if the value is wrong.
func (f *faults) refuse(wrong bool, field string, found any, want string, args ...any) {
	if wrong {
		*f = append(*f, fieldError(field, found, want, args...))
	}
}

func fieldError(field string, found any, want string, args ...any) error {
	text := fmt.Sprint(found)
	if s, ok := found.(string); ok {
		text = strconv.Quote(s)
	}
	return &FieldError{Package: "sdk: fleet", Field: field, Found: text, Want: fmt.Sprintf(want, args...)}
}

// listOf is the length of a list, for [fieldError].
type listOf int

func (n listOf) String() string { return fmt.Sprintf("a list of %d numbers", int(n)) }

// keysOf is the number of keys, for [fieldError].
type keysOf int

func (n keysOf) String() string { return fmt.Sprintf("a list of %d keys", int(n)) }

func (f *faults) add(err error) {
	if err != nil {
		*f = append(*f, err)
	}
}

// plan validates the fleet and derives the values in type plan.
func (f *Fleet) plan() (*plan, error) {
	var errs faults
	errs.refuse(!validName(f.Run), "run", f.Run, "1..%d bytes of printable UTF-8", wire.MaxName)
	errs.add(setting.Range{Min: 1, Max: wire.MaxDim, Whole: true}.Check("sdk: fleet", "dim", float64(f.Dim)))
	p := f.network(&errs)
	errs.refuse(f.X0 != nil && len(f.X0) != f.Dim, "x0", listOf(len(f.X0)), "%d, or none for zeros", f.Dim)
	for _, s := range settings.All() {
		if private := !f.Privacy.NonPrivate && f.Privacy != (Privacy{}); private || !strings.HasPrefix(s.Name, "privacy.") {
			errs.add(s.Check(f, f.Method.Rounds))
		}
	}
	f.checkPrivacy(&errs)
	f.checkRecords(&errs)
	f.checkPairKeys(&errs)
	if f.Task != nil {
		errs.add(checkTask(f.Task))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	p.beta = f.beta(p.graph)
	var err error
	if p.noise, err = f.Privacy.NoiseGraph(p.graph, f.Method.Seed); err != nil {
		return nil, err
	}
	// To check the remaining settings, validate the configuration of one member's machine.
	var noise io.Reader
	if !f.Privacy.NonPrivate {
		noise = bytes.NewReader(nil)
	}
	cfg := f.machine(p, 0, f.units(0, max(1, f.Method.Batch)), noise)
	if f.Privacy.PairSigma != 0 {
		if err := f.checkShared(p.noise); err != nil {
			return nil, err
		}
		cfg.PairKey = func(int, int) (key [32]byte) { return key }
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("sdk: fleet: %w", err)
	}
	return p, nil
}

// FieldError reports an invalid value. Field is its path in a fleet file.
type FieldError = setting.FieldError

// records is the valid range for the number of a member's records.
var records = setting.Range{Min: 1, Max: setting.Batch.Max, Whole: true}

// checkRecords checks the settings that depend on the protected unit.
func (f *Fleet) checkRecords(errs *faults) {
	p := f.Privacy
	errs.refuse((p.Person != "") != (p.Places > 1), "privacy.person", p.Person, "the column that names the person of a row if places "+
		"is 2 or more, otherwise none (places is %d)", p.Places)
	errs.refuse(p.Person != "" && p.Unit == UnitRecord && p.Protects().Validate() != nil, "privacy.person", p.Person,
		"at most 100 printable bytes")
	if f.Privacy.Unit != UnitRecord {
		errs.refuse(f.Privacy.Places != 0, "privacy.places", f.Privacy.Places, "0, because privacy.unit is %v", f.Privacy.Unit)
		errs.refuse(f.Records != nil, "records", f.Records, "none, because privacy.unit is %v", f.Privacy.Unit)
		return
	}
	errs.refuse(len(f.Records) != len(f.Members), "records", listOf(len(f.Records)),
		"the number of records of each of the %d members, because privacy.unit is record", len(f.Members))
	for i, m := range f.Records {
		errs.add(records.Check("sdk: fleet", fmt.Sprintf("records[%d]", i), float64(m)))
	}
	const want = "%v, because privacy.unit is record: %s"
	errs.refuse(f.Method.Batch != 0, "method.batch", f.Method.Batch, want, 0, "each step queries all records")
	errs.refuse(f.Method.Momentum != 0, "method.momentum", f.Method.Momentum, want, 0,
		"momentum would carry the effect of one record into many releases")
}

func (f *Fleet) network(errs *faults) *plan {
	before := len(*errs)
	p := &plan{number: make(map[string]int, len(f.Members))}
	errs.refuse(len(f.Members) == 0, "members", f.Members, "at least one")
	for i, name := range f.Members {
		j, taken := p.number[name]
		if !validName(name) || taken { // format the field only on error, because a fleet may be large
			field := fmt.Sprintf("members[%d]", i)
			errs.refuse(!validName(name), field, name, "1..%d bytes of printable UTF-8", wire.MaxName)
			errs.refuse(taken, field, name, "a unique name: members[%d] has the same name", j)
		}
		p.number[name] = i
	}
	edges := make([][2]int, 0, len(f.Edges))
	for n, e := range f.Edges {
		var edge [2]int
		for end, name := range e {
			i, ok := p.number[name]
			if edge[end] = i; !ok {
				errs.refuse(true, fmt.Sprintf("edges[%d][%d]", n, end), name, "the name of a member")
			}
		}
		edges = append(edges, edge)
	}
	if len(*errs) == before {
		var err error
		if p.graph, err = graph.New(len(f.Members), edges); err != nil {
			errs.add(fmt.Errorf("sdk: fleet: edges: %w", err))
		}
	}
	return p
}

// plan holds values derived from a valid fleet.
type plan struct {
	graph  *graph.Graph
	noise  *graph.Graph   // pairs that share pairwise noise
	number map[string]int // index in Members by name
	beta   float64
}

// beta returns the penalty weight that yields Method.Gain in the round with the largest eta*mu.
func (f *Fleet) beta(g *graph.Graph) float64 {
	m := f.Method
	var step float64
	for k := range max(len(m.Eta), len(m.Mu)) {
		step = max(step, m.Eta.At(k)*m.Mu.At(k))
	}
	gain := g.Gain(m.Gain, m.Rho)
	if !(gain > 0) { // a single client has no neighbors
		return 1
	}
	return gain / (float64(m.Tau) * step)
}

func (f *Fleet) machine(p *plan, client, samples int, noise io.Reader) admm.Config {
	m := f.Method
	cfg := admm.Config{
		Estimator: zoest.Config{
			Dim: f.Dim, Samples: samples, Batch: m.Batch, Directions: m.Directions,
			Kind: m.Estimator, Seed: m.Seed, Client: uint32(client),
			Momentum: m.Momentum, Window: Window(f.Dim),
		},
		Neighbors: slices.Clone(p.graph.Neighbors(client)), X0: f.X0,
		Rounds: m.Rounds, Mixing: m.Mixing, Cooldown: m.Cooldown, Tau: m.Tau, Rho: m.Rho, Beta: p.beta, Eta: m.Eta, Mu: m.Mu,
		NonPrivate: f.Privacy.NonPrivate, Noise: noise,
		Members: len(f.Members),
	}
	if len(cfg.Neighbors) > 0 {
		cfg.Consensus = p.graph.Chebyshev()
	}
	if cfg.Estimator.Batch > samples {
		cfg.Estimator.Batch = 0
	}
	if !f.Privacy.NonPrivate {
		cfg.Privacy, cfg.Records = f.Privacy.Gaussian(), admm.NewRecords(f.Records, f.Privacy.Places)
		cfg.Estimator.Records = f.Privacy.Unit == UnitRecord
		if f.Privacy.Partners > 0 {
			cfg.Partners = p.noise.Neighbors(client)
		}
		cfg.GridStep = math.Ldexp(f.Privacy.Sigma, -f.wire().GridBits)
	}
	return cfg
}

// Model returns the model of a release x with the given number: x itself or, with Method.Shrink, for the last release,
// a copy of x with each coordinate moved toward X0 by Shrink*sigma*sqrt(K/N), but not beyond X0. K is the number of
// rounds and N the number of members. This is soft thresholding (Donoho and Johnstone, Biometrika 1994), a form of
// post-processing, and costs no privacy.
func (f *Fleet) Model(x []float32, release int) []float32 {
	m := f.Method
	if f.Privacy.NonPrivate || m.Shrink == 0 || release != m.Last() {
		return x
	}
	most := float32(m.Shrink * f.Privacy.Sigma / math.Sqrt(float64(len(f.Members))) * math.Sqrt(float64(m.Rounds)))
	model := slices.Clone(x)
	for i := range model {
		start := float32(0)
		if f.X0 != nil {
			start = f.X0[i]
		}
		moved := x[i] - start
		model[i] = start + max(moved-most, min(moved+most, 0))
	}
	return model
}

// Machines returns all members' machine configurations, for a simulation. samples[i] is m_i, and noise(i) returns the
// noise source of member i.
func (f *Fleet) Machines(samples []int, noise func(client int) io.Reader) ([]admm.Config, error) {
	p, err := f.plan()
	if err != nil {
		return nil, err
	}
	if len(samples) != len(f.Members) {
		return nil, fmt.Errorf("sdk: found %d sample counts for %d members, want one for each member", len(samples), len(f.Members))
	}
	for i, m := range samples {
		if err := f.checkSamples(i, m); err != nil {
			return nil, err
		}
	}
	if f.X0Hash != "" || noise == nil && !f.Privacy.NonPrivate {
		return nil, errors.New("sdk: a simulation needs X0 itself and, in a private fleet, a source of noise for every member")
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
			cfgs[i].PairKey = func(peer, release int) [32]byte {
				return pair.Simulated(f.Method.Seed, i, peer).Key(hash, release)
			}
		}
	}
	return cfgs, nil
}
