package fleet

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// next creates the files for the next run, which starts from the model given with -from.
func (e *fleetEdit) next() error {
	if e.from == "" {
		return cli.Usage("-from is missing: give the model to start from")
	}
	f := e.file.Fleet
	var wrong cli.Faults
	wrong.When(e.Given["rounds"] && (e.rounds < 1 || e.rounds > math.MaxInt32), "-rounds is %d, want 1..%d", e.rounds, math.MaxInt32)
	wrong.When(e.Given["epsilon"] && !(e.epsilon >= leastEpsilon && e.epsilon <= 1e6), "-epsilon is %v, want %v..1e6",
		e.epsilon, leastEpsilon)
	wrong.When(e.Given["epsilon"] && f.Privacy.NonPrivate, "-epsilon cannot be given: the fleet is not private")
	if err := wrong.Usage(); err != nil {
		return err
	}
	x, err := e.start()
	if err == nil && e.Given["records"] {
		err = e.recount()
	}
	if err == nil {
		err = e.settle()
	}
	if err != nil {
		return err
	}
	f.X0, e.file.X0File = nil, ""
	if slices.ContainsFunc(x, func(v float32) bool { return v != 0 }) {
		f.X0, e.file.X0File = x, "x0-"+slug(f.Run)+".bin"
	}
	f.Method.Seed++ // directions and batches must differ from the previous run
	if e.rounds > 0 {
		f.Method.Rounds = e.rounds
	}
	if err := e.afford(); err != nil {
		return err
	}
	if err := plan.Hopeless(e.file); err != nil {
		e.note("%v: take fewer rounds, or more members", err)
	}
	return nil
}

const noRecords = "-records is %s, but the fleet protects each client's data set: leave -records out"

// recount sets the members' numbers of records as -records says, and lets clip and noise follow.
func (e *fleetEdit) recount() error {
	f := e.file.Fleet
	if f.Privacy.Unit != dpmech.Record {
		return cli.Usage(noRecords, e.records)
	}
	parts := strings.Split(e.records, ",")
	named := strings.Contains(e.records, "=")
	if !named && len(parts) != len(f.Members) {
		return cli.Usage("-records has %d numbers, want one for each of the members %q, or NAME=NUMBER", len(parts), f.Members)
	}
	f.Records = slices.Clone(f.Records)
	for i, part := range parts {
		if named {
			at := max(0, strings.LastIndex(part, "="))
			if i = slices.Index(f.Members, part[:at]); i < 0 {
				return cli.Usage("-records: found %q, want NAME=NUMBER, with one of the members %q", part, f.Members)
			}
			part = part[at+1:]
		}
		n, err := numbers(part)
		if err != nil {
			return cli.Usage("-records: %w", err)
		}
		if before := f.Records[i]; before != n[0] {
			e.note("%q has %d records, and had %d", f.Members[i], n[0], before)
			f.Records[i] = n[0]
		}
	}
	e.weigh()
	return nil
}

// start reads the initial model and notes its origin for the user.
func (e *fleetEdit) start() (x []float32, err error) {
	f := e.file.Fleet
	if info, err := os.Stat(e.from); err == nil && info.IsDir() {
		kept, err := state.ReadSnapshot(e.from)
		if err != nil {
			return nil, err
		}
		if x = kept.Model; kept.Fleet == e.hash {
			x = f.Model(x, kept.Round)
		}
		e.note("the start is release %d of %q", kept.Round, kept.Member)
	} else if x, err = readStart(f, "-from", e.from, e.note); err != nil {
		return nil, err
	}
	if len(x) == f.Dim {
		return x, nil
	}
	return nil, cli.Usage("-from %s has %d numbers, want %d (\"dim\" in the fleet file)", e.from, len(x), f.Dim)
}

// leastEpsilon is the smallest epsilon that -epsilon accepts.
const leastEpsilon = 1e-9

// afford sets the noise so that the cost of the run stays within its budget: -epsilon, the fleet's limit, or the cost
// of the previous run. It keeps the current noise if this noise fits the budget and neither -epsilon nor -rounds is
// given.
func (e *fleetEdit) afford() error {
	f := e.file.Fleet
	p := &f.Privacy
	if p.NonPrivate {
		return nil
	}
	old := e.old.Fleet
	limit := cmp.Or(e.epsilon, p.EpsilonLimit) // 0 for none
	target := cmp.Or(limit, p.Accounting.Epsilon(old.Total(old.Method.Rounds).Rho, p.Delta))
	if target < leastEpsilon {
		return cli.Usage("-epsilon is missing: the previous run's cost is epsilon 0, so the budget cannot be derived from it")
	}
	fits := p.PairSigma == 0 && p.Accounting.Epsilon(f.Total(f.Method.Rounds).Rho, p.Delta) <= target
	if !fits || e.epsilon > 0 || e.rounds > 0 {
		if err := e.suggest(target); err != nil {
			return err
		}
	}
	p.EpsilonLimit = limit
	if err := setup.CoversAll(f); err != nil {
		return err
	}
	e.note("check on each device how much its ledger leaves for this run (privacy -ledger FILE -fleet fleet.json): if one leaves " +
		"less, use the smallest value as -epsilon")
	return nil
}

// suggest chooses the noise so that the run costs at most epsilon. It changes no other setting of the method.
func (e *fleetEdit) suggest(epsilon float64) error {
	f := e.file.Fleet
	known := plan.Known{Dim: f.Dim, Samples: []int{1}, Method: f.Method, Privacy: f.Privacy}
	for _, s := range setup.Settings(f) {
		known.Fixed = append(known.Fixed, s.Name)
	}
	p := &known.Privacy
	p.Sigma, p.PairSigma, p.EffectiveSigma, p.EpsilonLimit = 0, 0, 0, epsilon
	if f.Privacy.PairSigma > 0 {
		g, err := graphOf(*f)
		if err != nil {
			return err
		}
		known.Graph = g
	}
	var err error
	f.Method, f.Privacy, err = plan.Suggest(known)
	return setup.AsUsage(err)
}

// take replaces the fleet file on a node's device with the file given with -new.
func (e *fleetEdit) take() error {
	if e.newFleet == "" {
		return cli.Usage("-new is missing: give the new fleet file")
	}
	file, err := fleetfile.Read(e.newFleet)
	if err != nil {
		return cli.AsUsageError(err)
	}
	n := e.nodes[0]
	i := slices.Index(file.Fleet.Members, n.node.Name)
	if i < 0 {
		return cli.Usage("%q is not a member of the fleet in %s", n.node.Name, e.newFleet)
	}
	if e.file != nil {
		if j := slices.Index(e.file.Fleet.Members, n.node.Name); j >= 0 &&
			!slices.Equal(e.file.Members[j].Addresses, file.Members[i].Addresses) {
			if err := e.relisten(n, e.file.Members[j].Addresses, file.Members[i].Addresses); err != nil {
				return err
			}
		}
	}
	e.file = file
	if e.newKey != "" {
		if err := e.switchKey(n, n.node.Name, file.Members[i].Keys); err != nil {
			return err
		}
	}
	if _, err := secret.ReadKey(n.node.Key); err != nil { // finish compares the key with the fleet file
		return cli.AsUsageError(err)
	}
	if file.Fleet.Hash() == e.hash {
		e.note("the hash is unchanged, so the run continues: a running node reads the file again after kill -HUP or systemctl reload")
		return nil
	}
	if err := e.leave(n); err != nil {
		return err
	}
	e.note("spade-edge check %s reports whether anything is missing", n.path)
	return nil
}
