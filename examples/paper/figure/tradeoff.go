package figure

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

// Cost holds the results of one run with a given number of local steps: the count of numbers sent, and the average
// distances from a stationary point and from consensus.
type Cost struct {
	Series       string  // name of a line in the figure, such as "τ = 1"
	Steps        int     // T, local steps of a client
	Scalars      int64   // 2|E|dK, numbers sent
	Seed         int     // identifies a run
	Stationarity float64 // mean over local steps of |grad F|^2 at the clients' mean iterate
	Consensus    float64 // mean over rounds of the clients' mean squared distance from their mean
	Start        float64 // |grad F(x_0)|^2
}

// Criterion returns the paper's criterion S_K, the sum of Stationarity and Consensus.
func (c Cost) Criterion() float64 { return c.Stationarity + c.Consensus }

// Ratio returns S_K divided by |grad F(x_0)|^2.
func (c Cost) Ratio() float64 { return c.Criterion() / c.Start }

// Tradeoff draws the effect of communication: the criterion S_K against the number T of local steps, and against the
// count of numbers sent. Each line is the mean over seeds, in a band of one population standard deviation on either
// side. Another panel shows the two parts of the criterion: gradient (filled points) and disagreement (open points).
//
// All values are relative to the mean of |grad F(x_0)|^2. costs may have at most six series, which are drawn in order
// of first appearance. All numbers in costs must be positive.
func Tradeoff(costs []Cost, path string) error {
	if len(costs) == 0 {
		return errors.New("figure: no costs")
	}
	lines, err := newBudgets(costs)
	if err != nil {
		return err
	}
	budget := newPlot("Criterion over budget", "Local steps T", "Criterion S / |grad F(x₀)|²")
	sent := newPlot("Criterion over communication", "Numbers sent, 2|E|dK", "")
	parts := newPlot("Gradient ● and disagreement ○", "Local steps T", "")
	s := &sheet{width: twoColumns, height: twoColumns * 0.36, panels: [][]*plot.Plot{{budget, sent, parts}}}
	for _, p := range s.panels[0] {
		p.Add(grid())
		p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	}
	looks := []look{
		{blue, thick, solid, draw.SquareGlyph{}}, {red, thick, solid, draw.CircleGlyph{}},
		{sky, thick, dashed, draw.PyramidGlyph{}}, {orange, thick, dashed, draw.TriangleGlyph{}},
		{green, thick, dotted, draw.BoxGlyph{}}, {purple, thick, dotted, draw.RingGlyph{}},
	}
	for i, l := range lines {
		k := looks[i%len(looks)]
		s.legend = append(s.legend, entry{text: l.series, look: k, line: true, point: true})
		over, along := l.places(Cost.Criterion, steps64), l.places(Cost.Criterion, scalars64)
		gradient := l.places(func(c Cost) float64 { return c.Stationarity }, steps64)
		disagreement := l.places(func(c Cost) float64 { return c.Consensus }, steps64)
		if err := errors.Join(
			addCurve(budget, k, over), addPoints(budget, k, k.glyph, over),
			addCurve(sent, k, along), addPoints(sent, k, k.glyph, along),
			addPath(parts, k, gradient), addPoints(parts, k, draw.CircleGlyph{}, gradient),
			addPath(parts, k, disagreement), addPoints(parts, k, draw.RingGlyph{}, disagreement),
		); err != nil {
			return err
		}
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range s.panels[0] {
		p.X.Min, p.X.Max = p.X.Min-0.1, p.X.Max+0.1
		low, high = min(low, p.Y.Min), max(high, p.Y.Max)
	}
	for i, p := range s.panels[0] {
		p.Y.Min, p.Y.Max = low-0.08, high+0.08
		if i > 0 {
			p.Y.Tick.Marker = unlabeled{p.Y.Tick.Marker}
		}
	}
	return s.save(path)
}

func steps64(c Cost) float64   { return float64(c.Steps) }
func scalars64(c Cost) float64 { return float64(c.Scalars) }

// budgets holds the runs of one series, grouped by the number T of local steps.
type budgets struct {
	series string
	runs   [][]Cost
}

func newBudgets(costs []Cost) ([]budgets, error) {
	var lines []budgets
	for _, c := range costs {
		if !(c.Start > 0 && c.Stationarity > 0 && c.Consensus > 0 && c.Steps > 0 && c.Scalars > 0) {
			return nil, fmt.Errorf("figure: cost is %+v, want Steps, Scalars, Stationarity, Consensus and Start "+
				"above 0", c)
		}
		i := slices.IndexFunc(lines, func(b budgets) bool { return b.series == c.Series })
		if i < 0 {
			i = len(lines)
			lines = append(lines, budgets{series: c.Series})
		}
		b := &lines[i]
		j := slices.IndexFunc(b.runs, func(r []Cost) bool { return r[0].Steps == c.Steps })
		if j < 0 {
			b.runs = append(b.runs, []Cost{c})
		} else {
			b.runs[j] = append(b.runs[j], c)
		}
	}
	for _, b := range lines {
		slices.SortFunc(b.runs, func(x, y []Cost) int { return cmp.Compare(x[0].Steps, y[0].Steps) })
	}
	return lines, nil
}

// places returns a point for each T: the mean of a value over runs, with one population standard deviation on either
// side, as base-10 logarithms. The mean and both ends are first divided by the mean of Start over the runs. The lower
// end is at least a tenth of the mean.
func (b budgets) places(value, x func(Cost) float64) []place {
	var line []place
	for _, runs := range b.runs {
		var values, starts []float64
		for _, c := range runs {
			values, starts = append(values, value(c)), append(starts, c.Start)
		}
		start := stat.Mean(starts)
		mean, sd := stat.Mean(values)/start, stat.SD(values)/start
		line = append(line, place{math.Log10(x(runs[0])), math.Log10(mean), math.Log10(max(mean-sd, mean/10)),
			math.Log10(mean + sd)})
	}
	return line
}

func addPoints(p *plot.Plot, l look, glyph draw.GlyphDrawer, line []place) error {
	var xys plotter.XYs
	for _, at := range line {
		xys = append(xys, plotter.XY{X: at.x, Y: at.y})
	}
	scatter, err := plotter.NewScatter(xys)
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	scatter.GlyphStyle = draw.GlyphStyle{Color: l.color, Radius: 2.2, Shape: glyph}
	addGlyphs(p, scatter)
	return nil
}
