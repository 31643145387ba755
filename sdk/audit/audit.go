package audit

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Report is the result of auditing a correct certificate.
type Report struct {
	Head             signed.Statement // the member's last signed release; zero if it made none
	Countersigned    []string         // neighbors that signed that they hold Head
	NotCountersigned []string         // neighbors that did not sign that they hold Head
}

// LedgerHead returns the ledger's state that the member signed with its last release; nil if the member had no ledger.
func (r *Report) LedgerHead() *certificate.Head {
	if r.Head.Ledger == (signed.Head{}) {
		return nil
	}
	head := r.Head.Ledger.Ledger()
	return &head
}

// Certificate checks that c is a member's own account of its run in the fleet. It trusts only the fleet and the
// result of the function keys, which returns the valid keys of a member. The error names each wrong field.
//
// The certificate must pass [certificate.Certificate.Verify] and must name this fleet, this run and a member of the fleet.
// Its members, number of units, clip, noise, delta, limit, mixing and cool-down must be those of the fleet, and the member
// must have signed it.
// The head in the certificate must be a release that the member signed, and the last release that the certificate
// counts. Every countersignature must be a neighbor's signature on that head. Certificate recomputes how much pairwise
// noise remains.
//
// An audit does not prove that the member drew its noise. Without a countersignature, an audit does not prove that the
// head was the last release: the member may have rolled back its ledger, its chain of releases and its certificate
// together.
func Certificate(fleet sdk.Planner, c *certificate.Certificate, keys func(member string) []ed25519.PublicKey) (*Report, error) {
	p, err := fleet.Plan()
	if err != nil {
		return nil, err
	}
	f := p.Fleet()
	x := &auditor{fleet: f, c: c, keys: keys}
	switch {
	case f.Privacy.NonPrivate:
		x.differ("privacy", "NOT PRIVATE in the fleet", "a private fleet")
	case !slices.Contains(f.Members, c.Member):
		x.differ("member", c.Member, f.Members)
	}
	if x.errs == nil {
		x.errs = append(x.errs, c.Verify())
		for _, j := range p.Graph().Neighbors(slices.Index(f.Members, c.Member)) {
			x.neighbors = append(x.neighbors, f.Members[j])
		}
		x.method()
		x.signatures()
	}
	if err := errors.Join(x.errs...); err != nil {
		return nil, err
	}
	return &x.found, nil
}

type auditor struct {
	fleet     *sdk.Fleet
	c         *certificate.Certificate
	keys      func(member string) []ed25519.PublicKey
	neighbors []string
	found     Report
	errs      []error
}

func (x *auditor) fault(field string, err error) {
	if err != nil {
		x.errs = append(x.errs, fmt.Errorf("audit: %s: %w", field, err))
	}
}

// differ records a field whose value differs from the expected value.
func (x *auditor) differ(field string, found, want any) {
	x.fault(field, fmt.Errorf("is %v, want %v", found, want))
}

// method checks the fields of the certificate that the fleet determines or bounds.
func (x *auditor) method() {
	c, f := x.c, x.fleet
	hash, units := f.Hash(), 0
	if f.Records != nil {
		units = f.Records[slices.Index(f.Members, c.Member)]
	}
	for _, s := range []struct {
		field       string
		found, want any
	}{
		{"fleet", c.Fleet, hex.EncodeToString(hash[:])},
		{"run", c.Run, f.Run},
		{"members", fmt.Sprintf("%q", c.Members), fmt.Sprintf("%q", f.Members)},
		{"units", c.Units, units},
		{"cooldown_rounds", c.Cooldown, f.Method.Cooldown},
		{"mixing_rounds", c.Mixing, f.Method.Mixing},
		{"delta", c.Delta, f.Privacy.Delta},
		{"limit", limitText(c.Limit), limitText(f.Privacy.Limit())},
	} {
		if s.found != s.want {
			x.differ(s.field, s.found, s.want)
		}
	}
	x.releases("releases", c.Spends)
	if life := c.Lifetime; life != nil {
		for i, r := range life.Runs {
			if r.RunID == c.RunID {
				x.releases(fmt.Sprintf("lifetime.runs[%d].releases", i), r.Spends)
			}
		}
	}
	if n := c.Rounds + c.ReservedUnmade; n > f.Method.Rounds {
		x.differ("rounds", fmt.Sprintf("%d with reserved_unmade", n), fmt.Sprintf("at most %d, the rounds of the method", f.Method.Rounds))
	}
	if f.Task != nil && len(c.ConditionalOn) == 0 {
		x.differ("conditional_on", "empty", "at least the preparation of the data, which the fleet's task describes")
	}
}

