package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

const about = "sdk: fleet" // the package and the subject of a fleet's errors

type faults []error

func (f *faults) add(err error) {
	if err != nil {
		*f = append(*f, err)
	}
}

// refuse adds a [setting.FieldError] for the named field if the value is wrong.
func (f *faults) refuse(wrong bool, field string, found any, want string, args ...any) {
	if wrong {
		text := fmt.Sprint(found)
		if s, ok := found.(string); ok {
			text = strconv.Quote(s)
		}
		f.add(&setting.FieldError{Package: about, Field: field, Found: text, Want: fmt.Sprintf(want, args...)})
	}
}

// when adds an error of this package if something is the case.
func (f *faults) when(is bool, format string, args ...any) {
	if is {
		f.add(fmt.Errorf("sdk: "+format, args...))
	}
}

// size is how large a value is, in words; for [faults.refuse].
type size string

func sizeOf(of string, n int, unit string) size {
	return size(fmt.Sprintf("a %s of %d %s", of, n, unit))
}

// wantName describes a valid name.
var wantName = fmt.Sprintf("1..%d bytes of printable UTF-8", wire.MaxName)

func validName(s string) bool {
	return s != "" && len(s) <= wire.MaxName && utf8.ValidString(s) && !strings.ContainsFunc(s,
		func(r rune) bool { return !unicode.IsPrint(r) })
}

const maxTask = 8 << 20 // bytes

// checkStart checks what a run begins with: its name, the start vector and the task.
func (f *Fleet) checkStart(errs *faults) {
	errs.refuse(!validName(f.Run), "run", f.Run, "%s", wantName)
	errs.add(setting.Range{Min: 1, Max: wire.MaxDim, Whole: true}.Check(about, "dim", float64(f.Dim)))
	errs.refuse(f.X0 != nil && len(f.X0) != f.Dim, "x0", sizeOf("list", len(f.X0), "numbers"), "%d, or none for zeros", f.Dim)
	for i, x := range f.X0 {
		if !zoest.Usable(float64(x)) {
			errs.refuse(true, fmt.Sprintf("x0[%d]", i), x, "at most 1e30 in absolute value")
			break
		}
	}
	if f.Task != nil {
		errs.refuse(len(f.Task) > maxTask, "task", sizeOf("text", len(f.Task), "bytes"), "at most %d", maxTask)
		text := bytes.TrimLeft(f.Task, " \t\r\n")
		errs.refuse(!json.Valid(text) || !utf8.Valid(text) || text[0] != '{', "task", sizeOf("text", len(f.Task), "bytes"), "a JSON object in UTF-8")
	}
}

// Ranges of settings that no other package has. Package dpmech also limits sigma relative to the clip.
var (
	sigmas   = setting.Range{Max: math.MaxFloat32, OpenMin: true}
	shared   = setting.Range{Max: math.MaxFloat32, OpenMin: true, Zero: "no noise is shared"}
	limits   = setting.Range{Max: 1e6, OpenMin: true, Zero: "no limit"}
	people   = setting.Range{Max: math.MaxInt32 / 2, Whole: true} // so that colluders and absent can be added
	partners = setting.Range{Min: 2, Max: graph.MaxPartnered - 1, Whole: true, Zero: "neighbors share"}
	places   = setting.Range{Min: 2, Max: 1 << 16, Whole: true, Zero: "each record by itself"}
	gridBits = setting.Range{Min: 2, Max: 8, Whole: true, Zero: "4 with noise"}
	records  = setting.Range{Min: 1, Max: setting.Batch.Max, Whole: true}
)

// checkSettings checks the range of each setting by itself, in the order of a fleet file. A fleet without noise has no
// settings of privacy.
func (f *Fleet) checkSettings(errs *faults) {
	m, p := f.Method, f.Privacy
	is := func(field string, r setting.Range, x float64) { errs.add(r.Check(about, field, x)) }
	is("method.rounds", setting.Rounds, float64(m.Rounds))
	is("method.mixing", setting.Mixing, float64(m.Mixing))
	is("method.cooldown", setting.Cooldown, float64(m.Cooldown))
	is("method.tau", setting.Tau, float64(m.Tau))
	is("method.batch", setting.Batch, float64(m.Batch))
	is("method.rho", setting.Rho, m.Rho)
	is("method.gain", setting.Gain, m.Gain)
	errs.add(m.Eta.Check(about, "method.eta", m.Rounds))
	errs.add(m.Mu.Check(about, "method.mu", m.Rounds))
	is("method.momentum", setting.Momentum, m.Momentum)
	errs.refuse(m.Estimator != zoest.Paper && m.Estimator != zoest.Tracking, "method.estimator", m.Estimator.String(), "paper or tracking")
	errs.refuse(m.Directions != zoest.Rademacher && m.Directions != zoest.Walsh, "method.directions", m.Directions.String(), "rademacher or walsh")
	is("method.shrink", setting.Shrink, m.Shrink)
	if !p.NonPrivate && p != (Privacy{}) {
		p.checkSettings(errs)
	}
	is("wire.grid_bits", gridBits, float64(f.Wire.GridBits))
}

