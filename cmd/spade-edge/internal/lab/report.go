package lab

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/plan"
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
	Privacy    *setup.Privacy `json:"privacy"`
	Forecast   *plan.Outlook  `json:"forecast"` // null without noise
}

// multiply computes the fields of r that are products of other fields. queries is for one client and round.
func (r *Report) multiply(queries int64) error {
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

// write prints the report as text.
func (r *Report) write(t cli.Table, f *sdk.Fleet) {
	t.Row("network", "%d nodes, %d edges, at most %d neighbors; Laplacian lambda_2 %.6g, lambda_N %.6g", r.Nodes, r.Edges,
		r.DegreeMax, r.Lambda2, r.LambdaN)
	t.Row("schedule", "%d rounds of %d local steps (%d steps)%s, and %d of cool-down", r.Rounds, r.Tau, r.Steps,
		cli.MixingText(r.Mixing), r.Cooldown)
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
	r.Privacy.Write(t, r.Rounds, false)
	if r.Forecast != nil {
		t.Row("forecast", "%s", setup.ForecastText(f, r.Forecast))
	}
}
