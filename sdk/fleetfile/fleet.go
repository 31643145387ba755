package fleetfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// File is the content of a fleet file.
type File struct {
	*sdk.Fleet
	Members []Member // in the order of Fleet.Members
	X0File  string   // path of Fleet.X0, relative to the file's folder; empty if the run starts at zero

	graph *graph.Graph // of Fleet as it was read; nil if it was not
}

// Plan reads the fleet, see [sdk.Fleet.Plan].
func (f *File) Plan() (*sdk.Plan, error) {
	if f == nil {
		return (*sdk.Fleet)(nil).Plan()
	}
	return f.Fleet.PlanOn(f.graph)
}

// MaxFrame returns an upper bound on the bytes in a frame between members.
func (f *File) MaxFrame() int { return wire.MaxFrame(f.Dim) }

// MaxRetired is the maximum number of a member's retired keys.
const MaxRetired = 8

// Member is a member of the fleet, with its keys and addresses.
type Member struct {
	Name      string
	Keys      []ed25519.PublicKey // the current key and, during a key change, the next key
	Retired   []ed25519.PublicKey // at most [MaxRetired] keys that connections refuse, but whose past signatures count
	PairKeys  []pair.Public       // one-time keys that no run has used; Fleet.PairKeys has those of this run
	Addresses []string            // "host:port" or "wss://host:port/path", tried in order; none for a member that only dials out
}

// fleetForm is the JSON form of a fleet file. When a file is read, the type parameters are [sdk.Privacy] and
// [sdk.Wire].
type fleetForm[Privacy, Wire any] struct {
	Version int       `json:"version"`
	Run     string    `json:"run"`
	Dim     int       `json:"dim"`
	X0      startForm `json:"x0"`
	Graph   struct {
		Edges [][]string `json:"edges"`
	} `json:"graph"`
	Members []memberForm    `json:"members"`
	Records []int           `json:"records,omitempty"`
	Method  sdk.Method      `json:"method"`
	Privacy Privacy         `json:"privacy"`
	Wire    Wire            `json:"wire,omitzero"`
	Task    json.RawMessage `json:"task,omitempty"`
}

// startForm is the JSON form of the start vector: zeros, or the name and hash of a file in the folder of the fleet
// file.
type startForm struct {
	Zeros  bool   `json:"zeros,omitempty"`
	File   string `json:"file,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// Read reads a fleet file of at most 16 MiB, and the file of its start vector if it names one.
func Read(path string) (*File, error) {
	data, err := ReadFile(path, MaxFile, "a fleet file")
	if err != nil {
		return nil, err
	}
	return parse(data, path, folder(filepath.Dir(path)))
}

// ReadWithoutX0 reads a fleet file, and of its start vector only the hash, in X0Hash: enough to audit a certificate. It
// also returns the text of the file.
func ReadWithoutX0(path string) (*File, []byte, error) {
	text, err := ReadFile(path, MaxFile, "a fleet file")
	if err != nil {
		return nil, nil, err
	}
	f, err := parse(text, path, nil)
	return f, text, err
}

// Parse parses the content of a fleet file; see [Read]. dir is the folder of its start vector.
func Parse(data []byte, dir string) (*File, error) { return parse(data, "", folder(dir)) }

func parse(data []byte, name string, load loader) (*File, error) {
	return parseOn(nil, data, name, load)
}

// parseOn is like parse, but uses the graph g if it is the fleet's; see [sdk.Fleet.PlanOn].
func parseOn(g *graph.Graph, data []byte, name string, load loader) (*File, error) {
	var form fleetForm[sdk.Privacy, sdk.Wire]
	if err := decodeOwn(data, &form); err != nil {
		return nil, In(name, err)
	}
	fleet := &sdk.Fleet{Run: form.Run, Dim: form.Dim, Method: form.Method, Privacy: form.Privacy, Wire: form.Wire,
		Records: form.Records}
	f := &File{Fleet: fleet, X0File: form.X0.File}
	var errs faults
	var err error
	fleet.X0, fleet.X0Hash, err = form.X0.load(fleet.Dim, load)
	errs = append(errs, Each(err)...)
	owner := map[string]string{}
	for i, m := range form.Members {
		fleet.Members = append(fleet.Members, m.Name)
		member, err := m.member(fmt.Sprintf("members[%d]", i), owner)
		f.Members = append(f.Members, member)
		errs = append(errs, Each(err)...)
	}
	errs.pairKeys(fleet, form.Members, owner)
	for i, e := range form.Graph.Edges {
		errs.when(len(e) != 2, "graph.edges[%d] has %d names, want the names of two members", i, len(e))
		if len(e) == 2 {
			fleet.Edges = append(fleet.Edges, [2]string(e))
		}
	}
	if form.Task != nil {
		var task bytes.Buffer
		_ = json.Compact(&task, form.Task) // the file is well formed
		fleet.Task = task.Bytes()
	}
	plan, err := fleet.PlanOn(g)
	errs = append(errs, Each(err)...)
	if len(errs) == 0 {
		f.graph = plan.Graph()
		errs = append(checkTask(fleet), f.checkAddresses()...)
	}
	if len(errs) > 0 {
		return nil, In(name, errors.Join(errs...))
	}
	return f, nil
}

// load reads the start vector of a model of dim parameters or, if the parameter load is nil, returns its hash. It returns
// neither if the start vector is all zeros.
func (s startForm) load(dim int, load loader) (x0 []float32, hash string, err error) {
	if s.Zeros {
		if s.File+s.SHA256 != "" {
			return nil, "", errors.New("x0.zeros is true, so the start vector is zero: omit x0.file and x0.sha256")
		}
		return nil, "", nil
	}
	var errs faults
	errs.when(!filepath.IsLocal(filepath.FromSlash(s.File)),
		`x0.file is %q, want a file in the fleet file's folder or below, or "zeros": true`, s.File)
	sum, err := hex.DecodeString(s.SHA256)
	errs.when(err != nil || len(sum) != sha256.Size, "x0.sha256 is %.60q, want 64 hexadecimal digits, the SHA-256 of the file", s.SHA256)
	if len(errs) > 0 || dim < 1 || dim > wire.MaxDim { // Fleet.Plan reports a dim that is out of range
		return nil, "", errors.Join(errs...)
	}
	if hash = strings.ToLower(s.SHA256); load == nil {
		if hash == hashOfZeros(dim) {
			hash = ""
		}
		return nil, hash, nil
	}
	data, err := load(s.File, 4*int64(dim))
	if err != nil {
		return nil, "", fmt.Errorf("x0.file: want %d numbers of four bytes: %w", dim, err)
	}
	if got := hexSum(data); got != hash {
		return nil, "", fmt.Errorf("x0.sha256 is %s, but the SHA-256 of %q is %s", s.SHA256, s.File, got)
	}
	x0 = make([]float32, dim)
	_, err = binary.Decode(data, binary.LittleEndian, x0)
	return x0, "", err
}

