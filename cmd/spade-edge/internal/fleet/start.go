package fleet

import (
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// begin sets a fleet's initial model as -x0, a file name or normal:S, specifies. note receives remarks for the user.
func begin(f *sdk.Fleet, x0 string, note func(format string, args ...any)) error {
	deviation, drawn := strings.CutPrefix(x0, "normal:")
	if !drawn {
		x, err := readStart(f, "-x0", x0, note)
		if err != nil {
			return err
		}
		return setStart(f, "-x0", x0, x)
	}
	s, err := strconv.ParseFloat(deviation, 64)
	if err != nil || !(s >= 1e-6 && s <= 1000) {
		return cli.Usage("-x0 %.80q: want normal:S with a standard deviation S of 1e-06..1000", x0)
	}
	stream := rng.New(f.Method.Seed, rng.Address{Purpose: rng.Start})
	f.X0 = make([]float32, f.Dim)
	for i := range f.X0 {
		f.X0[i] = float32(s * stream.Normal())
	}
	note("the start is drawn from seed %d with standard deviation %v", f.Method.Seed, s)
	return nil
}

// setStart sets a fleet's initial model to x, which the value of a flag specifies. A start of zeros becomes nil.
func setStart(f *sdk.Fleet, flag, value string, x []float32) error {
	if len(x) != f.Dim {
		return cli.Usage("%s %s has %d numbers, want %d (the model's parameter count)", flag, value, len(x), f.Dim)
	}
	if f.X0 = x; !slices.ContainsFunc(x, func(v float32) bool { return v != 0 }) {
		f.X0 = nil
	}
	return nil
}

// readStart reads a model in either of the formats that the export command writes.
func readStart(f *sdk.Fleet, flag, path string, note func(format string, args ...any)) ([]float32, error) {
	if strings.EqualFold(filepath.Ext(path), ".npy") {
		data, err := fleetfile.ReadFile(path, 4*wire.MaxDim+math.MaxUint16, "a start of numbers")
		if err != nil {
			return nil, cli.Usage("%s: %w", flag, err)
		}
		x, err := cli.ParseNpy(data)
		if err != nil {
			return nil, cli.Usage("%s %s: %w", flag, path, err)
		}
		note("the start is %d numbers from %s; no ledger counts what they reveal about data", len(x), path)
		return x, nil
	}
	m, err := builtin.ReadModel(path)
	if err != nil {
		return nil, cli.Usage("%s: want a .npy file, or a .json file that spade-edge export wrote: %w", flag, err)
	}
	if m.Alone {
		return nil, cli.Usage("%s %s is a site's own model, trained without noise on its records alone, and would reveal them: use a "+
			"model that was exported without -accepted", flag, path)
	}
	own, err := builtin.Task(f)
	if err != nil {
		return nil, err
	}
	if m.Task != nil && own != nil && !reflect.DeepEqual(m.Task, own) { // without both tasks, nothing says what the parameters mean
		return nil, cli.Usage("%s %s: the model's task differs from the fleet's task in columns, classes or preprocessing, so the model's "+
			"parameters have a different meaning", flag, path)
	}
	note("the start is release %d of %d of run %q by %q", m.Round, m.Rounds, m.Run, m.Member)
	if m.NonPrivate && !f.Privacy.NonPrivate {
		note("NOT PRIVATE: run %q had no privacy, and no ledger counts what its model reveals", m.Run)
	}
	return m.Weights, nil
}
