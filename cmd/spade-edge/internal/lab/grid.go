package lab

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
)

// Grid has forecasts of private runs: one for each combination of a number of members, a unit of privacy and an
// epsilon. It is the result of "plan -grid", printed as text or, with -json, as JSON.
type Grid struct {
	Dim      int        `json:"dim"`
	Samples  int        `json:"samples"`
	Graph    string     `json:"graph"`
	Epsilons []float64  `json:"epsilons"`
	Cells    []GridCell `json:"forecasts"`
}

// GridCell is the forecast of one run. Its gains are defined as in [plan.Outlook].
type GridCell struct {
	Nodes   int      `json:"nodes"`
	Unit    sdk.Unit `json:"unit"`
	Epsilon float64  `json:"epsilon"`
	Gain    float64  `json:"gain"`
	Low     float64  `json:"gain_low"`
	High    float64  `json:"gain_high"`
}

// gridEpsilons are the default epsilons of a grid, used if -epsilon is not given.
var gridEpsilons = []float64{0.5, 1, 2, 4, 8}

func (o *PlanOptions) readGrid(text string) error {
	o.grid = nil
	for _, part := range setup.List(text) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("%q is not a number of members: want numbers separated by commas, such as 10,20", part)
		}
		o.grid = append(o.grid, n)
	}
	if len(o.grid) == 0 {
		return errors.New("want at least one number of members")
	}
	return nil
}

// checkGrid reports flags that cannot be combined with -grid, because a grid itself varies or fixes their values.
func (o *PlanOptions) checkGrid(f *cli.Faults) {
	for _, name := range []string{"nodes", "unit", "sigma", "pair-sigma", "non-private", "steps", "queries", "clip"} {
		f.When(o.Given[name], "-grid and -%s cannot be combined: a grid varies the number of members, the unit and "+
			"epsilon", name)
	}
	for _, n := range o.grid {
		f.When(n < 2 || n > 1000, "-grid: the number of members is %d, want 2..1000", n)
	}
}

// makeGrid forecasts a run for each combination of a number of members, a unit and an epsilon. It fails if the
// requested graph is impossible for one of the numbers of members.
func (o *PlanOptions) makeGrid() (*Grid, error) {
	g := &Grid{Dim: o.dim, Samples: o.samples, Graph: o.Graph, Epsilons: o.epsilons}
	if len(g.Epsilons) == 0 {
		g.Epsilons = gridEpsilons
	}
	for _, unit := range []sdk.Unit{sdk.UnitClient, sdk.UnitRecord} {
		for _, n := range o.grid {
			for _, epsilon := range g.Epsilons {
				one := *o
				one.Nodes, one.Asked.Privacy.Unit, one.Asked.Privacy.EpsilonLimit = n, unit, epsilon
				p, err := one.Build()
				if err != nil {
					return nil, fmt.Errorf("with %d members and epsilon %v %s: %w", n, epsilon, unit.Each(), err)
				}
				r, err := plan.Forecast(p.Fleet, o.samples)
				if err != nil {
					return nil, err
				}
				g.Cells = append(g.Cells, GridCell{n, unit, epsilon, r.Gain, r.Low, r.High})
			}
		}
	}
	return g, nil
}

func (g *Grid) write(t cli.Table) {
	t.Wrap("gain", "%% of the way from the most frequent answer (0) to the same run without noise (100): half of such runs gain "+
		"more, and nine of ten lie between the numbers in parentheses")
	t.Row("model", "%d parameters, %d samples a member, graph %s", g.Dim, g.Samples, g.Graph)
	each := len(g.Cells) / 2
	for i, unit := range []sdk.Unit{sdk.UnitClient, sdk.UnitRecord} {
		fmt.Fprintf(t, "\nepsilon %s:\n\n%7s", unit.Each(), "members")
		for _, epsilon := range g.Epsilons {
			fmt.Fprintf(t, " %15s", "epsilon "+cli.Digits(epsilon))
		}
		fmt.Fprintln(t)
		cells := g.Cells[i*each : (i+1)*each]
		for k, c := range cells {
			if k%len(g.Epsilons) == 0 {
				fmt.Fprintf(t, "%7d", c.Nodes)
			}
			text := fmt.Sprintf("%.0f (%.0f..%.0f)", percent(c.Gain), percent(c.Low), percent(c.High))
			fmt.Fprintf(t, " %15s", text)
			if (k+1)%len(g.Epsilons) == 0 {
				fmt.Fprintln(t)
			}
		}
	}
}

// percent converts a fraction to percent. For a negative fraction, it returns 0.
func percent(share float64) float64 { return 100 * max(share, 0) }
