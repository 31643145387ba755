package fleetfile

import (
	"encoding/json"

	"github.com/spade-dfl/spade-edge/sdk/adapter"
)

// Adapter reads the files of the fleet's adapter, which are in the fleet file's folder. It returns nil for a fleet
// without an adapter.
func (f *File) Adapter() (*adapter.Adapter, error) {
	if f.Fleet.Adapter == nil {
		return nil, nil
	}
	a, err := adapter.Open(*f.Fleet.Adapter, f.dir)
	if err != nil {
		return nil, Mismatchf("fleetfile: %w", err)
	}
	return a, nil
}

// Expand returns the model's parameters for the trained vector c: c itself for a fleet without an adapter.
func (f *File) Expand(c []float32) ([]float32, error) {
	a, err := f.Adapter()
	if err != nil || a == nil {
		return c, err
	}
	return expanded(a, c), nil
}

func expanded(a *adapter.Adapter, c []float32) []float32 {
	x := make([]float32, a.Spec().Of)
	a.Expand(x, c)
	return x
}

// Adapt changes a source that takes model parameters into a source that takes trained vectors: the fleet's adapter
// expands each vector to parameters. Without an adapter Adapt does nothing.
func (f *File) Adapt(s *Source) error {
	a, err := f.Adapter()
	if err != nil || a == nil {
		return err
	}
	s.Oracle = a.Oracle(s.Oracle)
	if s.Test != nil {
		s.Test = &adaptedJudge{s.Test, a}
	}
	return nil
}

// adaptedJudge is a Judge of trained vectors: it expands a vector with the adapter and passes the resulting parameters
// to the embedded Judge.
type adaptedJudge struct {
	Judge
	adapter *adapter.Adapter
}

func (j *adaptedJudge) MeanLoss(c []float32) float64 { return j.Judge.MeanLoss(expanded(j.adapter, c)) }
func (j *adaptedJudge) Accuracy(c []float32) float64 { return j.Judge.Accuracy(expanded(j.adapter, c)) }
func (j *adaptedJudge) Deviations(c []float32) (*Deviations, error) {
	return j.Judge.Deviations(expanded(j.adapter, c))
}

// ofProgram checks the dimension and the adapter in a program's hello. If the fleet has an adapter, ofProgram adapts
// the source, unless the program expands queries itself.
func (f *File) ofProgram(s *Source, dim int, text string) error {
	fleet, spec := f.Fleet, adapter.Spec{}
	switch a := fleet.Adapter; {
	case text == "" && dim == fleet.Params():
		return f.Adapt(s)
	case a == nil && text == "":
		return Mismatchf("oracle.stream has %d parameters, but the fleet's dim is %d", dim, fleet.Dim)
	case a != nil && dim == a.Dim && json.Unmarshal([]byte(text), &spec) == nil && spec.String() == a.String():
		return nil
	case a == nil:
		return Mismatchf("oracle.stream expands %d numbers with the adapter %.300s, but the fleet has no adapter", dim, text)
	default:
		return Mismatchf("oracle.stream has %d parameters and the adapter %.300q, want %d parameters and no adapter, "+
			"or %d parameters and the adapter %.300s", dim, text, a.Of, a.Dim, a)
	}
}
