package dpmech

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// What every certificate says about its guarantee.
const (
	certificateUnit      = "one client's whole data set"
	certificateAdjacency = "the data set is replaced by any other of the same size"
)

// notCovered lists what no certificate of this package covers.
var notCovered = []string{
	"timing: when a node sends, and how long it takes",
	"what a node shows on its own machine: losses and accuracies of its own data",
	"records that another client, or another ledger, holds as well",
}

// maxText bounds what a certificate takes as one point of a list.
const maxText = 2000

// Cost states a spend in every currency.
type Cost struct {
	Rho          float64 `json:"rho"`   // zCDP
	Mu           float64 `json:"mu"`    // GDP, sqrt(2 rho)
	Delta        float64 `json:"delta"` // at which the epsilons hold
	EpsilonPaper float64 `json:"epsilon_paper"`
	EpsilonZCDP  float64 `json:"epsilon_zcdp"`
	EpsilonGDP   float64 `json:"epsilon_gdp"`
}

// CostOf states a spend rho in zCDP, with epsilons at delta as [Accounting.Epsilon] returns them.
func CostOf(rho, delta float64) Cost {
	return Cost{
		Rho: rho, Mu: math.Sqrt(2 * rho), Delta: delta,
		EpsilonPaper: Paper.Epsilon(rho, delta), EpsilonZCDP: ZCDP.Epsilon(rho, delta), EpsilonGDP: GDP.Epsilon(rho, delta),
	}
}

// Lifetime is what all runs on one data set have spent together.
type Lifetime struct {
	Dataset string     `json:"dataset"`
	Created string     `json:"created"` // when the ledger was made, by the clock of the device
	Ledger  Head       `json:"ledger"`  // the state that this is the sum of
	Limit   *Limit     `json:"limit"`   // what all runs together may spend; nil: not limited
	Runs    []RunSpend `json:"runs"`
	Cost
}

func (b *book) lifetime(delta float64) Lifetime {
	h := b.header
	limit := (&Filter{limit: h.Limit}).Limit() // a copy
	return Lifetime{Dataset: h.Dataset, Created: h.Created, Ledger: b.head(b.seq()), Limit: limit, Runs: b.spends(), Cost: CostOf(b.rho(), delta)}
}

// About is what a certificate says besides the count.
type About struct {
	Run    string `json:"run"`
	Fleet  string `json:"fleet"` // SHA-256 of the fleet file, 64 hexadecimal digits
	Member string `json:"member"`
	// Simulated says that the noise came from a seed: such a run protects nobody, and its certificate says what a real one
	// would have cost.
	Simulated bool   `json:"simulated"`
	Sampler   string `json:"sampler"` // how the noise was drawn, and by which build
	// Cooldown rounds touch no data, and an averaged model is made of releases: both cost nothing.
	Cooldown int  `json:"cooldown_rounds"`
	Averaged bool `json:"averaged_model"`
	// ConditionalOn names what was taken as public, though data may have shaped it: preprocessing, partition, settings.
	ConditionalOn []string `json:"conditional_on"`
}

// Certificate says what a run of one client has leaked at most, and what all runs on its data set have. It can be verified by
// anyone: every number in it follows from the clip and noise of each release.
type Certificate struct {
	Version   int    `json:"version"`
	Unit      string `json:"unit"`      // what is protected
	Adjacency string `json:"adjacency"` // against which change of it
	About
	Rounds int     `json:"rounds"` // number of releases
	Spends []Spend `json:"releases"`
	Limit  *Limit  `json:"limit"` // what this run may spend; nil: not limited
	Slack  float64 `json:"slack"` // distance of the drawn noise from the ideal, as far as it is charged to delta
	Cost
	Lifetime   *Lifetime `json:"lifetime"` // nil: there is no ledger
	NotCovered []string  `json:"not_covered"`
}

// NewCertificate certifies what a filter has counted at delta, and unless l is nil what its data set's ledger has; then the run
// has to be in the ledger.
func NewCertificate(about About, delta float64, f *Filter, l *Ledger) (*Certificate, error) {
	about.ConditionalOn = append([]string{}, about.ConditionalOn...)
	c := &Certificate{
		Version: 1, Unit: certificateUnit, Adjacency: certificateAdjacency, About: about,
		Spends: append([]Spend{}, f.spends...), Limit: f.Limit(), Cost: CostOf(f.Rho(), delta),
		NotCovered: slices.Clone(notCovered),
	}
	c.Rounds = countRounds(c.Spends)
	if l != nil {
		life := l.Lifetime(delta)
		c.Lifetime = &life
	}
	if err := c.Verify(); err != nil {
		return nil, err
	}
	return c, nil
}

