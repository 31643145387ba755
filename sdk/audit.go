package sdk

import (
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Audit is what [Fleet.Audit] has found in a certificate that is right.
type Audit struct {
	// Head is the member's last signed release. It is zero for a member that has made none.
	Head signed.Release
	// Countersigned are the neighbors that have signed that they hold Head, and so all releases before it. The member cannot have left out
	// a release that one of them has seen.
	Countersigned []string
	// NotCountersigned are all other neighbors, of whom the certificate shows nothing.
	NotCountersigned []string
}

// Audit checks that a certificate is a member's own account of its run in this fleet. It trusts the fleet and the keys, and nothing that the
// certificate says of itself. keys returns the keys of a member whose signatures count, of which a fleet file knows; nil for none.
//
// The certificate has to be right by itself, see [dpmech.Certificate.Verify], to be about this fleet, run and a member of it, to have the
// clip, noise, delta, limit and cool-down that the fleet prescribes, and to be signed by the member. Its head has to be signed by the member
// as well, and to be the last of the releases that are counted. Every countersignature has to be of that head and by a
// neighbor. The error names each field that is wrong.
//
// An audit does not show that the member drew its noise, nor that it has not set back its own ledger together with its certificate. A
// countersignature shows that no release up to the head is left out, as far as that neighbor is honest.
func (f *Fleet) Audit(c *dpmech.Certificate, keys func(member string) []ed25519.PublicKey) (*Audit, error) {
	p, err := f.plan()
	if err != nil {
		return nil, err
	}
	var errs []error
	fault := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("sdk: audit: "+field+": "+format, args...))
	}
	if c.Version < 2 {
		fault("version", "is %d, want 2: version 1 has no signature, and does not show who wrote it", c.Version)
		return nil, errors.Join(errs...)
	}
	if err := c.Verify(); err != nil {
		errs = append(errs, err)
	}
	if f.Privacy.NonPrivate {
		fault("privacy", "the fleet is NOT PRIVATE, and none of its members has a certificate")
		return nil, errors.Join(errs...)
	}
	hash := f.Hash()
	for _, s := range []struct{ field, have, want string }{{"fleet", c.Fleet, hex.EncodeToString(hash[:])}, {"run", c.Run, f.Run}} {
		if s.have != s.want {
			fault(s.field, "is %q, want %q", s.have, s.want)
		}
	}
	f.auditMethod(c, fault)
	i, known := p.number[c.Member]
	if !known {
		fault("member", "is %q, which is not in the fleet", c.Member)
		return nil, errors.Join(errs...)
	}
	var neighbors []string
	for _, j := range p.graph.Neighbors(i) {
		neighbors = append(neighbors, f.Members[j])
	}
	a, err := f.auditSignatures(c, neighbors, keys)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return a, nil
}

// auditMethod compares the certificate with what the fleet prescribes.
func (f *Fleet) auditMethod(c *dpmech.Certificate, fault func(field, format string, args ...any)) {
	want := f.Privacy.gaussian()
	compare := func(field string, list []dpmech.Spend) {
		for i, s := range list {
			if s.Clip != want.Clip || s.Sigma != want.Sigma {
				fault(fmt.Sprintf("%s[%d]", field, i), "clip is %v and sigma %v, want %v and %v as in the fleet", s.Clip, s.Sigma, want.Clip, want.Sigma)
			}
			if s.First != 1 {
				fault(fmt.Sprintf("%s[%d]", field, i), "the first round is %d, want 1: no round of a run is left out", s.First)
			}
		}
	}
	compare("releases", c.Spends)
	if life := c.Lifetime; life != nil {
		for i, r := range life.Runs {
			if r.Run == c.Run && r.Fleet == c.Fleet && r.Member == c.Member {
				compare(fmt.Sprintf("lifetime.runs[%d].releases", i), r.Spends)
			}
		}
	}
	if n := c.Rounds + c.ReservedUnmade; n > f.Method.Rounds {
		fault("rounds", "is %d, and %d are reserved_unmade, want at most %d in all, the rounds of the method", c.Rounds, c.ReservedUnmade, f.Method.Rounds)
	}
	if c.Cooldown != f.Method.Cooldown {
		fault("cooldown_rounds", "is %d, want %d", c.Cooldown, f.Method.Cooldown)
	}
	if c.Delta != f.Privacy.Delta {
		fault("delta", "is %v, want %v", c.Delta, f.Privacy.Delta)
	}
	filter, err := f.filter()
	if err != nil {
		fault("limit", "%w", err)
		return
	}
	text := func(l *dpmech.Limit) string {
		if l == nil {
			return "null"
		}
		return fmt.Sprintf("epsilon %v at delta %v (%v)", l.Epsilon, l.Delta, l.Accounting)
	}
	if have, want := text(c.Limit), text(filter.Limit()); have != want {
		fault("limit", "is %s, want %s", have, want)
	}
	if f.Task != nil && len(c.ConditionalOn) == 0 {
		fault("conditional_on", "is empty, want at least how data were prepared: the fleet has a task, which says that")
	}
}

