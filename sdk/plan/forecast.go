package plan

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// Outlook forecasts the value of a private run from public numbers. A model that always gives the most frequent answer
// has gain 0, and the model of the same run without noise has gain 1.
type Outlook struct {
	Signal float64 `json:"signal"` // how far the updates move the members' mean model, as a multiple of the noise in it
	Gain   float64 `json:"gain"`   // median gain of runs with this signal
	// Nine of ten measured runs with the same Signal had a gain between Low and High. A model with a gain below 0 is
	// worse than always giving the most frequent answer.
	Low  float64 `json:"gain_low"`
	High float64 `json:"gain_high"`

	// Members, Epsilon and Share state three changes, each of which alone would raise the gain to [Enough]: this number
	// of members; this epsilon; or pairwise noise with as many colluders as [MostColluders] returns and the settings
	// that [Suggest] chooses. None of the three is set if the gain is already enough. Share is also false if the run
	// already has pairwise noise.
	Members int     `json:"members_for_enough,omitempty"`
	Epsilon float64 `json:"epsilon_for_enough,omitempty"`
	Share   bool    `json:"sharing_for_enough,omitempty"`
	// Halved is the gain with half the parameters and the same settings. It is nil if the gain is enough or the model
	// has few parameters.
	Halved *float64 `json:"gain_with_half_the_parameters,omitempty"`
	// Records reports whether the gain would rise if the same epsilon protected each record instead of each client.
	Records bool `json:"records_bring_more,omitempty"`
}

const (
	// Enough is the gain below which an [Outlook] lists what would raise it.
	Enough = 0.8
	// hopeless is the gain below which a run spends a privacy budget for almost nothing.
	hopeless = 0.25
	// reach bounds how far it is useful to move a model. With features of mean square 1, a model that has moved farther
	// hardly changes its answers.
	reach = 2.25
	// manyParameters is the number of parameters from which [Forecast] also predicts the gain with half the parameters.
	manyParameters = 16
	// mostShare is the largest noise that [MostColluders] accepts, as a multiple of the noise with one colluder.
	mostShare = 1.1
	// aim is the number of queries per parameter and round at which half of a member's update is signal and half is
	// noise.
	aim = 10.0
)

// gains is a table of signals in increasing order. Each row lists the 5 % quantile, the median and the 95 % quantile of
// the gains of runs with that signal, as printed by `forecast.py fit` in .ci/validate. Values between two rows are
// interpolated linearly in the logarithm of the signal.
type gains []struct{ signal, low, gain, high float64 }

var (
	clientGains = gains{
		{0.05, -1.44, -0.29, 0.61},
		{0.1, -0.96, -0.08, 0.72},
		{0.2, -0.86, 0.06, 0.76},
		{0.4, -0.86, 0.23, 0.95},
		{0.7, -0.38, 0.67, 0.97},
		{1, 0.00, 0.81, 1.00},
		{1.5, 0.46, 0.92, 1.01},
		{2, 0.52, 0.94, 1.01},
		{3, 0.61, 0.98, 1.05},
		{5, 0.82, 0.98, 1.05},
		{10, 0.96, 0.98, 1.05},
	}
	recordGains = gains{
		{0.02, -2.22, -0.26, 0.70},
		{0.05, -1.90, -0.06, 0.70},
		{0.1, -1.52, 0.04, 0.76},
		{0.2, -1.52, 0.26, 0.97},
		{0.4, -0.74, 0.54, 1.15},
		{0.7, -0.27, 0.78, 1.18},
		{1, 0.20, 0.85, 1.18},
		{2, 0.55, 0.89, 1.18},
		{4, 0.64, 0.98, 1.18},
		{8, 0.64, 1.00, 1.18},
		{16, 0.81, 1.00, 1.18},
		{40, 0.88, 1.00, 1.18},
	}
)

func (g gains) at(signal float64) (low, gain, high float64) {
	k := sort.Search(len(g), func(k int) bool { return g[k].signal > signal })
	a, b := g[max(k-1, 0)], g[min(k, len(g)-1)]
	if a == b {
		return a.low, a.gain, a.high
	}
	t := math.Log(signal/a.signal) / math.Log(b.signal/a.signal)
	between := func(a, b float64) float64 { return a + float64(t*(b-a)) }
	return between(a.low, b.low), between(a.gain, b.gain), between(a.high, b.high)
}

// signal returns the smallest signal with a median gain of at least the given gain, limited to the range of the table.
func (g gains) signal(gain float64) float64 {
	k := 1
	for k < len(g)-1 && g[k].gain < gain {
		k++
	}
	a, b := g[k-1], g[k]
	return a.signal * math.Pow(b.signal/a.signal, min(max(0, (gain-a.gain)/(b.gain-a.gain)), 1))
}