// releases compares a list of releases with the settings of the fleet. In a fleet with pairwise noise it also accepts
// releases with only local noise.
func (x *auditor) releases(field string, list []dpmech.Spend) {
	p, next := x.fleet.Privacy, 1
	for i, s := range list {
		where := fmt.Sprintf("%s[%d]", field, i)
		want := p.Gaussian()
		if alone := want.Alone(); s.Shared == alone.Shared && s.Sigma == alone.Sigma {
			want = alone
		}
		if s.Clip != want.Clip || s.Sigma != want.Sigma || s.First != next {
			const text = "clip %v and sigma %v from round %d on"
			x.differ(where, fmt.Sprintf(text, s.Clip, s.Sigma, s.First), fmt.Sprintf(text, want.Clip, want.Sigma, next))
		}
		if s.Unit != want.Unit {
			x.differ(where+".unit", s.Unit, want.Unit)
		}
		have, need := reflect.ValueOf(s.Shared), reflect.ValueOf(want.Shared)
		for i := range have.NumField() {
			if name, _, _ := strings.Cut(have.Type().Field(i).Tag.Get("json"), ","); !have.Field(i).Equal(need.Field(i)) {
				x.differ(where+".shared."+name, have.Field(i), need.Field(i))
			}
		}
		next = s.First + s.Rounds
	}
}

func limitText(l *dpmech.Limit) string {
	if l == nil {
		return "null"
	}
	return l.String()
}

// VerifySignature checks that one of the given keys, of which the certificate states the fingerprint, signed it. The error
// wraps [signed.ErrSignature].
func VerifySignature(c *certificate.Certificate, keys []ed25519.PublicKey) error {
	signature, errHex := hex.DecodeString(c.Signature)
	message, err := c.SignedBytes()
	if err = errors.Join(errHex, err); err != nil {
		return err
	}
	var known []string
	for _, key := range keys {
		known = append(known, signed.Fingerprint(key))
	}
	i := slices.Index(known, c.Key)
	if i < 0 {
		return fmt.Errorf("audit: certificate: it was made with the key %q, and the member's keys are %q: %w", c.Key, known, signed.ErrSignature)
	}
	if !ed25519.Verify(keys[i], message, signature) {
		return fmt.Errorf("audit: certificate: %w", signed.ErrSignature)
	}
	return nil
}

func (x *auditor) signatures() {
	c, head := x.c, &x.found.Head
	own, scope := x.keys(c.Member), signed.NewScope(x.fleet.Run, x.fleet.Hash(), c.Member)
	if c.Signature == "" {
		x.differ("signature", "empty", fmt.Sprintf("one by %q: nothing shows who wrote the certificate", c.Member))
	} else if err := VerifySignature(c, own); err != nil {
		x.fault("signature", err)
	}
	for _, name := range x.neighbors {
		ofName := func(by certificate.Countersignature) bool { return by.Member == name }
		if slices.ContainsFunc(c.Countersigned, ofName) {
			x.found.Countersigned = append(x.found.Countersigned, name)
		} else {
			x.found.NotCountersigned = append(x.found.NotCountersigned, name)
		}
	}
	if c.Head == "" {
		if c.Rounds > 0 {
			x.differ("head", "empty", fmt.Sprintf("the signed release %d", c.Rounds))
		}
		return
	}
	raw, err := hex.DecodeString(c.Head)
	if err == nil {
		*head, err = signed.Parse(raw, signed.Release)
	}
	if err != nil {
		x.fault("head", err)
		return
	}
	x.fault("head", head.Verify(scope, own))
	m := x.fleet.Method
	if head.Round > m.Last() {
		x.differ("head", fmt.Sprintf("release %d", head.Round), fmt.Sprintf("at most %d, the last of the run", m.Last()))
	}
	if n := m.Data(head.Round); n != c.Rounds {
		x.differ("head", fmt.Sprintf("release %d, the last of %d releases", head.Round, n), fmt.Sprintf("the last of %d", c.Rounds))
	}
	x.fault("head", x.ledger())
	for i, by := range c.Countersigned {
		x.fault(fmt.Sprintf("countersigned[%d]: by %q", i, by.Member), x.countersigned(by, scope))
	}
}

func (x *auditor) countersigned(by certificate.Countersignature, scope signed.Scope) error {
	if !slices.Contains(x.neighbors, by.Member) {
		return fmt.Errorf("is not a neighbor, want one of %q", x.neighbors)
	}
	signature, err := hex.DecodeString(by.Signature)
	if err != nil {
		return err
	}
	return x.found.Head.VerifyHeld(scope, x.keys(by.Member), signature)
}

// ledger checks that the lifetime total in the certificate comes from the ledger that the signed head names. The state
// of this ledger in the certificate must be the state in the head or a later state.
func (x *auditor) ledger() error {
	named := x.found.LedgerHead()
	switch {
	case named == nil:
		return nil
	case x.c.Lifetime == nil:
		return fmt.Errorf("refers to ledger %s, but the certificate has no lifetime field", named.ID)
	}
	have := x.c.Lifetime.Ledger
	if have.ID != named.ID || have.Seq < named.Seq || have.Seq == named.Seq && have.Hash != named.Hash {
		return fmt.Errorf("refers to ledger %v, but the certificate's lifetime field refers to ledger %v", *named, have)
	}
	return nil
}
