// Package privacy implements the command that plans noise, verifies certificates and manages ledgers.
package privacy

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

type privacyOptions struct {
	setup.Options
	verify, fleet, ledger, newLedger, dataset, page string
	until, why                                      string
	neverUsed, force                                bool
	spent                                           []string // certificates
	spentEpsilon                                    float64
}

// privacyModes lists the modes of the command, each with the flag that selects it and the flags that it allows.
var privacyModes = []struct {
	flag  string // "" is for the mode that plans noise
	other []string
	run   func(o *privacyOptions) error
}{
	{"verify", []string{"fleet", "ledger", "report", "force", "any-delta", "json"}, (*privacyOptions).verifyCertificate},
	{"new-ledger", []string{"dataset", "epsilon", "delta", "accounting", "limit-all", "never-used", "spent", "spent-epsilon", "until", "note",
		"fleet", "unit", "places", "person", "any-delta", "json"},
		(*privacyOptions).makeLedger},
	{"ledger", []string{"delta", "fleet", "json"}, (*privacyOptions).showLedger},
	{"", []string{"rounds", "clip", "epsilon", "sigma", "delta", "accounting", "unit", "any-delta", "json"}, (*privacyOptions).plan},
}

// Run is the command that plans noise, verifies certificates and manages ledgers.
func Run(ctx context.Context, c *cli.Cmdline) error {
	o := &privacyOptions{Options: setup.Options{Cmdline: c}}
	c.IntVar(&o.Asked.Method.Rounds, "rounds", 0, "releases of each client, one per round of learning")
	c.Float64Var(&o.Asked.Privacy.Clip, "clip", 1, "radius to which each round's update is clipped")
	c.Float64Var(&o.Asked.Privacy.Sigma, "sigma", 0, "standard deviation of the release noise")
	c.Float64Var(&o.Asked.Privacy.EpsilonLimit, "epsilon", 0, "privacy budget of each client")
	c.Float64Var(&o.Asked.Privacy.Delta, "delta", 1e-5, "the delta at which epsilon is stated")
	o.SettingFlags(c, "accounting", "unit", "places")
	c.StringVar(&o.Asked.Privacy.Person, "person", "", "with -new-ledger and -places: the `column` that names the person of a row")
	c.BoolVar(&o.AnyDelta, "any-delta", false, setup.AnyDeltaUsage)
	c.Float64Var(&o.Asked.Privacy.LimitAll, "limit-all", 0, "with -new-ledger: the most that all runs may spend against all other "+
		"members together (default -epsilon); -epsilon then holds against the weakest adversary that a run names")
	c.StringVar(&o.verify, "verify", "", "verify the certificate in this `file`")
	c.StringVar(&o.page, "report", "", "with -verify: explain the certificate, for example to an ethics board, in this HTML `file`")
	c.BoolVar(&o.force, "force", false, "with -report: overwrite an existing file")
	c.StringVar(&o.fleet, "fleet", "", "with -verify: the fleet `file` whose "+
		"run, settings and keys the certificate must have; with -spent: a fleet file with the member's keys; with -ledger: the fleet whose settings say how many rounds are left")
	c.StringVar(&o.ledger, "ledger", "", "show the ledger in this `file`")
	c.StringVar(&o.newLedger, "new-ledger", "", "make a ledger in this `file`")
	c.BoolVar(&o.neverUsed, "never-used", false, "with -new-ledger: declare that no earlier run used this data")
	c.Func("spent", "with -new-ledger: declare that earlier runs used this data, as this `certificate` states; may be repeated, once "+
		"for each ledger", func(path string) error {
		o.spent = append(o.spent, path)
		return nil
	})
	c.Float64Var(&o.spentEpsilon, "spent-epsilon", 0, "with -new-ledger: declare that earlier runs without such a certificate cost at "+
		"most this epsilon, at -delta and for each unit of the ledger")
	c.StringVar(&o.until, "until", "", "with -new-ledger: the last `day`, such as 2027-12-31, on which a run may start with the data")
	c.StringVar(&o.why, "note", "", "with -new-ledger: a `text` that says who decided about it, and why; certificates repeat it")
	c.StringVar(&o.dataset, "dataset", "", "a `name` for the data set of the new ledger")
	c.JSONFlag()
	if err := c.ParseArgs(); err != nil {
		return err
	}
	for _, mode := range privacyModes {
		if mode.flag != "" && !o.Given[mode.flag] {
			continue
		}
		if err := o.check(mode.flag, mode.other); err != nil {
			return err
		}
		return mode.run(o)
	}
	return nil
}

