package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/spade-dfl/spade-edge/examples/paper/stat"
)

// Accuracy draws accuracy over rounds, like the paper's figures for its data sets. Each partition has a panel, and each
// method has a line: the mean over seeds, in a band of one population standard deviation on either side. All curves
// must belong to the same data set.
func Accuracy(curves []Curve, path string) error {
	g, err := newGroup(curves)
	if err != nil {
		return err
	}
	s := &sheet{width: twoColumns, height: twoColumns * 0.3, panels: [][]*plot.Plot{nil}}
	low, high := 100.0, 0.0
	for i, partition := range g.partitions {
		y := ""
		if i == 0 {
			y = "Test accuracy (%)"
		}
		p := newPlot(partitionTitle(partition), "Round", y)
		p.Add(grid())
		for place, method := range g.methods {
			l := methodLook(method, place)
			if i == 0 {
				s.legend = append(s.legend, entry{text: method, look: l, line: true})
			}
			line := g.spread(partition, method)
			for _, at := range line {
				low, high = min(low, at.y), max(high, at.y)
			}
			if err := addCurve(p, l, line); err != nil {
				return err
			}
		}
		s.panels[0] = append(s.panels[0], p)
	}
	low, high = roomFor(low, high)
	for i, p := range s.panels[0] {
		p.X.Min, p.X.Max = float64(g.rounds[0]), float64(g.rounds[len(g.rounds)-1])
		p.Y.Min, p.Y.Max = low, high
		p.X.Tick.Marker, p.Y.Tick.Marker = steps{5}, steps{5}
		if i > 0 {
			p.Y.Tick.Marker = unlabeled{p.Y.Tick.Marker}
		}
	}
	return s.save(path)
}

// spread returns the points of a method's line: for each round, the mean in percent with one population standard
// deviation on either side, clipped to 0..100.
func (g *group) spread(partition, method string) []place {
	var line []place
	for _, round := range g.rounds {
		x := g.values(key{partition, method, round})
		if len(x) == 0 {
			continue
		}
		mean, sd := stat.Mean(x), stat.SD(x)
		line = append(line, place{float64(round), mean, max(0, mean-sd), min(100, mean+sd)})
	}
	return line
}

// Partitions draws accuracy over rounds for several partitions. Each method, or each way to score a method, has a
// column of two panels with one line per partition. The upper panel shows the mean over seeds, and the lower panel
// shows the mean difference from the iid partition, paired by seed. A band around each line shows the two-sided 95 %
// interval of the mean by Student's t.
//
// The parameter learning is the last round that uses data. If further rounds follow, a vertical line marks it. If
// learning is 0, there is no vertical line. All curves must belong to the same data set and have at least two seeds.
func Partitions(curves []Curve, learning int, path string) error {
	g, err := newGroup(curves)
	if err != nil {
		return err
	}
	s := &sheet{width: twoColumns, height: twoColumns * 0.52, panels: make([][]*plot.Plot, 2)}
	rounds, last := "Round", g.rounds[len(g.rounds)-1]
	if learning > 0 && learning < last {
		rounds = fmt.Sprintf("Round (cool-down after %d)", learning)
	}
	low, high, away := 100.0, 0.0, 0.0
	for i, method := range g.methods {
		labels := [2]string{"Test accuracy (%)", "Difference to IID (points)"}
		if i > 0 {
			labels = [2]string{}
		}
		top, bottom := newPlot(method, "", labels[0]), newPlot("", rounds, labels[1])
		top.Add(grid())
		bottom.Add(grid())
		for place, partition := range g.partitions {
			l := partitionLook(partition, place)
			if i == 0 {
				s.legend = append(s.legend, entry{text: partitionTitle(partition), look: l, line: true})
			}
			line, difference, err := g.intervals(partition, method)
			if err != nil {
				return err
			}
			for _, at := range line {
				low, high = min(low, at.low), max(high, at.high)
			}
			for _, at := range difference {
				away = max(away, math.Abs(at.low), math.Abs(at.high))
			}
			if err := addCurve(top, l, line); err != nil {
				return err
			}
			if err := addCurve(bottom, l, difference); err != nil {
				return err
			}
		}
		s.panels[0], s.panels[1] = append(s.panels[0], top), append(s.panels[1], bottom)
	}
	low, high = roomFor(low, high)
	away = max(1.05*away, 0.1)
	for j, row := range s.panels {
		for i, p := range row {
			p.X.Min, p.X.Max = float64(g.rounds[0]), float64(last)
			p.Y.Min, p.Y.Max = low, high
			if j == 1 {
				p.Y.Min, p.Y.Max = -away, away
			}
			p.X.Tick.Marker, p.Y.Tick.Marker = steps{5}, steps{5}
			if j == 0 {
				p.X.Tick.Marker = unlabeled{p.X.Tick.Marker}
			}
			if i > 0 {
				p.Y.Tick.Marker = unlabeled{p.Y.Tick.Marker}
			}
			if learning > 0 && learning < last {
				if err := addLine(p, float64(learning), p.Y.Min, float64(learning), p.Y.Max); err != nil {
					return err
				}
			}
		}
	}
	return s.save(path)
}

// intervals returns the points of a partition's line and of its difference from the iid partition, in percent. There is
// no difference for the iid partition itself, or if iid has no curves.
func (g *group) intervals(partition, method string) (line, difference []place, err error) {
	for _, round := range g.rounds {
		here := key{partition, method, round}
		x := g.values(here)
		if len(x) == 0 {
			continue
		}
		i, err := stat.TInterval(x, 0.95)
		if err != nil {
			return nil, nil, fmt.Errorf("figure: %s, %s, round %d: %w", partition, method, round, err)
		}
		line = append(line, place{float64(round), i.Mean, max(0, i.Low), min(100, i.High)})
		x, y := g.paired(here, key{"iid", method, round})
		if partition == "iid" || len(x) < 2 {
			continue
		}
		for n := range x {
			x[n] -= y[n]
		}
		if i, err = stat.TInterval(x, 0.95); err != nil {
			return nil, nil, err
		}
		difference = append(difference, place{float64(round), i.Mean, i.Low, i.High})
	}
	return line, difference, nil
}

func addLine(p *plot.Plot, x0, y0, x1, y1 float64) error {
	line, err := plotter.NewLine(plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y1}})
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	line.LineStyle = draw.LineStyle{Color: grey, Width: 0.7, Dashes: dashed}
	p.Add(line)
	return nil
}

// roomFor returns an axis range slightly wider than low to high but within 0..100, all in percent.
func roomFor(low, high float64) (float64, float64) {
	room := max(0.06*(high-low), 0.5)
	return max(0, low-room), min(100, high+room)
}
