package certificate

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// TestFilterState checks that a restored filter behaves like the original.
func TestFilterState(t *testing.T) {
	s := rand.New(rand.NewPCG(34, 0))
	limit := &dpmech.Limit{Epsilon: 20, Delta: 1e-6, Accounting: dpmech.ZCDP}
	f := mustFilter(t, limit)
	for round := 1; round < 40; round += 1 + s.IntN(2) {
		if err := f.Reserve(round, dpmech.Gaussian{Clip: 1, Sigma: 10 + float64(s.IntN(2))/3}); err != nil {
			t.Fatal(err)
		}
		back, err := LoadFilter(SaveFilter(f))
		if err != nil {
			t.Fatal(err)
		}
		if back.Total().Rho != f.Total().Rho || back.Last() != f.Last() || *back.Limit() != (dpmech.Limit{Epsilon: 20, Delta: 1e-6, Accounting: dpmech.ZCDP}) ||
			!bytes.Equal(SaveFilter(back), SaveFilter(f)) {
			t.Fatalf("saved %s\nloaded %s", SaveFilter(f), SaveFilter(back))
		}
		f = back
	}
}

var badStates = []struct{ state, want string }{
	{``, "unexpected end"},
	{`null`, "version is 0"},
	{`{"version":1,"limit":null,"releases":[]}x`, "after top-level value"},
	{`{"version":2,"limit":null,"releases":[]}`, "version is 2, want 1"},
	{`{"version":1,"limit":null,"releases":null}`, "bytes are damaged"},
	{`{"version":1,"limit":null,"releases":[], "spent":0}`, "unknown field"},
	{`{"version":1,"releases":[]}`, "bytes are damaged"},
	{`{"Version":1,"limit":null,"releases":[]}`, `unknown field "Version"`},
	{`{"version":1,"version":1,"limit":null,"releases":[]}`, "given twice"},
	{` {"version":1,"limit":null,"releases":[]}`, "bytes are damaged"},
	{`{"version":1,"limit":{"epsilon":-1,"delta":2,"accounting":"gdp"},"releases":[]}`, "delta is 2"},
	{`{"version":1,"limit":{"epsilon":1,"delta":1e-5,"accounting":"moments"},"releases":[]}`, "moments"},
	{`{"version":1,"limit":null,"releases":[{"first":0,"rounds":1,"clip":1,"sigma":8}]}`, "first round is 0"},
	{`{"version":1,"limit":null,"releases":[{"first":2147483647,"rounds":2,"clip":1,"sigma":8}]}`,
		"2 rounds from round 2147483647"},
	{`{"version":1,"limit":null,"releases":[{"first":1,"rounds":1,"clip":1,"sigma":0}]}`, "releases[0]: sigma is 0"},
	{`{"version":1,"limit":null,"releases":[{"first":1,"rounds":1,"clip":1,"sigma":1e999}]}`, "1e999"},
	{`{"version":1,"limit":null,"releases":[{"first":1,"rounds":2,"clip":1,"sigma":8},` +
		`{"first":2,"rounds":1,"clip":1,"sigma":9}]}`, "want a round after 2"},
	{`{"version":1,"limit":null,"releases":[{"first":1,"rounds":2,"clip":1,"sigma":8},` +
		`{"first":3,"rounds":1,"clip":1,"sigma":8}]}`, "single entry"},
	{`{"version":1,"limit":null,"releases":[{"first":1,"rounds":2000000000,"clip":1,"sigma":1}]}`, "a larger cost gives no protection"},
}

func TestLoadFilterRefuses(t *testing.T) {
	for _, c := range badStates {
		if _, err := LoadFilter([]byte(c.state)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.state, err, c.want)
		}
	}
}

func FuzzLoadFilter(f *testing.F) {
	for _, c := range badStates {
		f.Add([]byte(c.state))
	}
	f.Add([]byte(`{"version":1,"limit":{"epsilon":8,"delta":0.00001,"accounting":"paper"},` +
		`"releases":[{"first":1,"rounds":50,"clip":1,"sigma":9.76312}]}`))
	f.Add([]byte(`{"version":1,"limit":null,"releases":[{"first":1,"rounds":2,"clip":1,"sigma":8},` +
		`{"first":4,"rounds":1,"clip":1,"sigma":8}]}`))
	f.Fuzz(func(t *testing.T, state []byte) {
		filter, err := LoadFilter(state)
		if err != nil {
			return
		}
		if again := SaveFilter(filter); !bytes.Equal(again, state) {
			t.Fatalf("%s became %s", state, again)
		}
		before := filter.Total().Rho
		next := filter.Last() + 1
		if err := filter.Reserve(next, dpmech.Gaussian{Clip: 1, Sigma: 8}); err == nil && !(filter.Total().Rho >= before && filter.Last() == next) {
			t.Fatalf("%s: rho %v after %v", state, filter.Total().Rho, before)
		}
	})
}

func mustFilter(t testing.TB, limit *dpmech.Limit) *dpmech.Filter {
	t.Helper()
	f, err := dpmech.NewFilter(limit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