func (p Privacy) checkSettings(errs *faults) {
	is := func(field string, r setting.Range, x float64) { errs.add(r.Check(about, field, x)) }
	is("privacy.clip", setting.Range{Min: dpmech.MinClip, Max: dpmech.MaxClip}, p.Clip)
	is("privacy.sigma", sigmas, p.Sigma)
	is("privacy.delta", setting.Range{Max: 1, OpenMin: true, OpenMax: true}, p.Delta)
	is("privacy.epsilon_limit", limits, p.EpsilonLimit)
	_, err := p.Accounting.MarshalText()
	errs.refuse(err != nil, "privacy.accounting", p.Accounting.String(), "gdp, zcdp or paper")
	errs.refuse(p.Unit != dpmech.Client && p.Unit != dpmech.Record, "privacy.unit", p.Unit.String(), "client or record")
	is("privacy.places", places, float64(p.Places))
	is("privacy.pair_sigma", shared, p.PairSigma)
	is("privacy.effective_sigma", shared, p.EffectiveSigma)
	is("privacy.colluders", people, float64(p.Colluders))
	is("privacy.absent", people, float64(p.Absent))
	is("privacy.partners", partners, float64(p.Partners))
	is("privacy.epsilon_limit_all", limits, p.LimitAll)
}

func (f *Fleet) checkPrivacy(errs *faults) {
	pr, w := f.Privacy, f.wire()
	errs.refuse(pr.NonPrivate && (pr != Privacy{NonPrivate: true}), "privacy.non_private", true,
		"false, or no other privacy setting (the settings are %+v)", pr)
	errs.refuse(pr == Privacy{}, "privacy", struct{}{}, "clip, sigma and delta, or non_private")
	errs.refuse(pr.LimitAll != 0 && !(pr.EpsilonLimit > 0 && pr.LimitAll >= pr.EpsilonLimit), "privacy.epsilon_limit_all",
		pr.LimitAll, "0 (no limit), or a value of at least epsilon_limit (%v); epsilon_limit must then be above 0",
		pr.EpsilonLimit)
	if pr.PairSigma == 0 {
		const want = "0, because pair_sigma is 0 and members share no noise"
		errs.refuse(pr.EffectiveSigma != 0, "privacy.effective_sigma", pr.EffectiveSigma, want)
		errs.refuse(pr.Colluders != 0, "privacy.colluders", pr.Colluders, want)
		errs.refuse(pr.Absent != 0, "privacy.absent", pr.Absent, want)
		errs.refuse(pr.Partners != 0, "privacy.partners", pr.Partners, want)
		errs.refuse(pr.LimitAll != 0, "privacy.epsilon_limit_all", pr.LimitAll, want)
	}
	errs.refuse(pr.Partners != 0 && pr.Absent != 0, "privacy.absent", pr.Absent,
		"0, because members share noise with partners, which stays in their releases even if the partners vanish")
	errs.refuse(w.GridBits != 0 && pr.NonPrivate, "wire.grid_bits", w.GridBits,
		"0: a fleet that is not private has no noise that would hide the rounding")
}