func countRounds(spends []Spend) int {
	n := 0
	for _, s := range spends {
		n += s.Rounds
	}
	return n
}

// ParseCertificate reads a certificate from JSON, in any layout. A field that is unknown, missing or there twice is an error.
// Whether the certificate is right, Verify says.
func ParseCertificate(data []byte) (*Certificate, error) {
	c := new(Certificate)
	if err := decodeJSON(data, c); err != nil {
		return nil, within("certificate", err)
	}
	again, err := json.Marshal(c)
	if err == nil {
		err = sameNames(data, again)
	}
	if err != nil {
		return nil, within("certificate", err)
	}
	return c, nil
}

// JSON returns the certificate as indented JSON with a newline at its end, the same bytes for the same certificate.
func (c *Certificate) JSON() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c); err != nil {
		return nil, within("certificate", err)
	}
	return buf.Bytes(), nil
}

// Verify computes everything again from the clip and noise of the releases and reports every field that disagrees. No cost
// may be stated lower than it is; up to 1e-6 of it may be stated too much. (An epsilon may be 1e-11 lower, which
// [Accounting.Epsilon] adds for that: processors differ in the last digits of the functions it is computed with.)
func (c *Certificate) Verify() error {
	var errs []error
	fault := func(where string, err error) {
		if err != nil {
			errs = append(errs, within("certificate: "+where, err))
		}
	}
	if c.Version != 1 {
		fault("version", fmt.Errorf("is %d, want 1", c.Version))
	}
	for _, f := range []struct{ name, have, want string }{{"unit", c.Unit, certificateUnit}, {"adjacency", c.Adjacency, certificateAdjacency}} {
		if f.have != f.want {
			fault(f.name, fmt.Errorf("is %q, want %q", f.have, f.want))
		}
	}
	fault("run", runKey{c.Run, c.Fleet, c.Member}.validate())
	fault("sampler", validName("sampler", c.Sampler))
	if c.Cooldown < 0 || c.Cooldown > maxRound {
		fault("cooldown_rounds", fmt.Errorf("is %d, want 0..%d", c.Cooldown, maxRound))
	}
	if c.Slack != 0 {
		fault("slack", fmt.Errorf("is %v, want 0: the noise of this build is exact", c.Slack))
	}
	for i, s := range c.ConditionalOn {
		fault(fmt.Sprintf("conditional_on[%d]", i), validText("the text", s, maxText))
	}
	for i, s := range c.NotCovered {
		fault(fmt.Sprintf("not_covered[%d]", i), validText("the text", s, maxText))
	}
	for _, s := range notCovered {
		if !slices.Contains(c.NotCovered, s) {
			fault("not_covered", fmt.Errorf("lacks %q", s))
		}
	}
	fault("delta", validateDelta(c.Delta))
	if err := validateSpends(c.Spends); err != nil {
		fault("this run", err)
	} else {
		if n := countRounds(c.Spends); c.Rounds != n {
			fault("rounds", fmt.Errorf("is %d, and the releases are %d", c.Rounds, n))
		}
		fault("this run", c.Cost.verify(sumSpends(c.Spends)))
		fault("this run", c.Cost.keeps(c.Limit))
	}
	if c.Lifetime != nil {
		fault("lifetime", c.Lifetime.verify(c))
	}
	return errors.Join(errs...)
}

