package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/zoest"
)

// ErrOwnFit is wrapped by the error for a node with "fit": "own" if the fit on the node's own data does not yield the
// fleet's model. The error depends on the data, so it must occur before other members can observe the node.
var ErrOwnFit = errors.New("preprocessing fitted on this node's own data does not match the fleet's model")

// notOwn returns err with the explanation that fitting on the node's own data does not yield the fleet's model.
func notOwn(err error) error {
	return fleetfile.Mismatchf(`oracle.builtin.fit is "own", but %w: %w (nothing was sent); add a task to the fleet `+
		`file, so that all members prepare data in the same way`, ErrOwnFit, err)
}

// Open loads and prepares the data. It returns early if ctx ends; loading then continues in the background, because it
// cannot be canceled.
func (o *Oracle) Open(ctx context.Context, fleet *fleetfile.File) (*fleetfile.Source, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var source *fleetfile.Source
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		source, err = o.open(fleet)
	}()
	select {
	case <-done:
		return source, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ofTrial is the assumption that the certificate of a [Share] states in a run with record-level privacy.
const ofTrial = "a trial: if the preprocessing was fitted on the common data set, it was fitted on these records, and the " +
	"guarantee does not cover them"

// of returns this node's part of a common data set. It also returns the given assumptions, followed by the assumptions
// that the division adds.
func (s *Share) of(all *task.Data, spec task.Spec, given []string) (*task.Data, []string, error) {
	parts, err := s.Partition.Deal(all, s.Of, spec.Seed)
	if err != nil {
		return nil, nil, fleetfile.Mismatchf("oracle.builtin.share: %w", err)
	}
	given = append(given, fmt.Sprintf("part %d of %d of a common data set, dealt out as %s", s.Number, s.Of, s.Partition))
	if spec.Records {
		given = append(given, ofTrial)
	}
	return all.Select(parts[s.Number]), given, nil
}

// suits returns an error if the oracle cannot be used with recipe, the fleet's task (nil if the fleet has no task). If
// records is true, it also returns an error if the oracle cannot be used with record-level privacy.
func (o *Oracle) suits(recipe *task.Recipe, records bool) error {
	switch misfit := o.Model.Fits(o.Spec.Kind()); {
	case o.FitOwn && records:
		return fleetfile.Mismatchf(`oracle.builtin.fit is "own", want the field omitted and a task in the fleet ` +
			`file: with record-level privacy, preprocessing fitted on this node's records would let one record ` +
			`change all others`)
	case records && o.Share != nil && o.Share.Partition != (task.Partition{}):
		return fleetfile.Mismatchf("oracle.builtin.share.partition is %s, want iid: with record-level privacy, the label of one "+
			"record must not affect which other records this node has", o.Share.Partition)
	case recipe == nil && !o.FitOwn:
		return fleetfile.Mismatchf(`oracle.builtin.fit is missing, and the fleet file has no task that says how to ` +
			`prepare data: want such a task, or "fit": "own" to fit the preprocessing on this node's own data (the ` +
			`privacy cost in the certificate does not include this fit)`)
	case recipe != nil && o.FitOwn:
		return fleetfile.Mismatchf(`oracle.builtin.fit is "own", but the task in the fleet file defines the ` +
			`preprocessing of all nodes: want only the fields data, na, test_fraction, held_out, seed and share`)
	case recipe != nil && !strings.HasPrefix(o.Spec.Source, recipe.Source+":"):
		return fleetfile.Mismatchf("oracle.builtin.data is %q, want %s data, as in the task of the fleet file",
			o.Spec.Source, recipe.Source)
	case o.FitOwn && misfit != nil:
		return fleetfile.Mismatchf("oracle.builtin: %w", misfit)
	}
	return nil
}

// heldOut adds the samples of HeldOut to set as its test samples, prepared by recipe or, if that is nil, like those of set.
// If records is true, rows that cannot be read are left out: whether a node starts must not depend on a record.
func (o *Oracle) heldOut(set *task.Set, recipe *task.Recipe, records bool) (err error) {
	if recipe == nil {
		if recipe, err = set.Recipe(o.Model, "own data"); err != nil {
			return err
		}
	}
	held, err := recipe.Apply(task.Spec{Source: o.HeldOut, NA: o.Spec.NA, Whole: true, Seed: o.Spec.Seed, Records: records})
	if err != nil {
		return fmt.Errorf("oracle.builtin.held_out: %w", err)
	}
	set.Test = held.Train.Readable()
	set.Rows, set.Lost, set.Unread = set.Rows+held.Rows, set.Lost+held.Lost, append(set.Unread, held.Unread...)
	return nil
}

// load reads the samples, prepared by recipe or, if that is nil, as the node file says. given has the assumptions of the
// preparation, for the certificate.
func (o *Oracle) load(recipe *task.Recipe, spec task.Spec) (set *task.Set, given []string, err error) {
	if recipe != nil {
		given = append(given, "preprocessing given in the fleet file, fitted on "+recipe.FittedOn)
		set, err = recipe.Apply(spec)
	} else if set, err = task.Load(o.Spec); err != nil && !errors.As(err, new(*fs.PathError)) {
		err = notOwn(err)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, what := range set.Fitted {
		given = append(given, "uncharged, from own data: "+what)
	}
	if o.HeldOut != "" {
		err = o.heldOut(set, recipe, spec.Records)
	}
	return set, given, err
}

func (o *Oracle) open(fleet *fleetfile.File) (*fleetfile.Source, error) {
	if fleetfile.ProgramTask(fleet.Fleet) != nil {
		return nil, fleetfile.Mismatchf("oracle.builtin: the fleet file's task is for a program, want oracle.stream")
	}
	recipe, err := Task(fleet.Fleet)
	if err != nil {
		return nil, fleetfile.Mismatchf("%w", err)
	}
	model, spec := o.Model, o.Spec
	spec.Records = fleet.Fleet.Privacy.Unit == dpmech.Record
	if err := o.suits(recipe, spec.Records); err != nil {
		return nil, err
	}
	if recipe != nil {
		model = recipe.Model
	}
	set, given, err := o.load(recipe, spec)
	if err != nil {
		return nil, err
	}
	train := set.Train
	if o.Share != nil {
		if train, given, err = o.Share.of(train, spec, given); err != nil {
			return nil, err
		}
	}
	oracle := model.New(train)
	if spec.Records {
		p := fleet.Fleet.Privacy
		if p.Person != recipe.Person {
			return nil, fleetfile.Mismatchf("privacy.person is %q, want %q as in the task: the column that names the person of a row",
				p.Person, recipe.Person)
		}
		if p.Places > 1 {
			oracle = oracle.InPlaces(p.Places)
		}
	}
	if dim := fleet.Fleet.Dim; oracle.Dim() != dim {
		err := fleetfile.Mismatchf("oracle.builtin has %d parameters (%s: %d classes, %d columns), but the fleet's "+
			"dim is %d", oracle.Dim(), model, train.Classes, train.Dim, dim)
		if o.FitOwn {
			err = notOwn(err)
		}
		return nil, err
	}
	if standsStill(model, fleet.Fleet) {
		return nil, fleetfile.Mismatchf("oracle.builtin.model is perceptron, but %w", ErrZeroStart)
	}
	src := &fleetfile.Source{Oracle: oracle, Samples: oracle.Len(), Window: zoest.Window(oracle.Dim()), ConditionalOn: given,
		Rows:  fleetfile.Rows{All: set.Rows, Lost: set.Lost, Reasons: set.Unread},
		Close: func() error { return nil }}
	if places := fleet.Fleet.Privacy.Places; places > 1 {
		src.Rows.Beyond = train.Beyond(places)
	}
	if set.Test.Len() > 0 {
		src.Test = model.New(set.Test)
	}
	return src, nil
}
