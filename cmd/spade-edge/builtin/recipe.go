package builtin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// recipeForm is the JSON form of a recipe. The fields of the recipe's model are at the same level as its other fields.
type recipeForm struct {
	*task.Recipe
	task.ModelSpec
}

// Task returns the recipe for the members' data, or nil if the fleet has no task, or one for programs. It reports all
// errors at once.
func Task(fleet *sdk.Fleet) (*task.Recipe, error) {
	if fleet.Task == nil || fleetfile.ProgramTask(fleet) != nil {
		return nil, nil
	}
	r, err := parseTask(fleet.Task)
	return r, fleetfile.In("", err)
}

// ReadTask reads a recipe file, which has the form of "task" in a fleet file, of at most 16 MiB. It reports all errors at
// once.
func ReadTask(path string) (*task.Recipe, error) {
	data, err := fleetfile.ReadFile(path, fleetfile.MaxFile, "a recipe")
	if err != nil {
		return nil, err
	}
	r, err := parseTask(data)
	return r, fleetfile.In(path, err)
}

func parseTask(data []byte) (*task.Recipe, error) {
	r := new(task.Recipe)
	form := recipeForm{Recipe: r}
	if err := fleetfile.Decode(data, fleetfile.MaxFile, 0, &form); err != nil {
		return nil, err
	}
	if err := fleetfile.NoNull(data); err != nil {
		return nil, err
	}
	r.Model = form.ModelSpec
	r.Columns, r.Classes = someOf(r.Columns), someOf(r.Classes)
	if s := r.Standardize; s != nil {
		s.Scale = someOf(s.Scale)
	}
	if m := r.Missing; m != nil {
		m.Fill, m.Columns = someOf(m.Fill), someOf(m.Columns)
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

// someOf returns list, or nil if list is empty.
func someOf[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// MarshalTask returns the text of a recipe for [sdk.Fleet].Task. [Task] parses this text into an equal
// recipe. Each column and each component of a projection takes one line.
func MarshalTask(r *task.Recipe) ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, fleetfile.In("", err)
	}
	text, err := fleetfile.Encode(recipeForm{r, r.Model})
	if err == nil {
		_, err = parseTask(text) // rejects text that is not UTF-8
	}
	return text, fleetfile.In("", err)
}

// ErrZeroStart is wrapped by the error for a fleet whose model is a perceptron and whose start vector, x0, is zero.
var ErrZeroStart = errors.New("x0 is all zeros, where the gradient of a perceptron is zero: want a nonzero start " +
	"vector")

// standsStill reports whether the model is a perceptron that starts at the zero vector, where its gradient is zero.
func standsStill(m task.ModelSpec, fleet *sdk.Fleet) bool {
	return m.Name == task.PerceptronModel && !slices.ContainsFunc(fleet.X0, func(x float32) bool { return x != 0 })
}

// checkTask returns an error if a fleet's task is neither for programs nor a valid recipe, or does not suit the fleet's
// dim, privacy unit or start vector.
func checkTask(fleet *sdk.Fleet) error {
	if fleet.Task == nil || fleetfile.ProgramTask(fleet) != nil {
		return nil
	}
	var errs faults
	recipe, err := parseTask(fleet.Task)
	if err != nil {
		errs.at("task", err)
		return errors.Join(errs...)
	}
	dim := recipe.Dim()
	errs.want(dim == fleet.Dim, "task is for a model of %d parameters, want %d, as in dim", dim, fleet.Dim)
	if fleet.Privacy.Unit == dpmech.Record {
		errs.at("task, with record-level privacy", recipe.ForRecords())
	}
	if standsStill(recipe.Model, fleet) {
		errs = append(errs, ErrZeroStart)
	}
	return errors.Join(errs...)
}

type faults []error

func (f *faults) want(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// at adds each error joined in err, prefixed with its location in the file.
func (f *faults) at(place string, err error) {
	for _, e := range fleetfile.Each(err) {
		*f = append(*f, fmt.Errorf("%s: %w", place, e))
	}
}
