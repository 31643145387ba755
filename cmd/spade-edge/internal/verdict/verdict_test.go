package verdict

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// rows returns rows of two classes. The weight 1 predicts each class right, -1 wrong.
func rows(classes ...int) *task.Data {
	d := &task.Data{Dim: 1, Classes: 2, ClassNames: []string{"no", "yes"}, Y: classes}
	for _, y := range classes {
		d.X = append(d.X, float32(2*y-1))
	}
	return d
}

// mixed returns rows of which a model of one weight predicts the first column's rows right and the others wrong.
func mixed(right, wrong int) *task.Data {
	d := rows(slices.Repeat([]int{1, 0}, (right+wrong)/2)...)
	for i := right; i < right+wrong; i++ {
		d.X[i] = -d.X[i]
	}
	return d
}

var nan = float32(math.NaN())

func TestDecide(t *testing.T) {
	good, bad := []float32{1}, []float32{-1}
	many := slices.Repeat([]int{0, 1}, 20)
	for name, c := range map[string]struct {
		held, own   *task.Data
		last, alone []float32
		before      []earlier
		want        string
		asOf        int
		text        string
	}{
		"shared is better": {rows(many...), rows(0, 1), good, bad, nil, Shared, 0, "accepted: the shared model, 100.0 % of 40 held-out rows " +
			`(alone 0.0 %, always "no" 50.0 %): better than alone by`},
		"shared is worse":   {rows(many...), rows(0, 1), bad, good, nil, Alone, 0, "the shared model is worse than alone by 87 to 100 points: use your own"},
		"a tie":             {rows(many...), rows(0, 1), good, []float32{2}, nil, Alone, 0, "is as good as alone, as far as 40 rows can tell"},
		"one row":           {rows(1), rows(0, 1), good, bad, nil, Shared, 0, "as far as 1 row can tell"},
		"one row, a tie":    {rows(1), rows(1, 0), good, good, nil, Alone, 0, "as far as 1 row can tell"},
		"one class":         {rows(1, 1, 1, 1), rows(1, 1), good, good, nil, Alone, 0, ""},
		"only the constant": {rows(1, 1, 1, 1), rows(1, 1), bad, bad, nil, Constant, 0, `accepted: always "yes", 100.0 %`},
		"tie with constant": {rows(1, 1, 1, 1), rows(1, 1), good, bad, nil, Constant, 0, ""},
		"shared is NaN":     {rows(many...), rows(0, 1), []float32{nan}, good, nil, Alone, 0, "shared 0.0 %"},
		"both are NaN":      {rows(many...), rows(0, 1), []float32{nan}, []float32{nan}, nil, Constant, 0, ""},
		"spoiled at the end": {rows(many...), rows(0, 1), bad, []float32{nan}, []earlier{{3, bad}, {6, good}, {9, bad}}, Shared, 6,
			"the shared model as of release 6 (later ones made it worse on this site's training rows; the last: 0.0 %), 100.0 % of 40 held-out rows (alone"},
		"the latest that is better": {rows(many...), rows(0, 1), bad, []float32{nan}, []earlier{{3, good}, {6, good}, {9, bad}}, Shared, 6, ""},
		"training rows decide":      {mixed(39, 1), mixed(19, 21), good, []float32{nan}, []earlier{{3, bad}}, Constant, 3, ""},
		"a tie with the last":       {rows(many...), mixed(20, 20), bad, []float32{nan}, []earlier{{3, good}}, Constant, 0, ""},
		"the newest, by one row":    {rows(many...), mixed(21, 19), bad, []float32{nan}, []earlier{{3, good}}, Shared, 3, "better than alone by"},
		"further back, by 10 rows":  {rows(many...), mixed(25, 15), bad, []float32{nan}, []earlier{{3, good}, {6, bad}}, Constant, 0, ""},
		"further back, by 20 rows":  {rows(many...), mixed(30, 10), bad, []float32{nan}, []earlier{{3, good}, {6, bad}}, Shared, 3, ""},
		"spoiled, and no better":    {rows(many...), rows(0, 1), bad, good, []earlier{{3, good}}, Alone, 3, "is as good as alone"},
	} {
		held := softmax.New(c.held)
		v := new(Verdict)
		model, err := v.decide(held, softmax.New(c.own), c.last, c.before, c.alone)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if v.Accepted != c.want || v.AsOf != c.asOf || !strings.Contains(v.Text(), c.text) {
			t.Errorf("%s: %s, as of %d: %s", name, v.Accepted, v.AsOf, v.Text())
		}
		if (model == nil) != (c.want == Constant) || model != nil && v.AcceptedModel != sdk.ModelHash(model) || v.Covered {
			t.Errorf("%s: model %v, %+v", name, model, v)
		}
		if v.Other(sdk.ModelHash(c.last)) != (c.want != Shared || c.asOf > 0) && c.want != Alone {
			t.Errorf("%s: another one is accepted: %+v", name, v)
		}
	}
}

