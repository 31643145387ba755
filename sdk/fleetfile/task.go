package fleetfile

import (
	"bytes"
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
	data, err := readLimited(path, maxFile, "a recipe")
	if err != nil {
		return nil, err
	}
	return parseTask(data, path)
}

// ParseTask is [ReadTask] for the content of a file: an object as it stands in a fleet file under "task".
func ParseTask(data []byte) (*task.Recipe, error) { return parseTask(data, "") }

func parseTask(data []byte, name string) (*task.Recipe, error) {
	r := &reader{name: name}
	doc := r.document(data)
	if r.errs != nil {
		return nil, r.err()
	}
	return doc.recipe(), r.err()
}

// MarshalTask returns the text of a recipe, from which [ParseTask] makes an equal one: it is what belongs in
// [sdk.Fleet].Task. Each column and each component of a projection has a line of its own. It refuses a recipe that is
// not valid.
func MarshalTask(r *task.Recipe) ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("fleetfile: %w", err)
	}
	w := &writer{}
	w.recipe(r)
	if w.err != nil {
		return nil, fmt.Errorf("fleetfile: %w", w.err)
	}
	w.WriteByte('\n')
	if _, err := ParseTask(w.Bytes()); err != nil { // text that is not UTF-8, or is padded
		return nil, err
	}
	return w.Bytes(), nil
}

// recipe reads a recipe; nil if it has a fault.
func (v value) recipe() *task.Recipe {
	before := len(v.r.errs) + v.r.more
	o, ok := v.object("a recipe, an object with fitted_on, source, classes, model and more")
	if !ok {
		return nil
	}
	// Names and labels are trimmed: cells are read without the spaces around them, so others would never be found.
	r := &task.Recipe{}
	r.FittedOn, _ = o.need("fitted_on").text("a text that says on which data it was fitted", anything[string])
	r.Source = o.need("source").choice("csv", "idx", "synthetic")
	columns, _ := o.may("columns").elements(`an array of {"name": "..."} or {"name": "...", "categories": [...]}`)
	for e := range columns {
		var c task.Column
		if o, ok := e.object(`{"name": "..."} or {"name": "...", "categories": [...]}`); ok {
			c.Name, _ = o.need("name").text("the name of a column", trimmed)
			if categories := o.may("categories"); categories.present() {
				c.Categories = append([]string{}, categories.texts("a value of the column, without spaces around it", trimmed)...)
			}
			o.close()
		}
		r.Columns = append(r.Columns, c)
	}
	r.Pixels = o.may("pixels").integer(1, math.MaxInt32, 0)
	r.Label, _ = o.may("label").text("the name of a column", trimmed)
	r.Classes = o.need("classes").texts("a label, without spaces around it", trimmed)
	if subset := o.may("subset"); subset.present() {
		r.Subset = subset.boolean()
	}
	if o, ok := o.may("standardize").object(`{"mean": [...], "std": [...]}`); ok {
		r.Standardize = &task.Standardizer{Mean: o.need("mean").numbers(), Std: o.need("std").numbers()}
		o.close()
	}
	if o, ok := o.may("pca").object(`{"mean": [...], "components": [[...], ...], "scale": 1}`); ok {
		p := &task.PCA{Mean: o.need("mean").numbers()}
		components, _ := o.need("components").elements("an array of arrays of numbers")
		for e := range components {
			p.Components = append(p.Components, e.numbers())
		}
		p.Scale, _ = o.need("scale").number("a positive number", positive)
		r.PCA = p
		o.close()
	}
	if bias := o.may("bias"); bias.present() {
		r.Bias = bias.boolean()
	}
	r.Model = o.model()
	o.close()
	if len(v.r.errs)+v.r.more > before {
		return nil // Validate would only report consequences
	}
	prefix := ""
	if v.parent != nil {
		prefix = v.at() + ": "
	}
	if err := r.Validate(); err != nil {
		v.r.include(prefix, err)
		return nil
	}
	return r
}

// model reads the fields that name a built-in model.
func (o *object) model() task.ModelSpec {
	m := task.ModelSpec{Name: o.need("model").choice(task.SoftmaxModel, task.PerceptronModel)}
	hidden := o.may("hidden")
	switch m.Name {
	case task.PerceptronModel:
		hidden.needed = true
		m.Hidden = hidden.integer(1, task.MaxHidden, 1)
	case task.SoftmaxModel:
		if hidden.present() {
			hidden.wrong("it left out: softmax has no hidden units")
		}
	}
	return m
}

// numbers reads an array of numbers. It stops at the first that is none.
func (v value) numbers() []float64 {
	var list []float64
	all, _ := v.elements("an array of numbers")
	for e := range all {
		x, ok := e.number("a number", anything[float64])
		if !ok {
			return list
		}
		list = append(list, x)
	}
	return list
}

// recipe writes a recipe, column by column and component by component.
func (w *writer) recipe(r *task.Recipe) {
	w.open("{")
	w.field("fitted_on", r.FittedOn)
	w.field("source", r.Source)
	if len(r.Columns) > 0 {
		w.field("columns", nil)
		w.open("[")
		for _, c := range r.Columns {
			w.next()
			w.WriteString(`{"name": `)
			w.json(c.Name)
			if c.Categories != nil {
				w.WriteString(`, "categories": `)
				list(w, c.Categories)
			}
			w.WriteByte('}')
		}
		w.end("]")
	}
	given(w, "pixels", r.Pixels)
	given(w, "label", r.Label)
	w.field("classes", nil)
	list(w, r.Classes)
	given(w, "subset", r.Subset)
	if s := r.Standardize; s != nil {
		w.field("standardize", nil)
		w.open("{")
		w.field("mean", nil)
		list(w, s.Mean)
		w.field("std", nil)
		list(w, s.Std)
		w.end("}")
	}
	if p := r.PCA; p != nil {
		w.field("pca", nil)
		w.open("{")
		w.field("mean", nil)
		list(w, p.Mean)
		w.field("components", nil)
		w.open("[")
		for _, c := range p.Components {
			w.next()
			list(w, c)
		}
		w.end("]")
		w.field("scale", p.Scale)
		w.end("}")
	}
	given(w, "bias", r.Bias)
	w.field("model", r.Model.Name)
	given(w, "hidden", r.Model.Hidden)
	w.end("}")
}

// task reads the recipe into the fleet, and checks that its model has the fleet's dimension and a valid start. whole
// says whether dimension and start could be read.
func (r *fleetReader) task(v value, whole bool) {
	if !v.present() {
		return
	}
	recipe := v.recipe()
	if recipe == nil {
		return
	}
	text, err := MarshalTask(recipe)
	if err != nil {
		r.include(v.at()+": ", err)
		return
	}
	fleet := r.file.Fleet
	fleet.Task = bytes.TrimSpace(text)
	if !whole {
		return
	}
	if dim := recipe.Dim(); dim != fleet.Dim {
		r.fault("%s is for a model of %d parameters, want the %d of dim", v.at(), dim, fleet.Dim)
	}
	if recipe.Model.Name == task.PerceptronModel && !moves(fleet.X0) {
		r.fault("%w", ErrZeroStart)
	}
}
