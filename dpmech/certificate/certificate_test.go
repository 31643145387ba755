package certificate

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

func aboutRun(run string) About {
	return About{
		RunID:   RunID{Run: run, Fleet: hex.EncodeToString(fleetA[:]), Member: "a"},
		Members: []string{"a", "b"}, Began: "2026-01-02T10:00:00Z", Ended: "2026-01-02T10:05:00Z",
		Cooldown: 10, ConditionalOn: []string{"standardisation of 5 columns", "partition by clinic"},
	}
}

// times returns a number of releases from the first round on.
func times(n int, g dpmech.Gaussian) dpmech.Spends {
	if n == 0 {
		return nil
	}
	return dpmech.Spends{{First: 1, Rounds: n, Gaussian: g}}
}

// certify makes releases with two sets of parameters, counted in a ledger that already has another run, and returns
// their certificate and the ledger.
func certify(t testing.TB) (*Certificate, *testLedger) {
	t.Helper()
	l := newLedger(t, &dpmech.Limit{Epsilon: 40, Delta: 1e-6, Accounting: dpmech.ZCDP})
	reserve(t, l, "tuning", 1, 4)
	releases := append(times(5, noisy), dpmech.Spend{First: 6, Rounds: 4, Gaussian: dpmech.Gaussian{Clip: 0.5, Sigma: 3}})
	for _, s := range releases {
		for round := s.First; round <= s.Last(); round++ {
			if err := l.Reserve("final", fleetA, "a", round, s.Gaussian); err != nil {
				t.Fatal(err)
			}
		}
	}
	limit := &dpmech.Limit{Epsilon: 12, Delta: 1e-5, Accounting: dpmech.GDP}
	c, err := New(aboutRun("final"), 1e-5, releases, limit, l.lifetime(1e-5))
	if err != nil {
		t.Fatal(err)
	}
	return c, l
}

// TestCertificate compares the numbers of a certificate with manual calculations, and checks that a round trip through
// JSON changes nothing.
func TestCertificate(t *testing.T) {
	c, l := certify(t)
	rho := 5*2/64. + 4*2*0.25/9
	lifetimeRho := rho + 4*2/64.
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"rho", c.Rho, rho}, {"mu", c.Mu, math.Sqrt(2 * rho)}, {"epsilon_gdp", c.EpsilonGDP, dpmech.GDP.Epsilon(rho, 1e-5)},
		{"epsilon_zcdp", c.EpsilonZCDP, dpmech.ZCDP.Epsilon(rho, 1e-5)},
		{"epsilon_paper", c.EpsilonPaper, rho + 2*math.Sqrt(rho*math.Log(1e5))},
		{"epsilon_zero_out", c.EpsilonZeroOut, dpmech.GDP.Epsilon(rho/4, 1e-5)}, // half the sensitivity
		{"lifetime rho", c.Lifetime.Rho, lifetimeRho},
		{"lifetime epsilon_gdp", c.Lifetime.EpsilonGDP, dpmech.GDP.Epsilon(lifetimeRho, 1e-5)},
	} {
		if math.Abs(x.got/x.want-1) > 1e-9 {
			t.Errorf("%s is %v, want %v", x.name, x.got, x.want)
		}
	}
	if c.Rounds != 9 || len(c.Spends) != 2 || len(c.Lifetime.Runs) != 2 || c.Lifetime.Ledger != l.head() {
		t.Errorf("%+v", c)
	}
	first, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := back.Verify(); err != nil {
		t.Error(err)
	}
	if again, err := back.JSON(); err != nil || !bytes.Equal(again, first) {
		t.Errorf("%s became %s (%v)", first, again, err)
	}
	var compact bytes.Buffer // JSON with other white space is the same certificate
	if err := json.Compact(&compact, first); err != nil {
		t.Fatal(err)
	}
	if back, err = Parse(compact.Bytes()); err != nil || back.Verify() != nil {
		t.Error(err)
	}
}

