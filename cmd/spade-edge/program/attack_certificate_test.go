//go:build unix

package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// leaf is a place in a JSON value, and a function for each change to it.
type leaf struct {
	path   string
	change func()
}

// leaves lists all places of a JSON value that can change: numbers, strings and booleans, and list elements, which can
// be omitted or duplicated. put replaces the value itself.
func leaves(path string, v any, put func(any)) (all []leaf) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			sub := name
			if path != "" {
				sub = path + "." + name
			}
			all = append(all, leaves(sub, x, func(x any) { v[name] = x })...)
		}
	case []any:
		for i, x := range v {
			all = append(all, leaves(fmt.Sprintf("%s[%d]", path, i), x, func(x any) { v[i] = x })...)
		}
		if len(v) > 0 {
			all = append(all, leaf{path + " less one", func() { put(slices.Clone(v[1:])) }}, leaf{path + " and one more", func() { put(append(slices.Clone(v), v[0])) }})
		}
	case json.Number:
		all = append(all, leaf{path, func() {
			n := string(v)
			if strings.ContainsAny(n, ".e") { // slightly less
				x, _ := v.Float64()
				put(json.Number(fmt.Sprint(x * (1 - 1.0/1024))))
				return
			}
			x, _ := v.Int64()
			put(json.Number(fmt.Sprint(x + 1)))
		}})
	case string:
		all = append(all, leaf{path, func() {
			if last := v[len(v)-1]; last == '0' {
				put(v[:len(v)-1] + "1")
			} else {
				put(v[:len(v)-1] + "0")
			}
		}})
	case bool:
		all = append(all, leaf{path, func() { put(!v) }})
	}
	return all
}

// edits returns a certificate's text with each of its fields changed, one at a time, by the path of the field.
func edits(t *testing.T, text string) map[string]string {
	t.Helper()
	parse := func() (whole map[string]any) {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&whole); err != nil {
			t.Fatal(err)
		}
		return whole
	}
	all := map[string]string{}
	for _, l := range leaves("", parse(), nil) {
		whole := parse()
		for _, same := range leaves("", whole, nil) {
			if same.path == l.path {
				same.change()
			}
		}
		var b bytes.Buffer
		if err := json.NewEncoder(&b).Encode(whole); err != nil {
			t.Fatal(err)
		}
		all[l.path] = b.String()
	}
	return all
}

// free are the fields that only the member can know: an auditor has nothing but its signature. Lines can be added to
// not_covered; the constant ones cannot be omitted.
var free = []string{"averaged_model", "conditional_on", "sampler", "simulated", "not_covered and one more"}

// The fleet file and the ledger verify the certificates of a fleet after two complete runs on the same ledgers, with
// the countersignatures of all neighbors. Verification detects every later change of a field and, if the member signs
// its change, every change that others can know.
func TestAttackCertificates(t *testing.T) {
	t.Parallel()
	inBothUnits(t, forgeCertificates)
}

func forgeCertificates(t *testing.T, change ...func(f *sdk.Fleet)) {
	tr := newLonger(t, "ab bc ca cd", 4, change...)
	around := map[string][]string{"a": {"b", "c"}, "b": {"a", "c"}, "c": {"a", "b", "d"}, "d": {"c"}}
	for n := 1; n <= 2; n++ {
		if n > 1 {
			tr.nextRun(t, n)
		}
		var nodes []*process
		for _, m := range tr.file.Members {
			nodes = append(nodes, start(t, "run", tr.path(m.Name+".json"), "-json"))
		}
		for i, p := range nodes {
			r, name := p.outcome(t), tr.file.Members[i].Name
			if v := tr.audited(t, name, around[name]...); r.Certificate == "" || len(v.Certificate.Lifetime.Runs) != n || v.Certificate.Rounds != 4 {
				t.Errorf("certificate of %q: %+v", name, v.Certificate)
			}
		}
	}
	node, err := fleetfile.ReadNode(tr.path("c.json"))
	if err != nil {
		t.Fatal(err)
	}
	file, key, err := node.Load()
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := state.ReadLedger(node.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	whole := readFile(t, node.Certificate())
	verdict := func(text string, again bool) error {
		c, err := dpmech.ParseCertificate([]byte(text))
		if err != nil {
			return err
		}
		if again {
			sign(t, c, key)
		}
		if err := ledger.Verify(c); err != nil {
			return err
		}
		a, err := audit.Certificate(file.Fleet, c, file.SigningKeys)
		if err == nil && len(a.NotCountersigned) > 0 {
			err = fmt.Errorf("countersigned: not by %q", a.NotCountersigned)
		}
		return err
	}
	if err := verdict(whole, true); err != nil {
		t.Fatal(err)
	}
	all := edits(t, whole)
	if len(all) < 60 {
		t.Errorf("only %d fields: %d bytes", len(all), len(whole))
	}
	var unknown []string
	for path, text := range all {
		field := strings.FieldsFunc(path, func(r rune) bool { return r == '[' || r == '.' || r == ' ' })
		err := verdict(text, false)
		unit := field[len(field)-1] == "unit" && err != nil && strings.Contains(err.Error(), `certificate: unit "recor0"`)
		if named := unit || err != nil && (strings.Contains(err.Error(), field[0]) || strings.Contains(err.Error(), "signature")); !named &&
			(err == nil || field[0] != "fleet" && field[0] != "member" || !strings.Contains(err.Error(), "this run is not in the ledger")) {
			t.Errorf("%s is changed, and nobody notices: %v", path, err)
		}
		if err := verdict(text, true); err == nil && field[0] != "signature" {
			unknown = append(unknown, path)
			if !slices.ContainsFunc(free, func(f string) bool { return strings.HasPrefix(path, f) }) {
				t.Errorf("%s is changed and signed again, and nobody notices", path)
			}
		}
	}
	slices.Sort(unknown)
	t.Logf("%d fields; what the member alone knows: %q", len(all), unknown)

	// The command reports the same errors as the packages.
	path := writeFile(t, t.TempDir(), "c.json", all["rho"])
	if code, out, log := call("privacy", "-verify", path, "-fleet", tr.path("fleet.json"), "-ledger", node.Ledger); code != cli.ExitFailed || out != "" || !strings.Contains(log, "rho") {
		t.Errorf("exit code %d: %s%s", code, out, log)
	}
}
