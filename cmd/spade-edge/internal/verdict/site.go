package verdict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Site is a node with its state folder.
type Site struct {
	Node  *fleetfile.Node
	Fleet *fleetfile.File

	tried [points]bool // whether Released has handled each of the earlier models
}

const (
	points      = 4   // earlier models
	mostSamples = 200 // own samples of a program of which losses are asked for
)

// ErrNone is wrapped by the error of [Site.Judge] if the node's data allow no verdict.
var ErrNone = errors.New("no verdict")

// pointOf returns which of the earlier models a release may become, or -1. The last point lies before the last tenth of the
// run. A release that was made but not kept, because the node was killed, is replaced by the next one.
func (s *Site) pointOf(release int) int {
	last := s.Fleet.Fleet.Method.Last()
	for i := points - 1; i >= 0; i-- {
		at := last * (2*i + 3) / 10 // 3, 5, 7 and 9 tenths
		if at > 0 && release >= at && release < last {
			return i
		}
	}
	return -1
}

// Released keeps the shared model x if the release is the first at or after one of four points of the run, unless the state
// folder already has a model of that point.
func (s *Site) Released(release int, x []float32) error {
	i := s.pointOf(release)
	if i < 0 || s.tried[i] {
		return nil
	}
	s.tried[i] = true // tried once: a full disk must not slow down each round
	if _, err := s.load(earlierName(i)); err == nil {
		return nil
	}
	if err := s.save(earlierName(i), earlier{release, x}); err != nil {
		return fmt.Errorf("the shared model of release %d could not be kept for the verdict: %w", release, err)
	}
	return nil
}

// Judge returns the verdict on the final shared model and keeps it in the state folder. If the folder has the verdict on
// this model, Judge returns it. source is the node's opened source. Judge must be called after the last message has been
// sent, because the time that it takes depends on the data. If there is a verdict that could not be kept, Judge returns
// it together with the error.
func (s *Site) Judge(ctx context.Context, source *fleetfile.Source, last []float32) (*Verdict, error) {
	if v, err := s.Read(); err == nil && v.Model == sdk.ModelHash(last) {
		return v, nil
	}
	f := s.Fleet.Fleet
	v := &Verdict{Run: f.Run, Fleet: s.fleet(), Name: s.Node.Name, Rounds: f.Method.Last(), Model: sdk.ModelHash(last)}
	var accepted []float32
	var err error
	if own, ours := source.Oracle.(*task.Model); ours {
		accepted, err = s.compare(ctx, v, source, own, last)
	} else {
		v.Losses, err = lossesOf(ctx, source, f.X0, last)
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted before there was one, so run the node again: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if accepted != nil && v.Other(v.Model) {
		from := earlier{Model: accepted} // release 0 if it is the site's own
		if v.Accepted == Shared {
			from.Release = v.AsOf
		}
		err = s.save(acceptedName, from)
	}
	if err = errors.Join(err, s.keep(verdictName, v)); err != nil {
		return v, fmt.Errorf("the verdict could not be kept, so run the node again before export: %w", err)
	}
	return v, nil
}

// compare decides on the rows that the source holds out, and returns the accepted model.
func (s *Site) compare(ctx context.Context, v *Verdict, source *fleetfile.Source, own *task.Model, last []float32) ([]float32, error) {
	rows := own.Data().Readable()
	if rows.Len() == 0 {
		return nil, fmt.Errorf("%w: none of the node's own rows can be read", ErrNone)
	}
	held := heldOut(source)
	if held == nil {
		return nil, fmt.Errorf("%w: the node holds out no rows that can be read; \"test_fraction\" or \"held_out\" in the node file changes that",
			ErrNone)
	}
	hidden, uneven, err := s.shape()
	if err != nil {
		return nil, err
	}
	own = own.On(rows)
	alone, err := trainAlone(ctx, own, s.Fleet.Fleet.X0, hidden, uneven)
	if err != nil {
		return nil, fmt.Errorf("training on the node's own rows alone: %w", err)
	}
	var before []earlier
	for i := range points {
		if e, err := s.load(earlierName(i)); err == nil && len(e.Model) == len(last) {
			before = append(before, e)
		}
	}
	return v.decide(held, own, last, before, alone)
}

// Model returns the accepted model, and the number of its release; 0 for a model of own rows alone. shared is the last
// shared model, of release last. Model fails if the accepted answer is a constant.
func (s *Site) Model(v *Verdict, last int, shared []float32) (model []float32, release int, err error) {
	e := earlier{last, shared}
	switch {
	case v.Accepted == Constant:
		return nil, 0, fmt.Errorf("the accepted answer is always %s, which is no model", v.Answers.constant())
	case v.Other(sdk.ModelHash(shared)):
		e, err = s.load(acceptedName)
	}
	if err == nil && sdk.ModelHash(e.Model) != v.AcceptedModel {
		err = errors.New("it is not the one of the verdict")
	}
	if err != nil {
		return nil, 0, fmt.Errorf("the accepted model cannot be read from %s: %w; remove %s and run the node again", s.Node.State, err, s.path(verdictName))
	}
	return e.Model, e.Release, nil
}

// shape reports whether the built-in model has hidden units, and whether its features are pixels or components.
func (s *Site) shape() (hidden, uneven bool, err error) {
	recipe, err := builtin.Task(s.Fleet.Fleet)
	if recipe != nil {
		return recipe.Model.Hidden > 0, recipe.PCA != nil || recipe.Pixels > 0, err
	}
	if b := builtin.Of(s.Node); b != nil {
		return b.Model.Hidden > 0, b.Spec.PCA > 0, err
	}
	return false, false, err
}

// heldOut returns the model of the rows that a source holds out, or nil if it holds out none.
func heldOut(source *fleetfile.Source) *task.Model {
	if held, ours := source.Test.(*task.Model); ours && held.Data().Len() > 0 {
		return held
	}
	return nil
}

// lossesOf asks a program for the losses of up to 200 of its samples, drawn at random, at the models start and shared. A
// slow program is asked for a minute.
func lossesOf(ctx context.Context, source *fleetfile.Source, start, shared []float32) (*Losses, error) {
	if start == nil {
		start = make([]float32, len(shared))
	}
	drawn := rand.New(rand.NewPCG(1, 2)).Perm(source.Samples)
	drawn = drawn[:min(len(drawn), mostSamples)]
	l, began := &Losses{}, time.Now()
	for some := range slices.Chunk(drawn, max(1, source.Window/2)) {
		var queries []zoest.Query
		for _, h := range some {
			queries = append(queries, zoest.Query{Point: start, Sample: h}, zoest.Query{Point: shared, Sample: h})
		}
		losses := make([]float64, len(queries))
		if err := zoest.Ask(ctx, source.Oracle, queries, losses, 0); ctx.Err() != nil {
			return nil, err
		}
		for pair := range slices.Chunk(losses, 2) {
			if !math.IsNaN(pair[0] + pair[1]) {
				l.Start, l.Shared, l.Samples = l.Start+pair[0], l.Shared+pair[1], l.Samples+1
			}
		}
		if time.Since(began) > time.Minute {
			break
		}
	}
	if l.Samples == 0 {
		return nil, fmt.Errorf("%w: the program answered for none of its samples", ErrNone)
	}
	l.Start, l.Shared = l.Start/float64(l.Samples), l.Shared/float64(l.Samples)
	return l, nil
}
