package fleetfile

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

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
	Addresses []string            // "wss://host:port/path", tried in order; none for a member that nobody dials
}

// Read reads a fleet file of at most 16 MiB, and the start vector beside it if there is one. It reports every fault at
// once.
func Read(path string) (*File, error) { return read(path, false) }

// read is Read. With dialed, members that are dialed need addresses even if no member has any.
func read(path string, dialed bool) (*File, error) {
	data, err := readLimited(path, maxFile, "a fleet file")
	if err != nil {
		return nil, err
	}
	return parse(data, path, folder(filepath.Dir(path)), dialed)
}

// Parse is [Read] for the content of a fleet file. dir is the folder with its start vector.
func Parse(data []byte, dir string) (*File, error) { return parse(data, "", folder(dir), false) }

// loader returns the content of a file of exactly size bytes.
type loader func(name string, size int64) ([]byte, error)

// folder returns a loader of the files in a folder.
func folder(dir string) loader {
	return func(name string, size int64) ([]byte, error) {
		data, err := readLimited(filepath.Join(dir, filepath.FromSlash(name)), size, "a start vector")
		if err == nil && int64(len(data)) != size {
			err = fmt.Errorf("fleetfile: %s has %d bytes, want %d", name, len(data), size)
		}
		return data, err
	}
}

// ErrZeroStart is what [errors.Is] finds in an error that says: the model is a perceptron and x0 is zero.
var ErrZeroStart = errors.New("x0 is zeros, want a start that is not: the gradient of a perceptron is zero at zero")

// moves reports whether a start is not zero.
func moves(x0 []float32) bool { return slices.ContainsFunc(x0, func(x float32) bool { return x != 0 }) }

// fleetReader reads a fleet file. In place of a wrong value it puts a valid one into the fleet, so that
// sdk.Fleet.Validate checks the rest and reports no consequence of a fault that is reported already.
type fleetReader struct {
	reader
	load   loader
	file   *File
	number map[string]int // of the members
}

func parse(data []byte, name string, load loader, dialed bool) (*File, error) {
	fleet := &sdk.Fleet{}
	r := &fleetReader{reader: reader{name: name}, load: load, file: &File{Fleet: fleet}, number: map[string]int{}}
	o := r.begin(data, "a fleet file, an object")
	if o == nil {
		return nil, r.err()
	}
	fleet.Run = o.need("run").name("x")
	fleet.Dim = o.need("dim").integer(1, wire.MaxDim, 0)
	r.start(o.need("x0"))
	begun := len(r.errs)+r.more == 0
	if fleet.Dim == 0 {
		fleet.Dim = 1
	}
	graph := o.need("graph")
	whole := r.members(o.need("members"))
	whole = r.edges(graph, whole) && whole
	r.method(o.need("method"))
	r.privacy(o.need("privacy"))
	r.wire(o.may("wire"))
	r.task(o.may("task"), begun)
	o.close()
	switch {
	case whole:
		r.addresses(dialed)
	default:
		fleet.Members, fleet.Edges = []string{"x"}, nil
	}
	r.include("", fleet.Validate())
	if err := r.err(); err != nil {
		return nil, err
	}
	return r.file, nil
}

// version checks the file's version. It reports whether the rest can be read.
func (o *object) version() bool {
	v := o.need("version")
	if string(v.raw) == strconv.Itoa(version) {
		return true
	}
	v.wrong(fmt.Sprintf("%d, the version that this program reads", version))
	return !v.present()
}

// name reads a name of 1 to 64 bytes, and returns otherwise if it is wrong.
func (v value) name(otherwise string) string {
	want := fmt.Sprintf("a name of 1..%d bytes", maxName)
	if s, ok := v.text(want, func(s string) bool { return len(s) >= 1 && len(s) <= maxName }); ok {
		return s
	}
	return otherwise
}

