package fleetfile

import (
	"math"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// Oracle says where a node's losses come from. Exactly one field is not nil.
type Oracle struct {
	Builtin *Builtin              // a model and data set of package task
	Stream  *scorer.StreamConfig  // a program that answers query after query; it runs in the node file's folder
	OneShot *scorer.OneShotConfig // a program that is started for each query; it runs in the node file's folder
}

// Builtin is a built-in model on a data set.
type Builtin struct {
	// FitOwn ("fit": "own") fits the preprocessing on this node's own data, and takes the model from this file. If it is
	// false both come from the task in the fleet file, and of Spec only Source, TestFraction, Whole and Seed are given.
	FitOwn bool
	Model  task.ModelSpec // empty unless FitOwn
	Spec   task.Spec      // the data set, its paths resolved
	Share  *Share         // nil: all of it is this node's
}

// Share takes one part of a data set that is dealt out to several nodes, as the program's simulation deals it out, with
// the seed of the Spec. It is for trials, in which all nodes have the same files.
type Share struct {
	Partition task.Partition
	Of        int // how many parts there are
	Number    int // which one, 0 to Of-1
}

func (v *value) oracle(to *Oracle, dir string) {
	const one = `one of {"builtin": {...}}, {"stream": [...]} and {"oneshot": [...]}`
	v.object(one, func(o *object) {
		builtin, stream, oneshot := o.may("builtin"), o.may("stream"), o.may("oneshot")
		format, samples, start := o.may("format"), o.may("samples"), o.may("start_seconds")
		limits := []*value{o.may("workers"), o.may("timeout_seconds"), o.may("memory_mib")}
		count := 0
		for _, kind := range []*value{builtin, stream, oneshot} {
			if kind.present() {
				count++
			}
		}
		if count != 1 {
			v.c.fault("%s has %d of builtin, stream and oneshot, want %s", v.at(), count, one)
		}
		unused := func(whose string, fields ...*value) {
			if count == 1 {
				absent("only "+whose, fields...)
			}
		}
		if builtin.present() {
			to.Builtin = new(Builtin)
			builtin.object(`{"data": "csv:FILE", ...}`, func(o *object) { to.Builtin.schema(o, dir) })
			unused("a program has that", limits...)
		}
		if stream.present() {
			to.Stream = &scorer.StreamConfig{}
			stream.program(&to.Stream.Program, dir, limits)
			format.choice((*string)(&to.Stream.Format), string(scorer.JSON), string(scorer.Base64),
				string(scorer.CBOR))
			start.seconds(&to.Stream.Start)
		} else {
			unused("a stream has that", format, start)
		}
		if oneshot.present() {
			to.OneShot = &scorer.OneShotConfig{Samples: 1}
			oneshot.program(&to.OneShot.Program, dir, limits)
			samples.needed = true
			samples.integer(&to.OneShot.Samples, 1, math.MaxInt32)
			if len(to.OneShot.Command) > 0 {
				v.c.include(oneshot.at()+": ", to.OneShot.Validate())
			}
		} else {
			unused("a oneshot has that; a stream's program says it itself, and a built-in model counts", samples)
		}
	})
}

// program is a program, its arguments and its limits, which are workers, timeout_seconds and memory_mib.
func (v *value) program(to *scorer.Program, dir string, limits []*value) {
	to.Dir, to.Workers = dir, 1
	v.texts(&to.Command, "a string", func(s string) bool { return !strings.ContainsRune(s, 0) })
	if v.kind() == '[' && (len(to.Command) == 0 || to.Command[0] == "") {
		v.c.fault("%s names no program, want [\"./program\", \"argument\", ...]", v.at())
		to.Command = nil
	}
	var mib int
	limits[0].integer(&to.Workers, 1, 1024)
	limits[1].seconds(&to.Timeout)
	limits[2].integer(&mib, 1, math.MaxInt32)
	to.Memory = int64(mib) << 20
}

func (b *Builtin) schema(o *object, dir string) {
	s := &b.Spec
	hasSource := o.need("data").text(&s.Source, "idx:DIR, csv:FILE or synthetic:clinical", anything[string])
	if kind, path, ok := strings.Cut(s.Source, ":"); ok && path != "" && (kind == "idx" || kind == "csv") {
		s.Source = kind + ":" + resolve(dir, path)
	}
	held := o.may("test_fraction")
	held.shown = s.Whole
	if held.number(&s.TestFraction, "a number above 0 and below 1, or 0 to train on all",
		func(x float64) bool { return x == 0 || share(x) }) && !o.c.writing {
		s.Whole = s.TestFraction == 0
	}
	o.may("seed").seed(&s.Seed)
	o.may("share").object(`{"partition": "iid", "of": 8, "number": 0}`, func(o *object) {
		b.Share = new(Share)
		o.share(b.Share)
	})
	b.FitOwn = o.may("fit").choice(new(string), "own")
	check := task.Spec.Validate
	if b.FitOwn {
		o.model(&b.Model)
		o.may("label").text(&s.Label, "the name of a column", anything[string])
		o.may("drop").texts(&s.Drop, "the name of a column", anything[string])
		o.may("onehot").texts(&s.OneHot, "the name of a column", anything[string])
		o.may("labels").texts(&s.Labels, "a class", anything[string])
		o.may("pca").integer(&s.PCA, 0, math.MaxInt32)
		o.may("standardize").maybe(&s.Standardize)
		o.may("bias").maybe(&s.Bias)
		o.may("target").text(&s.Target, "the name of a column", anything[string])
		o.may("missing").text(&s.Missing, "mean, median, indicator or drop", anything[string])
	} else {
		check = func(s task.Spec) error { return task.CheckSource(s.Source) }
		for _, key := range []string{
			"model", "hidden", "label", "drop", "onehot", "labels", "pca", "standardize", "bias", "target", "missing",
		} {
			absent(`the task in the fleet file says so for all nodes, unless there is "fit": "own"`, o.may(key))
		}
	}
	if hasSource {
		o.c.include(o.at()+": ", check(*s))
	}
}

// maybe is true or false, or nil if it is not there.
func (v *value) maybe(to **bool) {
	if v.present() {
		*to = new(bool)
		v.boolean(*to)
	}
}

func (o *object) share(s *Share) {
	partition, text := o.need("partition"), ""
	if partition.text(&text, "iid, dirichlet:A, dirichlet:A,unbalanced or pathological:S", anything[string]) {
		var err error
		if s.Partition, err = task.ParsePartition(text); err != nil {
			o.c.fault("%s: %w", partition.at(), err)
		}
	}
	s.Of = math.MaxInt32
	o.need("of").integer(&s.Of, 1, math.MaxInt32)
	o.need("number").integer(&s.Number, 0, s.Of-1)
}
