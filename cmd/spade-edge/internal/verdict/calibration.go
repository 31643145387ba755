package verdict

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// Recalibrated is a new recalibration and how the site's held-out rows fare without and with it.
type Recalibrated struct {
	*Recalibration
	File     string       `json:"-"`                  // the private file that has it
	Held     int          `json:"held_out_rows"`      // 0 if the node holds out none; the fields below are then missing
	Observed []float64    `json:"observed,omitempty"` // the share of each class, or the mean target
	Before   *Calibration `json:"before,omitempty"`
	After    *Calibration `json:"after,omitempty"`
}

// Calibration compares answers with the truth on held-out rows.
type Calibration struct {
	Said   []float64     `json:"said,omitempty"`   // the mean probability of each class, or the mean number
	Error  float64       `json:"error"`            // the Brier score (for more than two classes half the sum over them), or the RMSE
	Tenths []score.Tenth `json:"tenths,omitempty"` // for two classes

	Horizons []survival.AtHorizon `json:"horizons,omitempty"` // for survival; Error is the mean of their Brier scores
}

// Recalibrate fits a recalibration of a shared model to the training rows of the node's opened source, and keeps it in
// the state folder for [Site.Recalibration].
func (s *Site) Recalibrate(source *fleetfile.Source, model []float32) (*Recalibrated, error) {
	own, ours := source.Oracle.(*task.Model)
	if !ours {
		return nil, errors.New("the losses come from a program, so the model's answers are unknown here")
	}
	r := &Recalibration{Fleet: s.fleet(), Name: s.Node.Name, Model: sdk.ModelHash(model)}
	rows := own.Data().Readable()
	if r.Rows = rows.Len(); r.Rows == 0 {
		return nil, errors.New("none of the node's own rows can be read")
	}
	said, err := own.On(rows).Answers(model)
	if err == nil {
		err = r.fit(said, rows)
	}
	if err != nil {
		return nil, err
	}
	out := &Recalibrated{Recalibration: r, File: s.path(recalibrationName)}
	if held := heldOut(source); held != nil {
		if err := out.measure(held, model); err != nil {
			return nil, err
		}
	}
	return out, s.keep(recalibrationName, r)
}

// measure compares the answers of a model for the rows of held, without and with the recalibration.
func (r *Recalibrated) measure(held *task.Model, model []float32) error {
	r.Held = held.Len()
	said, err := held.Answers(model)
	if err != nil {
		return err
	}
	d := held.Data()
	if d.Horizon != nil {
		risks, _ := held.Marks(model) // fails only if Answers does
		r.Before = survivalOf(said, risks, d)
		for i, curve := range said {
			said[i] = r.Survival(curve)
		}
		r.After = survivalOf(said, risks, d)
		return nil
	}
	r.Observed = make([]float64, len(r.Intercepts))
	for i, k := range d.Y {
		if d.Target != nil {
			r.Observed[0] += d.Target[i] / float64(r.Held)
		} else {
			r.Observed[k] += 1 / float64(r.Held)
		}
	}
	r.Before = calibrationOf(said, d)
	for i, row := range said {
		said[i] = r.Apply(row)
	}
	r.After = calibrationOf(said, d)
	return nil
}

// survivalOf compares predicted survival with the truth.
func survivalOf(curves [][]float64, risks []float64, d *task.Data) *Calibration {
	m := survival.Judge(d.Horizon.Cuts(), d.Time, d.Y, risks, curves)
	c, n := &Calibration{Horizons: m.Horizons}, 0.0
	for _, h := range m.Horizons {
		if h.Brier != nil {
			n++
			c.Error += (h.Brier.Value - c.Error) / n
		}
	}
	return c
}

// calibrationOf compares answers with the truth.
func calibrationOf(said [][]float64, d *task.Data) *Calibration {
	n := float64(len(said))
	c, last := &Calibration{Said: make([]float64, len(said[0]))}, make([]float64, len(said))
	for i, row := range said {
		for k, v := range row {
			c.Said[k] += v / n
		}
		last[i] = row[len(row)-1]
	}
	switch len(c.Said) {
	case 1:
		c.Error = score.Numbers(d.Target, last).RMSE.Value
	case 2:
		m := score.Classes(2, d.Y, d.Y, last).Binary // of the probabilities alone
		c.Error, c.Tenths = m.Brier.Value, m.Calibration
	default:
		for i, row := range said {
			for k, v := range row {
				if k == d.Y[i] {
					v--
				}
				c.Error += float64(v*v) / 2 / n
			}
		}
	}
	return c
}

// Recalibration returns the recalibration that the state folder has for a model, which is given by its hash and by the
// number of its classes, or 1, or 2 for survival. other reports that the folder has one for another model or run
// instead.
func (s *Site) Recalibration(hash string, width int) (r *Recalibration, other bool, err error) {
	r = new(Recalibration)
	if err := s.read(recalibrationName, r); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, fmt.Errorf("the recalibration cannot be read: %w; remove the file, or run evaluate -recalibrate again", err)
	}
	if r.Fleet != s.fleet() || r.Name != s.Node.Name || r.Model != hash {
		return nil, true, nil
	}
	infinite := func(b float64) bool { return math.IsInf(b, 0) || math.IsNaN(b) }
	if !(r.Slope > 0) || infinite(r.Slope) || len(r.Intercepts) != width || slices.ContainsFunc(r.Intercepts, infinite) {
		return nil, false, fmt.Errorf("%s: slope %v and %d intercepts, want a slope above 0 and %d intercepts; remove the file, or run evaluate "+
			"-recalibrate again", s.path(recalibrationName), r.Slope, len(r.Intercepts), width)
	}
	return r, false, nil
}
