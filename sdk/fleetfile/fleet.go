package fleetfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// maxMixing is the most that a method can have.
const maxMixing = 1 << 16

// maxStop is how many members may have to ask for the end of a run.
const maxStop = 8

// version is the version of both formats.
const version = 1

// maxName bounds names and the run's id, in bytes.
const maxName = 64

// File is what a fleet file says.
type File struct {
	Fleet   *sdk.Fleet
	Members []Member // in the order of Fleet.Members
	X0File  string   // where Fleet.X0 is kept, relative to the file's folder; empty if the run starts at zero
}

// Member is how one member of the fleet is known and reached.
type Member struct {
	Name      string
	Keys      []ed25519.PublicKey // the current one and, while it is being replaced, the next
	Retired   []ed25519.PublicKey // keys that may not connect any more, at most 8: what they have signed counts
	Addresses []string            // "wss://host:port/path", tried in order; none for a member that only dials out
}

// Read reads a fleet file of at most 16 MiB, and the start vector beside it if there is one. It reports every fault at
// once.
func Read(path string) (*File, error) { return read(path, false) }

// read is Read. With dialed, members that are dialed need addresses even if no member has any.
func read(path string, dialed bool) (*File, error) {
	data, err := ReadFile(path, maxFile, "a fleet file")
	if err != nil {
		return nil, err
	}
	return parse(data, path, folder(filepath.Dir(path)), dialed)
}

// Parse is [Read] for the content of a fleet file. dir is the folder with its start vector.
func Parse(data []byte, dir string) (*File, error) { return parse(data, "", folder(dir), false) }

func parse(data []byte, name string, load loader, dialed bool) (*File, error) {
	// These valid values stay where the file has wrong ones, so that sdk.Fleet.Validate checks the rest and reports no
	// consequence of a fault that is reported already.
	fleet := &sdk.Fleet{
		Run:     "x",
		Method:  sdk.Method{Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{1}, Mu: []float64{1}},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 1, Delta: 1e-5},
	}
	c := newFleetCodec(&File{Fleet: fleet})
	c.name, c.load = name, load
	if err := c.read(data, c.schema); !c.begun {
		return nil, err
	}
	fleet.Dim, fleet.Method.Rounds = max(1, fleet.Dim), max(1, fleet.Method.Rounds)
	if c.whole {
		c.addresses(dialed)
	} else {
		fleet.Members, fleet.Edges, fleet.Stop = []string{"x"}, nil, nil
		unshare(&fleet.Privacy)
	}
	c.include("", fleet.Validate())
	if err := c.err(); err != nil {
		return nil, err
	}
	return c.file, nil
}

