package fleetfile

import (
	"fmt"
	"math"
	"strconv"
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
	// false both come from the task in the fleet file, and of Spec only Source, TestFraction and Seed are given.
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

// oracle reads an oracle.
func (v value) oracle(dir string) Oracle {
	var out Oracle
	const one = `one of {"builtin": {...}}, {"stream": [...]} and {"oneshot": [...]}`
	o, ok := v.object(one)
	if !ok {
		return out
	}
	defer o.close()
	builtin, stream, oneshot := o.may("builtin"), o.may("stream"), o.may("oneshot")
	format, samples := o.may("format"), o.may("samples")
	start := o.may("start_seconds")
	limits := []value{o.may("workers"), o.may("timeout_seconds"), o.may("memory_mib")}
	count := 0
	for _, kind := range []value{builtin, stream, oneshot} {
		if kind.present() {
			count++
		}
	}
	if count != 1 {
		v.r.fault("%s has %d of builtin, stream and oneshot, want %s", v.at(), count, one)
	}
	unused := func(whose string, fields ...value) {
		for _, f := range fields {
			if f.present() && count == 1 {
				f.wrong("it left out: only " + whose)
			}
		}
	}
	if builtin.present() {
		out.Builtin = builtin.builtin(dir)
		unused("a program has that", limits...)
	}
	if stream.present() {
		out.Stream = &scorer.StreamConfig{Program: stream.program(dir, limits)}
		out.Stream.Format = scorer.Format(format.choice(string(scorer.JSON), string(scorer.CBOR)))
		out.Stream.Start = start.seconds()
	} else {
		unused("a stream has that", format, start)
	}
	if oneshot.present() {
		out.OneShot = &scorer.OneShotConfig{Program: oneshot.program(dir, limits)}
		samples.needed = true
		out.OneShot.Samples = samples.integer(1, math.MaxInt32, 1)
		if len(out.OneShot.Command) > 0 {
			v.r.include(oneshot.at()+": ", out.OneShot.Validate())
		}
	} else {
		unused("a oneshot has that; a stream's program says it itself, and a built-in model counts", samples)
	}
	return out
}

// program reads a program, its arguments and its limits, which are workers, timeout_seconds and memory_mib.
func (v value) program(dir string, limits []value) scorer.Program {
	const maxWorkers, maxMiB = 1024, math.MaxInt32
	list := v.texts("a string", func(s string) bool { return !strings.ContainsRune(s, 0) })
	if v.kind() == '[' && (len(list) == 0 || list[0] == "") {
		v.r.fault("%s names no program, want [\"./program\", \"argument\", ...]", v.at())
		list = nil
	}
	return scorer.Program{
		Command: list, Dir: dir,
		Workers: limits[0].integer(1, maxWorkers, 1),
		Timeout: limits[1].seconds(),
		Memory:  int64(limits[2].integer(1, maxMiB, 0)) << 20,
	}
}

// builtin reads a built-in oracle.
func (v value) builtin(dir string) *Builtin {
	b := &Builtin{}
	o, ok := v.object(`{"data": "csv:FILE", ...}`)
	if !ok {
		return b
	}
	defer o.close()
	s := &b.Spec
	source, hasSource := o.need("data").text("idx:DIR, csv:FILE or synthetic:clinical", anything[string])
	s.Source = source
	if kind, path, ok := strings.Cut(source, ":"); ok && path != "" && (kind == "idx" || kind == "csv") {
		s.Source = kind + ":" + resolve(dir, path)
	}
	s.TestFraction, _ = o.may("test_fraction").number("a number above 0 and below 1", share)
	s.Seed = o.may("seed").seed()
	b.Share = o.may("share").share()
	b.FitOwn = o.may("fit").choice("own") == "own"
	if !b.FitOwn {
		for _, key := range []string{"model", "hidden", "label", "drop", "onehot", "labels", "pca", "standardize", "bias"} {
			if f := o.may(key); f.present() {
				f.wrong(`it left out: the task in the fleet file says so for all nodes, unless there is "fit": "own"`)
			}
		}
		if hasSource {
			v.r.include(v.at()+": ", task.CheckSource(s.Source))
		}
		return b
	}
	b.Model = o.model()
	s.Label, _ = o.may("label").text("the name of a column", anything[string])
	s.Drop = o.may("drop").texts("the name of a column", anything[string])
	s.OneHot = o.may("onehot").texts("the name of a column", anything[string])
	s.Labels = o.may("labels").texts("a class", anything[string])
	s.PCA = o.may("pca").integer(0, math.MaxInt32, 0)
	s.Standardize = o.may("standardize").optional()
	s.Bias = o.may("bias").optional()
	if hasSource {
		v.r.include(v.at()+": ", s.Validate())
	}
	return b
}

// optional reads true or false; nil if it is not there.
func (v value) optional() *bool {
	if !v.present() {
		return nil
	}
	b := v.boolean()
	return &b
}

// seed reads a seed; 0 if it is not there.
func (v value) seed() uint64 {
	n, err := strconv.ParseUint(string(v.raw), 10, 64)
	if err != nil {
		v.wrong(fmt.Sprintf("a whole number, 0..%d", uint64(math.MaxUint64)))
	}
	return n
}

// share reads a share; nil if it is not there.
func (v value) share() *Share {
	o, ok := v.object(`{"partition": "iid", "of": 8, "number": 0}`)
	if !ok {
		return nil
	}
	defer o.close()
	s := &Share{}
	partition := o.need("partition")
	const kinds = "iid, dirichlet:A, dirichlet:A,unbalanced or pathological:S"
	if text, ok := partition.text(kinds, anything[string]); ok {
		var err error
		if s.Partition, err = task.ParsePartition(text); err != nil {
			v.r.fault("%s: %w", partition.at(), err)
		}
	}
	s.Of = o.need("of").integer(1, math.MaxInt32, math.MaxInt32)
	s.Number = o.need("number").integer(0, s.Of-1, 0)
	return s
}
