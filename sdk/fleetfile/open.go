package fleetfile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Source is what a node learns from, ready for queries. Its fields are those of [sdk.Config] and more.
type Source struct {
	Oracle  sdk.Oracle
	Samples int
	// Window is how many queries to ask at once, so that each process of a program has one to work on and another
	// waiting, and a built-in model a few in a row; 0 leaves that to the SDK.
	Window int

	// Test is the model on samples that were held back; nil if there are none, or the losses come from a program.
	Test *task.Model
	// Asked returns the mean loss of the queries since it was last called, NaN if there were none; nil if Test has more to
	// say. It comes from the data directly.
	Asked func() float64
	// Failure returns why the newest query that failed has no loss, nil if none has; nil where nobody says so.
	Failure func() error

	ConditionalOn []string     // what a privacy guarantee is conditional on
	Close         func() error // lets go of the oracle, and ends its processes; never nil
}

// ErrMismatch is what [errors.Is] finds in an error of [Oracle.Open] if node file, fleet file and data do not fit
// together. All other errors are about data that cannot be read, or a program that does not start.
var ErrMismatch = errors.New("fleetfile: node file, fleet file and data do not fit together")

// mismatch is an ErrMismatch with a text of its own.
type mismatch struct{ error }

func (m mismatch) Is(target error) bool { return target == ErrMismatch }
func (m mismatch) Unwrap() error        { return m.error }

func mismatchf(format string, args ...any) error { return mismatch{fmt.Errorf(format, args...)} }

// Open loads and prepares the data of a built-in model, or starts a program and reads its greeting. ctx bounds that
// start and nothing else. The caller calls Close once.
func (o Oracle) Open(ctx context.Context, fleet *File) (*Source, error) {
	dim := fleet.Fleet.Dim
	switch {
	case o.Builtin != nil:
		return o.Builtin.openWithin(ctx, fleet)
	case o.OneShot != nil:
		program, err := scorer.OpenOneShot(*o.OneShot, dim)
		if err != nil {
			return nil, fmt.Errorf("oracle.oneshot: %w", err)
		}
		return ofProgram(program, program.Samples(), o.OneShot.Workers, program.Close), nil
	}
	program, err := scorer.OpenStream(ctx, *o.Stream)
	if err != nil {
		return nil, fmt.Errorf("oracle.stream: %w", err)
	}
	if program.Dim() != dim {
		err := mismatchf("oracle.stream says that it has %d parameters, but dim of the fleet is %d", program.Dim(), dim)
		return nil, errors.Join(err, program.Close())
	}
	return ofProgram(program, program.Samples(), o.Stream.Workers, program.Close), nil
}

// External is a source whose losses come from a program of somebody else's. Its Close does nothing.
func External(program zoest.BatchOracle, samples int) *Source {
	meter := &scorer.Meter{BatchOracle: program}
	return &Source{
		Oracle: meter, Asked: meter.Mean, Samples: samples, Close: func() error { return nil },
		ConditionalOn: []string{
			"the losses come from an external program; what else that does with the data is outside the guarantee",
		},
	}
}

// asked is a program that gives losses.
type asked interface {
	zoest.BatchOracle
	LastFailure() error
}

// ofProgram is a source whose losses come from processes of a node file's program.
func ofProgram(program asked, samples, workers int, end func() error) *Source {
	s := External(program, samples)
	s.Failure, s.Close = program.LastFailure, end
	if 2*workers > 16 {
		s.Window = 2 * workers
	}
	return s
}

// openWithin is open for as long as ctx lasts. Loading a data set cannot be canceled: an abandoned one ends with the
// process.
func (b *Builtin) openWithin(ctx context.Context, fleet *File) (*Source, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var source *Source
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		source, err = b.open(fleet)
	}()
	select {
	case <-done:
		return source, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open builds the model over a node's data.
func (b *Builtin) open(fleet *File) (*Source, error) {
	recipe, err := fleet.Task()
	if err != nil {
		return nil, mismatch{err}
	}
	model := b.Model
	var set *task.Set
	var given []string
	switch {
	case recipe == nil && !b.FitOwn:
		return nil, mismatchf(`oracle.builtin.fit is missing, and the fleet file has no task ` +
			`that says how to prepare data: "fit": "own" would fit that on this node's own data, ` +
			`which the certificate lists as uncharged`)
	case recipe != nil && b.FitOwn:
		return nil, mismatchf(`oracle.builtin.fit is "own", want it and all else ` +
			`but data, test_fraction, seed and share left out: ` +
			`the task in the fleet file says for all nodes how to prepare data`)
	case recipe != nil && !strings.HasPrefix(b.Spec.Source, recipe.Source+":"):
		return nil, mismatchf("oracle.builtin.data is %q, want data from %s, as the task in the fleet file has it",
			b.Spec.Source, recipe.Source)
	case b.FitOwn && model.Fits(b.Spec.Target != "") != nil:
		return nil, mismatchf("oracle.builtin: %w", model.Fits(b.Spec.Target != ""))
	case recipe != nil:
		model = recipe.Model
		given = append(given, "preprocessing given in the fleet file, fitted on "+recipe.FittedOn)
		if b.Spec.Whole {
			set, err = recipe.ApplyWhole(b.Spec.Source, b.Spec.Seed)
		} else {
			set, err = recipe.Apply(b.Spec.Source, b.Spec.TestFraction, b.Spec.Seed)
		}
	default:
		set, err = task.Load(b.Spec)
	}
	if err != nil {
		return nil, err
	}
	for _, what := range set.Fitted {
		given = append(given, "uncharged, by own data: "+what)
	}
	train := set.Train
	if s := b.Share; s != nil {
		parts, err := s.Partition.Assign(train.Y, train.Classes, s.Of, b.Spec.Seed)
		if err != nil {
			return nil, mismatchf("oracle.builtin.share: %w", err)
		}
		train = train.Select(parts[s.Number])
		given = append(given, fmt.Sprintf("part %d of %d of a common data set, dealt out as %s", s.Number, s.Of, s.Partition))
	}
	oracle := model.New(train)
	if dim := fleet.Fleet.Dim; oracle.Dim() != dim {
		return nil, mismatchf("oracle.builtin has %d parameters (%s: %d classes, %d columns), but dim of the fleet is %d",
			oracle.Dim(), model, train.Classes, train.Dim, dim)
	}
	if model.Name == task.PerceptronModel && !moves(fleet.Fleet.X0) {
		return nil, mismatchf("oracle.builtin.model is perceptron, but %w", ErrZeroStart)
	}
	src := &Source{
		Oracle: oracle, Samples: oracle.Len(), Window: sdk.Window(oracle.Dim()),
		ConditionalOn: given, Close: func() error { return nil },
	}
	if !b.Spec.Whole || set.Test.Len() > 0 {
		src.Test = model.New(set.Test)
	}
	return src, nil
}
