package plan

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Losses says what [Examine] saw of an oracle. It depends on the data: keep it on the device.
type Losses struct {
	Queries   int           // number of queries that were answered
	Each      time.Duration // mean time of a query, in a batch if the oracle takes batches
	Low, High float64       // the least and the greatest loss
	Remarks   []string      // what the owner should know, although a model can be learned from such losses
}

// The questions: samples drawn from the data, each at four points.
const (
	examined = 4 // most samples
	atStart  = 0 // the start vector
	above    = 1 // the start vector plus mu*u, for a direction u as in a run
	below    = 2 // the start vector minus mu*u
	far      = 3 // about one unit from the start vector
	places   = 4
)

// exam holds the answers to the questions: losses[pass][places*i+p] is the loss of sample samples[i] at point p; NaN if
// it is unknown.
type exam struct {
	f       *sdk.Fleet
	samples []int
	points  [places][]float32
	losses  [3][]float64 // one after the other, in reversed order, and in a batch
}

// Examine asks an oracle the same questions three times: one after the other, in reversed order, and in a batch. It
// fails if nothing can be learned from the losses, because they are unusable, constant, equal up to rounding, or
// dependent on the batch. The samples are those from first on. If ctx ends, Examine judges what is known by then.
func Examine(ctx context.Context, oracle sdk.Oracle, f *sdk.Fleet, samples, first int) (*Losses, error) {
	e := newExam(f, samples, first)
	r := &Losses{Low: math.Inf(1), High: math.Inf(-1)}
	type question struct{ pass, at, n int }
	all, questions := e.questions(), []question{}
	for i := range all {
		questions = append(questions, question{0, i, 1})
	}
	for i := range all {
		questions = append(questions, question{1, len(all) - 1 - i, 1})
	}
	if _, many := oracle.(zoest.BatchOracle); many {
		questions = append(questions, question{2, 0, len(all)})
	}
	for _, q := range questions {
		began := time.Now()
		losses, err := ask(ctx, oracle, all[q.at:q.at+q.n], 2) // as often as a run asks
		if ctx.Err() != nil {
			if waited := time.Since(began); r.Queries > 0 && waited > 100*r.Each {
				r.Remarks = append(r.Remarks, fmt.Sprintf("a query has had no answer within %.2g s, although the %d queries before it were answered: "+
					"the oracle may hang", waited.Seconds(), r.Queries))
			}
			break
		}
		// Where each record is protected, one that cannot be read has no loss.
		if unread := f.Privacy.Unit == dpmech.Record && (q.at%places == atStart || math.IsNaN(e.losses[0][q.at-q.at%places])); err != nil && !unread {
			return r, err
		}
		copy(e.losses[q.pass][q.at:], losses)
		r.Queries += q.n
		r.Each = time.Since(began) / time.Duration(q.n)
	}
	return r, e.judge(r)
}