func clone(t testing.TB, c *Certificate) *Certificate {
	t.Helper()
	b, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	c, err = Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCertificateFaults checks that Verify detects any change to a certificate and names the changed field.
func TestCertificateFaults(t *testing.T) {
	good, _ := certify(t)
	signed := func(key string) func(c *Certificate) {
		return func(c *Certificate) { c.Signature, c.Key = strings.Repeat("00", 64), key }
	}
	for name, c := range map[string]struct {
		change func(c *Certificate)
		want   string
	}{
		"version":               {func(c *Certificate) { c.Version = 3 }, "version is 3, want 2"},
		"unit":                  {func(c *Certificate) { c.Unit = "one record" }, `unit: is "one record"`},
		"adjacency":             {func(c *Certificate) { c.Adjacency = "" }, "adjacency"},
		"run":                   {func(c *Certificate) { c.Run = "" }, "run has 0 bytes"},
		"another run":           {func(c *Certificate) { c.Run = "other" }, "not in the ledger"},
		"member":                {func(c *Certificate) { c.Member = "b\n" }, "member"},
		"fleet":                 {func(c *Certificate) { c.Fleet = "12" }, "fleet hash"},
		"members":               {func(c *Certificate) { c.Members = []string{"b"} }, `members: is ["b"], want a list with "a"`},
		"a member twice":        {func(c *Certificate) { c.Members = []string{"a", "a"} }, `members[1]: "a" is given twice`},
		"units":                 {func(c *Certificate) { c.Units = -1 }, "units: is -1"},
		"began":                 {func(c *Certificate) { c.Began = "" }, "began is \"\", want a time"},
		"ended":                 {func(c *Certificate) { c.Ended = "2025-01-02T10:05:00Z" }, "ended: is 2025-01-02T10:05:00Z, want a time after"},
		"time zone":             {func(c *Certificate) { c.Ended = "2026-01-02T11:05:00+02:00" }, "want UTC"},
		"key":                   {func(c *Certificate) { c.Key = "12345 67890 12345 67890 12345 67890" }, "key: is "},
		"key of 5 groups":       {signed("12345 67890 12345 67890 12345"), "key: is "},
		"key with a letter":     {signed("12345 67890 12345 67890 12345 6789a"), "key: is "},
		"key of one long group": {signed("12345 67890 12345 67890 12345067890"), "key: is "},
		"cooldown":              {func(c *Certificate) { c.Cooldown = -1 }, "cooldown_rounds"},
		"slack":                 {func(c *Certificate) { c.Slack = 1e-9 }, "slack"},
		"not covered":           {func(c *Certificate) { c.NotCovered = c.NotCovered[1:] }, "timing"},
		"delta":                 {func(c *Certificate) { c.Delta = 0 }, "delta"},
		"another delta":         {func(c *Certificate) { c.Delta = 1e-4 }, "epsilon_gdp is stated"},
		"rounds":                {func(c *Certificate) { c.Rounds = 8 }, "rounds: is 8, want 9, the number of releases"},
		"sigma":                 {func(c *Certificate) { c.Spends[0].Sigma = 7.999 }, "rho is stated"},
		"bad sigma":             {func(c *Certificate) { c.Spends[1].Sigma = math.Inf(1) }, "releases[1]: sigma"},
		"order":                 {func(c *Certificate) { c.Spends[1].First = 5 }, "want a round after 5"},
		"no releases":           {func(c *Certificate) { c.Spends = nil }, "that are missing from the certificate"},
		"rho low":               {func(c *Certificate) { c.Rho = math.Nextafter(c.Rho, 0) }, "rho is stated"},
		"rho high":              {func(c *Certificate) { c.Rho *= 1 + 1e-5 }, "only"},
		"rho NaN":               {func(c *Certificate) { c.Rho = math.NaN() }, "rho is stated"},
		"mu":                    {func(c *Certificate) { c.Mu /= math.Sqrt2 }, "mu is stated"},
		"paper":                 {func(c *Certificate) { c.EpsilonPaper *= 1 - 1e-9 }, "epsilon_paper is stated"},
		"zcdp":                  {func(c *Certificate) { c.EpsilonZCDP *= 1 - 1e-9 }, "epsilon_zcdp is stated"},
		"gdp":                   {func(c *Certificate) { c.EpsilonGDP *= 1 - 1e-9 }, "epsilon_gdp is stated"},
		"limit":                 {func(c *Certificate) { c.Limit.Epsilon = 2 }, "want at most 2"},
		"bad limit":             {func(c *Certificate) { c.Limit.Delta = 1 }, "limit: delta is 1"},
		"lifetime rho":          {func(c *Certificate) { c.Lifetime.Rho /= 2 }, "lifetime: rho is stated"},
		"lifetime delta":        {func(c *Certificate) { c.Lifetime.Delta = 1e-4 }, "lifetime: delta"},
		"lifetime limit":        {func(c *Certificate) { c.Lifetime.Limit.Epsilon = 1 }, "lifetime: limit: epsilon with zcdp accounting"},
		"lifetime data set":     {func(c *Certificate) { c.Lifetime.Dataset = "" }, "lifetime: data set"},
		"lifetime created":      {func(c *Certificate) { c.Lifetime.Created = "\x1b[2J" }, "created is"},
		"terminal codes":        {func(c *Certificate) { c.ConditionalOn[1] = "\x1b[2J" }, "conditional_on[1]"},
		"long text":             {func(c *Certificate) { c.NotCovered[0] = strings.Repeat("x", 3000) }, "not_covered[0]"},
		"lifetime id":           {func(c *Certificate) { c.Lifetime.Ledger.ID = "0" }, "lifetime: ledger: ledger id"},
		"lifetime hash":         {func(c *Certificate) { c.Lifetime.Ledger.Hash = "" }, "ledger hash"},
		"lifetime seq":          {func(c *Certificate) { c.Lifetime.Ledger.Seq++ }, "seq is 14, want 13, the number of entries"},
		"run left out":          {func(c *Certificate) { c.Lifetime.Runs = c.Lifetime.Runs[1:] }, "seq"},
		"own left out":          {func(c *Certificate) { c.Lifetime.Runs = c.Lifetime.Runs[:1] }, "not in the ledger"},
		"run twice": {func(c *Certificate) { c.Lifetime.Runs = append(c.Lifetime.Runs, c.Lifetime.Runs[0]) },
			"given twice"},
		"run of another": {func(c *Certificate) { c.Lifetime.Runs[0].Fleet = "x" }, "runs[0]: fleet hash"},
		"run's rho":      {func(c *Certificate) { c.Lifetime.Runs[0].Rho /= 2 }, "runs[0]: rho is stated"},
		"run's sigma":    {func(c *Certificate) { c.Lifetime.Runs[0].Spends[0].Sigma = 0 }, "runs[0]: releases[0]: sigma"},
		"zero-out":       {func(c *Certificate) { c.EpsilonZeroOut *= 1 - 1e-9 }, "epsilon_zero_out is stated"},
		"who wrote it": {func(c *Certificate) { c.NotCovered = c.NotCovered[:len(c.NotCovered)-1] },
			"it is not signed"},
		"unmade": {func(c *Certificate) { c.ReservedUnmade = 1 },
			"the ledger has 9 releases of this run, want 9 (the releases in the certificate) plus 1 (reserved_unmade)"},
		"minus unmade": {func(c *Certificate) { c.ReservedUnmade = -1 }, "plus -1 (reserved_unmade)"},
		"unmade, no ledger": {func(c *Certificate) { c.ReservedUnmade, c.Lifetime = 2, nil },
			"reserved_unmade: is 2, want 0"},
		"head alone": {func(c *Certificate) { c.Head = "00" }, "signature: head requires a signature"},
		"head":       {func(c *Certificate) { c.Head = "0G" }, "head: the release is"},
		"signature":  {func(c *Certificate) { c.Signature = "00" }, "signature: the signature is"},
		"countersigned": {func(c *Certificate) { c.Countersigned = []Countersignature{{"b", "00"}} },
			"countersigned[0]: signature is"},
		"by nobody": {func(c *Certificate) { c.Countersigned = []Countersignature{{"", ""}} },
			"countersigned[0]: member has 0 bytes"},
		"of no head": {func(c *Certificate) { c.Countersigned = []Countersignature{{"b", "00"}} },
			"countersigned requires head"},
		"twice": {func(c *Certificate) { c.Countersigned = []Countersignature{{"b", "00"}, {"b", "00"}} },
			`countersigned[1]: member is "b", want one after "b"`},
	} {
		cert := clone(t, good)
		c.change(cert)
		err := cert.Verify()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
			continue
		}
		for _, line := range strings.Split(err.Error(), "\n") {
			if !strings.HasPrefix(line, "dpmech: certificate: ") || strings.Count(line, "dpmech: ") != 1 {
				t.Errorf("%s: fault without its place: %q", name, line)
			}
		}
	}
	cert := clone(t, good)
	cert.Unit, cert.Rounds, cert.EpsilonGDP, cert.Lifetime.Rho = "", 1, 1, 1
	for _, want := range []string{"unit", "rounds", "epsilon_gdp", "lifetime: rho"} {
		if err := cert.Verify(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// TestNewCertificateRefuses checks that NewCertificate rejects invalid inputs.
func TestNewCertificateRefuses(t *testing.T) {
	f, l := times(1, noisy), newLedger(t, nil)
	for name, make := range map[string]func() (*Certificate, error){
		"no run":            func() (*Certificate, error) { return New(aboutRun(""), 1e-5, f, nil, nil) },
		"delta":             func() (*Certificate, error) { return New(aboutRun("r"), math.NaN(), f, nil, nil) },
		"not in the ledger": func() (*Certificate, error) { return New(aboutRun("r"), 1e-5, f, nil, l.lifetime(1e-5)) },
	} {
		if c, err := make(); err == nil || c != nil {
			t.Errorf("%s: certified", name)
		}
	}
	c, err := New(About{RunID: RunID{Run: "r", Fleet: strings.Repeat("0", 64), Member: "m"}}, 1e-5, nil, nil, nil)
	if err != nil || c.EpsilonGDP != 0 || c.ConditionalOn == nil || c.Spends == nil {
		t.Errorf("nothing released: %+v, %v", c, err)
	}
}

// Text is the function Certificate of package explain, which imports this package; an external test sets it.
var Text func(*Certificate) string

// TestCertificateText checks that the text has everything that a reader needs.
func TestCertificateText(t *testing.T) {
	c, _ := certify(t)
	text := Text(c)
	for _, want := range []string{
		"final", "one client's whole data set", "rounds 1 to 5: R 1, sigma 8", "rounds 6 to 9: R 0.5, sigma 3",
		"patients <2025>",
		"run tuning, member a: 4 releases", "10 rounds of cool-down", "partition by clinic", "timing",
		c.Fleet, c.Lifetime.Ledger.Hash,
		"guarantee epsilon 3.73 against everybody else together, at delta 1e-05", "together (2): epsilon 4.40 against",
		"zero-out adjacency", "signed by nobody: anyone could have written this", "run final, 2026-01-02 10:00 to 2026-01-02 10:05 UTC by the device's clock (about 5m)", `members 2: "a", "b"`, "epsilon 12 at delta 1e-05",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 80 && !strings.Contains(line, c.Fleet) && !strings.Contains(line, c.Lifetime.Ledger.Hash) {
			t.Errorf("a line of %d: %q", len(line), line)
		}
	}
	if strings.Contains(text, "SIMULATED") || strings.Contains(text, "NOT KNOWN") {
		t.Errorf("warnings without cause in\n%s", text)
	}
	c.Simulated, c.Lifetime, c.Limit = true, nil, nil
	for i := range 40 {
		c.Spends = append(c.Spends, dpmech.Spend{First: 20 + 2*i, Rounds: 1, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 8}})
	}
	text = Text(c)
	for _, want := range []string{"SIMULATED", "NOT KNOWN", "round 40: R 1", "round 98: R 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestCertificateTextIsPlain checks that a certificate cannot control the terminal or insert lines when it is
// displayed, because it may be displayed before it is verified.
func TestCertificateTextIsPlain(t *testing.T) {
	c, _ := certify(t)
	const bad = "x\x1b[31m\u202e\x00\r\ny"
	c.Unit, c.Adjacency, c.Run, c.Member, c.Fleet, c.Adversary = bad, bad, bad, bad, bad, bad
	c.ConditionalOn, c.NotCovered = []string{bad}, []string{bad}
	c.Countersigned, c.Signature = []Countersignature{{Member: bad}}, bad
	for line := range strings.Lines(Text(c)) {
		if text := strings.TrimSuffix(line, "\n"); strings.HasPrefix(text, "y") ||
			strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
			t.Errorf("%q", line)
		}
	}
}

// TestParseCertificateRefuses checks that ParseCertificate accepts only exact field names, whereas encoding/json also
// accepts names that differ in case.
func TestParseCertificateRefuses(t *testing.T) {
	c, _ := certify(t)
	good, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ old, new, want string }{
		{`"version": 2,`, `"version": 2, "version": 2,`, "field version is given twice"},
		{`"version": 2,`, `"Version": 2,`, `unknown field "Version"`},
		{`"version": 2,`, ``, "field version is missing"},
		{`"version": 2,`, `"version": 2, "extra": 0,`, "extra"},
		{`"seq": 13,`, ``, "field lifetime.ledger.seq is missing"},
		{`"first": 6,`, `"First": 6,`, `unknown field "First"`},
		{`"rounds": 9,`, `"rounds": 9.5,`, "9.5"},
		{`"slack": 0,`, `"slack": 1e999,`, "1e999"},
		{`"slack": 0,`, `"slack": 0, "reserved_unmade": 0,`, "field reserved_unmade has a value with which it is left out"},
		{`"slack": 0,`, `"slack": 0, "head": "",`, "field head has a value"},
		{`"slack": 0,`, `"slack": 0, "countersigned": [],`, "field countersigned has a value"},
		{`"epsilon_zero_out"`, `"epsilon_zero"`, "epsilon_zero"},
		{`"accounting": "gdp"`, `"accounting": "moments"`, "moments"},
	} {
		bad := strings.Replace(string(good), x.old, x.new, 1)
		if _, err := Parse([]byte(bad)); bad == string(good) || err == nil ||
			!strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.new, err, x.want)
		}
	}
	for _, bad := range []string{"", "null", "[]", "{}", string(good) + "{}", string(good[:len(good)/2])} {
		if c, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%.20q is %+v", bad, c)
		}
	}
}

func FuzzParse(f *testing.F) {
	c, _ := certify(f)
	good, err := c.JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	c.Lifetime, c.Limit = nil, nil
	if good, err = c.JSON(); err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(bytes.Replace(good, []byte(`"rounds": 5`), []byte(`"rounds": 2147483647`), 1))
	f.Add([]byte(`{}`))
	c.ReservedUnmade, c.Head, c.Signature = 1, "00", strings.Repeat("00", 64)
	c.Countersigned = []Countersignature{{"b", strings.Repeat("11", 64)}}
	if good, err = c.JSON(); err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			return
		}
		_ = Text(c)
		if signed, err := c.SignedBytes(); err != nil || !bytes.HasPrefix(signed, []byte(signedTag)) {
			t.Fatalf("%q, %v", signed, err)
		}
		verdict := c.Verify()
		again, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(again)
		if err != nil {
			t.Fatalf("%s became %s: %v", data, again, err)
		}
		if fmt.Sprint(back.Verify()) != fmt.Sprint(verdict) {
			t.Fatalf("%s: %v, and then %v", data, verdict, back.Verify())
		}
	})
}