// checkRecords checks the settings that depend on the protected unit.
func (f *Fleet) checkRecords(errs *faults) {
	p := f.Privacy
	errs.refuse((p.Person != "") != (p.Places > 1), "privacy.person", p.Person, "the column that names the person of a row if places "+
		"is 2 or more, otherwise none (places is %d)", p.Places)
	errs.refuse(p.Person != "" && p.Unit == dpmech.Record && p.Protects().Validate() != nil, "privacy.person", p.Person,
		"at most 100 printable bytes")
	if f.Privacy.Unit != dpmech.Record {
		errs.refuse(f.Privacy.Places != 0, "privacy.places", f.Privacy.Places, "0, because privacy.unit is %v", f.Privacy.Unit)
		errs.refuse(f.Records != nil, "records", f.Records, "none, because privacy.unit is %v", f.Privacy.Unit)
		return
	}
	errs.refuse(len(f.Records) != len(f.Members), "records", sizeOf("list", len(f.Records), "numbers"),
		"the number of records of each of the %d members, because privacy.unit is record", len(f.Members))
	for i, m := range f.Records {
		errs.add(records.Check(about, fmt.Sprintf("records[%d]", i), float64(m)))
	}
	const want = "%v, because privacy.unit is record: %s"
	errs.refuse(f.Method.Batch != 0, "method.batch", f.Method.Batch, want, 0, "each step queries all records")
	errs.refuse(f.Method.Momentum != 0, "method.momentum", f.Method.Momentum, want, 0,
		"momentum would carry the effect of one record into many releases")
}

// checkPairKeys checks the one-time keys of pairwise noise.
func (f *Fleet) checkPairKeys(errs *faults) {
	if f.PairKeys == nil {
		return
	}
	errs.refuse(f.Privacy.PairSigma == 0, "members.pair_key", sizeOf("list", len(f.PairKeys), "keys"), "none, because pair_sigma is 0 and members share no noise")
	errs.refuse(len(f.PairKeys) != len(f.Members), "members.pair_key", sizeOf("list", len(f.PairKeys), "keys"), "one key of each of the %d members", len(f.Members))
	owner := map[pair.Public]int{}
	for i, key := range f.PairKeys {
		field := fmt.Sprintf("members[%d].pair_key", i)
		if err := key.Check(); err != nil {
			errs.refuse(true, field, key.String(), "a public key of X25519, but this one %v", err)
		}
		first, taken := owner[key]
		errs.refuse(taken, field, key.String(), "a key of its own, but that of members[%d] is the same", first)
		owner[key] = i
	}
}

// checkNoise checks the noise of a private fleet: what the mechanism can draw, and whether the graph of pairwise noise
// yields the effective sigma.
func (p *Plan) checkNoise(errs *faults) {
	f, g := p.fleet, p.fleet.Privacy.Gaussian()
	least := g
	if f.Privacy.PairSigma != 0 {
		least.Shared.Effective = g.Sigma
	}
	err := least.Validate()
	if err == nil && f.Privacy.PairSigma != 0 {
		if !p.checkEffective(errs) {
			return
		}
		err = g.Validate()
	}
	if err != nil {
		errs.add(fmt.Errorf("%s: privacy: %w", about, err))
		return
	}
	if most := 12 - math.Ilogb(g.Alone().Sigma/g.Sigma); f.wire().GridBits > most {
		errs.refuse(true, "wire.grid_bits", f.wire().GridBits, "at most %d, because a member adds noise of up to %v alone", most, g.Alone().Sigma)
	}
	if r := admm.NewRecords(f.Records, f.Privacy.Places); f.Privacy.Unit == dpmech.Record {
		if err := dpmech.CheckRows(g, f.Dim, r.Most); err != nil {
			errs.add(fmt.Errorf("%s: records: %w", about, err))
		}
	}
}

// checkEffective reports whether the effective sigma is at most the noise that remains in the worst case.
func (p *Plan) checkEffective(errs *faults) bool {
	pr := p.fleet.Privacy
	c, err := p.noise.Conductance(pr.PairSigma/pr.Sigma, pr.Colluders+pr.Absent)
	if err != nil {
		errs.add(fmt.Errorf("%s: %w", about, err))
		return false
	}
	most := pr.Sigma * math.Sqrt(c.Least)
	if pr.EffectiveSigma >= pr.Sigma && pr.EffectiveSigma <= most {
		return true
	}
	why := "this is a lower bound, because the exact value takes too long"
	if c.Exact {
		var without []string
		for _, v := range c.Without {
			without = append(without, p.fleet.Members[v])
		}
		why = fmt.Sprintf("the worst case is %q if %q collude or vanish", p.fleet.Members[c.Node], without)
	}
	errs.refuse(true, "privacy.effective_sigma", pr.EffectiveSigma, "at least sigma (%v), and at most %v, the noise that "+
		"remains against %v; %s", pr.Sigma, most, pr.Gaussian().Shared.Adversary(), why)
	return false
}