// start reads x_0 into the fleet.
func (r *fleetReader) start(v value) {
	o, ok := v.object(`{"zeros": true} or {"file": "...", "sha256": "..."}`)
	if !ok {
		return
	}
	defer o.close()
	file, sum := o.may("file"), o.may("sha256")
	if zeros := o.may("zeros"); zeros.present() {
		if string(zeros.raw) != "true" {
			zeros.wrong("true, or file and sha256 in its place")
		}
		for _, f := range []value{file, sum} {
			if f.present() {
				f.wrong("it left out: the start is zeros")
			}
		}
		return
	}
	file.needed, sum.needed = true, true
	name, okName := file.text("the name of a file in the folder of this one, or below", func(s string) bool {
		return filepath.IsLocal(filepath.FromSlash(s))
	})
	want, okSum := sum.text("64 hexadecimal digits, the SHA-256 of the file", func(s string) bool {
		b, err := hex.DecodeString(s)
		return err == nil && len(b) == sha256.Size
	})
	if !okName || !okSum || r.file.Fleet.Dim == 0 {
		return
	}
	data, err := r.load(name, 4*int64(r.file.Fleet.Dim))
	if err != nil {
		r.fault("%s: want %d numbers of four bytes: %w", file.at(), r.file.Fleet.Dim, err)
		return
	}
	bits, _ := hex.DecodeString(want)
	if got := sha256.Sum256(data); string(got[:]) != string(bits) {
		r.fault("%s is %s, but %q has %x", sum.at(), want, name, got)
		return
	}
	x0 := make([]float32, r.file.Fleet.Dim)
	for i := range x0 {
		x0[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	r.file.X0File, r.file.Fleet.X0 = name, x0
}

// method reads the parameters of the method.
func (r *fleetReader) method(v value) {
	m := &r.file.Fleet.Method
	*m = sdk.Method{Rounds: 1, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{1}, Mu: []float64{1}}
	o, ok := v.object("an object with rounds, tau, rho, gain, eta, mu and more")
	if !ok {
		return
	}
	defer o.close()
	m.Rounds = o.need("rounds").integer(1, math.MaxInt32, 0)
	m.Cooldown = o.may("cooldown").integer(0, math.MaxInt32, 0)
	m.Tau = o.need("tau").integer(1, math.MaxInt32, 1)
	m.Batch = o.may("batch").integer(0, math.MaxInt32, 0)
	if x, ok := o.need("rho").number("a number of 1e-9..1e9", within(1e-9, 1e9)); ok {
		m.Rho = x
	}
	gain := "a number above 0 and below 1, a share of the limit of stability"
	if x, ok := o.need("gain").number(gain, share); ok {
		m.Gain = x
	}
	m.Eta = o.need("eta").schedule(m.Rounds)
	m.Mu = o.need("mu").schedule(m.Rounds)
	o.may("estimator").setting(&m.Estimator, "paper", "centered")
	o.may("directions").setting(&m.Directions, "rademacher", "sphere")
	m.Seed = o.may("seed").seed()
	m.Rounds = max(1, m.Rounds)
}

// schedule reads a positive number, or a list of one for each round. rounds is 0 if it is not known.
func (v value) schedule(rounds int) []float64 {
	float32s := within(0x1p-126, math.MaxFloat32)
	const want = "a positive number that float32 can hold"
	if v.kind() != '[' {
		x, ok := v.number(want+", or a list of one for each round", float32s)
		if !ok {
			x = 1
		}
		return []float64{x}
	}
	var list []float64
	all, whole := v.elements("")
	count := 0
	for e := range all {
		count++
		x, ok := e.number(want, float32s)
		whole = whole && ok
		list = append(list, x)
	}
	if count != 1 && count != rounds && (rounds > 0 || count == 0) {
		v.r.fault("%s has %d values, want one number, or one for each of %d rounds", v.at(), count, rounds)
		whole = false
	}
	if !whole || rounds == 0 {
		return []float64{1}
	}
	return list
}

// privacy reads the privacy parameters.
func (r *fleetReader) privacy(v value) {
	p := &r.file.Fleet.Privacy
	*p = sdk.Privacy{Clip: 1, Sigma: 1, Delta: 1e-5}
	o, ok := v.object(`{"non_private": true}, or an object with clip, sigma and delta`)
	if !ok {
		return
	}
	defer o.close()
	non := o.may("non_private")
	fields := []value{o.may("clip"), o.may("sigma"), o.may("delta"), o.may("epsilon_limit"), o.may("accounting")}
	if non.boolean() {
		*p = sdk.Privacy{NonPrivate: true}
		for _, f := range fields {
			if f.present() {
				f.wrong("it left out: non_private is true")
			}
		}
		return
	}
	for i := range fields[:3] {
		fields[i].needed = string(non.raw) == "false" || !non.present()
	}
	clip, okClip := fields[0].number("a number of 1e-30..1e30", within(1e-30, 1e30))
	sigma, okSigma := fields[1].number("a number above 0", positive)
	if okClip && okSigma {
		p.Clip, p.Sigma = clip, sigma
	}
	if x, ok := fields[2].number("a number above 0 and below 1", share); ok {
		p.Delta = x
	}
	p.EpsilonLimit, _ = fields[3].number("0 (no limit), or a number of at most 1e6", within(0, 1e6))
	fields[4].setting(&p.Accounting, "gdp", "zcdp", "paper")
}

// wire reads the form of messages.
func (r *fleetReader) wire(v value) {
	o, ok := v.object("an object with payload, grid_bits or lossy")
	if !ok {
		return
	}
	defer o.close()
	before := len(r.errs) + r.more
	var w sdk.Wire
	o.may("payload").setting(&w.Payload, "message", "release")
	w.Lossy = o.may("lossy").integer(0, math.MaxInt32, 0)
	bits := o.may("grid_bits")
	if w.GridBits = bits.integer(0, 8, 0); w.GridBits == 1 {
		bits.wrong("2..8, or 0 for no grid")
	}
	if len(r.errs)+r.more == before {
		r.file.Fleet.Wire = w
	}
}