func gainsOf(u dpmech.Unit) gains {
	if u == dpmech.Record {
		return recordGains
	}
	return clientGains
}

// Forecast predicts the gain of a fleet's private run. samples is the number of samples per member; 0 means so many
// that their number does not limit the signal. Forecast fails if the fleet is invalid or not private.
func Forecast(fleet sdk.Planner, samples int) (*Outlook, error) {
	p, err := fleet.Plan()
	if err != nil {
		return nil, err
	}
	f := p.Fleet()
	if f.Privacy.NonPrivate {
		return nil, errors.New("plan: forecast: found a run without noise, want a private run")
	}
	signal := signalOf(f, samples)
	r, gains := &Outlook{Signal: signal}, gainsOf(f.Privacy.Unit)
	if r.Low, r.Gain, r.High = gains.at(signal); r.Gain >= Enough {
		return r, nil
	}
	lacks := gains.signal(Enough) / signal
	if n := math.Ceil(float64(len(f.Members)) * lacks * lacks); n < 1e6 {
		r.Members = int(n)
	}
	if half := *f; f.Dim >= manyParameters {
		half.Dim = (f.Dim + 1) / 2
		_, gain, _ := gains.at(signalOf(&half, samples))
		r.Halved = &gain
	}
	pr, rho := f.Privacy, f.Total(f.Method.Rounds).Rho
	if more := rho * lacks * lacks; more < 1e6 {
		r.Epsilon = math.Ceil(pr.Accounting.Epsilon(more, pr.Delta))
	}
	if pr.PairSigma == 0 && len(f.Members) > 2 {
		k := Known{Dim: f.Dim, Samples: []int{max(1, samples)}, Graph: p.Graph()}
		k.Method.Rounds, k.Method.Batch = f.Method.Rounds, f.Method.Batch
		k.Privacy = sdk.Privacy{EpsilonLimit: pr.Accounting.Epsilon(rho, pr.Delta), Delta: pr.Delta, Accounting: pr.Accounting,
			Colluders: 1, Unit: pr.Unit}
		if pr.Unit == dpmech.Record {
			k.Samples = f.Records
		}
		other := *f
		other.Method, other.Privacy, err = Suggest(k)
		r.Share = err == nil && signalOf(&other, samples) >= mostShare*gains.signal(Enough)
	}
	if pr.Unit == dpmech.Client && samples > 0 {
		each := *f
		each.Privacy.Unit, each.Records = dpmech.Record, []int{samples}
		each.Privacy.Clip, each.Privacy.Sigma = 1, math.Sqrt(2*float64(f.Method.Rounds)/rho) // costs the same epsilon
		_, gain, _ := recordGains.at(signalOf(&each, samples))
		r.Records = gain > max(r.Gain, hopeless)
	}
	return r, nil
}

// ErrHopeless is wrapped by the errors that [Hopeless] returns.
var ErrHopeless = errors.New("the privacy budget would be spent for almost no gain")

// Hopeless returns an error that wraps [ErrHopeless] if a private run, however many samples its members have, would
// achieve less than a quarter of the gain of a run without noise; see [Forecast].
func Hopeless(fleet sdk.Planner) error {
	p, err := fleet.Plan()
	if err != nil || p.Fleet().Privacy.NonPrivate {
		return nil
	}
	f := p.Fleet()
	if gain := mostGain(f); gain < hopeless {
		return fmt.Errorf("run %q: %w: the expected gain is %.0f %% of the gain that %d members reach without noise, "+
			"want at least %.0f %%", f.Run, ErrHopeless, 100*max(gain, 0), len(f.Members), 100*hopeless)
	}
	return nil
}

// mostGain returns the expected gain of a private run whose number of samples does not limit the signal.
func mostGain(f *sdk.Fleet) float64 {
	_, gain, _ := gainsOf(f.Privacy.Unit).at(signalOf(f, 0))
	return gain
}

// signalOf returns the distance by which all clipped updates would move the members' mean if they had the same
// direction, divided by the local noise in that mean.
func signalOf(f *sdk.Fleet, samples int) float64 {
	m, d := f.Method, float64(f.Dim)
	if p := f.Privacy; p.Unit == dpmech.Record {
		mean := admm.NewRecords(f.Records, 1).Mean
		return agree * recordSignal(mean, len(f.Members), f.Dim, m.Rounds, p.Clip/p.Sigma)
	}
	far := min(f.Privacy.Clip*float64(m.Rounds), reach)
	noise := f.Privacy.Sigma * math.Sqrt(float64(m.Rounds)*d/float64(len(f.Members)))
	if samples > 0 {
		asked := float64(m.Tau) * float64(batchOf(m, samples))
		noise *= math.Sqrt(1 + aim*d/asked)
	}
	return far / noise
}
