package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/zoest"
)

// hazardLosses is a set of queries to a survival task, with the same in the form of the plain loops.
type hazardLosses struct {
	model   *task.Model
	queries []zoest.Query
	losses  []float64

	columns, intervals int
	points, rows       []float32 // of each query
	survived, events   []int32   // see survival.Life
	plain              []float64
}

// newHazards returns n queries with so many columns and five finite intervals.
func newHazards(n, columns int) *hazardLosses {
	r := rand.New(rand.NewPCG(1, 1))
	d := &task.Data{Dim: columns, Classes: 2, Horizon: &survival.Horizon{Time: "t", Unit: "d", Intervals: "1y,2y,3y,5y,10y", Rate: 0.05}}
	for range n {
		for range columns {
			d.X = append(d.X, float32(r.NormFloat64()))
		}
		d.Y, d.Time = append(d.Y, r.IntN(2)), append(d.Time, 2500*r.Float64())
	}
	cuts := d.Horizon.Cuts()
	h := &hazardLosses{columns: columns, intervals: cuts.Len(), rows: d.X, losses: make([]float64, n), plain: make([]float64, n)}
	h.model = task.ModelSpec{Name: task.HazardsModel}.New(d)
	for i := range n {
		var x []float32
		for range h.model.Dim() {
			x = append(x, float32(0.1*r.NormFloat64()))
		}
		h.queries, h.points = append(h.queries, zoest.Query{Point: x, Sample: i}), append(h.points, x...)
		l := cuts.Life(d.Time[i], d.Y[i])
		h.survived, h.events = append(h.survived, int32(l.Survived)), append(h.events, int32(l.Event))
	}
	return h
}

func (h *hazardLosses) ours(times int) (err error) {
	for range times {
		err = errors.Join(err, h.model.Losses(context.Background(), h.queries, h.losses))
	}
	return err
}

// inGo computes the same losses by a plain loop.
func (h *hazardLosses) inGo(times int) {
	d := h.columns + h.intervals
	for range times {
		for i := range h.plain {
			x, z, loss := h.points[i*d:(i+1)*d], 0.0, 0.0
			for j, v := range h.rows[i*h.columns : (i+1)*h.columns] {
				z += float64(x[j] * v)
			}
			for j := range h.survived[i] + h.events[i] {
				s := z + float64(x[h.columns+int(j)])
				if j == h.survived[i] {
					s = -s
				}
				loss += math.Log(1 + math.Exp(s))
			}
			h.plain[i] = loss / 4
		}
	}
}

// hazardRow compares losses of a survival task with a loop in C or Go.
func hazardRow() gateRow {
	const times, n = 1000, 512
	h := newHazards(n, 39)
	r := gateRow{what: "a loss of hazards, 39 columns, to a loop in C", committed: 1.2, oursPer: 1, theirsPer: 1,
		ours: func() error { return h.ours(times) }, theirs: func() error { h.inC(times); return nil }}
	if !h.inC(1) {
		r.what, r.committed = "a loss of hazards, 39 columns, to a loop in Go", 0.6
		r.theirs = func() error { h.inGo(times); return nil }
	}
	return r
}
