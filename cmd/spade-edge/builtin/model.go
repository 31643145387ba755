package builtin

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// maxModel bounds the length of a model file in bytes. It allows about 20 million parameters.
const maxModel = 256 << 20

// The possible reasons why a model file has no task.
const (
	OwnFit  = "own fit" // each member fits the preparation on its own data
	Program = "program" // losses come from a program, and only the program knows how to prepare data
)

// Model is the content of a model file: a member's model at the end of some round, and what is needed to apply it.
type Model struct {
	Run    string   `json:"run"`  // name of the run, as in the fleet file
	Fleet  [32]byte `json:"-"`    // hash of the fleet, see [sdk.Fleet.Hash]
	Member string   `json:"name"` // member that released the model

	Round      int  `json:"round"`       // number of the release that the model comes from, cool-down included
	Rounds     int  `json:"rounds"`      // at least 1
	NonPrivate bool `json:"non_private"` // true if the run had no privacy

	// Task describes the preparation of data and the kind of model. If it is nil, NoTask gives the reason.
	Task   *task.Recipe `json:"-"`
	NoTask string       `json:"no_task,omitempty"` // [OwnFit] or [Program]; empty if there is a task

	// Threshold is set only in a site's own copy of the model.
	Threshold *Threshold `json:"threshold,omitempty"`
	// Alone means that the weights do not come from a release: the site trained them on its own records alone, without
	// noise. They may reveal these records, so keep the file on the site's device.
	Alone bool `json:"alone,omitempty"`

	// Certificate states the run's privacy cost, as a JSON object on one line; nil for a run without privacy, and for a
	// site's own model.
	Certificate json.RawMessage `json:"certificate,omitempty"`
	Weights     []float32       `json:"model"` // finite numbers; if there is a task, as many as Task.Dim returns
}

// Threshold is the minimum probability of class 1 at which a model with two classes predicts class 1. The site chose
// the threshold with its own samples, and no privacy guarantee covers this use of the samples.
type Threshold struct {
	Value   float64 `json:"value"`   // above 0, at most 1
	Rule    string  `json:"rule"`    // how the threshold was chosen, as text
	Samples int     `json:"samples"` // number of samples that the threshold was chosen with
}

type modelForm struct {
	Version int             `json:"version"`
	Fleet   string          `json:"fleet"` // Model.Fleet in hexadecimal digits
	Done    bool            `json:"done"`  // true if Round equals Rounds
	Task    json.RawMessage `json:"task,omitempty"`
	Sum     string          `json:"model_sha256"`
	*Model
}

// ReadModel reads a model file of at most 256 MiB and reports all errors at once.
func ReadModel(path string) (*Model, error) {
	data, err := fleetfile.ReadFile(path, maxModel, "a model file")
	if err != nil {
		return nil, err
	}
	m, err := parseModel(data)
	return m, fleetfile.In(path, err)
}

// ParseModel parses the content of a model file; see [ReadModel].
func ParseModel(data []byte) (*Model, error) {
	m, err := parseModel(data)
	return m, fleetfile.In("", err)
}

func parseModel(data []byte) (*Model, error) {
	m := new(Model)
	form := modelForm{Model: m}
	if err := fleetfile.Decode(data, maxModel, 1, &form); err != nil {
		return nil, err
	}
	var errs faults
	fleet, err := hex.DecodeString(form.Fleet)
	errs.want(err == nil && len(fleet) == len(m.Fleet) && hex.EncodeToString(fleet) == form.Fleet,
		"fleet is %.80q, want a SHA-256 of 64 lower case hexadecimal digits", form.Fleet)
	copy(m.Fleet[:], fleet)
	errs.want(m.Round == m.Rounds == form.Done, "done is %v, want true exactly if round equals rounds", form.Done)
	if form.Task != nil {
		if m.Task, err = parseTask(form.Task); err != nil {
			errs.at("task", err)
			m.NoTask = cmp.Or(m.NoTask, Program) // avoids a second error about the same mistake
		}
	}
	if m.Certificate != nil {
		var line bytes.Buffer
		_ = json.Compact(&line, m.Certificate) // the file is well-formed
		m.Certificate = line.Bytes()
	}
	sum := sdk.ModelHash(m.Weights)
	errs.want(sum == form.Sum, "model_sha256 is %.80q, want %s, the SHA-256 of the numbers in model", form.Sum, sum)
	if err := errors.Join(append(errs, m.Validate())...); err != nil {
		return nil, err
	}
	return m, nil
}

