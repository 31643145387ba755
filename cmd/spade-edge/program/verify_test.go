package program

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// notary is a fleet of three members on disk, with the ledger for the data of member b and everything that b and its
// neighbors sign in a run.
type notary struct {
	dir    string
	file   *fleetfile.File
	keys   map[string]ed25519.PrivateKey
	ledger *state.Ledger
	head   signed.Statement
}

func newNotary(t *testing.T, unit dpmech.Unit) *notary {
	t.Helper()
	n := &notary{dir: t.TempDir(), keys: map[string]ed25519.PrivateKey{}}
	n.file = &fleetfile.File{Fleet: &sdk.Fleet{
		Run: "study", Dim: 2, Members: []string{"a", "b", "c"}, Edges: [][2]string{{"b", "a"}, {"b", "c"}},
		Method:  sdk.Method{Rounds: 50, Cooldown: 3, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{0.1}, Mu: []float64{0.1}},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 8, Delta: 1e-5, Unit: unit},
	}}
	if unit != dpmech.Client {
		n.file.Fleet.Records = []int{100, 100, 100}
	}
	if unit == dpmech.Person(4, "pid") {
		p := &n.file.Fleet.Privacy
		p.Unit, p.Places, p.Person = dpmech.Record, 4, "pid"
	}
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
	if n.ledger, err = state.CreateLedger(n.path("ledger.json"), "patients", unit, nil, state.NeverUsed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.ledger.Close() })
	return n
}

func (n *notary) path(name string) string { return filepath.Join(n.dir, name) }