// ask is like [zoest.Ask], but once ctx ends it returns at once without losses, even if the oracle does not return.
func ask(ctx context.Context, oracle sdk.Oracle, queries []zoest.Query, retries int) ([]float64, error) {
	if err := ctx.Err(); err != nil { // an earlier query may still be in progress
		return nil, err
	}
	losses, done := make([]float64, len(queries)), make(chan error, 1)
	go func() { done <- zoest.Ask(ctx, oracle, queries, losses, retries) }()
	select {
	case err := <-done:
		return losses, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func newExam(f *sdk.Fleet, samples, first int) *exam {
	e := &exam{f: f, samples: []int{first}}
	random, mu := rand.New(rand.NewPCG(1, 2)), float32(f.Method.Mu[0])
	for range 4 * examined {
		if h := first + random.IntN(samples-first); len(e.samples) < examined && !slices.Contains(e.samples, h) {
			e.samples = append(e.samples, h)
		}
	}
	for p := range e.points {
		e.points[p] = make([]float32, f.Dim)
		copy(e.points[p], f.X0)
	}
	for j := range f.Dim {
		u := float32(1 - 2*random.IntN(2))
		e.points[above][j] += mu * u
		e.points[below][j] -= mu * u
		e.points[far][j] += u * (0.5 + random.Float32())
	}
	for pass := range e.losses {
		e.losses[pass] = slices.Repeat([]float64{math.NaN()}, places*len(e.samples))
	}
	return e
}

func (e *exam) questions() (all []zoest.Query) {
	for _, h := range e.samples {
		for _, x := range e.points {
			all = append(all, zoest.Query{Point: x, Sample: h})
		}
	}
	return all
}

// judge completes r and returns why nothing can be learned, or nil.
func (e *exam) judge(r *Losses) error {
	first := e.losses[0]
	for i := len(e.samples) - 1; i >= 0; i-- { // keep the samples that have all losses
		if of := first[places*i : places*(i+1)]; slices.ContainsFunc(of, math.IsNaN) {
			e.samples = slices.Delete(e.samples, i, i+1)
			for pass := range e.losses {
				e.losses[pass] = slices.Delete(e.losses[pass], places*i, places*(i+1))
			}
		}
	}
	if first = e.losses[0]; len(first) == 0 {
		return nil
	}
	r.Low, r.High = slices.Min(first), slices.Max(first)
	if i := differs(first, e.losses[1]); i >= 0 {
		r.Remarks = append(r.Remarks, fmt.Sprintf("the same query was answered with %v and with %v: a loss may depend on its parameters "+
			"and its sample, and on noise of a measurement, but not on earlier queries", first[i], e.losses[1][i]))
		return nil
	}
	if i := differs(first, e.losses[2]); i >= 0 {
		return fmt.Errorf("plan: a query of sample %d was answered with %v alone, and with %v in a batch: an answer must not depend on "+
			"the other queries of its batch", e.samples[i/places], first[i], e.losses[2][i])
	}
	if err := e.flat(r); err != nil {
		return err
	}
	if n := len(e.samples); n > 1 && slices.Equal(first[places:], first[:places*(n-1)]) {
		r.Remarks = append(r.Remarks, fmt.Sprintf("the loss ignores the sample: %d samples have the same losses at %d points", n, places))
	}
	e.steep(r)
	e.weak(r)
	return nil
}

// longest is the distance of a first step in one parameter from which it is called too long: parameters are about 1.
const longest = 1000

// differs returns the index of the first number that is known in both lists and differs, or -1.
func differs(a, b []float64) int {
	for i := range a {
		if a[i] != b[i] && b[i] == b[i] {
			return i
		}
	}
	return -1
}

// flat returns an error if the losses do not change with the parameters, or less than their own resolution.
func (e *exam) flat(r *Losses) error {
	losses := e.losses[0]
	var near, wide, resolution float64
	for i := 0; i < len(losses); i += places {
		of := losses[i : i+places]
		near = max(near, math.Abs(of[above]-of[atStart]), math.Abs(of[below]-of[atStart]))
		wide = max(wide, slices.Max(of)-slices.Min(of))
		resolution = max(resolution, math.Abs(of[atStart]))
	}
	of := "a 64-bit number"
	if resolution *= 0x1p-52; e.f.Method.Estimator == zoest.Paper {
		resolution *= 0x1p29
		of = "a 32-bit number, to which the estimator \"paper\" rounds it"
	}
	switch {
	case wide == 0 && r.Low == r.High:
		return fmt.Errorf("plan: each of %d queries was answered with %v: nothing can be learned from a constant loss", len(losses), r.Low)
	case wide == 0:
		return fmt.Errorf("plan: the loss ignores the parameters: that of sample %d is %v at %d points", e.samples[0], losses[0], places)
	case near <= resolution && wide > 1000*resolution:
		r.Remarks = append(r.Remarks, fmt.Sprintf("losses do not change within the smoothing radius mu, %v, only farther away: use a larger mu",
			e.f.Method.Mu[0]))
	case near <= resolution:
		return fmt.Errorf("plan: losses near %v change by %.2g within the smoothing radius mu, no more than the resolution of %s (%.2g): "+
			"subtract a constant from the loss", losses[0], near, of, resolution)
	}
	return nil
}

// steep remarks that a run without noise diverges, if its steps exceed twice the inverse of the mean curvature of a loss
// outside 0..1, or move the model by more than longest at once, and that losses look like a score, if they are negative and
// curve down.
func (e *exam) steep(r *Losses) {
	m, losses := e.f.Method, e.losses[0]
	if r.Low >= 0 && r.High <= 1 {
		return
	}
	var bend, slope float64
	for i := 0; i < len(losses); i += places {
		bend += losses[i+above] + losses[i+below] - 2*losses[i+atStart]
		slope += (losses[i+above] - losses[i+below]) / 2
	}
	bend /= float64(len(e.samples)) * m.Mu[0] * m.Mu[0] * float64(e.f.Dim)
	if bend < 0 && r.High <= 0 {
		r.Remarks = append(r.Remarks, "losses are negative and curve down, as a log-likelihood does: if more is better, return the negative")
	}
	long, step := m.Eta[0]*m.Mu[0]*bend/2, m.Eta[0]*math.Abs(slope)/float64(len(e.samples))
	if !e.f.Privacy.NonPrivate { // a step is clipped
		return
	}
	if long > 1 {
		r.Remarks = append(r.Remarks, fmt.Sprintf("losses are not between 0 and 1, for which steps are chosen, and the steps of this run are %.2g "+
			"times too long for them: the model will diverge. Use an eta below %.2g, or divide the loss", long, m.Eta[0]/long))
	} else if step > longest {
		r.Remarks = append(r.Remarks, fmt.Sprintf("losses are not between 0 and 1, for which steps are chosen, and the first step moves each parameter "+
			"by about %.2g: use a smaller eta, or divide the loss", step))
	}
}

// weak remarks that the losses change so little that a run hardly moves the model, or that next to nothing remains beside the
// noise of a run from which [Forecast] expects something.
func (e *exam) weak(r *Losses) {
	m, p, losses := e.f.Method, e.f.Privacy, e.losses[0]
	square, steps := 0.0, float64(m.Rounds)*m.Eta[0]
	for i := 0; i < len(losses); i += places {
		half := (losses[i+above] - losses[i+below]) / 2
		square += float64(half*half) / float64(len(e.samples))
	}
	if p.Unit != dpmech.Record {
		steps *= float64(m.Tau)
	}
	moves, least, than := steps*math.Sqrt(square), 1e-4, "in all rounds"
	if !p.NonPrivate {
		noise := p.Sigma * math.Sqrt(float64(m.Rounds*e.f.Dim)/float64(len(e.f.Members)))
		least, than = noise/50, fmt.Sprintf("in all rounds, and the noise by %.2g", noise)
	}
	if moves > 0 && moves < least && (p.NonPrivate || mostGain(e.f) >= hopeless) {
		r.Remarks = append(r.Remarks, fmt.Sprintf("losses change so little that they move the model by at most %.2g %s: multiply the loss by a "+
			"constant, so that good and bad models differ by about 1", moves, than))
	}
}