// VerifyWith is Verify, and compares the lifetime with the ledger that it was taken from, or with what this has become since.
func (c *Certificate) VerifyWith(l *Ledger) error {
	err := c.Verify()
	if c.Lifetime == nil {
		return errors.Join(err, errors.New("dpmech: certificate: lifetime: there is none, so no ledger was kept"))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if lost := l.book.contains(c.Lifetime.Ledger); lost != nil {
		return errors.Join(err, within("certificate: lifetime: ledger "+l.path, lost))
	}
	then := l.book.at(c.Lifetime.Ledger.Seq).lifetime(c.Delta)
	have, err1 := json.Marshal(c.Lifetime.Runs)
	want, err2 := json.Marshal(then.Runs)
	if err1 != nil || err2 != nil || !bytes.Equal(have, want) || c.Lifetime.Dataset != then.Dataset || c.Lifetime.Created != then.Created {
		err = errors.Join(err, fmt.Errorf("dpmech: certificate: lifetime: not what ledger %s held after reservation %d", l.path, c.Lifetime.Ledger.Seq))
	}
	return err
}

// verify compares a cost with what follows from a spend.
func (c Cost) verify(rho float64) error {
	want := CostOf(rho, c.Delta)
	var errs []error
	check := func(name string, have, want, below float64) {
		switch {
		case !(have >= want-below):
			errs = append(errs, fmt.Errorf("dpmech: %s is stated as %v, and is %v", name, have, want))
		case !(have <= want+float64(1e-6*want)+1e-12):
			errs = append(errs, fmt.Errorf("dpmech: %s is stated as %v, and is only %v", name, have, want))
		}
	}
	check("rho", c.Rho, want.Rho, 0)
	check("mu", c.Mu, want.Mu, 0)
	for _, f := range []struct {
		name       string
		have, want float64
	}{
		{"epsilon_paper", c.EpsilonPaper, want.EpsilonPaper},
		{"epsilon_zcdp", c.EpsilonZCDP, want.EpsilonZCDP},
		{"epsilon_gdp", c.EpsilonGDP, want.EpsilonGDP},
	} {
		check(f.name, f.have, f.want, float64(1e-11*f.want)+1e-12) // an epsilon near 0 has fewer digits
	}
	return errors.Join(errs...)
}

// keeps reports that a cost exceeds a limit.
func (c Cost) keeps(l *Limit) error {
	if l == nil {
		return nil
	}
	if err := l.Validate(); err != nil {
		return within("limit", err)
	}
	if eps := l.Accounting.Epsilon(c.Rho, l.Delta); eps > l.Epsilon*(1+1e-11) {
		return fmt.Errorf("dpmech: limit: %v epsilon is %v at delta %v, and the limit %v", l.Accounting, eps, l.Delta, l.Epsilon)
	}
	return nil
}

// verify reports every field of a certificate's lifetime that disagrees with the rest.
func (life *Lifetime) verify(c *Certificate) error {
	errs := []error{validName("data set", life.Dataset), validTime("created", life.Created), within("ledger", life.Ledger.validate())}
	own := sumSpends(c.Spends) // NaN if they are not valid
	var rho float64
	var rounds int64
	seen := map[runKey]bool{}
	for i, r := range life.Runs {
		where := fmt.Sprintf("runs[%d]", i)
		key := runKey{r.Run, r.Fleet, r.Member}
		errs = append(errs, within(where, key.validate()))
		if seen[key] {
			errs = append(errs, within(where, fmt.Errorf("%v is there twice", key)))
		}
		seen[key] = true
		if err := validateSpends(r.Spends); err != nil {
			errs = append(errs, within(where, err))
			continue
		}
		sum := sumSpends(r.Spends)
		if r.Rho != sum {
			errs = append(errs, within(where, fmt.Errorf("rho is stated as %v, and is %v", r.Rho, sum)))
		}
		if key == (runKey{c.Run, c.Fleet, c.Member}) && sum < own {
			errs = append(errs, within(where, fmt.Errorf("this run has rho %v in the ledger, and %v by its own count", sum, own)))
		}
		rho = sumUp(rho, sum)
		rounds += int64(countRounds(r.Spends))
	}
	if !seen[runKey{c.Run, c.Fleet, c.Member}] && c.Rounds > 0 {
		errs = append(errs, errors.New("dpmech: this run is not in the ledger"))
	}
	if life.Delta != c.Delta {
		errs = append(errs, fmt.Errorf("dpmech: delta is %v, and %v for this run", life.Delta, c.Delta))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if int64(life.Ledger.Seq) != rounds {
		errs = append(errs, fmt.Errorf("dpmech: ledger: seq is %d, and the releases are %d", life.Ledger.Seq, rounds))
	}
	return errors.Join(append(errs, life.Cost.verify(rho), life.Cost.keeps(life.Limit))...)
}