// check reports flags that the mode does not allow and values that are out of range.
func (o *privacyOptions) check(mode string, other []string) error {
	var f cli.Faults
	o.Visit(func(given *flag.Flag) {
		wrong := given.Name != mode && !slices.Contains(other, given.Name)
		f.When(wrong && mode == "", "-%s cannot be used to plan noise; it needs one of -verify, -ledger and -new-ledger", given.Name)
		f.When(wrong && mode != "", "-%s cannot be combined with -%s", given.Name, mode)
	})
	o.CheckSettings(&f)
	setup.CheckDelta(&f, o.Asked.Privacy.Delta, o.AnyDelta)
	f.When(mode == "" && o.Given["accounting"] && !o.Given["epsilon"], "-accounting needs -epsilon: the accounting defines what epsilon means")
	if mode == "new-ledger" {
		f.When(!o.Given["dataset"], "-dataset is missing: give the data set a name")
		f.When(o.Given["limit-all"] && !(o.Given["epsilon"] && o.Asked.Privacy.LimitAll >= o.Asked.Privacy.EpsilonLimit),
			"-limit-all is %v, want at least the value of -epsilon (%v); -limit-all also needs -epsilon",
			o.Asked.Privacy.LimitAll, o.Asked.Privacy.EpsilonLimit)
		p := o.Asked.Privacy
		f.When(o.Given["places"] != o.Given["person"] || o.Given["places"] && p.Unit != dpmech.Record, "-unit record, -places and -person "+
			"together make a person the unit: its number of rows, and the column that names the person of a row")
		if err := p.Protects().Validate(); err != nil && p.Person != "" {
			f.Add("-person is %q, want at most 100 printable bytes", p.Person)
		}
		for _, name := range []string{"accounting", "delta"} {
			f.When(o.Given[name] && !o.Given["epsilon"] && !o.Given["spent-epsilon"], "-%s needs -epsilon or -spent-epsilon: it says what "+
				"an epsilon means", name)
		}
		o.checkDeclared(&f)
		day, err := time.Parse(time.DateOnly, o.until)
		f.When(o.until != "" && (err != nil || time.Since(day) > 24*time.Hour), "-until is %q, want a day such as 2027-12-31, from today on", o.until)
	}
	if n := cli.Count(o.Given["rounds"], o.Given["sigma"], o.Given["epsilon"]); mode == "" && n != 2 && len(f) == 0 {
		f.Add("-rounds, -sigma and -epsilon: give two of these flags, not %d; the third value follows", n)
	}
	return f.Usage()
}

// checkDeclared reports flags that do not form one declaration of what earlier runs have spent.
func (o *privacyOptions) checkDeclared(f *cli.Faults) {
	spent := len(o.spent) > 0 || o.Given["spent-epsilon"]
	f.When(!spent && !o.neverUsed, "what have earlier runs spent on this data? Give -never-used if there was none, -spent CERTIFICATE for "+
		"each ledger that has counted some, or -spent-epsilon E (with -delta) as an upper bound for the others")
	f.When(spent && o.neverUsed, "-never-used cannot be combined with -spent or -spent-epsilon")
	f.When(len(o.spent) > 0 && o.fleet == "", "-spent needs -fleet: the member's keys in the fleet file verify its signature")
	f.When(len(o.spent) == 0 && o.Given["fleet"], "-fleet cannot be combined with -new-ledger, except for the keys that -spent needs")
	f.When(o.Given["spent-epsilon"] && !(o.spentEpsilon > 0 && o.spentEpsilon <= 1e6), "-spent-epsilon is %v, want more than 0 and at "+
		"most 1e6", o.spentEpsilon)
}

// Plan has the rounds, the noise and the privacy cost of a planned run, printed as text or, with -json, as JSON.
type Plan struct {
	Rounds int         `json:"rounds"`
	Clip   float64     `json:"clip"`
	Sigma  float64     `json:"sigma"`
	Unit   dpmech.Unit `json:"unit,omitzero"` // omitted for client-level privacy
	// Warning says why an epsilon at this delta says little.
	Warning string `json:"warning,omitempty"`
	certificate.Cost
}

// maxPlan is an upper bound on the rho (zCDP) of a plan. Package dpmech has the same bound on the rho in a ledger.
const maxPlan = 1e6

func (o *privacyOptions) plan() error {
	asked := o.Asked.Privacy
	asked.Unit = dpmech.Client // the arithmetic does not depend on the unit
	m, p, err := plan.Suggest(plan.Known{Dim: 1, Samples: []int{1}, Method: o.Asked.Method, Privacy: asked})
	if err == nil {
		err = dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma}.Validate()
	}
	if err != nil {
		return setup.AsUsage(err)
	}
	spent := dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma}.Total(m.Rounds)
	if !(spent.All <= maxPlan) {
		return cli.Usage("%d releases with -clip %v and -sigma %v cost rho %.6g, want at most %.0e: a larger cost "+
			"gives no protection", m.Rounds, p.Clip, p.Sigma, spent.All, maxPlan)
	}
	r := Plan{Rounds: m.Rounds, Clip: p.Clip, Sigma: p.Sigma, Unit: o.Asked.Privacy.Unit,
		Warning: plan.WeakDelta(p.Delta, o.Asked.Privacy.Unit, 0), Cost: certificate.CostOf(spent, p.Delta)}
	return o.Print(r, func(t cli.Table) {
		t.Row("rounds", "%d, each with one release", r.Rounds)
		t.Row("clip", "%v", r.Clip)
		t.Row("sigma", "%v, in every number of a release", r.Sigma)
		cli.WriteCost(t, r.Cost, spent, r.Unit, "")
		t.Row("warning", "%s", r.Warning)
	})
}

