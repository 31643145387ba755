package fleetfile

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// maxModel is the most bytes of a model file that is read: about 20 million parameters.
const maxModel = 256 << 20

// Why a model file has no task.
const (
	OwnFit  = "own fit" // each member prepares its data with what it has fitted on them
	Program = "program" // the losses come from a program, which knows what the numbers mean
)

// ErrNoTask is what [errors.Is] finds in the error of [Model.Predictor] if the file does not say how to prepare data.
var ErrNoTask = errors.New("fleetfile: the model file does not say how to prepare data")

// Model is what a model file says: a member's model at some round, and all that it takes to apply it.
type Model struct {
	Run    string   // as in the fleet file
	Fleet  [32]byte // [sdk.Fleet.Hash]
	Member string   // whose release it is

	Round      int  // the release, of Rounds in the whole run, cool-down included
	Rounds     int  // at least 1
	Averaged   bool // the mean of the releases so far in place of the last one
	NonPrivate bool // the run had no privacy

	Task   *task.Recipe // how to prepare data, and which model it is; nil if NoTask says why it is not there
	NoTask string       // [OwnFit] or [Program]; empty if there is a task

	Certificate json.RawMessage // what the run has leaked, an object in one line; nil if there is none
	Weights     []float32       // finite; with a task, as many as Task.Dim
}

// ReadModel reads a model file of at most 256 MiB, and reports every fault of it at once.
func ReadModel(path string) (*Model, error) {
	data, err := ReadFile(path, maxModel, "a model file")
	if err != nil {
		return nil, err
	}
	return parseModel(data, path)
}

// ParseModel is [ReadModel] for the content of a file.
func ParseModel(data []byte) (*Model, error) { return parseModel(data, "") }

func parseModel(data []byte, name string) (*Model, error) {
	m := new(Model)
	if err := (&codec{name: name, limit: maxModel}).read(data, m.schema); err != nil {
		return nil, err
	}
	return m, nil
}

// Marshal returns the file's text, from which [ParseModel] makes an equal Model. It refuses what that would refuse.
func (m *Model) Marshal() ([]byte, error) {
	text, err := new(codec).write(m.schema)
	if err == nil {
		_, err = ParseModel(text)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// Predictor returns what applies the model. It fails with [ErrNoTask] if the file has no task.
func (m *Model) Predictor() (*task.Predictor, error) {
	switch m.NoTask {
	case Program:
		return nil, fmt.Errorf("%w: the losses of run %q came from a program of each member's own (a scorer), "+
			"which alone knows what the %d numbers mean", ErrNoTask, m.Run, len(m.Weights))
	case OwnFit:
		return nil, fmt.Errorf("%w: each member of run %q has fitted that on its own data (\"fit\": \"own\" in the node file), "+
			"and what comes from data stays out of the file unless it is asked for", ErrNoTask, m.Run)
	}
	return m.Task.Predictor(m.Weights)
}

// schema has the fields that the JSON of export has always had, and more.
func (m *Model) schema(v *value) {
	v.object("a model file, an object", func(o *object) {
		if !o.version() {
			return
		}
		o.need("run").name(&m.Run)
		fleet, sum := hex.EncodeToString(m.Fleet[:]), ""
		const hash = "a SHA-256 of 64 lower case hexadecimal digits"
		o.need("fleet").text(&fleet, hash, func(s string) bool {
			n, err := hex.Decode(m.Fleet[:], []byte(s[:min(len(s), 64)]))
			return err == nil && n == 32 && hex.EncodeToString(m.Fleet[:]) == s
		})
		o.need("name").name(&m.Member)
		round := o.need("round").integer(&m.Round, 1, math.MaxInt32)
		rounds := o.need("rounds")
		if rounds.integer(&m.Rounds, 1, math.MaxInt32) && round && m.Round > m.Rounds {
			rounds.wrong(fmt.Sprintf("at least %d, the round", m.Round))
		}
		done := m.Round == m.Rounds
		last := o.need("done")
		if last.boolean(&done); round && m.Rounds > 0 && done != (m.Round == m.Rounds) {
			last.wrong("true if round is rounds, and else false")
		}
		o.need("averaged").boolean(&m.Averaged)
		o.need("non_private").boolean(&m.NonPrivate)
		recipe, noTask := o.may("task"), o.may("no_task")
		switch {
		case v.c.writing && m.Task != nil:
			recipe.recipe(m.Task)
		case recipe.present():
			m.Task = new(task.Recipe)
			recipe.recipe(m.Task)
			absent("there is a task", noTask)
		default:
			noTask.needed = true
			noTask.choice(&m.NoTask, OwnFit, Program)
		}
		if c := o.may("certificate"); v.c.writing && m.Certificate != nil {
			c.begin()
			c.c.json(m.Certificate)
		} else if c.kind() == '{' {
			var line bytes.Buffer
			_ = json.Compact(&line, c.raw) // the file is known to be well formed
			m.Certificate = line.Bytes()
		} else {
			c.wrong("a certificate, an object")
		}
		if v.c.writing {
			sum = sdk.ModelHash(m.Weights)
		}
		model := o.need("model_sha256")
		known := model.text(&sum, hash, anything[string])
		whole := o.need("model").floats(&m.Weights)
		if v.c.writing || !whole {
			return
		}
		if got := sdk.ModelHash(m.Weights); known && got != sum {
			model.wrong(got + ", that of the numbers in model")
		}
		if n := len(m.Weights); n == 0 || m.Task != nil && m.Task.Validate() == nil && n != m.Task.Dim() {
			v.c.fault("model has %d numbers, want %s", n, wantedDim(m.Task))
		}
	})
}

func wantedDim(r *task.Recipe) string {
	if r == nil {
		return "at least one"
	}
	return fmt.Sprintf("the %d of the task", r.Dim())
}

// floats is an array of finite numbers that float32 can hold, in one line, with the fewest digits that tell them apart.
func (v *value) floats(to *[]float32) bool {
	v.inline = true
	_, whole := array(v, "an array of numbers", to, func(e *value, x *float32) bool {
		return scalar(e, x, "a number that float32 can hold", func(raw string) (float32, bool) {
			f, err := strconv.ParseFloat(raw, 32)
			k := e.kind()
			return float32(f), (k == '-' || k >= '0' && k <= '9') && err == nil
		})
	})
	return whole
}