// auditSignatures checks who has signed what.
func (f *Fleet) auditSignatures(c *dpmech.Certificate, neighbors []string, keys func(member string) []ed25519.PublicKey) (*Audit, error) {
	var errs []error
	fault := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("sdk: audit: "+field+": "+format, args...))
	}
	own, scope := keys(c.Member), signed.NewScope(f.Run, f.Hash(), c.Member)
	if c.Signature == "" {
		fault("signature", "there is none, want one by %q: nothing shows who wrote the certificate", c.Member)
	} else if err := verifySignature(c, own); err != nil {
		fault("signature", "%w", err)
	}
	a := &Audit{NotCountersigned: slices.Clone(neighbors)}
	if c.Head == "" {
		if c.Rounds > 0 {
			fault("head", "there is none, want the signed release %d", c.Rounds)
		}
		return a, errors.Join(errs...)
	}
	raw, err := hex.DecodeString(c.Head)
	if err == nil {
		a.Head, err = signed.Parse(raw)
	}
	if err != nil {
		fault("head", "%w", err)
		return nil, errors.Join(errs...)
	}
	if err := a.Head.Verify(scope, own); err != nil {
		fault("head", "%w: want one of %q in this run", err, c.Member)
	}
	if n := min(a.Head.Round, f.Method.Rounds); n != c.Rounds {
		fault("head", "is release %d, so that %d releases were made, and the certificate has %d", a.Head.Round, n, c.Rounds)
	}
	if err := ledgerOf(&a.Head, c.Lifetime); err != nil {
		fault("head", "%w", err)
	}
	for i, by := range c.Countersigned {
		field := fmt.Sprintf("countersigned[%d]", i)
		at := slices.Index(a.NotCountersigned, by.Member)
		if at < 0 {
			fault(field, "%q is not a neighbor of %q, or is there twice", by.Member, c.Member)
			continue
		}
		signature, err := hex.DecodeString(by.Signature)
		if err == nil {
			err = a.Head.VerifyHeld(scope, keys(by.Member), signature)
		}
		if err != nil {
			fault(field, "not by %q of this head: %w", by.Member, err)
			continue
		}
		a.Countersigned = append(a.Countersigned, by.Member)
		a.NotCountersigned = slices.Delete(a.NotCountersigned, at, at+1)
	}
	return a, errors.Join(errs...)
}

// verifySignature reports that none of keys has signed the certificate.
func verifySignature(c *dpmech.Certificate, keys []ed25519.PublicKey) error {
	signature, err := hex.DecodeString(c.Signature)
	if err != nil {
		return err
	}
	message, err := c.SignedBytes()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if len(key) == ed25519.PublicKeySize && ed25519.Verify(key, message, signature) {
			return nil
		}
	}
	return fmt.Errorf("%w (of %d)", signed.ErrSignature, len(keys))
}

// LedgerHead returns the state of the ledger that the member has signed with its last release; nil if it had none. A ledger that is at hand
// contains it, see [dpmech.Ledger.Contains].
func (a *Audit) LedgerHead() *dpmech.Head {
	l := a.Head.Ledger
	if l == (signed.Head{}) || l.Seq > math.MaxInt32 {
		return nil
	}
	return &dpmech.Head{ID: hex.EncodeToString(l.ID[:]), Seq: int(l.Seq), Hash: hex.EncodeToString(l.Hash[:])}
}

// ledgerOf reports what keeps a lifetime from being that of the ledger which was signed with a release, or what this has become since.
func ledgerOf(head *signed.Release, life *dpmech.Lifetime) error {
	l := head.Ledger
	if l == (signed.Head{}) {
		return nil // there was none then
	}
	if life == nil {
		return fmt.Errorf("it names ledger %x, and the certificate has no lifetime", l.ID)
	}
	id, hash := hex.EncodeToString(l.ID[:]), hex.EncodeToString(l.Hash[:])
	switch {
	case life.Ledger.ID != id:
		return fmt.Errorf("it names ledger %s, and the lifetime is of ledger %s", id, life.Ledger.ID)
	case life.Ledger.Seq < 0 || uint64(life.Ledger.Seq) < l.Seq:
		return fmt.Errorf("it names reservation %d of the ledger, and the lifetime ends with %d", l.Seq, life.Ledger.Seq)
	case uint64(life.Ledger.Seq) == l.Seq && life.Ledger.Hash != hash:
		return fmt.Errorf("it names reservation %d of the ledger with hash %s, and the lifetime has %s", l.Seq, hash, life.Ledger.Hash)
	}
	return nil
}

// sealCertificate puts a member's last release, what neighbors say of it, and the member's signature into a certificate. head may be nil if
// there is no release. held has the countersignatures of head by the neighbors' names. Nothing of the certificate may be changed afterwards.
func sealCertificate(c *dpmech.Certificate, key ed25519.PrivateKey, head *signed.Release, held map[string][]byte) error {
	if len(key) != ed25519.PrivateKeySize {
		return fmt.Errorf("sdk: certificate: the key has %d bytes, want %d", len(key), ed25519.PrivateKeySize)
	}
	if head == nil && len(held) > 0 {
		return fmt.Errorf("sdk: certificate: there are %d countersignatures, and no release that they could be of", len(held))
	}
	c.Head, c.Countersigned, c.Signature = "", nil, ""
	if head != nil {
		c.Head = hex.EncodeToString(head.Append(nil))
	}
	for name, signature := range held {
		c.Countersigned = append(c.Countersigned, dpmech.Countersignature{Member: name, Signature: hex.EncodeToString(signature)})
	}
	slices.SortFunc(c.Countersigned, func(a, b dpmech.Countersignature) int { return cmp.Compare(a.Member, b.Member) })
	c.NotCovered = slices.DeleteFunc(slices.Clone(c.NotCovered), func(s string) bool { return s == dpmech.NotSigned })
	message, err := c.SignedBytes()
	if err != nil {
		return err
	}
	c.Signature = hex.EncodeToString(ed25519.Sign(key, message))
	return c.Verify()
}
