package certificate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
	"github.com/spade-dfl/spade-edge/dpmech/strict"
)

const certificateVersion = 2

// notCovered lists what certificates never cover.
var notCovered = []string{
	"timing: when a node sends, and how long it takes",
	"what a node shows on its own machine: losses, accuracies and failed queries of its own data, " +
		"and logs at level DEBUG",
	"data that another client or another ledger also holds",
	"rollbacks that nobody can detect: of all members at once, or of a node together with its ledger if no neighbor " +
		"of this run knows the later state (two runs may have no neighbor in common)",
	"copies of the device's folder and key that run at the same time, until a neighbor has seen two of their releases",
	"restored backups and restored snapshots of a virtual machine",
	"power, radio and other physical side channels",
	"choices made on data that conditional_on does not list",
}

// notCoveredShared lists what certificates for releases with pairwise noise do not cover, in addition to notCovered.
var notCoveredShared = []string{
	"an adversary who learns the secret that two honest members share: X25519, HKDF-SHA-256, HMAC-SHA-256 and ChaCha8, " +
		"from which secret and noise are made, are assumed to be secure",
	"an adversary with more colluders than stated: only the cost against all other members together then holds",
	"a second release of the same round with the same pairwise noise, as after a rollback: the two releases differ only " +
		"in the local noise",
}

// NotSigned is an additional entry for not_covered in a certificate without a signature.
const NotSigned = "the author of this certificate: it is not signed, so nobody can prove who wrote it"

const maxText = 2000 // maximum length of a list entry, in bytes

// About is the part of a certificate that describes a run, but not its cost.
type About struct {
	RunID
	Members []string `json:"members,omitempty"` // of the fleet, in its order
	// Units is the public number of the member's records or persons, if they are what the run protects.
	Units int `json:"units,omitempty"`
	// Began is when the member started the run, and Ended is when it made its last release: UTC by its clock, to the minute,
	// in RFC 3339 format. Ended is Began if the clock was set back meanwhile. Both are empty if unknown.
	Began string `json:"began,omitempty"`
	Ended string `json:"ended,omitempty"`
	// Simulated means that the noise was generated from a seed and protects nobody. The stated costs are those of a
	// real run with the same parameters.
	Simulated bool `json:"simulated"`
	// Mixing is the number of mixing rounds after each release, and Cooldown is the number of cool-down rounds. Neither
	// uses data or has a privacy cost.
	Mixing   int `json:"mixing_rounds,omitempty"`
	Cooldown int `json:"cooldown_rounds"`
	// ConditionalOn names public inputs that the data may have influenced, such as preprocessing, partition and
	// settings.
	ConditionalOn []string `json:"conditional_on"`
}

// Countersignature is a neighbor's signed statement that it received a member's last release. Releases are chained, so
// the statement also covers all earlier releases.
type Countersignature struct {
	Member    string `json:"member"`    // the neighbor
	Signature string `json:"signature"` // Ed25519, 128 hexadecimal digits
}

// Certificate states upper bounds on what one client leaked, in one run and in all runs on its data set. All numbers
// can be computed from the clip and noise of each release, so anyone can verify the certificate. This package does not
// check signatures.
type Certificate struct {
	Version   int    `json:"version"`   // 2
	Unit      string `json:"unit"`      // what is protected
	Adjacency string `json:"adjacency"` // how two adjacent data sets differ
	About
	Rounds int           `json:"rounds"`
	Spends dpmech.Spends `json:"releases"`
	// ReservedUnmade is the number of rounds that the ledger reserved, with the same clip and noise, after the last
	// release in this certificate. Cost includes these rounds, although they may not have been released.
	ReservedUnmade int           `json:"reserved_unmade,omitempty"`
	Limit          *dpmech.Limit `json:"limit"` // the budget of this run; nil: unlimited
	Slack          float64       `json:"slack"` // distance between drawn and ideal noise, part of delta
	Cost
	Lifetime   *Lifetime `json:"lifetime"` // nil: no ledger
	NotCovered []string  `json:"not_covered"`

	Head          string             `json:"head,omitempty"`          // the member's last signed release, in hexadecimal
	Countersigned []Countersignature `json:"countersigned,omitempty"` // signatures over Head, by ascending member
	Key           string             `json:"key,omitempty"`           // fingerprint of the key of Signature: see package signed
	Signature     string             `json:"signature,omitempty"`     // Ed25519, by the member over SignedBytes
}

