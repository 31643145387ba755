package figure

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// Share is the fraction of a client's samples that belong to one class.
type Share struct {
	Partition string // as in Curve
	Client    int
	Share     float64 // in [0, 1]
}

// Shares draws how unevenly a class is spread over clients. For each partition, it plots each client's share against
// the fraction of clients whose share is at most as large. A horizontal line means that all clients have the same
// share. class is the class name in the figure, such as "digit 7".
func Shares(shares []Share, class, path string) error {
	if len(shares) == 0 {
		return errors.New("figure: no shares")
	}
	of := make(map[string][]float64)
	var partitions []string
	for _, s := range shares {
		if !(s.Share >= 0 && s.Share <= 1) {
			return fmt.Errorf("figure: the fraction for client %d is %v (partition %s), want 0..1", s.Client, s.Share,
				s.Partition)
		}
		if of[s.Partition] == nil {
			partitions = append(partitions, s.Partition)
		}
		of[s.Partition] = append(of[s.Partition], 100*s.Share)
	}
	slices.SortFunc(partitions, comparePartitions)
	p := newPlot("", "Clients, sorted (%)", "Share of "+class+" (%)")
	p.Add(grid())
	s := &sheet{width: oneColumn, height: 2.5 * oneColumn / 3.5, panels: [][]*plot.Plot{{p}}}
	for place, partition := range partitions {
		l := partitionLook(partition, place)
		s.legend = append(s.legend, entry{text: partitionTitle(partition), look: l, line: true})
		values := of[partition]
		slices.Sort(values)
		var xys plotter.XYs
		for i, v := range values {
			n := float64(len(values))
			xys = append(xys, plotter.XY{X: 100 * float64(i) / n, Y: v}, plotter.XY{X: 100 * float64(i+1) / n, Y: v})
		}
		line, err := plotter.NewLine(xys)
		if err != nil {
			return fmt.Errorf("figure: %w", err)
		}
		line.LineStyle = l.line()
		p.Add(line)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 100, -2, 102
	p.X.Tick.Marker, p.Y.Tick.Marker = steps{5}, steps{5}
	return s.save(path)
}