// Validate reports all errors at once. It names fields as in the model file.
func (m *Model) Validate() error {
	var errs faults
	for _, name := range []struct{ field, is string }{{"run", m.Run}, {"name", m.Member}} {
		errs.want(name.is != "" && len(name.is) <= wire.MaxName, "%s is %.80q, want a name of 1..%d bytes", name.field, name.is,
			wire.MaxName)
	}
	errs.want(m.Round >= 1 && m.Round <= math.MaxInt32, "round is %d, want 1..%d", m.Round, math.MaxInt32)
	errs.want(m.Rounds >= m.Round && m.Rounds <= math.MaxInt32, "rounds is %d, want at least %d, the round", m.Rounds, m.Round)
	errs.want(m.Task == nil || m.NoTask == "", "no_task is %q, want the field omitted: there is a task", m.NoTask)
	errs.want(m.Task != nil || m.NoTask == OwnFit || m.NoTask == Program, "no_task is %q, want %s or %s, or a task", m.NoTask,
		OwnFit, Program)
	errs.want(m.Certificate == nil || m.Certificate[0] == '{', "certificate is %.60s, want an object", m.Certificate)
	if t := m.Threshold; t != nil {
		errs.want(t.Value > 0 && t.Value <= 1, "threshold.value is %v, want more than 0 and at most 1", t.Value)
		errs.want(m.Task != nil && len(m.Task.Classes) == 2, "threshold is given, want it only with a task of two classes")
	}
	finite := func(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }
	errs.want(!slices.ContainsFunc(m.Weights, func(x float32) bool { return !finite(x) }), "model has a number that is not finite")
	errs.want(len(m.Weights) > 0, "model has 0 numbers, want at least one")
	if m.Task != nil {
		if err := m.Task.Validate(); err != nil {
			errs.at("task", err)
		} else {
			errs.want(len(m.Weights) == m.Task.Dim(), "model has %d numbers, want %d, as in the task", len(m.Weights), m.Task.Dim())
		}
	}
	return errors.Join(errs...)
}

// Marshal returns the text of the model file. [ParseModel] parses this text into an equal Model. Marshal fails if
// ParseModel would reject the text.
func (m *Model) Marshal() ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, fleetfile.In("", err)
	}
	form := modelForm{1, hex.EncodeToString(m.Fleet[:]), m.Round == m.Rounds, nil, sdk.ModelHash(m.Weights), m}
	if m.Task != nil {
		text, err := MarshalTask(m.Task)
		if err != nil {
			return nil, err
		}
		form.Task = text
	}
	text, err := fleetfile.Encode(form)
	if err == nil {
		_, err = parseModel(text) // rejects text that is not UTF-8
	}
	return text, fleetfile.In("", err)
}

// Predictor returns a predictor that uses the model. It fails if the file has no task.
func (m *Model) Predictor() (*task.Predictor, error) {
	const silent = "builtin: the model file does not say how to prepare data: "
	switch m.NoTask {
	case Program:
		return nil, fmt.Errorf(silent+"the losses of run %q came from each member's own program (a scorer), and only that program can use "+
			"the %d parameters of the model", m.Run, len(m.Weights))
	case OwnFit:
		return nil, fmt.Errorf(silent+"each member of run %q fitted the preprocessing on its own data (\"fit\": \"own\" in the node file), "+
			"and this model file was exported without the fitted values, because they are private", m.Run)
	}
	return m.Task.Predictor(m.Weights)
}