// New returns an unsigned certificate for the given releases, with epsilons at delta. limit is the budget of the run, or nil,
// and life the state of the data set's ledger, or nil without a ledger; the certificate retains both. The releases of
// this run in life must be the same, except for additional releases, which are counted in [Certificate].ReservedUnmade.
func New(about About, delta float64, spends dpmech.Spends, limit *dpmech.Limit, life *Lifetime) (*Certificate, error) {
	about.ConditionalOn = append([]string{}, about.ConditionalOn...)
	c := &Certificate{
		Version: certificateVersion, About: about,
		Spends: append(dpmech.Spends{}, spends...), Limit: limit, Lifetime: life,
	}
	c.Rounds = c.Spends.Rounds()
	unit := c.unit()
	c.Unit, c.Adjacency = protected(unit), adjacency(unit)
	for _, s := range c.conditions() {
		if !slices.Contains(c.ConditionalOn, s) {
			c.ConditionalOn = append(c.ConditionalOn, s)
		}
	}
	c.NotCovered = c.uncovered()
	c.ReservedUnmade, _ = unmadeOf(c.Spends, c.life().spends(c.RunID)) // Verify reports an error
	c.Cost = CostOf(c.charged(), delta)
	if err := c.Verify(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Certificate) uncovered() []string {
	wanted := slices.Clone(notCovered)
	if u := c.unit(); u != dpmech.Client {
		wanted = append(wanted, notProtected(u))
	}
	if c.Spends.Total().Weakest.Shared || c.life().Total().Weakest.Shared { // a stated cost relies on pairwise noise
		wanted = append(wanted, notCoveredShared...)
	}
	if c.Signature == "" {
		wanted = append(wanted, NotSigned)
	}
	return wanted
}

// conditions returns what conditional_on must list.
func (c *Certificate) conditions() []string {
	return append(c.unit().Conditions(), c.life().Declared.Conditions(c.unit())...)
}

// life returns the lifetime of the data, which is empty without a ledger.
func (c *Certificate) life() *Lifetime { return cmp.Or(c.Lifetime, &Lifetime{}) }

// unit returns the unit that all stated costs protect, for the run and for the lifetime of its data.
func (c *Certificate) unit() dpmech.Unit {
	if c.Lifetime != nil {
		return c.Lifetime.Unit
	}
	return c.Spends.Unit()
}

// charged returns the cost of this run: either the cost of its releases or the cost of its reservations in the ledger,
// whichever is larger.
func (c *Certificate) charged() dpmech.Total {
	made, reserved := c.Spends.Total(), c.life().spends(c.RunID)
	if len(reserved) == 0 || reserved.Validate() != nil {
		return made // Verify reports the error
	}
	sum := reserved.Total()
	both := made.Plus(sum)
	both.Rho, both.All = max(made.Rho, sum.Rho), max(made.All, sum.All)
	return both
}

// unmadeOf returns the number of releases in reserved (from the ledger) that are not in made (from the certificate).
// These additional reservations must be for the rounds immediately after the last release, with the same parameters.
// Any other difference is an error.
func unmadeOf(made, reserved dpmech.Spends) (unmade int, err error) {
	for i, r := range reserved {
		switch {
		case i == 0 && len(made) == 0:
			unmade = r.Rounds
		case i >= len(made):
			return 0, fmt.Errorf("the ledger has releases from round %d on that are missing from the certificate; "+
				"these releases come after a gap, or have other parameters than earlier releases", r.First)
		default:
			m := made[i]
			unmade = r.Rounds - m.Rounds
			if r.Gaussian != m.Gaussian || r.First != m.First || unmade < 0 || unmade > 0 && i < len(made)-1 {
				return 0, fmt.Errorf("releases[%d]: found %d rounds from round %d on with %v, want %d rounds from "+
					"round %d on with %v as in the ledger", i, m.Rounds, m.First, m.Gaussian, r.Rounds, r.First, r.Gaussian)
			}
		}
	}
	if n := len(reserved); len(made) > n {
		return 0, fmt.Errorf("releases[%d]: the ledger has no release from round %d on", n, made[n].First)
	}
	return unmade, nil
}

// Parse parses a certificate from JSON without verifying it. Unknown, missing and duplicate fields are
// errors.
func Parse(data []byte) (*Certificate, error) {
	c := new(Certificate)
	if err := strict.ReadJSON(data, c); err != nil {
		return nil, faults.Within("certificate", err)
	}
	again, err := json.Marshal(c)
	var have, want any
	f := faults.List{err, json.Unmarshal(data, &have), json.Unmarshal(again, &want)}
	sameNames(&f, "", have, want)
	if err := errors.Join(f...); err != nil {
		return nil, faults.Within("certificate", err)
	}
	return c, nil
}

// sameNames compares the field names in two decoded JSON values and adds each field that only one of them has to f. path
// is the location of both values in the file; it is empty for the whole file.
func sameNames(f *faults.List, path string, have, want any) {
	switch want := want.(type) {
	case []any:
		list, _ := have.([]any)
		for i := range min(len(list), len(want)) {
			sameNames(f, fmt.Sprintf("%s[%d].", strings.TrimSuffix(path, "."), i), list[i], want[i])
		}
	case map[string]any:
		fields, _ := have.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			_, there := fields[name]
			f.Want(there, "field %s%s is missing", path, name)
			if there {
				sameNames(f, path+name+".", fields[name], want[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			_, known := want[name]
			f.Want(known, "field %s%s has a value with which it is left out", path, name)
		}
	}
}

// signedTag is the beginning of the signed text. It ensures that the signature of a certificate is not valid for
// anything else.
const signedTag = "spade-edge certificate 2\n"

// SignedBytes returns the bytes that [Certificate].Signature signs: a line with the kind and version, then the
// certificate as compact JSON without its signature.
func (c *Certificate) SignedBytes() ([]byte, error) {
	unsigned := *c
	unsigned.Signature = ""
	text, err := unsigned.encode("")
	return append([]byte(signedTag), bytes.TrimSuffix(text, []byte{'\n'})...), err
}

// JSON returns the certificate as indented JSON with a trailing newline. Equal certificates have equal JSON.
func (c *Certificate) JSON() ([]byte, error) { return c.encode("  ") }

func (c *Certificate) encode(indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(c)
	return buf.Bytes(), faults.Within("certificate", err)
}

// Verify recomputes all numbers from the clip and noise of the releases and reports every field that does not match. A
// stated cost may exceed the recomputed cost by a factor of up to 1+1e-6. It must not be lower, except that an epsilon
// may be lower by a relative error of up to 1e-11, because processors differ in its last digits.
func (c *Certificate) Verify() error {
	if c.Version != certificateVersion {
		return fmt.Errorf("dpmech: certificate: version is %d, want %d", c.Version, certificateVersion)
	}
	var f faults.List
	unit := c.unit()
	f.Want(c.Unit == protected(unit), "unit: is %q, want %q", c.Unit, protected(unit))
	f.Want(c.Adjacency == adjacency(unit), "adjacency: is %q, want %q", c.Adjacency, adjacency(unit))
	f = append(f, CheckAbout(c.About))
	f.Want(c.Slack == 0, "slack: is %v, want 0: the noise of this build is exact", c.Slack)
	for i, s := range c.NotCovered {
		f.At(fmt.Sprintf("not_covered[%d]", i), faults.Text("the text", s, maxText))
	}
	for _, s := range c.conditions() {
		f.Want(slices.Contains(c.ConditionalOn, s), "conditional_on: lacks %q", s)
	}
	for _, s := range c.uncovered() {
		f.Want(slices.Contains(c.NotCovered, s), "not_covered: lacks %q", s)
	}
	f.At("delta", dpmech.CheckDelta(c.Delta))
	if err := c.Spends.Validate(); err != nil {
		f.At("this run", err)
	} else {
		n := c.Spends.Rounds()
		f.Want(c.Rounds == n, "rounds: is %d, want %d, the number of releases", c.Rounds, n)
		f.At("this run", c.Cost.verify(c.charged()))
		f.At("this run", c.Cost.withinLimit(c.Limit))
	}
	if c.Lifetime != nil {
		f.At("lifetime", c.Lifetime.verify(c))
	} else {
		f.Want(c.ReservedUnmade == 0, "reserved_unmade: is %d, want 0 in a certificate without a ledger", c.ReservedUnmade)
	}
	c.verifyForm(&f)
	return faults.Within("certificate", errors.Join(f...))
}

// CheckAbout returns an error that names each field whose value no certificate can state. [New] also checks it.
func CheckAbout(a About) error {
	var f faults.List
	f.At("run", a.validate())
	f.Want(a.Cooldown >= 0 && a.Cooldown <= math.MaxInt32, "cooldown_rounds: is %d, want 0..%d", a.Cooldown, math.MaxInt32)
	f.Want(a.Mixing >= 0 && a.Mixing <= math.MaxInt32, "mixing_rounds: is %d, want 0..%d", a.Mixing, math.MaxInt32)
	for i, s := range a.ConditionalOn {
		f.At(fmt.Sprintf("conditional_on[%d]", i), faults.Text("the text", s, maxText))
	}
	if a.Members != nil {
		f.Want(slices.Contains(a.Members, a.Member), "run: members: is %q, want a list with %q", a.Members, a.Member)
	}
	for i, name := range a.Members {
		f.At(fmt.Sprintf("run: members[%d]", i), validName("name", name))
		f.Want(!slices.Contains(a.Members[:i], name), "run: members[%d]: %q is given twice", i, name)
	}
	f.Want(a.Units >= 0, "run: units: is %d, want 0 or more", a.Units)
	if a.Began != "" || a.Ended != "" {
		f.At("run", errors.Join(validTime("began", a.Began), validTime("ended", a.Ended)))
		f.Want(strings.HasSuffix(a.Began, "Z") && strings.HasSuffix(a.Ended, "Z"), "run: began is %s and ended is %s, want UTC, as in 2006-01-02T15:04:05Z",
			a.Began, a.Ended)
		f.Want(a.Began <= a.Ended, "run: ended: is %s, want a time after %s", a.Ended, a.Began)
	}
	return errors.Join(f...)
}

const signatureSize = 64

// isFingerprint reports whether s is six groups of five digits, with a space between two groups.
func isFingerprint(s string) bool {
	for i := range len(s) {
		if digit := s[i] >= '0' && s[i] <= '9'; digit == (i%6 == 5) || !digit && s[i] != ' ' {
			return false
		}
	}
	return len(s) == 6*6-1
}

func (c *Certificate) verifyForm(f *faults.List) {
	if c.Head != "" {
		f.At("head", validHex("the release", c.Head, len(c.Head)/2))
	}
	if c.Signature != "" {
		f.At("signature", validHex("the signature", c.Signature, signatureSize))
	}
	f.Want((c.Key == "") == (c.Signature == "") && (c.Key == "" || isFingerprint(c.Key)),
		"key: is %q, want six groups of five digits in a signed certificate, and nothing in another", c.Key)
	f.Want((c.Signature != "" || c.Head == "") && (c.Head != "" || len(c.Countersigned) == 0),
		"signature: head requires a signature, and countersigned requires head")
	before := ""
	for i, by := range c.Countersigned {
		err := errors.Join(validName("member", by.Member), validHex("signature", by.Signature, signatureSize))
		if i > 0 && by.Member <= before {
			err = fmt.Errorf("member is %q, want one after %q: members must be in ascending order", by.Member, before)
		}
		f.At(fmt.Sprintf("countersigned[%d]", i), err)
		before = by.Member
	}
}

// Bound returns the cost that the certificate states for its run, and the unit that this cost protects.
func (c *Certificate) Bound() (dpmech.Total, dpmech.Unit) { return c.charged(), c.unit() }
