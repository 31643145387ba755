package program

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// notary is a fleet of three on disk, with a ledger of b's data and everything that b and its neighbors sign in a run.
type notary struct {
	dir    string
	file   *fleetfile.File
	keys   map[string]ed25519.PrivateKey
	ledger *state.Ledger
	head   signed.Statement
}

func newNotary(t *testing.T) *notary {
	t.Helper()
	n := &notary{dir: t.TempDir(), keys: map[string]ed25519.PrivateKey{}}
	n.file = &fleetfile.File{Fleet: &sdk.Fleet{
		Run: "study", Dim: 2, Members: []string{"a", "b", "c"}, Edges: [][2]string{{"b", "a"}, {"b", "c"}},
		Method:  sdk.Method{Rounds: 50, Cooldown: 3, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{0.1}, Mu: []float64{0.1}},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 8, Delta: 1e-5},
	}}
	for _, name := range n.file.Fleet.Members {
		public, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		n.keys[name] = private
		n.file.Members = append(n.file.Members, fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{public}, Addresses: []string{"wss://" + name + ".example/"}})
	}
	if err := n.file.Write(n.path("fleet.json")); err != nil {
		t.Fatal(err)
	}
	var err error
	if n.ledger, err = state.CreateLedger(n.path("ledger.json"), "patients", nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.ledger.Close() })
	return n
}

func (n *notary) path(name string) string { return filepath.Join(n.dir, name) }

// certify records b's run in the ledger and writes its certificate with the countersignatures of neighbors.
func (n *notary) certify(t *testing.T, change func(c *dpmech.Certificate), by ...string) string {
	t.Helper()
	f := n.file.Fleet
	filter, err := dpmech.NewFilter(nil)
	if err != nil {
		t.Fatal(err)
	}
	g := dpmech.Gaussian{Clip: f.Privacy.Clip, Sigma: f.Privacy.Sigma, Unit: f.Privacy.Unit}
	for round := 1; round <= f.Method.Rounds; round++ {
		if err := n.ledger.Reserve(f.Run, f.Hash(), "b", round, g); err != nil {
			t.Fatal(err)
		}
		if err := filter.Reserve(round, g); err != nil {
			t.Fatal(err)
		}
	}
	hash, scope := f.Hash(), signed.NewScope(f.Run, f.Hash(), "b")
	about := dpmech.About{
		RunID: dpmech.RunID{Run: f.Run, Fleet: hex.EncodeToString(hash[:]), Member: "b"}, Sampler: "exact", Cooldown: f.Method.Cooldown,
	}
	c, err := dpmech.NewCertificate(about, f.Privacy.Delta, filter, n.ledger.Lifetime(f.Privacy.Delta))
	if err != nil {
		t.Fatal(err)
	}
	n.head = signHead(t, c, n.keys["b"], f)
	for _, name := range by {
		c.Countersigned = append(c.Countersigned, dpmech.Countersignature{Member: name, Signature: hex.EncodeToString(n.head.Countersign(n.keys[name], scope))})
	}
	if change != nil {
		change(c)
	}
	sign(t, c, n.keys["b"])
	return n.write(t, "certificate.json", c)
}