// TestNumbers compares predictions of numbers: the smaller RMSE is accepted, and the constant is the mean of own rows.
func TestNumbers(t *testing.T) {
	d := &task.Data{Dim: 1, Classes: 2, Range: &task.Range{Low: 0, High: 10}}
	for i := range 30 {
		x := float32(i)/10 - 1.5
		d.X, d.Y, d.Target = append(d.X, x), append(d.Y, i/15), append(d.Target, 10/(1+math.Exp(-float64(x))))
	}
	model := task.ModelSpec{Name: task.LinearModel}.New(d)
	v := new(Verdict)
	if _, err := v.decide(model, model, []float32{1}, nil, []float32{0.2}); err != nil || v.Accepted != Shared || v.Answers.Measure != "rmse" ||
		!(v.Answers.Shared < 1e-5) || v.Answers.Always != "4.894" || !strings.Contains(v.Text(), "of RMSE") {
		t.Errorf("%v, %v", v.Text(), err)
	}
	if _, err := v.decide(model, model, []float32{nan}, nil, []float32{-3}); err != nil || v.Accepted != Constant {
		t.Errorf("%v, %v", v.Text(), err)
	}
	if g := (judge{model}).gain([]float64{0, 0}, []float64{0, 0}); g.Value != 0 || *g.Low != 0 || *g.High != 0 {
		t.Errorf("both exact: %+v", g)
	}
}

type losses func(x []float32, sample int) (float64, error)

func (f losses) Loss(_ context.Context, x []float32, sample int) (float64, error) {
	return f(x, sample)
}

// siteIn returns a site with a state folder for a run of 20 releases.
func siteIn(t *testing.T) *Site {
	t.Helper()
	f := &sdk.Fleet{Run: "a run", Dim: 1, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}}, Privacy: sdk.Privacy{NonPrivate: true},
		Method: sdk.Method{Rounds: 15, Cooldown: 5, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{1}, Mu: []float64{0.1}}}
	return &Site{Node: &fleetfile.Node{Name: "a", State: t.TempDir()}, Fleet: &fleetfile.File{Fleet: f}}
}

func sourceOf(own, held *task.Data) *fleetfile.Source {
	s := &fleetfile.Source{Oracle: softmax.New(own), Samples: own.Len()}
	if held != nil {
		s.Test = softmax.New(held)
	}
	return s
}

