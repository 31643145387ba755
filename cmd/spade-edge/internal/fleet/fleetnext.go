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

// next creates the files for the next run, which starts from the model given with -from. Without -from, it changes the
// noise of a run that the fleet file already has and no device has begun.
func next(e *fleetEdit) func() error {
	e.runFlag()
	from := e.String("from", "", "the model `file` (.json) that export wrote, to start from, or the state folder of a node")
	rounds := e.Int("rounds", 0, "rounds of learning, K (default as before)")
	epsilon := e.Float64("epsilon", 0, "privacy budget of each member for the run (default as before)")
	records := e.String("records", "", "in a fleet that protects each record, the public `numbers` of them: of all members in their order, such as "+
		"580,410, or only of some, such as berlin=580")
	return func() error {
		f := e.file.Fleet
		var wrong cli.Faults
		wrong.When(*from == "" && e.run != e.ran, "-from is missing: give the model to start from")
		wrong.When(e.Given["rounds"] && (*rounds < 1 || *rounds > math.MaxInt32), "-rounds is %d, want 1..%d", *rounds, math.MaxInt32)
		wrong.When(e.Given["epsilon"] && !(*epsilon >= leastEpsilon && *epsilon <= 1e6), "-epsilon is %v, want %v..1e6", *epsilon, leastEpsilon)
		wrong.When(e.Given["epsilon"] && f.Privacy.NonPrivate, "-epsilon cannot be given: the fleet is not private")
		if err := wrong.Usage(); err != nil {
			return err
		}
		var err error
		if *from != "" {
			err = e.start(*from)
		}
		if err == nil && e.Given["records"] {
			err = e.recount(*records)
		}
		if err == nil {
			err = e.settle()
		}
		if err != nil {
			return err
		}
		if *from != "" {
			if e.file.X0File = ""; f.X0 != nil {
				e.file.X0File = "x0-" + slug(f.Run) + ".bin"
			}
		}
		f.Method.Seed++ // directions and batches must differ from the previous run
		f.Method.Rounds = cmp.Or(*rounds, f.Method.Rounds)
		if err := e.afford(*epsilon, e.Given["rounds"]); err != nil {
			return err
		}
		if err := plan.Hopeless(e.file); err != nil {
			e.note("%v: take fewer rounds, or more members", err)
		}
		return nil
	}
}

const noRecords = "-records is %v, but the fleet protects each client's data set: leave -records out"

// recount sets the members' numbers of records as -records says, and lets clip and noise follow.
func (e *fleetEdit) recount(records string) error {
	f := e.file.Fleet
	if f.Privacy.Unit != dpmech.Record {
		return cli.Usage(noRecords, records)
	}
	parts := strings.Split(records, ",")
	named := strings.Contains(records, "=")
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

// start sets the initial model from a file or a state folder, and notes its origin for the user.
func (e *fleetEdit) start(from string) error {
	f := e.file.Fleet
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		x, err := readStart(f, "-from", from, e.note)
		if err != nil {
			return err
		}
		return setStart(f, "-from", from, x)
	}
	kept, err := state.ReadSnapshot(from)
	if err != nil {
		return err
	}
	x := kept.State.X
	if kept.Fleet == e.hash {
		x = f.Model(x, kept.State.Round)
	}
	e.note("the start is release %d of %q", kept.State.Round, kept.Member)
	return setStart(f, "-from", from, x)
}

// leastEpsilon is the smallest epsilon that -epsilon accepts.
const leastEpsilon = 1e-9

// afford sets the noise so that the cost of the run stays within its budget: epsilon, the fleet's limit, or the cost of the
// previous run; 0 means that epsilon is not given. It keeps the current noise if this noise fits the budget and neither
// epsilon nor the number of rounds is given.
func (e *fleetEdit) afford(epsilon float64, rounds bool) error {
	f := e.file.Fleet
	p := &f.Privacy
	if p.NonPrivate {
		return nil
	}
	old := e.old.Fleet
	limit := cmp.Or(epsilon, p.EpsilonLimit) // 0 for none
	target := cmp.Or(limit, p.Accounting.Epsilon(old.Total(old.Method.Rounds).Rho, p.Delta))
	if target < leastEpsilon {
		return cli.Usage("-epsilon is missing: the previous run's cost is epsilon 0, so the budget cannot be derived from it")
	}
	fits := p.PairSigma == 0 && p.Accounting.Epsilon(f.Total(f.Method.Rounds).Rho, p.Delta) <= target
	if !fits || epsilon > 0 || rounds {
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
func take(e *fleetEdit) func() error {
	newFleet := e.String("new", "", "the new fleet `file`")
	return func() error { return e.adopt(*newFleet) }
}

func (e *fleetEdit) adopt(newFleet string) error {
	if newFleet == "" {
		return cli.Usage("-new is missing: give the new fleet file")
	}
	file, err := fleetfile.Read(newFleet)
	if err != nil {
		return cli.AsUsageError(err)
	}
	n := e.nodes[0]
	i := slices.Index(file.Fleet.Members, n.node.Name)
	if i < 0 {
		return cli.Usage("%q is not a member of the fleet in %s", n.node.Name, newFleet)
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
	if _, err := secret.ReadKey(n.node.Key); err != nil { // finish compares the key with the fleet file
		return cli.AsUsageError(err)
	}
	if file.Fleet.Hash() == e.hash {
		if kept, err := state.ReadSnapshot(n.node.State); err == nil && kept.Fleet != e.hash {
			return cli.Usage("%s has been replaced already, but %s is the state of another run: put that run's file back, "+
				"and give -new the new file in another folder", n.node.Fleet, n.node.State)
		}
		e.note("the hash is unchanged, so the run continues: a running node reads the file again after kill -HUP or systemctl reload")
		return nil
	}
	if err := e.leave(n); err != nil {
		return err
	}
	e.note("spade-edge check %s reports whether anything is missing", n.path)
	return nil
}
