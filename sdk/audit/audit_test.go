package audit

import (
	"crypto/ed25519"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// TestCertificate checks that the report of a correct certificate lists the neighbors that hold the last release and
// the neighbors that did not countersign.
func TestCertificate(t *testing.T) {
	w := newAudited(t, nil)
	for _, x := range []struct{ by, not []string }{{nil, []string{"a", "c"}}, {[]string{"c"}, []string{"a"}},
		{[]string{"a", "c"}, nil}} {
		c := reread(t, w.sealed(t, x.by...))
		a, err := Certificate(w.fleet, c, pins)
		if err != nil {
			t.Errorf("by %v: %v", x.by, err)
			continue
		}
		if !slices.Equal(a.Countersigned, x.by) || !slices.Equal(a.NotCountersigned, x.not) || a.Head != *w.last() {
			t.Errorf("%+v, want one by %v and not by %v", a, x.by, x.not)
		}
		if head := a.LedgerHead(); head == nil || w.ledger.Contains(*head) != nil {
			t.Errorf("LedgerHead returns %+v", head)
		}
		if slices.Contains(c.NotCovered, certificate.NotSigned) {
			t.Error("a signed certificate says that it is not signed")
		}
	}
	if a := (&Report{}); a.LedgerHead() != nil {
		t.Error("LedgerHead of an empty report returns a head")
	}
	// A crash can leave one reservation without a release. The certificate counts it and is still correct.
	early := w.unsealed(t, auditedRounds-1)
	head := &w.heads[auditedRounds-2]
	if err := signed.SealCertificate(early, memberKey("b"), head, w.held(head, "a")); err != nil {
		t.Fatal(err)
	}
	if a, err := Certificate(w.fleet, reread(t, early), pins); err != nil || early.ReservedUnmade != 1 ||
		early.Rounds != auditedRounds-1 || a.Head != *head {
		t.Errorf("%d releases and %d reserved: %v", early.Rounds, early.ReservedUnmade, err)
	}
	// Certificate also accepts a certificate of a member without releases, and a certificate signed with an old key.
	none := w.unsealed(t, 0)
	if err := signed.SealCertificate(none, memberKey("zb"), nil, nil); err != nil {
		t.Fatal(err)
	}
	if a, err := Certificate(w.fleet, reread(t, none), pins); err != nil || a.Head != (signed.Statement{}) ||
		len(a.NotCountersigned) != 2 {
		t.Errorf("no release: %+v, %v", a, err)
	}
}

// TestCertificateOfSharedNoise checks that, for a run with pairwise noise, the certificate must have the fleet's
// parameters and the effective noise that follows from the fleet's graph. Two of the releases have no pairwise noise,
// like those of a node that has given up a neighbor.
func TestCertificateOfSharedNoise(t *testing.T) {
	share := func(f *sdk.Fleet) {
		f.Edges = append(f.Edges, [2]string{"d", "a"})
		f.Privacy.Sigma, f.Privacy.PairSigma, f.Privacy.EffectiveSigma, f.Privacy.Colluders = 4, 8, 5.5, 1
		f.Privacy.LimitAll = 40
	}
	w := newAudited(t, share, 2, 3)
	good := reread(t, w.sealed(t, "a"))
	if _, err := Certificate(w.fleet, good, pins); err != nil {
		t.Fatal(err)
	}
	if len(good.Spends) != 3 || good.Spends[1].Sigma != 8 || good.AgainstAll == nil || good.Lifetime.AgainstAll == nil ||
		good.Lifetime.Adversary != good.Adversary {
		t.Errorf("certificate %+v", good)
	}
	for want, change := range map[string]func(p *sdk.Privacy){
		"releases[0].shared.sigma: is 8, want 16":            func(p *sdk.Privacy) { p.PairSigma = 16 },
		"releases[0].shared.effective_sigma: is 5.5, want 5": func(p *sdk.Privacy) { p.EffectiveSigma = 5 },
		"releases[2].shared.colluders: is 1, want 0":         func(p *sdk.Privacy) { p.Colluders = 0 },
		"releases[0].shared.absent: is 0, want 1":            func(p *sdk.Privacy) { p.Colluders, p.Absent = 0, 1 },
		"lifetime.runs[1].releases[0].shared.sigma: is 8, want 0": func(p *sdk.Privacy) {
			p.PairSigma, p.EffectiveSigma, p.Colluders, p.LimitAll = 0, 0, 0, 0
		},
		"releases[1]: is clip 1 and sigma 8 from round 2 on, want clip 1 and sigma 4": func(p *sdk.Privacy) {
			p.EffectiveSigma = 4
		},
		"(zcdp) against the weakest adversary that a run names, and 40 against all other members together, want epsilon 12": func(p *sdk.Privacy) { p.LimitAll = 41 },
		"effective_sigma is 7, want at least sigma (4), and at most":                                                        func(p *sdk.Privacy) { p.EffectiveSigma = 7 },
	} {
		other := *w.fleet
		change(&other.Privacy)
		if _, err := Certificate(&other, good, pins); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	// The audit must notice that the releases without pairwise noise are missing.
	gap := reread(t, good)
	gap.Spends = slices.Delete(gap.Spends, 1, 2)
	if _, err := Certificate(w.fleet, gap, pins); err == nil || !strings.Contains(err.Error(), "from round 4 on, want clip 1 and "+
		"sigma 4 from round 2 on") {
		t.Errorf("a gap: %v", err)
	}
}

// TestCertificateOfRecords checks that with record-level privacy, a certificate names the record as the protected unit.
// The audit must reject a certificate that presents the same releases as having client-level privacy.
func TestCertificateOfRecords(t *testing.T) {
	w := newAudited(t, func(f *sdk.Fleet) {
		f.Privacy.Unit, f.Records = dpmech.Record, []int{10, 20, 30, 40}
	})
	good := reread(t, w.sealed(t, "a"))
	if _, err := Certificate(w.fleet, good, pins); err != nil || good.Unit != "one record of one client" {
		t.Fatalf("%q: %v", good.Unit, err)
	}
	forged := reread(t, good)
	forged.Spends[0].Unit, forged.Lifetime.Unit = dpmech.Client, dpmech.Client
	for i := range forged.Lifetime.Runs {
		for j := range forged.Lifetime.Runs[i].Spends {
			forged.Lifetime.Runs[i].Spends[j].Unit = dpmech.Client
		}
	}
	forged.Unit, forged.Adjacency = "one client's whole data set", "the data set is replaced by any other"
	head := w.last()
	if err := signed.SealCertificate(forged, memberKey("b"), head, w.held(head, "a")); err != nil {
		t.Fatal(err)
	}
	_, err := Certificate(w.fleet, forged, pins)
	for _, want := range []string{"releases[0].unit: is client, want record", "lifetime.runs[1].releases[0].unit: is client"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// recost recomputes the figures of a certificate from its releases.
func recost(c *certificate.Certificate) {
	sum := func(list []dpmech.Spend) (rho float64, rounds int) {
		for _, s := range list {
			rho, rounds = rho+s.Total().Rho, rounds+s.Rounds
		}
		return rho, rounds
	}
	rho, rounds := sum(c.Spends)
	c.Rounds = rounds
	if life := c.Lifetime; life != nil {
		all := 0.0
		life.Ledger.Seq = 0
		for i := range life.Runs {
			r := &life.Runs[i]
			r.Rho, rounds = sum(r.Spends)
			all += r.Rho
			life.Ledger.Seq += rounds
			if r.Run == c.Run {
				rho = max(rho, r.Rho)
			}
		}
		life.Cost = certificate.CostOf(dpmech.Total{Rho: all, All: all}, c.Delta)
	}
	c.Cost = certificate.CostOf(dpmech.Total{Rho: rho, All: rho}, c.Delta)
}

// TestRefusesForgeries checks that Certificate refuses a certificate that is signed by its member but contradicts the
// fleet, the member's last release or the member's neighbors. [TestEveryFieldIsChecked] changes each field alone.
func TestRefusesForgeries(t *testing.T) {
	w := newAudited(t, nil)
	scope := signed.NewScope(w.fleet.Run, w.fleet.Hash(), "b")
	both := func(s dpmech.Spend) func(*certificate.Certificate) { // replaces a spend in the certificate and in its ledger
		return func(c *certificate.Certificate) {
			c.Spends[0], c.Lifetime.Runs[1].Spends[0] = s, s
			recost(c)
		}
	}
	put := func(c *certificate.Certificate, head signed.Statement) { c.Head = hex.EncodeToString(head.Append(nil)) }
	other := *w.last()
	other.Value[0]++
	other.Sign(memberKey("b"), scope)
	for name, x := range map[string]struct {
		forge func(c *certificate.Certificate)
		want  string
	}{
		"fewer releases": {func(c *certificate.Certificate) { c.Spends[0].Rounds = 1; recost(c) },
			"the ledger has 5 releases of this run, want 1 (the releases in the certificate) plus 0 (reserved_unmade)"},
		"fewer, in the ledger too": {both(dpmech.Spend{First: 1, Rounds: 1, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}),
			"head: is release 7, the last of 5 releases, want the last of 1"},
		"a shorter ledger": {both(dpmech.Spend{First: 1, Rounds: 1, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}),
			"head: refers to ledger {"},
		"one of more noise": {both(dpmech.Spend{First: 1, Rounds: 1, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 800}}),
			"releases[0]: is clip 1 and sigma 800 from round 1 on, want clip 1 and sigma 8 from round 1 on"},
		"more noise": {both(dpmech.Spend{First: 1, Rounds: 5, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 800}}),
			"lifetime.runs[1].releases[0]: is clip 1 and sigma 800"},
		"another clip": {both(dpmech.Spend{First: 1, Rounds: 5, Gaussian: dpmech.Gaussian{Clip: 0.5, Sigma: 8}}),
			"releases[0]: is clip 0.5"},
		"a round left out": {both(dpmech.Spend{First: 2, Rounds: 5, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}),
			"releases[0]: is clip 1 and sigma 8 from round 2 on, want"},
		"too many": {both(dpmech.Spend{First: 1, Rounds: 6, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}}),
			"rounds: is 6 with reserved_unmade, want at most 5"},
		"another run's name": {func(c *certificate.Certificate) { c.Run, c.Lifetime.Runs[1].Run = "x", "x" },
			"run: is x, want ward-study"},
		"a stranger": {func(c *certificate.Certificate) { c.Member, c.Lifetime.Runs[1].Member = "x", "x" },
			"member: is x, want [a b c d]"},
		"another member": {func(c *certificate.Certificate) { c.Member, c.Lifetime.Runs[1].Member = "c", "c" },
			"signature: audit: certificate: it was made with the key"},
		"another limit": {func(c *certificate.Certificate) { c.Limit.Epsilon = 13 },
			"limit: is epsilon 13 at delta 1e-05 (zcdp), want epsilon 12"},
		"no limit":          {func(c *certificate.Certificate) { c.Limit = nil }, "limit: is null, want"},
		"another cool-down": {func(c *certificate.Certificate) { c.Cooldown = 9 }, "cooldown_rounds: is 9, want 2"},
		"nothing taken as public": {func(c *certificate.Certificate) { c.ConditionalOn = []string{} },
			"conditional_on: is empty, want"},
		"less not covered": {func(c *certificate.Certificate) { c.NotCovered = c.NotCovered[1:] }, "not_covered: lacks"},
		"no ledger":        {func(c *certificate.Certificate) { c.Lifetime = nil }, "head: refers to ledger"},
		"a ledger with other lines": {func(c *certificate.Certificate) { c.Lifetime.Ledger.Hash = strings.Repeat("00", 32) },
			"but the certificate's lifetime field refers to ledger {"},
		"a ledger that cannot be": {func(c *certificate.Certificate) {
			r := *w.last()
			r.Ledger.Seq = 1 << 63
			r.Sign(memberKey("b"), scope)
			put(c, r)
		}, "2147483647"},
		"no head": {func(c *certificate.Certificate) { c.Head, c.Countersigned = "", nil },
			"head: is empty, want the signed release 5"},
		"half a head": {func(c *certificate.Certificate) { c.Head = c.Head[:64] },
			"head: signed: [release]: found 32 bytes, want"},
		"a head of before": {func(c *certificate.Certificate) { put(c, w.heads[2]) },
			"head: is release 3, the last of 3 releases, want the last of 5"},
		"a changed head": {func(c *certificate.Certificate) { r := *w.last(); r.Round--; put(c, r) },
			"head: signed: release 6: the signature matches none of the member's keys (2 keys known)"},
		"a head of somebody else": {func(c *certificate.Certificate) { r := *w.last(); r.Sign(memberKey("a"), scope); put(c, r) },
			"head: signed: release 7: the signature matches none"},
		"a head of another run": {func(c *certificate.Certificate) {
			r := *w.last()
			r.Sign(memberKey("b"), signed.NewScope("x", w.fleet.Hash(), "b"))
			put(c, r)
		}, "head: signed: release 7: the signature matches none"},
		"another head": {func(c *certificate.Certificate) { put(c, other) },
			`countersigned[0]: by "a": signed: countersignature of release 7: the signature matches none`},
		"countersigned before": {func(c *certificate.Certificate) {
			c.Countersigned[0].Signature = hex.EncodeToString(w.held(&w.heads[3], "a")["a"])
		}, `countersigned[0]: by "a": signed: countersignature of release 7`},
		"countersigned by no member": {func(c *certificate.Certificate) { c.Countersigned[1].Member = "x" },
			`countersigned[1]: by "x": is not a neighbor, want one of ["a" "c"]`},
		"by a member further away": {func(c *certificate.Certificate) {
			c.Countersigned = append(c.Countersigned, certificate.Countersignature{Member: "d",
				Signature: hex.EncodeToString(w.held(w.last(), "d")["d"])})
		}, `countersigned[2]: by "d": is not a neighbor, want one of ["a" "c"]`},
		"by itself": {func(c *certificate.Certificate) {
			c.Countersigned[0] = certificate.Countersignature{Member: "b", Signature: hex.EncodeToString(w.held(w.last(), "b")["b"])}
		}, `countersigned[0]: by "b": is not a neighbor, want one of ["a" "c"]`},
		"by one for the other": {func(c *certificate.Certificate) { c.Countersigned[1].Signature = c.Countersigned[0].Signature }, `countersigned[1]: by "c": signed: countersignature`},
		"twice": {func(c *certificate.Certificate) { c.Countersigned[1] = c.Countersigned[0] },
			`countersigned[1]: member is "a", want one after "a"`},
		"the head as its holder": {func(c *certificate.Certificate) {
			c.Countersigned[0].Signature = hex.EncodeToString(w.last().Signature[:])
		}, `countersigned[0]: by "a": signed: countersignature`},
	} {
		c := reread(t, w.sealed(t, "a", "c"))
		x.forge(c)
		resign(t, c)
		a, err := Certificate(w.fleet, reread(t, c), pins)
		if err == nil || a != nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

func TestRefusesOtherSignatures(t *testing.T) {
	w := newAudited(t, nil)
	for name, x := range map[string]struct {
		change func(c *certificate.Certificate)
		want   string
	}{
		"changed since": {func(c *certificate.Certificate) { c.ConditionalOn[0] = "nothing" },
			"signature: audit: certificate: the signature matches none of the member's keys"},
		"another key named": {func(c *certificate.Certificate) {
			c.Key = signed.Fingerprint(memberKey("a").Public().(ed25519.PublicKey))
		}, "signature: audit: certificate: it was made with the key"},
		"by a neighbor": {func(c *certificate.Certificate) {
			message, err := c.SignedBytes()
			if err != nil {
				t.Fatal(err)
			}
			c.Signature = hex.EncodeToString(ed25519.Sign(memberKey("a"), message))
		}, "signature: audit: certificate: the signature matches none"},
		"none": {func(c *certificate.Certificate) {
			c.Head, c.Countersigned, c.Signature, c.NotCovered = "", nil, "", append(c.NotCovered, certificate.NotSigned)
		}, `signature: is empty, want one by "b"`},
		"none, unsaid": {func(c *certificate.Certificate) { c.Signature = "" }, "signature: head requires a signature"},
	} {
		c := reread(t, w.sealed(t, "a", "c"))
		x.change(c)
		if _, err := Certificate(w.fleet, reread(t, c), pins); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	good := w.sealed(t, "a")
	if _, err := Certificate(w.fleet, good, func(string) []ed25519.PublicKey { return nil }); err == nil ||
		!strings.Contains(err.Error(), "(0 keys known)") {
		t.Errorf("without keys: %v", err)
	}
	old := *good
	old.Version = 1
	if _, err := Certificate(w.fleet, &old, pins); err == nil || !strings.Contains(err.Error(), "version is 1, want 2") {
		t.Errorf("version 1: %v", err)
	}
	w.fleet.Privacy = sdk.Privacy{NonPrivate: true}
	if _, err := Certificate(w.fleet, good, pins); err == nil ||
		!strings.Contains(err.Error(), "privacy: is NOT PRIVATE in the fleet") {
		t.Errorf("not private: %v", err)
	}
	w.fleet.Run = ""
	if _, err := Certificate(w.fleet, good, pins); err == nil || !strings.Contains(err.Error(), `run is "", want 1..64 bytes`) {
		t.Errorf("no fleet: %v", err)
	}
}

func TestSealCertificateRefuses(t *testing.T) {
	w := newAudited(t, nil)
	for name, x := range map[string]struct {
		key  ed25519.PrivateKey
		head *signed.Statement
		held map[string][]byte
		want string
	}{
		"half a key":        {memberKey("b")[:32], w.last(), nil, "the key has 32 bytes, want 64"},
		"held without head": {memberKey("b"), nil, w.held(w.last(), "a"), "countersigned requires head"},
		"half a signature":  {memberKey("b"), w.last(), map[string][]byte{"a": {1, 2}}, "countersigned[0]: signature is"},
		"a name on no paper": {memberKey("b"), w.last(), map[string][]byte{"a\n": make([]byte, 64)},
			"countersigned[0]: member is"},
	} {
		if err := signed.SealCertificate(w.unsealed(t, auditedRounds), x.key, x.head, x.held); err == nil ||
			!strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}