// Marshal returns the file's text, with one line for each member, edge and parameter, from which [Parse] makes an equal
// File. Defaults are left out. It refuses what Parse would refuse. The start vector is not in the text; see
// [File.Write].
func (f *File) Marshal() ([]byte, error) {
	if f.Fleet == nil {
		return nil, errors.New("fleetfile: no fleet")
	}
	if len(f.Members) != len(f.Fleet.Members) {
		return nil, fmt.Errorf("fleetfile: %d members have keys and addresses, want the %d of the fleet",
			len(f.Members), len(f.Fleet.Members))
	}
	for i, m := range f.Members {
		if m.Name != f.Fleet.Members[i] {
			return nil, fmt.Errorf("fleetfile: member %d is %q, want %q as in the fleet", i, m.Name, f.Fleet.Members[i])
		}
	}
	if moves(f.Fleet.X0) && f.X0File == "" {
		return nil, errors.New("fleetfile: X0File is empty, want a name for the file of a start that is not zero")
	}
	c := newFleetCodec(f)
	text, err := c.write(c.schema)
	if err == nil {
		_, err = parse(text, "", func(string, int64) ([]byte, error) { return f.start(), nil }, false)
	}
	if err == nil {
		err = f.Fleet.Validate() // of what the text leaves out
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// Write writes the start vector, if there is one, and then the fleet file, readable for all. It replaces no file.
func (f *File) Write(path string) error {
	text, err := f.Marshal()
	if err != nil {
		return err
	}
	if f.X0File != "" {
		if err := create(filepath.Join(filepath.Dir(path), filepath.FromSlash(f.X0File)), f.start(), 0o644); err != nil {
			return err
		}
	}
	return create(path, text, 0o644)
}

// start returns the bytes of the start vector.
func (f *File) start() []byte {
	var b []byte
	for _, x := range f.Fleet.X0 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// ErrZeroStart is what [errors.Is] finds in an error that says: the model is a perceptron and x0 is zero.
var ErrZeroStart = errors.New("x0 is zeros, want a start that is not: the gradient of a perceptron is zero at zero")

// moves reports whether a start is not zero.
func moves(x0 []float32) bool { return slices.ContainsFunc(x0, func(x float32) bool { return x != 0 }) }

// fleetCodec is the codec of a fleet file.
type fleetCodec struct {
	codec
	load   loader
	file   *File
	number map[string]int    // of the members
	owner  map[string]string // of a key: the place where it was seen first
	begun  bool              // the version is one that can be read
	whole  bool              // all members' names and all edges can be used
}

func newFleetCodec(f *File) *fleetCodec {
	return &fleetCodec{file: f, number: map[string]int{}, owner: map[string]string{}}
}

func (c *fleetCodec) schema(v *value) {
	v.object("a fleet file, an object", func(o *object) {
		if c.begun = o.version(); !c.begun {
			return
		}
		fleet := c.file.Fleet
		o.need("run").name(&fleet.Run)
		o.need("dim").integer(&fleet.Dim, 1, wire.MaxDim)
		x0 := o.need("x0")
		x0.inline = c.file.X0File == ""
		x0.object(`{"zeros": true} or {"file": "...", "sha256": "..."}`, c.x0)
		begun := c.faults() == 0
		graph := o.need("graph")
		graph.inline = true
		edges := func(known bool) (whole bool) {
			graph.object(`{"edges": [["a", "b"], ...]}`, func(o *object) { whole = c.edges(o.need("edges"), known) })
			return whole
		}
		if c.writing {
			edges(true)
		}
		c.whole = c.members(o.need("members"))
		if !c.writing { // with the names of all members
			c.whole = edges(c.whole) && c.whole
		}
		o.need("method").object("an object with rounds, tau, rho, gain, eta, mu and more", c.method)
		o.need("privacy").object(`{"non_private": true}, or an object with clip, sigma and delta`, c.privacy)
		c.wire(o.may("wire"))
		c.stop(o.may("stop"))
		c.task(o.may("task"), begun)
	})
}

// x0 is the start. It needs the dimension.
func (c *fleetCodec) x0(o *object) {
	file, sum, zeros := o.may("file"), o.may("sha256"), o.may("zeros")
	if zeros.present() || c.writing && c.file.X0File == "" {
		if !put(zeros, true) && string(zeros.raw) != "true" {
			zeros.wrong("true, or file and sha256 in its place")
		}
		absent("the start is zeros", file, sum)
		return
	}
	file.needed, sum.needed = true, true
	dim, digits := c.file.Fleet.Dim, hexSum(c.file.start())
	okFile := file.text(&c.file.X0File, "the name of a file in the folder of this one, or below", func(s string) bool {
		return filepath.IsLocal(filepath.FromSlash(s))
	})
	okSum := sum.text(&digits, "64 hexadecimal digits, the SHA-256 of the file", func(s string) bool {
		b, err := hex.DecodeString(s)
		return err == nil && len(b) == sha256.Size
	})
	if c.writing || !okFile || !okSum || dim == 0 {
		return
	}
	data, err := c.load(c.file.X0File, 4*int64(dim))
	if err != nil {
		c.fault("%s: want %d numbers of four bytes: %w", file.at(), dim, err)
		return
	}
	if got := hexSum(data); !strings.EqualFold(got, digits) {
		c.fault("%s is %s, but %q has %s", sum.at(), digits, c.file.X0File, got)
		return
	}
	for bits := range slices.Chunk(data, 4) {
		c.file.Fleet.X0 = append(c.file.Fleet.X0, math.Float32frombits(binary.LittleEndian.Uint32(bits)))
	}
}

func hexSum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func (c *fleetCodec) method(o *object) {
	m := &c.file.Fleet.Method
	o.need("rounds").integer(&m.Rounds, 1, math.MaxInt32)
	o.show("cooldown").integer(&m.Cooldown, 0, math.MaxInt32)
	o.may("mixing").integer(&m.Mixing, 0, maxMixing)
	o.need("tau").integer(&m.Tau, 1, math.MaxInt32)
	o.show("batch").integer(&m.Batch, 0, math.MaxInt32)
	o.need("rho").number(&m.Rho, "a number of 1e-9..1e9", within(1e-9, 1e9))
	o.need("gain").number(&m.Gain, "a number above 0 and below 1, a share of the limit of stability", share)
	o.need("eta").schedule((*[]float64)(&m.Eta), m.Rounds)
	o.need("mu").schedule((*[]float64)(&m.Mu), m.Rounds)
	o.may("momentum").number(&m.Momentum, "a number from 0 to less than 1", func(x float64) bool { return x >= 0 && x < 1 })
	o.show("estimator").setting(&m.Estimator, "paper", "centered", "tracking")
	o.show("directions").setting(&m.Directions, "rademacher", "walsh")
	o.show("seed").seed(&m.Seed)
	o.may("robust").number(&m.Robust, "0 or a number of 1..1e6", func(x float64) bool { return x == 0 || x >= 1 && x <= 1e6 })
}

func (c *fleetCodec) privacy(o *object) {
	p, before := &c.file.Fleet.Privacy, c.faults()
	o.may("non_private").boolean(&p.NonPrivate)
	field := o.need
	if c.faults() > before {
		field = o.may
	}
	if p.NonPrivate {
		for _, name := range []string{"clip", "sigma", "delta", "epsilon_limit", "accounting", "pair_sigma",
			"effective_sigma", "colluders", "epsilon_limit_all"} {
			absent("non_private is true", o.may(name))
		}
		if !c.writing {
			*p = sdk.Privacy{NonPrivate: true}
		}
		return
	}
	okClip := field("clip").number(&p.Clip, "a number of 1e-30..1e30", within(1e-30, 1e30))
	if okSigma := field("sigma").number(&p.Sigma, "a number above 0", positive); !okClip || !okSigma {
		p.Clip, p.Sigma = 1, 1
	}
	field("delta").number(&p.Delta, "a number above 0 and below 1", share)
	o.may("epsilon_limit").number(&p.EpsilonLimit, "0 (no limit), or a number of at most 1e6", within(0, 1e6))
	o.show("accounting").setting(&p.Accounting, "gdp", "zcdp", "paper")
	shared, effective, colluders, all := o.may("pair_sigma"), o.may("effective_sigma"), o.may("colluders"),
		o.may("epsilon_limit_all")
	if !c.writing && !shared.present() {
		absent("there is no pair_sigma, so no noise is shared", effective, colluders, all)
		return
	}
	shared.number(&p.PairSigma, "sigma times a power of two, 2^-4..2^10", positive)
	effective.number(&p.EffectiveSigma, "a number above 0", positive)
	colluders.integer(&p.Colluders, 0, math.MaxInt32)
	all.number(&p.LimitAll, "0 (no limit), or a number of at most 1e6", within(0, 1e6))
	if c.faults() > before {
		unshare(p)
	}
}

// unshare leaves out what can only be judged together with the rest.
func unshare(p *sdk.Privacy) { p.PairSigma, p.EffectiveSigma, p.Colluders, p.LimitAll = 0, 0, 0, 0 }

// wire is the form of messages, left out if all of it is left to be picked.
func (c *fleetCodec) wire(v *value) {
	before, w := c.faults(), c.file.Fleet.Wire
	read := v.optional("an object with payload or grid_bits", w != sdk.Wire{}, func(o *object) {
		payload, bits := o.may("payload"), o.may("grid_bits")
		payload.setting(&w.Payload, "message", "release")
		if bits.integer(&w.GridBits, 0, 8); w.GridBits == 1 && !c.writing {
			bits.wrong("2..8, or 0 for no grid")
		}
	})
	if read && c.faults() == before {
		c.file.Fleet.Wire = w
	}
}

// stop says who may end a run early.
func (c *fleetCodec) stop(v *value) {
	var s sdk.Stop
	if c.file.Fleet.Stop != nil {
		s = *c.file.Fleet.Stop
	}
	v.inline = true
	if v.present() || c.writing {
		v.optional(`{"members": 1}, or how many have to ask`, c.file.Fleet.Stop != nil, func(o *object) {
			if o.need("members").integer(&s.Members, 1, maxStop) && !c.writing {
				c.file.Fleet.Stop = &s
			}
		})
	}
}

// task is the recipe. Its model has the fleet's dimension and a valid start, if those could be read.
func (c *fleetCodec) task(v *value, begun bool) {
	fleet, recipe := c.file.Fleet, new(task.Recipe)
	if c.writing {
		recipe, err := c.file.Task()
		if c.include("", err); recipe != nil {
			v.recipe(recipe)
		}
		return
	}
	if !v.present() || !v.recipe(recipe) {
		return
	}
	text, err := MarshalTask(recipe)
	c.include(v.at()+": ", err)
	if fleet.Task = bytes.TrimSpace(text); err != nil || !begun {
		return
	}
	if dim := recipe.Dim(); dim != fleet.Dim {
		c.fault("%s is for a model of %d parameters, want the %d of dim", v.at(), dim, fleet.Dim)
	}
	if recipe.Model.Name == task.PerceptronModel && !moves(fleet.X0) {
		c.fault("%w", ErrZeroStart)
	}
}
