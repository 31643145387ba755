package verdict

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/sdk"
)

// The answers that a verdict compares.
const (
	Shared   = "shared"   // the model of the run, or an earlier one in its place
	Alone    = "alone"    // a model of the site's own rows alone
	Constant = "constant" // always the most frequent class, or the mean, of the site's own rows
)

// Verdict says which answer is accepted at a site, and what each is worth there.
type Verdict struct {
	Run    string `json:"run"`
	Fleet  string `json:"fleet"` // hash of the fleet, in hexadecimal digits
	Name   string `json:"name"`
	Rounds int    `json:"rounds"`       // releases of the run
	Model  string `json:"model_sha256"` // of the last shared model

	// Accepted is [Shared], [Alone] or [Constant], or empty if the losses come from a program. AcceptedModel is the
	// hash of the accepted model, or empty if that is a constant.
	Accepted      string `json:"accepted,omitempty"`
	AcceptedModel string `json:"accepted_model_sha256,omitempty"`
	// AsOf is the release of the earlier model that stands for the shared one, accepted or not; 0 if the last one does.
	AsOf    int      `json:"as_of_release,omitempty"`
	Answers *Answers `json:"answers,omitempty"`

	Losses *Losses `json:"losses,omitempty"` // only if the losses come from a program

	Covered bool `json:"covered_by_privacy"` // always false
}

// Answers has the measure of each answer on the held-out rows: accuracy in percent, RMSE in the unit of the target, or
// C-index.
type Answers struct {
	Rows     int           `json:"held_out_rows"`
	Measure  score.Measure `json:"measure"`
	Shared   float64       `json:"shared"` // of the last shared model, or of the earlier one in its place
	Last     float64       `json:"last"`   // of the last shared model
	Alone    float64       `json:"alone"`
	Constant float64       `json:"constant"`
	Always   string        `json:"always"`      // the constant: a class, or a number
	Gain     Gain          `json:"shared_gain"` // of the shared model over the site's own; decides nothing
}

// Losses has the means of own losses at the start of the run and at the shared model.
type Losses struct {
	Start   float64 `json:"start"`
	Shared  float64 `json:"shared"`
	Samples int     `json:"samples"`
}

// earlier is the shared model after a release.
type earlier struct {
	Release int
	Model   []float32
}

// decide compares the answers on the rows of held, which has at least one. own has the rows that the model alone was
// trained on. It returns the accepted model, or nil for a constant. Between a model of others and the site's own answers,
// a tie goes to the site.
func (v *Verdict) decide(held, own *task.Model, last []float32, before []earlier, alone []float32) (model []float32, err error) {
	shared, err := lookBack(own, earlier{Model: last}, before)
	if err != nil {
		return nil, err
	}
	j := judge{held}
	marks, latest, mine := j.marks(shared.Model, &err), j.marks(last, &err), j.marks(alone, &err)
	if err != nil {
		return nil, err
	}
	always, answer := j.constant(own.Data())
	a := &Answers{Rows: len(marks), Measure: j.measure(), Shared: held.Worth(marks), Last: held.Worth(latest), Alone: held.Worth(mine),
		Constant: held.Worth(always), Always: answer, Gain: j.gain(marks, mine)}
	if a.Measure == score.CIndex && math.IsNaN(a.Last) {
		return nil, fmt.Errorf("%w: no two of the held-out rows can be compared: one of them needs an event that is earlier than the "+
			"other's time", ErrNone)
	}
	v.Model, v.Answers, v.AsOf = sdk.ModelHash(last), a, shared.Release
	model = shared.Model
	switch {
	case !a.Measure.Better(a.Constant, a.Alone) && !a.Measure.Better(a.Shared, a.Alone):
		v.Accepted, model = Alone, alone
	case !a.Measure.Better(a.Shared, a.Constant):
		v.Accepted = Constant
		return nil, nil
	default:
		v.Accepted = Shared
	}
	v.AcceptedModel = sdk.ModelHash(model)
	return model, nil
}

// older is by how many standard errors an earlier model must be better than the last, unless it is the newest of them.
const older = 2

// lookBack returns the shared model to judge: the latest of the earlier models that is better than the last on the site's
// training rows, or the last. It leaves the held-out rows for the comparison with the site's own model: an attacker that
// shows the site several models, each slightly wrong in its own way, does not gain by the one that looks good by chance on
// the rows that decide.
func lookBack(own *task.Model, last earlier, before []earlier) (earlier, error) {
	var err error
	j, doubt := judge{own}, 0.0
	marks := j.marks(last.Model, &err)
	for _, e := range slices.Backward(before) {
		theirs := j.marks(e.Model, &err)
		if err != nil {
			return last, err
		}
		g := j.gain(theirs, marks)
		if g.Value > 0 && g.Value > doubt*g.deviation {
			return e, nil
		}
		doubt = older
	}
	return last, err
}

// Other reports whether the accepted answer is another one than the model with this hash.
func (v *Verdict) Other(hash string) bool { return v.Accepted != "" && v.AcceptedModel != hash }

func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
