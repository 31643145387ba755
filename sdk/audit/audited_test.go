package audit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// audited is a fleet of four members with the ledger of member "b", whose neighbors are "a" and "c".
type audited struct {
	fleet  *sdk.Fleet
	ledger *state.Ledger
	heads  []signed.Statement // signed releases of b, in order
	blank  []int              // rounds whose releases have no pairwise noise, although other releases do
}

const auditedRounds = 5

func memberKey(name string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte(name[:1]), ed25519.SeedSize))
}

// pins returns the valid keys of a member: an old key, and the key with which the member signs.
func pins(member string) []ed25519.PublicKey {
	if !slices.Contains([]string{"a", "b", "c", "d"}, member) {
		return nil
	}
	return []ed25519.PublicKey{memberKey("z" + member).Public().(ed25519.PublicKey),
		memberKey(member).Public().(ed25519.PublicKey)}
}

// newAudited returns a fleet, altered by change, in which member "b" has signed all its releases. It does not run the
// method, because signatures do not depend on the models. The argument blank lists the rounds whose releases have no
// pairwise noise.
func newAudited(t testing.TB, change func(f *sdk.Fleet), blank ...int) *audited {
	t.Helper()
	f := &sdk.Fleet{
		Run: "ward-study", Dim: 3, Members: []string{"a", "b", "c", "d"},
		Edges: [][2]string{{"b", "a"}, {"b", "c"}, {"c", "d"}},
		Method: sdk.Method{Rounds: auditedRounds, Cooldown: 2, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{0.1},
			Mu: []float64{0.1}},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 8, Delta: 1e-5, EpsilonLimit: 12, Accounting: dpmech.ZCDP},
		Task:    json.RawMessage(`{"fitted_on": "the public cohort of 2019"}`),
	}
	if change != nil {
		change(f)
	}
	if _, err := f.Plan(); err != nil {
		t.Fatal(err)
	}
	l, err := state.CreateLedger(filepath.Join(t.TempDir(), "patients.ledger"), "patients", f.Privacy.Protects(), nil, state.NeverUsed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &audited{fleet: f, ledger: l, blank: blank}
	w.reserve(t, "earlier", 1, 3)
	for round := 1; round <= f.Method.Last(); round++ {
		w.release(t, round)
	}
	return w
}

func (w *audited) gaussian(round int) dpmech.Gaussian {
	g := w.fleet.Privacy.Gaussian()
	if slices.Contains(w.blank, round) {
		return g.Alone()
	}
	return g
}

func (w *audited) reserve(t testing.TB, run string, from, to int) {
	t.Helper()
	for round := from; round <= to; round++ {
		if err := w.ledger.Reserve(runID(run, w.fleet.Hash(), "b"), round, w.gaussian(round)); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *audited) release(t testing.TB, round int) {
	t.Helper()
	if round <= w.fleet.Method.Rounds {
		w.reserve(t, w.fleet.Run, round, round)
	}
	scope := signed.NewScope(w.fleet.Run, w.fleet.Hash(), "b")
	r := signed.Statement{Kind: signed.Release, Round: round, Value: signed.Digest(nil, []int32{int32(round)}),
		Ledger: ledgerHead(t, w.ledger)}
	if n := len(w.heads); n > 0 {
		r.Prev = w.heads[n-1].ID(scope)
	}
	r.Sign(memberKey("b"), scope)
	w.heads = append(w.heads, r)
}

func ledgerHead(t testing.TB, l *state.Ledger) signed.Head {
	t.Helper()
	head, err := signed.NewHead(l.Head())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func (w *audited) held(head *signed.Statement, members ...string) map[string][]byte {
	all := map[string][]byte{}
	for _, name := range members {
		all[name] = head.Countersign(memberKey(name), signed.NewScope(w.fleet.Run, w.fleet.Hash(), "b"))
	}
	return all
}

// unsealed returns the unsigned certificate of member "b" for the given number of releases.
func (w *audited) unsealed(t testing.TB, made int) *certificate.Certificate {
	t.Helper()
	var releases dpmech.Spends
	for round := 1; round <= made; round++ {
		var err error
		if releases, err = releases.With(round, w.gaussian(round), w.fleet.Privacy.Limit()); err != nil {
			t.Fatal(err)
		}
	}
	about := certificate.About{
		RunID: runID(w.fleet.Run, w.fleet.Hash(), "b"), Members: w.fleet.Members, Began: "2026-01-02T10:00:00Z", Ended: "2026-01-02T11:30:00Z",
		Cooldown:      w.fleet.Method.Cooldown,
		ConditionalOn: []string{"preprocessing given in the fleet file, fitted on the public cohort of 2019"},
	}
	if w.fleet.Records != nil {
		about.Units = w.fleet.Records[1]
	}
	c, err := certificate.New(about, w.fleet.Privacy.Delta, releases, w.fleet.Privacy.Limit(), w.ledger.Lifetime(w.fleet.Privacy.Delta))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *audited) last() *signed.Statement { return &w.heads[len(w.heads)-1] }

func (w *audited) sealed(t testing.TB, members ...string) *certificate.Certificate {
	t.Helper()
	c := w.unsealed(t, auditedRounds)
	if err := signed.SealCertificate(c, memberKey("b"), w.last(), w.held(w.last(), members...)); err != nil {
		t.Fatal(err)
	}
	return c
}

// resign signs a certificate again after a change, as a cheating member can.
func resign(t testing.TB, c *certificate.Certificate) {
	t.Helper()
	message, err := c.SignedBytes()
	if err != nil {
		t.Fatal(err)
	}
	c.Signature = hex.EncodeToString(ed25519.Sign(memberKey("b"), message))
}

// reread returns a copy of a certificate, made by formatting it as text and parsing the text.
func reread(t testing.TB, c *certificate.Certificate) *certificate.Certificate {
	t.Helper()
	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	back, err := certificate.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func runID(run string, fleet [32]byte, member string) certificate.RunID {
	return certificate.RunID{Run: run, Fleet: hex.EncodeToString(fleet[:]), Member: member}
}
