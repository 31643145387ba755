package fleetfile

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/sdk/task"
)

// Task returns the recipe by which members prepare their data, or nil if the fleet has none.
func (f *File) Task() (*task.Recipe, error) {
	if f.Fleet.Task == nil {
		return nil, nil
	}
	return ParseTask(f.Fleet.Task)
}

// ReadTask reads a file with a recipe, of at most 16 MiB, and reports every fault of it at once.
func ReadTask(path string) (*task.Recipe, error) {
	data, err := ReadFile(path, maxFile, "a recipe")
	if err != nil {
		return nil, err
	}
	return parseTask(data, path)
}

// ParseTask is [ReadTask] for the content of a file: an object as it stands in a fleet file under "task".
func ParseTask(data []byte) (*task.Recipe, error) { return parseTask(data, "") }

func parseTask(data []byte, name string) (*task.Recipe, error) {
	r := new(task.Recipe)
	if err := (&codec{name: name}).read(data, func(v *value) { v.recipe(r) }); err != nil {
		return nil, err
	}
	return r, nil
}

// MarshalTask returns the text of a recipe, from which [ParseTask] makes an equal one: it is what belongs in
// [sdk.Fleet].Task. Each column and each component of a projection has a line of its own. It refuses a recipe that is
// not valid.
func MarshalTask(r *task.Recipe) ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("fleetfile: %w", err)
	}
	text, err := new(codec).write(func(v *value) { v.recipe(r) })
	if err == nil {
		_, err = ParseTask(text) // text that is not UTF-8, or is padded
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// recipe is a recipe. It reports whether it is valid.
func (v *value) recipe(r *task.Recipe) bool {
	before := v.c.faults()
	v.object("a recipe, an object with fitted_on, source, classes, model and more", func(o *object) {
		// Names and labels are trimmed: cells are read without the spaces around them, so others would never be found.
		o.need("fitted_on").text(&r.FittedOn, "a text that says on which data it was fitted", anything[string])
		o.need("source").choice(&r.Source, "csv", "idx", "synthetic")
		const column = `{"name": "..."} or {"name": "...", "categories": [...]}`
		array(o.may("columns"), "an array of "+column, &r.Columns, func(e *value, c *task.Column) bool {
			return e.object(column, func(o *object) {
				o.need("name").text(&c.Name, "the name of a column", trimmed)
				categories := o.may("categories")
				categories.texts(&c.Categories, "a value of the column, without spaces around it", trimmed)
				if categories.present() && c.Categories == nil {
					c.Categories = []string{}
				}
			})
		})
		o.may("pixels").integer(&r.Pixels, 1, math.MaxInt32)
		o.may("label").text(&r.Label, "the name of a column", trimmed)
		classes, target := o.may("classes"), o.may("target")
		classes.needed = r.Target == nil && !target.present()
		classes.texts(&r.Classes, "a label, without spaces around it", trimmed)
		o.may("subset").boolean(&r.Subset)
		limits, missing := cmp.Or(r.Target, &task.Range{}), cmp.Or(r.Missing, &task.Missing{})
		standardize, pca := cmp.Or(r.Standardize, &task.Standardizer{}), cmp.Or(r.PCA, &task.PCA{})
		if target.optional(`{"low": 0, "high": 1}`, r.Target != nil, func(o *object) {
			o.need("low").number(&limits.Low, "a number", anything[float64])
			o.need("high").number(&limits.High, "a number", anything[float64])
		}) {
			r.Target = limits
		}
		if o.may("missing").optional(`{"rule": "mean", "fill": [...]}`, r.Missing != nil, func(o *object) {
			o.need("rule").choice(&missing.Rule, "mean", "median", "indicator", "drop")
			o.may("fill").numbers(&missing.Fill)
			o.may("columns").texts(&missing.Columns, "the name of a column", trimmed)
		}) {
			r.Missing = missing
		}
		if o.may("standardize").optional(`{"mean": [...], "std": [...]}`, r.Standardize != nil, func(o *object) {
			o.need("mean").numbers(&standardize.Mean)
			o.need("std").numbers(&standardize.Std)
		}) {
			r.Standardize = standardize
		}
		const projection = `{"mean": [...], "components": [[...], ...], "scale": 1}`
		if o.may("pca").optional(projection, r.PCA != nil, func(o *object) {
			o.need("mean").numbers(&pca.Mean)
			array(o.need("components"), "an array of arrays of numbers", &pca.Components, (*value).numbers)
			o.need("scale").number(&pca.Scale, "a positive number", positive)
		}) {
			r.PCA = pca
		}
		o.may("bias").boolean(&r.Bias)
		o.model(&r.Model)
	})
	if v.c.writing || v.c.faults() > before {
		return false // Validate would only report consequences
	}
	prefix := ""
	if v.parent != nil {
		prefix = v.at() + ": "
	}
	v.c.include(prefix, r.Validate())
	return v.c.faults() == before
}

// model is the fields that name a built-in model.
func (o *object) model(m *task.ModelSpec) {
	o.need("model").choice(&m.Name, task.SoftmaxModel, task.PerceptronModel, task.LinearModel)
	hidden := o.may("hidden")
	switch m.Name {
	case task.PerceptronModel:
		hidden.needed = true
		hidden.integer(&m.Hidden, 1, task.MaxHidden)
	case task.SoftmaxModel, task.LinearModel:
		absent(m.Name+" has no hidden units", hidden)
	}
}
