package dpmech

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// What every certificate says about its guarantee.
const certificateUnit = "one client's whole data set"

// adjacencies says against which change of the data a version of the certificate guarantees.
var adjacencies = map[int]string{
	1: "the data set is replaced by any other of the same size",
	2: "the data set is replaced by any other",
}

// notCovered lists what no certificate of a version covers.
var notCovered = map[int][]string{
	1: {
		"timing: when a node sends, and how long it takes",
		"what a node shows on its own machine: losses and accuracies of its own data",
		"records that another client, or another ledger, holds as well",
	},
	2: {
		"timing: when a node sends, and how long it takes",
		"what a node shows on its own machine: losses, accuracies and failed queries of its own data, and logs at level DEBUG",
		"records that another client, or another ledger, holds as well",
		"what is set back together: every member restored at once, or a node and its ledger when no neighbor that remembers is left (none in common between two runs)",
		"copies of the device's folder and key that run at the same time, until a neighbor has seen two of their releases",
		"snapshots of a virtual machine, and backups, that were put back",
		"power, radio and other physical side channels",
		"choices made on data that conditional_on does not list",
	},
}

// NotSigned is what the not_covered of a certificate without a signature says besides.
const NotSigned = "who wrote this certificate: it is not signed with a key, so nobody can prove what it claims"

// maxText bounds what a certificate takes as one point of a list.
const maxText = 2000

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

// Countersignature is what a neighbor says of a member's last release: that it holds it, and so all those before it.
type Countersignature struct {
	Member    string `json:"member"`    // the neighbor
	Signature string `json:"signature"` // Ed25519, 128 hexadecimal digits
}

// Certificate says what a run of one client has leaked at most, and what all runs on its data set have. It can be verified by
// anyone: every number in it follows from the clip and noise of each release. Whether the releases are those of the member is for the
// signatures to say, which this package carries and does not check. A new certificate has version 2. Version 1 has none of the
// fields that are left out of the JSON when they are zero, and what the ledger has of the run may be more than its releases.
type Certificate struct {
	Version   int    `json:"version"`
	Unit      string `json:"unit"`      // what is protected
	Adjacency string `json:"adjacency"` // against which change of it
	About
	Rounds int     `json:"rounds"` // number of releases
	Spends []Spend `json:"releases"`
	// ReservedUnmade is how many reservations the ledger has of this run beyond its releases: for the rounds that follow the last one, with
	// the same clip and noise. No such release is known to have been made, and they are counted in Cost all the same.
	ReservedUnmade int     `json:"reserved_unmade,omitempty"`
	Limit          *Limit  `json:"limit"` // what this run may spend; nil: not limited
	Slack          float64 `json:"slack"` // distance of the drawn noise from the ideal, as far as it is charged to delta
	Cost
	Lifetime   *Lifetime `json:"lifetime"` // nil: there is no ledger
	NotCovered []string  `json:"not_covered"`

	Head          string             `json:"head,omitempty"`          // the member's last signed release, in hexadecimal digits
	Countersigned []Countersignature `json:"countersigned,omitempty"` // of Head, in ascending order of members
	Signature     string             `json:"signature,omitempty"`     // Ed25519 by the member over SignedBytes, 128 hexadecimal digits
}

// key says whose releases the certificate counts.
func (c *Certificate) key() runKey { return runKey{c.Run, c.Fleet, c.Member} }

// NewCertificate certifies what a filter has counted at delta, and unless l is nil what its data set's ledger has; then the releases
// have to be those that the ledger has of the run, but for the last ones there, see [Certificate].ReservedUnmade. It has no signature.
func NewCertificate(about About, delta float64, f *Filter, l *Ledger) (*Certificate, error) {
	about.ConditionalOn = append([]string{}, about.ConditionalOn...)
	const version = 2
	c := &Certificate{
		Version: version, Unit: certificateUnit, Adjacency: adjacencies[version], About: about,
		Spends: append([]Spend{}, f.spends...), Limit: f.Limit(),
		NotCovered: append(slices.Clone(notCovered[version]), NotSigned),
	}
	c.Rounds = countRounds(c.Spends)
	if l != nil {
		life := l.Lifetime(delta)
		c.Lifetime = &life
		c.ReservedUnmade, _ = unmadeOf(c.Spends, life.run(c.key())) // Verify says what is wrong
	}
	c.Cost = CostOf(c.charged(), delta)
	if err := c.Verify(); err != nil {
		return nil, err
	}
	return c, nil
}

