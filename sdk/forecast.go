package sdk

import (
	"errors"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/unit"
)

// Worth is what a private run is expected to bring, compared with the same run without noise.
type Worth string

const (
	Hopeless Worth = "hopeless" // little better than guessing
	Weak     Worth = "weak"     // something, and often much less than without noise
	Good     Worth = "good"     // most of what the run would bring without noise
)

// Forecast says what a private run will be worth, from public numbers alone. .ci/validate has the runs on which it was fitted.
type Forecast struct {
	Signal float64 `json:"signal"` // of what is learned against the noise of the members' mean
	Worth  Worth   `json:"worth"`

	// What would make it Good: so many members or so large an epsilon, if all else stayed, or shared noise with [MostColluders]
	// and the settings of [Suggest]. All are zero if the run is good; Share is false where neighbors share noise already.
	Members int     `json:"members_for_good,omitempty"`
	Epsilon float64 `json:"epsilon_for_good,omitempty"`
	Share   bool    `json:"sharing_for_good,omitempty"`
	// Halved is what Signal would be with half the parameters, by the same settings; 0 if the run is good, or has few.
	Halved float64 `json:"signal_with_half_the_parameters,omitempty"`
	// Records says that the same epsilon for each record, in place of each client, would bring more.
	Records bool `json:"records_for_good,omitempty"`
}

const (
	hopelessBelow = 0.3
	goodFrom      = 1.0
	// reach bounds how far it helps a model to go: with unit features, scores further out are certain enough.
	reach = 2.25
	// manyParameters are so many that columns may be left out.
	manyParameters = 16
	// mostShare is how much more noise as many colluders make as [MostColluders] allows than one.
	mostShare = 1.1
	// aim is how many queries a parameter and round a member must make for its update to be signal in equal parts.
	aim = 10.0
)

// Forecast fails if the fleet is not valid or not private. samples is that of each member; 0 means more than enough.
func (f *Fleet) Forecast(samples int) (*Forecast, error) {
	p, err := f.plan()
	if err != nil {
		return nil, err
	}
	if f.Privacy.NonPrivate {
		return nil, errors.New("sdk: forecast: a run without noise has none")
	}
	signal := f.signal(samples)
	r := &Forecast{Signal: signal, Worth: Weak}
	switch {
	case signal >= goodFrom:
		r.Worth = Good
		return r, nil
	case signal < hopelessBelow:
		r.Worth = Hopeless
	}
	lacks := goodFrom / signal
	if n := math.Ceil(float64(len(f.Members)) * lacks * lacks); n < 1e6 {
		r.Members = int(n)
	}
	if half := *f; f.Dim >= manyParameters {
		half.Dim = (f.Dim + 1) / 2
		r.Halved = half.signal(samples)
	}
	pr, rho := f.Privacy, f.Rho()
	if more := rho * lacks * lacks; more < 1e6 {
		r.Epsilon = math.Ceil(pr.Accounting.Epsilon(more, pr.Delta))
	}
	if pr.PairSigma == 0 && len(f.Members) > 2 {
		k := Known{Dim: f.Dim, Samples: []int{max(1, samples)}, Graph: p.graph}
		k.Method.Rounds, k.Method.Batch = f.Method.Rounds, f.Method.Batch
		k.Privacy = Privacy{EpsilonLimit: pr.Accounting.Epsilon(rho, pr.Delta), Delta: pr.Delta, Accounting: pr.Accounting,
			Colluders: 1, Unit: pr.Unit}
		if pr.Unit == UnitRecord {
			k.Samples = f.Records
		}
		other := *f
		other.Method, other.Privacy, err = Suggest(k)
		r.Share = err == nil && other.signal(samples) >= mostShare*goodFrom
	}
	if pr.Unit == UnitClient && samples > 0 {
		each := *f
		each.Privacy.Unit, each.Records = UnitRecord, []int{samples}
		each.Privacy.Clip, each.Privacy.Sigma = 1, math.Sqrt(2*float64(f.Method.Rounds)/rho) // the same epsilon
		r.Records = each.signal(samples) > max(signal, hopelessBelow)
	}
	return r, nil
}

// ErrHopeless says that a privacy budget would be spent for little better than guessing.
var ErrHopeless = errors.New("a privacy budget would be spent for little better than guessing")

// Hopeless returns an error that wraps [ErrHopeless] if the run is [Hopeless] however many samples its members have.
func (f *Fleet) Hopeless() error {
	if f.Privacy.NonPrivate || f.Validate() != nil {
		return nil
	}
	signal := f.signal(0)
	if signal >= hopelessBelow {
		return nil
	}
	return fmt.Errorf("run %q: %w: what %d members learn is %.2g of the noise in their mean, want %v or more", f.Run,
		ErrHopeless, len(f.Members), signal, hopelessBelow)
}

// signal returns how far all clipped updates in a row take the mean of all members, as a multiple of the local noise in it.
func (f *Fleet) signal(samples int) float64 {
	m, d := f.Method, float64(f.Dim)
	if p := f.Privacy; p.Unit == UnitRecord {
		mean := admm.NewRecords(f.Records, 1).Mean
		return unit.Agree * unit.Signal(mean, len(f.Members), f.Dim, m.Rounds, p.Clip/p.Sigma)
	}
	far := min(f.Privacy.Clip*float64(m.Rounds), reach)
	noise := f.Privacy.Sigma * math.Sqrt(float64(m.Rounds)*d/float64(len(f.Members)))
	if samples > 0 {
		asked := float64(m.Tau) * float64(batchOf(m, samples))
		noise *= math.Sqrt(1 + aim*d/asked)
	}
	return far / noise
}