// hashOfZeros returns the [sdk.ModelHash] of dim zeros, without holding them: anybody may have written dim.
func hashOfZeros(dim int) string {
	h, block := sha256.New(), make([]byte, 1<<16)
	for left := 4 * dim; left > 0; left -= len(block) {
		h.Write(block[:min(left, len(block))])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Marshal returns the file's text, with one line for each member, edge and parameter; [Parse] turns the text into an
// equal File. Marshal fails if Parse would not accept the text. The text does not contain the start vector, see
// [File.Write].
func (f *File) Marshal() ([]byte, error) {
	if f.Fleet == nil || f.Fleet.X0Hash != "" {
		return nil, errors.New("fleetfile: Fleet is nil or has X0Hash, want a fleet with X0 itself")
	}
	if err := f.CheckMembers(); err != nil {
		return nil, err
	}
	moved := slices.ContainsFunc(f.Fleet.X0, func(x float32) bool { return x != 0 })
	if moved && f.X0File == "" {
		return nil, errors.New("fleetfile: X0File is empty, want a file name, because the start vector is not zero")
	}
	if f.X0File != "" && f.Fleet.X0 == nil {
		return nil, fmt.Errorf("fleetfile: X0File is %q, want none, because Fleet.X0 is nil", f.X0File)
	}
	plan, err := f.Plan()
	if err != nil {
		return nil, In("", err)
	}
	fleet := f.Fleet
	form := fleetForm[json.RawMessage, json.RawMessage]{Version: version, Run: fleet.Run, Dim: fleet.Dim,
		Method: fleet.Method, X0: startForm{Zeros: true}, Task: fleet.Task, Records: fleet.Records}
	for i, m := range f.Members {
		form.Members = append(form.Members, m.form())
		if fleet.PairKeys != nil {
			form.Members[i].PairKey = fleet.PairKeys[i].String()
		}
	}
	if f.X0File != "" {
		form.X0 = startForm{File: f.X0File, SHA256: hexSum(f.start())}
	}
	form.Graph.Edges = [][]string{}
	for _, e := range fleet.Edges {
		form.Graph.Edges = append(form.Graph.Edges, e[:])
	}
	form.Privacy = json.RawMessage(`{"non_private":true}`)
	if !fleet.Privacy.NonPrivate {
		form.Privacy = lean(fleet.Privacy)
	}
	if fleet.Wire != (sdk.Wire{}) {
		form.Wire = lean(fleet.Wire)
	}
	text, err := Encode(form)
	if err != nil {
		return nil, In("", err)
	}
	if _, err := parseOn(plan.Graph(), text, "", func(string, int64) ([]byte, error) { return f.start(), nil }); err != nil {
		return nil, err
	}
	return text, nil
}

// Write writes the fleet file and, if the start vector is not zero, a file with the start vector into the same folder.
// Everyone may read both files. If one of the files exists, Write fails.
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

func (f *File) start() []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, f.Fleet.X0) // cannot fail for numbers
	return b
}

func hexSum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