// charged returns what this run costs: its releases, and what else the ledger has of it, which is the larger figure if there is any.
func (c *Certificate) charged() float64 {
	rho := sumSpends(c.Spends)
	if c.Version == 1 || c.Lifetime == nil {
		return rho
	}
	reserved := c.Lifetime.run(c.key())
	if validateSpends(reserved) != nil {
		return rho // which Verify says
	}
	return max(rho, sumSpends(reserved))
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
		err = errors.Join(sameNames(data, again), c.shape())
	}
	if err != nil {
		return nil, within("certificate", err)
	}
	return c, nil
}

// shape reports the fields that the certificate's version does not have.
func (c *Certificate) shape() error {
	if c.Version != 1 {
		return nil
	}
	there := []bool{
		c.ReservedUnmade != 0, c.EpsilonZeroOut != 0, c.Head != "", len(c.Countersigned) > 0, c.Signature != "",
		c.Lifetime != nil && c.Lifetime.EpsilonZeroOut != 0,
	}
	var errs []error
	for i, name := range []string{"reserved_unmade", "epsilon_zero_out", "head", "countersigned", "signature", "lifetime.epsilon_zero_out"} {
		if there[i] {
			errs = append(errs, fmt.Errorf("dpmech: unknown field %s: version 1 does not have it", name))
		}
	}
	return errors.Join(errs...)
}

// signedTag begins what a member signs, so that no signature of another kind can stand for a certificate's.
const signedTag = "spade-edge certificate 2\n"

// SignedBytes returns what [Certificate].Signature is a signature of: a line that says what it is, and the certificate as JSON without white
// space and with Signature empty, which leaves it out.
func (c *Certificate) SignedBytes() ([]byte, error) {
	unsigned := *c
	unsigned.Signature = ""
	text, err := unsigned.JSON()
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	buf.WriteString(signedTag)
	if err := json.Compact(&buf, text); err != nil {
		return nil, within("certificate", err)
	}
	return buf.Bytes(), nil
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
	if _, known := adjacencies[c.Version]; !known {
		return within("certificate: version", fmt.Errorf("is %d, want 1 or 2", c.Version)) // what another means nobody here knows
	}
	if err := c.shape(); err != nil {
		errs = append(errs, within("certificate", err))
	}
	for _, f := range []struct{ name, have, want string }{{"unit", c.Unit, certificateUnit}, {"adjacency", c.Adjacency, adjacencies[c.Version]}} {
		if f.have != f.want {
			fault(f.name, fmt.Errorf("is %q, want %q", f.have, f.want))
		}
	}
	fault("run", c.key().validate())
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
	wanted := notCovered[c.Version]
	if c.Version > 1 && c.Signature == "" {
		wanted = append(slices.Clone(wanted), NotSigned)
	}
	for _, s := range wanted {
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
		fault("this run", c.Cost.verify(c.charged(), c.Version))
		fault("this run", c.Cost.keeps(c.Limit))
	}
	switch {
	case c.Lifetime != nil:
		fault("lifetime", c.Lifetime.verify(c))
	case c.ReservedUnmade != 0:
		fault("reserved_unmade", fmt.Errorf("is %d, and there is no ledger that could have them", c.ReservedUnmade))
	}
	c.verifyForm(fault)
	return errors.Join(errs...)
}

// signatureSize is the length of a signature of Ed25519, in bytes.
const signatureSize = 64

// verifyForm reports signatures that cannot be any.
func (c *Certificate) verifyForm(fault func(where string, err error)) {
	if c.Head != "" {
		fault("head", validHex("the release", c.Head, len(c.Head)/2))
	}
	if c.Signature != "" {
		fault("signature", validHex("the signature", c.Signature, signatureSize))
	}
	if c.Signature == "" && c.Head != "" || c.Head == "" && len(c.Countersigned) > 0 {
		fault("signature", errors.New("it goes with head, and countersigned with both: one of them is missing"))
	}
	before := ""
	for i, by := range c.Countersigned {
		err := errors.Join(validName("member", by.Member), validHex("signature", by.Signature, signatureSize))
		if i > 0 && by.Member <= before {
			err = fmt.Errorf("member is %q, want one that comes after %q: each once, in ascending order", by.Member, before)
		}
		fault(fmt.Sprintf("countersigned[%d]", i), err)
		before = by.Member
	}
}

// VerifyWith is Verify, and compares the lifetime with the ledger that it was taken from, or with what this has become since. That may have
// further releases of other runs. Further releases of this one are an error that says how many: a certificate of version 2 that was made before
// them does not say what the run has cost.
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
	now, counted := l.book.find(c.key()).filter.spends, c.Lifetime.run(c.key())
	if more := countRounds(now) - countRounds(counted); more > 0 && c.Version > 1 {
		err = errors.Join(err, fmt.Errorf("dpmech: certificate: the ledger has %d further releases of this run, reserved since the certificate was made: %s", more, l.path))
	}
	return err
}
