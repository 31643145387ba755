package setup

import (
	"cmp"
	"crypto/ed25519"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Report is the result of the plan command, printed as text or, with -json, as JSON. The frame sizes and the effect of
// the cool-down are estimates, accurate to a few percent.
type Report struct {
	Nodes     int `json:"nodes"`
	Edges     int `json:"edges"`
	DegreeMax int `json:"degree_max"` // the largest number of neighbors; figures per node are for that node
	Dim       int `json:"dim"`
	Samples   int `json:"samples"`
	Batch     int `json:"batch"`

	Rounds   int     `json:"rounds"`
	Cooldown int     `json:"cooldown"`
	Mixing   int     `json:"mixing,omitempty"` // mixing rounds after each learning round
	Tau      int     `json:"tau"`
	Steps    int64   `json:"steps"` // T = K*tau
	Schedule string  `json:"schedule"`
	Eta      float64 `json:"eta"`
	Mu       float64 `json:"mu"`
	Rho      float64 `json:"rho"`
	Beta     float64 `json:"beta"`

	Lambda2        float64 `json:"lambda_2"`
	LambdaN        float64 `json:"lambda_n"`
	RoundGain      float64 `json:"round_gain"`      // a = tau*beta*eta*mu
	Gain           float64 `json:"gain"`            // a*rho*lambda_N as a share of the limit of stability, 8/3
	SpectralRadius float64 `json:"spectral_radius"` // of the slowest mode's M_lambda
	Tenfold        int     `json:"rounds_tenfold"`  // rounds until disagreement falls to a tenth
	// number of cool-down rounds that reduce the disagreement between members to a twentieth of its initial value; null
	// if there is only one node, or if the number takes too long to compute
	CooldownNeeded *int    `json:"cooldown_needed"`
	ShareLeft      float64 `json:"share_left"` // share of disagreement after the planned cool-down

	Queries       int64 `json:"queries"`        // of all clients
	QueriesClient int64 `json:"queries_client"` // K*(m + tau*b), with tracking K*tau*b
	ScalarsSent   int64 `json:"scalars_sent"`   // 2|E|d times the number of releases

	GridBits   int    `json:"grid_bits"`
	Frames     frames `json:"frame_bytes"`
	BytesSent  int64  `json:"bytes_sent"`  // by all nodes
	BytesRound int64  `json:"bytes_round"` // by one node, to all its neighbors, in a learning round
	BytesNode  int64  `json:"bytes_node"`  // by one node in the whole run; it receives the same number

	// BytesBroker is the number of bytes that one node sends to a broker in a learning round and the mixing rounds
	// after it, including TCP and IP headers. The node receives the same number of bytes.
	BytesBroker int64 `json:"bytes_round_broker"`

	Chosen     map[string]any `json:"chosen"`
	NonPrivate bool           `json:"non_private"`
	Privacy    *Privacy       `json:"privacy"`
	Forecast   *plan.Outlook  `json:"forecast"` // null without noise
}

// Multiply computes the fields of r that are products of other fields. queries is for one client and round.
func (r *Report) Multiply(queries int64) error {
	asked := float64(queries) * float64(r.Rounds)
	releases := float64(r.Rounds)*float64(1+r.Mixing) + float64(r.Cooldown)
	numbers, links := releases*float64(r.Dim), 2*float64(r.Edges)
	bytes := float64(r.Rounds)*(float64(r.Frames.Learning)+float64(r.Mixing)*float64(r.Frames.Mixing)) +
		float64(r.Cooldown)*float64(r.Frames.Cooldown) + float64(r.Frames.Done) // over one edge in one direction
	if most := max(asked*float64(r.Nodes), links*max(numbers, bytes)); most >= 1<<53 {
		return cli.Usage("the run makes %.3g queries and sends %.3g bytes, want fewer than 2^53 of each",
			asked*float64(r.Nodes), links*bytes)
	}
	r.QueriesClient, r.Queries = int64(asked), int64(asked)*int64(r.Nodes)
	r.ScalarsSent, r.BytesSent = int64(links*numbers), int64(links*bytes)
	r.BytesBroker = int64(r.DegreeMax) * (r.Frames.Learning + broker.Overhead + int64(r.Mixing)*(r.Frames.Mixing+broker.Overhead))
	r.BytesRound, r.BytesNode = int64(r.DegreeMax)*r.Frames.Learning, int64(r.DegreeMax)*int64(bytes)
	return nil
}

// Write prints the report as text.
func (r *Report) Write(t cli.Table, f *sdk.Fleet) {
	t.Row("network", "%d nodes, %d edges, at most %d neighbors; Laplacian lambda_2 %.6g, lambda_N %.6g", r.Nodes, r.Edges,
		r.DegreeMax, r.Lambda2, r.LambdaN)
	schedule := ""
	if r.Schedule == "paper" {
		schedule = ", the paper's non-private schedule"
	}
	t.Row("schedule", "%d rounds of %d local steps (%d steps%s)%s, and %d of cool-down", r.Rounds, r.Tau, r.Steps,
		schedule, cli.MixingText(r.Mixing), r.Cooldown)
	t.Row("method", "eta %.6g, mu %.6g, rho %.6g, beta %.6g", r.Eta, r.Mu, r.Rho, r.Beta)
	if r.Nodes > 1 {
		t.Row("stability", "stable, at %.4g of the limit: tau*beta*eta*mu is %.6g, and times rho*lambda_N %.6g, below 8/3",
			r.Gain, r.RoundGain, r.Gain*graph.StabilityLimit)
		t.Row("disagreement", "shrinks by %.8g a round in the slowest mode (spectral radius), to a tenth in %d rounds",
			r.SpectralRadius, r.Tenfold)
		needed := "more rounds than can be computed"
		if r.CooldownNeeded != nil {
			needed = fmt.Sprintf("%d rounds", *r.CooldownNeeded)
		}
		t.Row("cool-down", "%s reduce the disagreement that noise causes to a twentieth; the %d planned leave a share of %.3g", needed,
			r.Cooldown, r.ShareLeft)
	}
	t.Row("queries", "%d of each client (%d samples, %d a local step), %d in all", r.QueriesClient, r.Samples, r.Batch, r.Queries)
	if r.Nodes > 1 {
		t.Row("frames", "to each neighbor about %s in a round of learning, %s of mixing, %s of cool-down",
			cli.BytesText(r.Frames.Learning), cli.BytesText(r.Frames.Mixing), cli.BytesText(r.Frames.Cooldown))
		t.Row("sent", "%d numbers in all, about %s; by one node %s a round and %s in all", r.ScalarsSent,
			cli.BytesText(r.BytesSent), cli.BytesText(r.BytesRound), cli.BytesText(r.BytesNode))
		t.Row("broker", "over a broker, a node sends %s in a round and receives as much, headers included: %.3g s of airtime each way at 10 kbit/s",
			cli.BytesText(r.BytesBroker), float64(8*r.BytesBroker)/10e3)
	}
	r.Privacy.write(t, r.Rounds, "")
	if r.Forecast != nil {
		t.Row("forecast", "%s", ForecastText(f, r.Forecast))
	}
}

// Forecast predicts the quality of the model after a private run, under the assumption that every member has the mean
// number of samples. It returns nil for a run without noise.
func (p *Problem) Forecast() *plan.Outlook {
	sum := 0
	for _, n := range p.Samples {
		sum += n
	}
	r, _ := plan.Forecast(p.Plan, sum/len(p.Samples)) // fails only if the run is not private, because the fleet is valid
	return r
}

// WriteBeginning prints the chosen parameters and the forecast, before a run starts.
func (p *Problem) WriteBeginning(w io.Writer) {
	p.WriteChosen(w)
	if r, err := p.Recipe("these data"); err == nil {
		Suspect(w, r, p.Opt.DataSpec(), p.Opt.Files, p.Opt.Recipe == nil)
	}
	if p.Fleet.Privacy.NonPrivate {
		fmt.Fprintln(w, "NOT PRIVATE: nothing is clipped and no noise is added")
	}
	if r := p.Forecast(); r != nil {
		fmt.Fprintf(w, "forecast: %s\n", forecastText(p.Fleet, r, p.Opt.Spec.Kind() == task.OfSurvival))
	}
}

// ForecastText describes the forecast r in words, and how to improve it.
func ForecastText(f *sdk.Fleet, r *plan.Outlook) string {
	recipe, _ := builtin.Task(f)
	return forecastText(f, r, recipe != nil && recipe.Survival != nil)
}

func forecastText(f *sdk.Fleet, r *plan.Outlook, survival bool) string {
	pr := f.Privacy
	epsilon := pr.Accounting.Epsilon(f.Total(f.Method.Rounds).Rho, pr.Delta)
	score, guess, constant, free, digits, unit := "accuracy", "always guessing the most frequent answer", 55.0, 83.0, 0, " %"
	similar := "shares of each answer: a site with 3 % of yes is not one"
	if survival {
		score, guess, constant, free, digits, unit = "C-index", "the same risk for all", 0.5, 0.7, 2, ""
		similar = "shares of events, and rests on measurements with classes"
	}
	at := func(gain float64) string {
		return strconv.FormatFloat(max(0, constant+(free-constant)*gain), 'f', digits, 64)
	}
	var cures []string
	if r.Members > 0 {
		cures = append(cures, fmt.Sprintf("%d nodes", r.Members))
	}
	if r.Epsilon > 0 {
		cures = append(cures, fmt.Sprintf("epsilon %v", r.Epsilon))
	}
	if r.Share {
		cures = append(cures, "-colluders auto (noise that neighbors share)")
	}
	would := ""
	if cures != nil {
		would = fmt.Sprintf("; %s would give %s", strings.Join(cures, " or "), at(plan.Enough)+unit)
	}
	if r.Halved != nil {
		would += fmt.Sprintf("; half of the %d parameters, for example with fewer columns, would give %s", f.Dim, at(max(*r.Halved, 0))+unit)
	}
	if r.Records {
		would += fmt.Sprintf("; -unit record (epsilon %.3g for each record, such as a patient, in place of the whole data set) "+
			"would give more", epsilon)
	}
	return fmt.Sprintf("expected %s %s (%s to %s in 9 of 10 such runs), if %s gives %v%s and a model without noise %v%s%s; it assumes sites with similar %s",
		score, at(r.Gain)+unit, at(r.Low), at(r.High), guess, constant, unit, free, unit, would, similar)
}

// frames has the sizes, in bytes, of the frames that a node sends to one neighbor, by phase.
type frames struct {
	Learning int64 `json:"learning"`
	Mixing   int64 `json:"mixing,omitempty"` // in a mixing round, on average
	Cooldown int64 `json:"cooldown"`
	Done     int64 `json:"done"` // the completion message
}

// sampled is the number of coordinates that are encoded to extrapolate the size of a frame with more coordinates.
const sampled = 100_000

var blank [signed.Size]byte

// Meter returns a function that returns the frame size, in bytes, of a message of dim coordinates. It fills the
// signed fields with placeholders of the same length as in a fleet with keys. The function is not safe for concurrent
// use.
func Meter(dim int) func(*admm.Message) (int, error) {
	codec, err := wire.NewCodec(dim)
	return func(msg *admm.Message) (int, error) {
		if err != nil {
			return 0, err
		}
		sent := *msg
		if msg.Kind == admm.Done {
			sent.Signed.Proof, sent.Signed.Countersign = blank[:], blank[:ed25519.SignatureSize]
		} else {
			sent.Signed.Own = blank[:]
		}
		return codec.Length(&sent)
	}
}

// NewFrames encodes frames like those of the run and returns their sizes. The numbers in the encoded frames are
// normally distributed, like the noise. calm predicts how much a release differs from the one before, in units of the
// noise's standard deviation.
func NewFrames(f *sdk.Fleet, cfg admm.Config, calm topology.Decay) (out frames, err error) {
	d := min(f.Dim, sampled)
	meter := Meter(d)
	length := func(msg admm.Message) int64 {
		msg.Round = f.Method.Rounds
		encoded, e := meter(&msg)
		err = cmp.Or(err, e)
		n := float64(encoded)
		if msg.Kind != admm.Done {
			n = signed.Size + (n-signed.Size)*float64(f.Dim)/float64(d)
		}
		return int64(math.Ceil(n))
	}
	s := rng.New(cfg.Estimator.Seed, rng.Address{Purpose: rng.Noise})
	numbers := make([]float32, d)
	for i := range numbers {
		numbers[i] = float32(s.Normal())
	}
	out = frames{Cooldown: length(admm.Message{Kind: admm.Release, Vector: numbers}), Done: length(admm.Message{Kind: admm.Done})}
	out.Learning = out.Cooldown
	if len(calm.Mix) > 0 {
		out.Mixing = out.Cooldown
	}
	if cfg.GridStep == 0 {
		return out, err
	}
	grid := make([]int32, d)
	gridded := func(deviation float64) int64 {
		steps := deviation * f.Privacy.Sigma / cfg.GridStep
		for i := range grid {
			grid[i] = int32(math.RoundToEven(s.Normal() * steps))
		}
		return length(admm.Message{Kind: admm.Release, Grid: grid})
	}
	out.Learning = gridded(calm.Step)
	const distinct = 32 // number of mixing rounds to encode; later rounds have frames like the last of these
	var sum, last int64
	for j, deviation := range calm.Mix {
		if j < distinct {
			last = gridded(deviation)
		}
		sum += last
	}
	if n := int64(len(calm.Mix)); n > 0 {
		out.Mixing = sum / n
	}
	return out, err
}

// Count returns how many of the values are true.
func Count(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}