func (o *privacyOptions) makeLedger() error {
	var limit *dpmech.Limit
	if p := o.Asked.Privacy; o.Given["epsilon"] {
		limit = &dpmech.Limit{Epsilon: p.EpsilonLimit, EpsilonAll: p.LimitAll, Delta: p.Delta, Accounting: p.Accounting}
	}
	declared, err := o.declaration()
	if err != nil {
		return err
	}
	declared.Ends, declared.Note = o.until, o.why
	if err := CreateLedger(o.newLedger, o.dataset, o.Asked.Privacy.Protects(), limit, declared); err != nil {
		return err
	}
	o.ledger = o.newLedger
	return o.showLedger()
}

// declaration returns what the flags declare about earlier runs. It verifies each certificate and the member's signature.
func (o *privacyOptions) declaration() (certificate.Declaration, error) {
	if o.neverUsed {
		return state.NeverUsed, nil
	}
	var estimate *dpmech.Limit
	if p := o.Asked.Privacy; o.Given["spent-epsilon"] {
		estimate = &dpmech.Limit{Epsilon: o.spentEpsilon, Delta: p.Delta, Accounting: p.Accounting}
	}
	var certificates []*certificate.Certificate
	for _, path := range o.spent {
		file, _, err := fleetfile.ReadWithoutX0(o.fleet)
		if err != nil {
			return certificate.Declaration{}, cli.AsUsageError(err)
		}
		_, c, err := CertificateIn(path)
		if err == nil {
			err = right(path, errors.Join(c.Verify(), audit.VerifySignature(c, file.SigningKeys(c.Member))))
		}
		if err != nil {
			return certificate.Declaration{}, err
		}
		certificates = append(certificates, c)
	}
	return audit.DeclareSpent(certificates, estimate)
}

// CreateLedger creates a ledger at path for the named data set. It fails if the file exists.
func CreateLedger(path, dataset string, unit dpmech.Unit, limit *dpmech.Limit, declared certificate.Declaration) error {
	l, err := state.CreateLedger(path, dataset, unit, limit, declared)
	if err != nil {
		return err
	}
	return l.Close()
}

func (o *privacyOptions) showLedger() error {
	l, err := state.ReadLedger(o.ledger)
	if err != nil {
		return err
	}
	var f *sdk.Fleet
	if o.fleet != "" {
		file, _, err := fleetfile.ReadWithoutX0(o.fleet)
		if err != nil {
			return cli.AsUsageError(err)
		}
		f = file.Fleet
	}
	life := l.Lifetime(o.Asked.Privacy.Delta)
	r := LifetimeLeft{life, leftOf(life, f)}
	return o.Print(r, func(t cli.Table) { r.write(t, o.ledger) })
}

// LifetimeLeft has the contents of a ledger and its remaining budget, printed as text or, with -json, as JSON.
type LifetimeLeft struct {
	*certificate.Lifetime
	Left *ledgerLeft `json:"left"`
}

func (life LifetimeLeft) write(t cli.Table, path string) {
	t.Row("ledger", "%s, id %s, since %s", path, life.Ledger.ID, life.Created)
	t.Row("data set", "%s", life.Dataset)
	t.Row("unit", "%v", life.Unit)
	if life.Limit != nil {
		t.Row("limit", "%v, for all runs together", life.Limit)
	} else {
		t.Row("limit", "none: what runs spend is only counted")
	}
	t.Row("left", "%s", life.Left.Text)
	for _, s := range life.Declared.Conditions(life.Unit) {
		t.Row("declared", "%s", s)
	}
	t.Row("releases", "%d, every line in order; runs: %d", life.Ledger.Seq, len(life.Runs))
	if life.Rho > 0 {
		cli.WriteCost(t, life.Cost, life.Total(), life.Unit, "")
	}
	w := tabwriter.NewWriter(t, 0, 8, 2, ' ', 0)
	for i, r := range life.Runs {
		if i == 0 {
			fmt.Fprintln(w, "\nrun\tfleet\tmember\treleases\trho\tcost")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%.6g\t%s\n", r.Run, r.Fleet[:12], r.Member, r.Spends.Rounds(), r.Rho, explain.Total(r.Total(), life.Delta, dpmech.GDP))
	}
	_ = w.Flush() // the last write reports the error
	fmt.Fprintf(t, "\nhead           %d %s\n", life.Ledger.Seq, life.Ledger.Hash)
}
