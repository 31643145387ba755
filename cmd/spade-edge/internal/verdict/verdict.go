package verdict

import (
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
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
	// AsOf is the release of the earlier model that stands for the shared one, or 0 if the last one does.
	AsOf    int      `json:"as_of_release,omitempty"`
	Answers *Answers `json:"answers,omitempty"`

	Losses *Losses `json:"losses,omitempty"` // only if the losses come from a program

	Covered bool `json:"covered_by_privacy"` // always false
}

// Answers has the measure of each answer on the held-out rows: accuracy in percent, or RMSE in the unit of the target.
type Answers struct {
	Rows     int     `json:"held_out_rows"`
	Measure  string  `json:"measure"` // "accuracy" or "rmse"
	Shared   float64 `json:"shared"`  // of the last shared model, or of the earlier one in its place
	Last     float64 `json:"last"`    // of the last shared model
	Alone    float64 `json:"alone"`
	Constant float64 `json:"constant"`
	Always   string  `json:"always"`      // the constant: a class, or a number
	Gain     Gain    `json:"shared_gain"` // of the shared model over the site's own; decides nothing
}

// Losses has the means of own losses at the start of the run and at the shared model.
type Losses struct {
	Start   float64 `json:"start"`
	Shared  float64 `json:"shared"`
	Samples int     `json:"samples"`
}

// Margins, in standard errors, by which an earlier model must be better than the site's own: see decision 13.
const (
	newest = 0.67 // the newest of the earlier models
	older  = 2
)

// earlier is the shared model after a release.
type earlier struct {
	release int
	model   []float32
}

// decide compares the answers on the rows of held, which has at least one. own has the rows that the model alone was
// trained on. It returns the accepted model, or nil for a constant.
//
// Between a model of others and the site's own answers, a tie goes to the site. The latest earlier model that is better
// than the last, and better than the site's own by a margin, stands for the shared one. The margin grows with the way
// back: an attacker could otherwise show the site several models that are slightly wrong, each in its own way, and one
// of them would look good by chance.
func (v *Verdict) decide(held *task.Model, own *task.Data, last []float32, before []earlier, alone []float32) (model []float32, err error) {
	j := judge{held: held, numeric: held.Data().Target != nil}
	shared, mine := j.marks(last, &err), j.marks(alone, &err)
	if err != nil {
		return nil, err
	}
	always, answer := j.constant(own)
	a := &Answers{Rows: len(shared), Measure: "accuracy", Last: j.worth(shared), Alone: j.worth(mine), Constant: j.worth(always), Always: answer}
	if j.numeric {
		a.Measure = "rmse"
	}
	v.Model, v.Answers = sdk.ModelHash(last), a
	model, a.Shared = last, a.Last
	margin := newest
	for _, e := range slices.Backward(before) {
		marks := j.marks(e.model, &err)
		if err != nil {
			return nil, err
		}
		if g := j.gain(marks, mine); j.better(j.worth(marks), a.Last) && g.Value > margin*g.deviation {
			shared, model, a.Shared, v.AsOf = marks, e.model, j.worth(marks), e.release
			break
		}
		margin = older
	}
	a.Gain = j.gain(shared, mine)
	switch {
	case !j.better(a.Constant, a.Alone) && !j.better(a.Shared, a.Alone):
		v.Accepted, model = Alone, alone
	case !j.better(a.Shared, a.Constant):
		v.Accepted = Constant
		return nil, nil
	default:
		v.Accepted = Shared
	}
	v.AcceptedModel = sdk.ModelHash(model)
	return model, nil
}

// Other reports whether the accepted answer is another one than the model with this hash.
func (v *Verdict) Other(hash string) bool { return v.Accepted != "" && v.AcceptedModel != hash }

func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
