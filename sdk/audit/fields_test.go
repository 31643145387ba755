package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
)

// changes adds functions to the map all, one for every possible change of the JSON value v; the key is the path of the
// changed part. A change replaces a number, string or boolean with a different value, or removes or repeats an element
// of a list. The function put replaces v as a whole.
func changes(path string, v any, put func(any), all map[string]func()) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			changes(strings.TrimPrefix(path+"."+name, "."), x, func(x any) { v[name] = x }, all)
		}
	case []any:
		for i, x := range v {
			changes(fmt.Sprintf("%s[%d]", path, i), x, func(x any) { v[i] = x }, all)
		}
		if len(v) > 0 {
			all[path+" less one"] = func() { put(slices.Clone(v[1:])) }
			all[path+" and one more"] = func() { put(append(slices.Clone(v), v[0])) }
		}
	case json.Number:
		all[path] = func() {
			if x, err := v.Int64(); err == nil {
				put(x + 1)
			} else if x, err := v.Float64(); err == nil {
				put(x * (1 - 1.0/1024))
			}
		}
	case string:
		last := map[bool]string{true: "1", false: "0"}[strings.HasSuffix(v, "0")]
		all[path] = func() { put(v[:max(len(v), 1)-1] + last) }
	case bool:
		all[path] = func() { put(!v) }
	}
}

// known lists the fields that only the member can know: an auditor must trust the member's signature. In the field
// not_covered, a member can add lines, but cannot omit the required lines.
var known = []string{"began", "ended", "conditional_on", "simulated", "not_covered and one more"}

// TestEveryFieldIsChecked checks that an auditor with the fleet file and the ledger notices every change to a field of
// a certificate. If the member signs the changed certificate, the auditor must still notice the change to every field
// that is not in the list known.
func TestEveryFieldIsChecked(t *testing.T) {
	for name, unit := range map[string]func(f *sdk.Fleet){"client": nil, "record": func(f *sdk.Fleet) {
		f.Privacy.Unit, f.Records = dpmech.Record, []int{10, 20, 30, 40}
	}, "person": func(f *sdk.Fleet) {
		f.Privacy.Unit, f.Privacy.Places, f.Privacy.Person, f.Records = dpmech.Record, 4, "pid", []int{10, 20, 30, 40}
	}} {
		w := newAudited(t, unit)
		whole, err := w.sealed(t, "a", "c").JSON()
		if err != nil {
			t.Fatal(err)
		}
		verdict := func(text []byte, again bool) error {
			c, err := certificate.Parse(text)
			if err != nil {
				return err
			}
			if again {
				resign(t, c)
			}
			if err := w.ledger.Verify(c); err != nil {
				return err
			}
			a, err := Certificate(w.fleet, c, pins)
			if err == nil && len(a.NotCountersigned) > 0 {
				err = fmt.Errorf("countersigned: not by %q", a.NotCountersigned)
			}
			return err
		}
		if err := verdict(whole, true); err != nil {
			t.Fatal(name, err)
		}
		parse := func() (v any, all map[string]func()) {
			dec := json.NewDecoder(bytes.NewReader(whole))
			dec.UseNumber()
			if err := dec.Decode(&v); err != nil {
				t.Fatal(err)
			}
			all = map[string]func(){}
			changes("", v, nil, all)
			return v, all
		}
		_, paths := parse()
		if len(paths) < 60 {
			t.Errorf("only %d changes of %s", len(paths), whole)
		}
		for path := range paths {
			v, all := parse()
			all[path]()
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if err := verdict(text, false); err == nil {
				t.Errorf("%s: %s is changed, and nobody notices", name, path)
			}
			free := slices.ContainsFunc(known, func(f string) bool { return strings.HasPrefix(path, f) })
			if err := verdict(text, true); err == nil && !free && path != "signature" {
				t.Errorf("%s: %s is changed and signed again, and nobody notices", name, path)
			}
		}
	}
}