// signHead signs the last release of a completed run, with the ledger of its certificate, and adds it to the
// certificate.
func signHead(t *testing.T, c *dpmech.Certificate, key ed25519.PrivateKey, f *sdk.Fleet) signed.Statement {
	t.Helper()
	state := c.Lifetime.Ledger
	head := signed.Statement{Kind: signed.Release, Round: f.Method.Rounds + f.Method.Cooldown, Ledger: signed.Head{Seq: uint64(state.Seq)}}
	for text, into := range map[string][]byte{state.ID: head.Ledger.ID[:], state.Hash: head.Ledger.Hash[:]} {
		if _, err := hex.Decode(into, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	head.Sign(key, signed.NewScope(f.Run, f.Hash(), c.Member))
	c.Head = hex.EncodeToString(head.Append(nil))
	c.NotCovered = slices.DeleteFunc(c.NotCovered, func(s string) bool { return s == dpmech.NotSigned })
	return head
}

func sign(t *testing.T, c *dpmech.Certificate, key ed25519.PrivateKey) {
	t.Helper()
	message, err := c.SignedBytes()
	if err != nil {
		t.Fatal(err)
	}
	c.Signature = hex.EncodeToString(ed25519.Sign(key, message))
}

// signFile signs the certificate of a completed run if the node has not.
func signFile(t *testing.T, path, fleet, key string) {
	t.Helper()
	c, err := dpmech.ParseCertificate([]byte(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	if c.Signature != "" {
		return
	}
	file, err := fleetfile.Read(fleet)
	if err != nil {
		t.Fatal(err)
	}
	private, err := fleetfile.ReadKey(key)
	if err != nil {
		t.Fatal(err)
	}
	signHead(t, c, private, file.Fleet)
	sign(t, c, private)
	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (n *notary) write(t *testing.T, name string, c *dpmech.Certificate) string {
	t.Helper()
	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.path(name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return n.path(name)
}

// With a fleet file the auditor trusts its keys and sees who countersigned.
func TestVerifyWithFleet(t *testing.T) {
	n := newNotary(t)
	cert, fleet, ledger := n.certify(t, nil, "c"), n.path("fleet.json"), n.path("ledger.json")
	v := object[privacy.Verification](t, "-verify", cert, "-fleet", fleet, "-ledger", ledger)
	if !v.Verified || !v.FleetChecked || !v.LedgerChecked || !slices.Equal(v.Countersigned, []string{"c"}) || !slices.Equal(v.NotCountersigned, []string{"a"}) {
		t.Errorf("%+v", v)
	}
	v = object[privacy.Verification](t, "-verify", cert)
	if !v.Verified || v.FleetChecked || v.LedgerChecked || len(v.Countersigned)+len(v.NotCountersigned) != 0 {
		t.Errorf("%+v", v)
	}
	says := func(want []string, not string, args ...string) {
		t.Helper()
		code, out, log := call(append([]string{"privacy", "-verify", cert}, args...)...)
		for _, w := range want {
			if code != cli.ExitDone || !strings.Contains(out, w) {
				t.Errorf("%v: exit code %d, no %q in\n%s%s", args, code, w, out, log)
			}
		}
		if strings.Contains(out, not) {
			t.Errorf("%v: %q in\n%s", args, not, out)
		}
	}
	says([]string{`verified: signed with the key that ` + fleet + ` has for "b"`, `countersigned by "c": each holds`, `not countersigned by "a"`}, "Nothing here shows", "-fleet", fleet)
	says([]string{"consistent: every figure", "Nothing here shows who wrote the certificate"}, "verified: signed", "-ledger", ledger)
	n.certify(t, nil)
	says([]string{"countersigned by nobody: only the member itself says that no release is left out", `not countersigned by "a", "c"`}, "each holds", "-fleet", fleet)

	// A retired key still verifies what it signed; a removed key does not.
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	old := n.file.Members[1].Keys
	n.file.Members[1].Keys, n.file.Members[1].Retired = []ed25519.PublicKey{public}, old
	if err := n.file.Write(n.path("rotated.json")); err != nil {
		t.Fatal(err)
	}
	says([]string{"verified: signed"}, "consistent", "-fleet", n.path("rotated.json"))
	n.file.Members[1].Retired = nil
	if err := n.file.Write(n.path("forgotten.json")); err != nil {
		t.Fatal(err)
	}
	if code, _, log := call("privacy", "-verify", cert, "-fleet", n.path("forgotten.json")); code != cli.ExitFailed || !strings.Contains(log, "by none of the member's keys") {
		t.Errorf("exit code %d: %s", code, log)
	}
}

// The error for a forgery names it.
func TestVerifyRefusesForgeries(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	fleet, ledger := n.path("fleet.json"), n.path("ledger.json")
	refused := func(name, cert string, want string, args ...string) {
		t.Helper()
		code, out, log := call(append([]string{"privacy", "-verify", cert}, args...)...)
		if code != cli.ExitFailed || out != "" || !strings.Contains(log, want) {
			t.Errorf("%s: exit code %d, want 1 with %q\n%s%s", name, code, want, out, log)
		}
	}
	one := func(sigma float64) func(c *dpmech.Certificate) {
		return func(c *dpmech.Certificate) {
			c.Spends, c.Rounds = []dpmech.Spend{{First: 1, Rounds: 1, Clip: 1, Sigma: sigma}}, 1
			c.Cost = dpmech.CostOf(c.Spends[0].Total(), c.Delta)
		}
	}
	// Fifty releases rewritten as one with a hundred times the noise: alone, with the ledger, with the fleet file.
	const renoised = "with clip 1 and sigma 800, want 50 rounds from 1 on with clip 1 and sigma 8 as in the ledger"
	cert := n.certify(t, one(800), "a")
	refused("one of more noise", cert, renoised)
	refused("one of more noise", cert, renoised, "-ledger", ledger)
	refused("one of more noise", cert, renoised, "-fleet", fleet)
	refused("one of more noise", cert, renoised, "-fleet", fleet, "-ledger", ledger)
	refused("fewer", n.certify(t, one(8), "a"), "the ledger has 50 releases of this run, and the certificate 1")
	// With the lifetime rewritten too, it agrees with itself, but with neither fleet file nor ledger.
	whole := func(sigma float64) func(c *dpmech.Certificate) {
		return func(c *dpmech.Certificate) {
			one(sigma)(c)
			c.Lifetime.Runs[0].Spends, c.Lifetime.Runs[0].Rho = c.Spends, c.Rho
			c.Lifetime.Cost, c.Lifetime.Ledger.Seq = c.Cost, 1
		}
	}
	cert = n.certify(t, whole(800), "a")
	refused("the ledger too", cert, "not the one that was written there", "-ledger", ledger)
	refused("the ledger too", cert, "releases[0]: is clip 1 and sigma 800 from round 1 on, want clip 1 and sigma 8", "-fleet", fleet)
	refused("fewer, the ledger too", n.certify(t, whole(8), "a"), "head: is release 53, after 50 releases, want the last of 1", "-fleet", fleet)

	// A new ledger of b for the same releases is not the one that the head names.
	good := n.certify(t, nil, "a")
	other := newNotary(t)
	other.file, other.keys = n.file, n.keys
	second := other.certify(t, func(c *dpmech.Certificate) { c.Head = hex.EncodeToString(n.head.Append(nil)) })
	refused("another ledger", good, "another ledger", "-ledger", other.path("ledger.json"))
	refused("another ledger", second, "head: it names ledger", "-fleet", fleet, "-ledger", other.path("ledger.json"))
	for name, change := range map[string]func(f *sdk.Fleet){
		"run: is study, want trial": func(f *sdk.Fleet) { f.Run = "trial" }, "delta: is 1e-05, want 1e-06": func(f *sdk.Fleet) { f.Privacy.Delta = 1e-6 },
		"rounds: is 50 with reserved_unmade, want at most 49": func(f *sdk.Fleet) { f.Method.Rounds = 49 }, "fleet: is": func(f *sdk.Fleet) { f.Dim = 3 },
	} {
		fleet := *n.file.Fleet
		change(&fleet)
		path := filepath.Join(t.TempDir(), "fleet.json")
		if err := (&fleetfile.File{Fleet: &fleet, Members: n.file.Members}).Write(path); err != nil {
			t.Fatal(err)
		}
		refused("another fleet", good, name, "-fleet", path)
	}

	// A certificate without a signature does not show who wrote it.
	unsigned := n.certify(t, func(c *dpmech.Certificate) {
		c.Head, c.Countersigned, c.NotCovered = "", nil, append(c.NotCovered, dpmech.NotSigned)
	})
	c, err := dpmech.ParseCertificate([]byte(readFile(t, unsigned)))
	if err != nil {
		t.Fatal(err)
	}
	c.Signature = ""
	refused("unsigned", n.write(t, "unsigned.json", c), `signature: is empty, want one by "b"`, "-fleet", fleet)
	c.Signature = strings.Repeat("00", 64)
	refused("no signature", n.write(t, "zero.json", c), "signature: certificate: the signature is by none of the member's keys", "-fleet", fleet)

	// The ledger has since continued with this run.
	good = n.certify(t, nil, "a")
	f := n.file.Fleet
	if err := n.ledger.Reserve(f.Run, f.Hash(), "b", 51, dpmech.Gaussian{Clip: 1, Sigma: 8}); err != nil {
		t.Fatal(err)
	}
	refused("older", good, "the ledger has 1 further releases of this run", "-ledger", ledger)
}