// TestSite runs a site through a run that is spoiled at its end. The node is killed before one of the four releases is
// kept, and again before the verdict.
func TestSite(t *testing.T) {
	s := siteIn(t)
	for release := 1; release <= 20; release++ {
		switch release {
		case 10: // killed after the release was stored, before it was kept
			s.tried = [points]bool{}
			continue
		case 16:
			s.tried = [points]bool{}
		}
		x := []float32{float32(release)}
		if release > 18 {
			x[0] = -1
		}
		if err := s.Released(release, x); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range [points]int{6, 11, 14, 18} {
		if e, err := s.load(earlierName(i)); err != nil || e.Release != want || e.Model[0] != float32(want) {
			t.Fatalf("earlier model %d: %+v, %v", i, e, err)
		}
	}
	own, held := rows(0, 1, 0, 1, 0), rows(slices.Repeat([]int{0, 1}, 20)...)
	for i, scale := range []float32{0.1, 0.1, 0.1, -1, -1} { // most own rows agree with the others', but two mislead a model of own rows alone
		own.X[i] *= scale
	}
	last := []float32{-1}
	v, err := s.Judge(t.Context(), sourceOf(own, held), last)
	if err != nil || v.Accepted != Shared || v.AsOf != 18 {
		t.Fatalf("%+v, %v", v, err)
	}
	for _, name := range []string{verdictName, acceptedName, earlierName(0), earlierName(3)} {
		if info, err := os.Stat(s.path(name)); err != nil || info.Mode().Perm() != private {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	again, err := (&Site{Node: s.Node, Fleet: s.Fleet}).Judge(t.Context(), sourceOf(own, nil), last) // a restart of a finished node
	if err != nil || again.Text() != v.Text() {
		t.Errorf("%+v, %v", again, err)
	}
	if x, release, err := s.Model(v, 20, last); err != nil || release != 18 || x[0] != 18 {
		t.Errorf("model %v of release %d, %v", x, release, err)
	}
	if err := s.save(acceptedName, earlier{18, []float32{17}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Model(v, 20, last); err == nil || !strings.Contains(err.Error(), "run the node again") {
		t.Errorf("a damaged model: %v", err)
	}
	if v, err := (&Site{Node: s.Node, Fleet: s.Fleet}).Judge(t.Context(), sourceOf(own, held), []float32{1}); err != nil || v.AsOf != 0 {
		t.Errorf("another model: %+v, %v", v, err)
	}
}

// TestNoVerdict checks what a site says that cannot decide, or cannot keep the verdict.
func TestNoVerdict(t *testing.T) {
	s, good := siteIn(t), []float32{1}
	own, held := rows(0, 1, 0, 1), rows(0, 1)
	if _, err := s.Judge(t.Context(), sourceOf(own, nil), good); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "held_out") {
		t.Errorf("no rows held out: %v", err)
	}
	if _, err := s.Judge(t.Context(), sourceOf(own, rows()), good); !errors.Is(err, ErrNone) {
		t.Errorf("zero rows held out: %v", err)
	}
	lost := rows(1)
	lost.X[0] = nan
	for _, held := range []*task.Data{held, nil} {
		if _, err := s.Judge(t.Context(), sourceOf(lost, held), good); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "own rows can be read") {
			t.Errorf("no readable rows: %v", err)
		}
	}
	if _, err := s.Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a verdict was kept: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Judge(ctx, sourceOf(own, held), good); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "run the node again") {
		t.Errorf("interrupted: %v", err)
	}
	v, err := s.Judge(t.Context(), sourceOf(own, held), []float32{-1})
	if err != nil || v.Accepted != Alone {
		t.Fatalf("%+v, %v", v, err)
	}
	if x, release, err := s.Model(v, 20, []float32{-1}); err != nil || release != 0 || !(x[0] > 0) {
		t.Errorf("%v, %d, %v", x, release, err)
	}
	other := siteIn(t)
	other.Node.State, other.Node.Name = s.Node.State, "b"
	if _, err := other.Read(); !errors.Is(err, errOther) {
		t.Errorf("the verdict of another node: %v", err)
	}
	full := siteIn(t)
	full.Node.State = filepath.Join(full.Node.State, "gone")
	if err := full.Released(6, good); err == nil || full.Released(7, good) != nil {
		t.Errorf("a full disk: %v", err)
	}
	if v, err := full.Judge(t.Context(), sourceOf(own, held), good); err == nil || v == nil || v.Accepted == "" {
		t.Errorf("a full disk: %+v, %v", v, err)
	}
}

// TestProgram asks a program for losses. Half of its samples have none.
func TestProgram(t *testing.T) {
	s, asked := siteIn(t), map[int]bool{}
	loss := func(x []float32, sample int) (float64, error) {
		asked[sample] = true
		if sample%2 == 0 {
			return 0, errors.New("no loss")
		}
		return 1 - float64(x[0])/2, nil
	}
	v, err := s.Judge(t.Context(), &fleetfile.Source{Oracle: losses(loss), Samples: 1000}, []float32{1})
	if err != nil || len(asked) != mostSamples || !strings.HasPrefix(v.Text(), "mean loss 1 to 0.5 on ") || v.Losses.Samples >= mostSamples || v.Other("") {
		t.Errorf("%+v, %v, %d samples", v, err, len(asked))
	}
	if back, err := s.Read(); err != nil || back.Text() != v.Text() {
		t.Errorf("%+v, %v", back, err)
	}
	silent := losses(func([]float32, int) (float64, error) { return 0, errors.New("no loss") })
	if _, err := siteIn(t).Judge(t.Context(), &fleetfile.Source{Oracle: silent, Samples: 2}, []float32{1}); !errors.Is(err, ErrNone) {
		t.Errorf("no losses: %v", err)
	}
}