// certify records the run of member b in the ledger, applies change to b's certificate, and writes it. The certificate
// has b's signature on the last release and countersignatures by the given neighbors.
func (n *notary) certify(t *testing.T, change func(c *certificate.Certificate), by ...string) string {
	t.Helper()
	f, hash := n.file.Fleet, n.file.Fleet.Hash()
	filter, err := dpmech.NewFilter(nil)
	g := f.Privacy.Gaussian()
	id := runID(f.Run, hash, "b")
	for round := 1; round <= f.Method.Rounds; round++ {
		err = errors.Join(err, n.ledger.Reserve(id, round, g), filter.Reserve(round, g))
	}
	if err != nil {
		t.Fatal(err)
	}
	units := 0
	if f.Records != nil {
		units = f.Records[1]
	}
	c, err := certificate.New(certificate.About{
		RunID: id, Cooldown: f.Method.Cooldown, Members: f.Members, Units: units,
	}, f.Privacy.Delta, filter, n.ledger.Lifetime(f.Privacy.Delta))
	if err != nil {
		t.Fatal(err)
	}
	book, scope := c.Lifetime.Ledger, signed.NewScope(f.Run, hash, "b")
	n.head = signed.Statement{Kind: signed.Release, Round: f.Method.Rounds + f.Method.Cooldown, Ledger: signed.Head{Seq: uint64(book.Seq)}}
	for text, into := range map[string][]byte{book.ID: n.head.Ledger.ID[:], book.Hash: n.head.Ledger.Hash[:]} {
		if _, err := hex.Decode(into, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	n.head.Sign(n.keys["b"], scope)
	c.Head = hex.EncodeToString(n.head.Append(nil))
	c.NotCovered = slices.DeleteFunc(c.NotCovered, func(s string) bool { return s == certificate.NotSigned })
	for _, name := range by {
		c.Countersigned = append(c.Countersigned, certificate.Countersignature{Member: name, Signature: hex.EncodeToString(n.head.Countersign(n.keys[name], scope))})
	}
	if change != nil {
		change(c)
	}
	sign(t, c, n.keys["b"])
	return n.write(t, "certificate.json", c)
}

func sign(t *testing.T, c *certificate.Certificate, key ed25519.PrivateKey) {
	t.Helper()
	c.Key = signed.Fingerprint(key.Public().(ed25519.PublicKey))
	message, err := c.SignedBytes()
	if err != nil {
		t.Fatal(err)
	}
	c.Signature = hex.EncodeToString(ed25519.Sign(key, message))
}

func (n *notary) write(t *testing.T, name string, c *certificate.Certificate) string {
	t.Helper()
	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, n.dir, name, string(text))
}

// TestVerifyWithFleet checks that, with a fleet file, the auditor trusts the keys in this file and sees which neighbors
// countersigned.
func TestVerifyWithFleet(t *testing.T) {
	n := newNotary(t, dpmech.Client)
	cert := n.certify(t, nil, "c")
	v := object[privacy.Verification](t, "-verify", cert, "-fleet", n.path("fleet.json"), "-ledger", n.path("ledger.json"))
	if !v.Verified || !v.LedgerChecked || !slices.Equal(v.Countersigned, []string{"c"}) || !slices.Equal(v.NotCountersigned, []string{"a"}) {
		t.Errorf("%+v", v)
	}
	v = object[privacy.Verification](t, "-verify", cert)
	if v.Verified || v.LedgerChecked || len(v.Countersigned)+len(v.NotCountersigned) != 0 {
		t.Errorf("%+v", v)
	}
}

// TestVerifyWithoutFleet checks that what is said of a certificate without a fleet file ends with what was not checked,
// also if the certificate was edited where no arithmetic notices: what it rests on, and that its noise came from a seed.
func TestVerifyWithoutFleet(t *testing.T) {
	n := newNotary(t, dpmech.Client)
	edited := []string{n.certify(t, func(c *certificate.Certificate) {
		c.Simulated = true
		c.ConditionalOn = append(c.ConditionalOn, "a trial")
	})}
	for _, change := range [][2]string{{`"simulated": true`, `"simulated": false`}, {`"a trial"`, `"nothing"`}} {
		text := strings.Replace(readFile(t, edited[0]), change[0], change[1], 1)
		edited = append(edited, writeFile(t, n.dir, fmt.Sprintf("edited-%d.json", len(edited)), text))
	}
	for i, cert := range edited {
		page := cert + ".html"
		code, out, log := call("privacy", "-verify", cert, "-ledger", n.path("ledger.json"), "-report", page)
		if code != cli.ExitDone || !regexp.MustCompile(`\nverdict        (ONLY THE ARITHMETIC WAS CHECKED|SIMULATED): `).MatchString(out) || strings.Contains(out, "VERIFIED: ") {
			t.Errorf("exit code %d\n%s%s", code, out, log)
		}
		report := readFile(t, page)
		if !regexp.MustCompile(`(ONLY THE ARITHMETIC WAS CHECKED|SIMULATED: protects nobody)</p>`).MatchString(report) || strings.Contains(report, "Verified for these keys") {
			t.Errorf("%d: another badge: %s", i, report)
		}
		if code, out, _ := call("privacy", "-verify", cert, "-fleet", n.path("fleet.json")); (code == cli.ExitDone) != (i == 0) {
			t.Errorf("%d: with the fleet file: exit code %d\n%s", i, code, out)
		}
	}
}

// TestVerifyNamesPersons checks that the certificate and the report of a run that protects persons name them, and never
// records.
func TestVerifyNamesPersons(t *testing.T) {
	unit := dpmech.Person(4, "pid")
	n := newNotary(t, unit)
	cert, page := n.certify(t, nil, "c"), n.path("report.html")
	code, out, log := call("privacy", "-verify", cert, "-fleet", n.path("fleet.json"), "-ledger", n.path("ledger.json"), "-report", page)
	text := strings.Join(strings.Fields(out), " ") + readFile(t, page)
	if code != cli.ExitDone || strings.Contains(text, "record") || strings.Count(text, unit.String()) < 7 {
		t.Errorf("exit code %d, %d times %v, %d records\n%s", code, strings.Count(text, unit.String()), unit, strings.Count(text, "record"), log)
	}
}

// TestVerifyRefusesForgeries checks that a forged certificate is refused with an error that describes the forgery.
func TestVerifyRefusesForgeries(t *testing.T) {
	t.Parallel()
	n := newNotary(t, dpmech.Client)
	fleet, ledger := n.path("fleet.json"), n.path("ledger.json")
	refused := func(name, cert string, want string, args ...string) {
		t.Helper()
		code, out, log := call(append([]string{"privacy", "-verify", cert}, args...)...)
		if code != cli.ExitFailed || out != "" || !strings.Contains(log, want) {
			t.Errorf("%s: exit code %d, want 1 with %q\n%s%s", name, code, want, out, log)
		}
	}
	// one(sigma, whole) returns a function that changes a certificate: it replaces all releases of the run with a
	// single release with noise sigma and, if whole is true, makes the same change to the lifetime.
	one := func(sigma float64, whole bool) func(c *certificate.Certificate) {
		return func(c *certificate.Certificate) {
			c.Spends, c.Rounds = []dpmech.Spend{{First: 1, Rounds: 1, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: sigma}}}, 1
			if c.Cost = certificate.CostOf(c.Spends[0].Total(), c.Delta); whole {
				c.Lifetime.Runs[0].Spends, c.Lifetime.Runs[0].Rho = c.Spends, c.Rho
				c.Lifetime.Cost, c.Lifetime.Ledger.Seq = c.Cost, 1
			}
		}
	}
	// Fifty releases are replaced with a single release with a hundred times the noise. The forgery is detected without
	// other files, with the ledger, and with the fleet file.
	const renoised = "and sigma 800, want 50 rounds from round 1 on with clip 1 and sigma 8 as in the ledger"
	cert := n.certify(t, one(800, false), "a")
	refused("one of more noise", cert, renoised)
	refused("one of more noise", cert, renoised, "-ledger", ledger)
	refused("one of more noise", cert, renoised, "-fleet", fleet)
	refused("one of more noise", cert, renoised, "-fleet", fleet, "-ledger", ledger)
	refused("fewer", n.certify(t, one(8, false), "a"), "the ledger has 50 releases of this run, want 1 (the releases in the certificate)")
	// If the lifetime is also forged, the certificate is consistent in itself, but agrees with neither the fleet file
	// nor the ledger.
	cert = n.certify(t, one(800, true), "a")
	refused("the ledger too", cert, "was changed after it was written", "-ledger", ledger)
	refused("the ledger too", cert, "releases[0]: is clip 1 and sigma 800 from round 1 on, want clip 1 and sigma 8", "-fleet", fleet)
	refused("fewer, the ledger too", n.certify(t, one(8, true), "a"), "head: is release 53, the last of 50 releases, want the last of 1", "-fleet", fleet)

	// A new ledger of b is not the ledger named in the head of the certificate, even if it counts the same releases.
	good := n.certify(t, nil, "a")
	other := newNotary(t, dpmech.Client)
	other.file, other.keys = n.file, n.keys
	second := other.certify(t, func(c *certificate.Certificate) { c.Head = hex.EncodeToString(n.head.Append(nil)) })
	refused("another ledger", good, "this is a different ledger", "-ledger", other.path("ledger.json"))
	refused("another ledger", second, "head: refers to ledger", "-fleet", fleet, "-ledger", other.path("ledger.json"))
	for name, change := range map[string]func(f *sdk.Fleet){
		`fleet.json is of run "trial" with the fleet hash`: func(f *sdk.Fleet) { f.Run = "trial" }, "delta: is 1e-05, want 1e-06": func(f *sdk.Fleet) { f.Privacy.Delta = 1e-6 },
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

	// A certificate without a signature does not prove who wrote it.
	unsigned := n.certify(t, func(c *certificate.Certificate) {
		c.Head, c.Countersigned, c.NotCovered = "", nil, append(c.NotCovered, certificate.NotSigned)
	})
	c, err := certificate.Parse([]byte(readFile(t, unsigned)))
	if err != nil {
		t.Fatal(err)
	}
	c.Signature, c.Key = "", ""
	refused("unsigned", n.write(t, "unsigned.json", c), `signature: is empty, want one by "b"`, "-fleet", fleet)
	c.Signature, c.Key = strings.Repeat("00", 64), signed.Fingerprint(n.keys["b"].Public().(ed25519.PublicKey))
	refused("no signature", n.write(t, "zero.json", c), "signature: certificate: the signature matches none of the member's keys", "-fleet", fleet)

	// The ledger has recorded another release of this run since the certificate was written.
	good = n.certify(t, nil, "a")
	f := n.file.Fleet
	if err := n.ledger.Reserve(runID(f.Run, f.Hash(), "b"), 51, dpmech.Gaussian{Clip: 1, Sigma: 8}); err != nil {
		t.Fatal(err)
	}
	refused("older", good, "has 1 further releases of this run", "-ledger", ledger)
}

func runID(run string, fleet [32]byte, member string) certificate.RunID {
	return certificate.RunID{Run: run, Fleet: hex.EncodeToString(fleet[:]), Member: member}
}
