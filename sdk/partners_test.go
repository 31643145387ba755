package sdk_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// partnered returns a private fleet on a ring of up to 12 members, in which each member shares noise with the given
// number of partners.
func partnered(t *testing.T, members, partners, colluders int) *sdk.Fleet {
	t.Helper()
	f := privateRing()
	f.Members, f.Edges = strings.Split("abcdefghijkl", "")[:members], nil
	for i, name := range f.Members {
		f.Edges = append(f.Edges, [2]string{name, f.Members[(i+1)%members]})
	}
	f.Method.Rounds, f.Method.Mixing, f.Method.Cooldown = 3, 1, 2
	p := &f.Privacy
	p.PairSigma, p.Colluders, p.Partners = 2*p.Sigma, colluders, partners
	effective(t, f)
	return f
}

// effective sets the effective sigma of a fleet and returns the fleet's graph of pairwise noise.
func effective(t *testing.T, f *sdk.Fleet) *graph.Graph {
	t.Helper()
	noise := must(must(topology.Parse("ring", len(f.Members), 1))(t).Partners(f.Privacy.Partners, f.Method.Seed))(t)
	f.Privacy.EffectiveSigma = must(plan.Effective(f.Privacy, noise))(t)
	return noise
}

// TestPartnersOnARing checks a ring in which every third member may collude and members share noise with distant
// partners. The models must equal the models of a simulation with the same keys, and the fleet must state the noise
// that remains on the partner graph.
func TestPartnersOnARing(t *testing.T) {
	f := partnered(t, 12, 8, 4)
	noise := effective(t, f)
	c, err := noise.Conductance(2, 4)
	if err != nil || f.Privacy.EffectiveSigma < 0.999*f.Privacy.Sigma*math.Sqrt(c.Least) || c.Least < 5 {
		t.Fatalf("effective sigma %v of %v, conductance %v, %v", f.Privacy.EffectiveSigma, f.Privacy.Sigma, c.Least, err)
	}
	book := newKeyBook()
	sdk.OnKey(book.note)
	all := nodes(t, f, inMemory(t, f), nil)
	mustRun(t, all)
	sdk.OnKey(nil)
	sameModels(t, all, book.models(t, f))
	for use := range book.last {
		if peer := slices.Index(f.Members, use.neighbor); !slices.Contains(noise.Neighbors(slices.Index(f.Members, use.member)), peer) {
			t.Errorf("%q shares noise with %q, which is no partner", use.member, use.neighbor)
		}
	}
	for i, n := range all {
		cert := must(n.Certificate())(t)
		if _, err := audit.Certificate(f, cert, memberKeys); err != nil || cert.Spends[0].Shared != f.Privacy.Gaussian().Shared {
			t.Errorf("node %d: %+v, %v", i, cert.Spends, err)
		}
		cert.Spends[0].Shared.Partners--
		if _, err := audit.Certificate(f, cert, memberKeys); err == nil || !strings.Contains(err.Error(), "shared.partners") {
			t.Errorf("node %d, another graph: %v", i, err)
		}
	}
	// A fleet cannot state more noise than remains on the partner graph. If neighbors on the ring shared the noise
	// instead, no pairwise noise would remain.
	more, none := *f, *f
	more.Privacy.EffectiveSigma *= 1.01
	none.Privacy.Partners = 0
	for _, f := range []*sdk.Fleet{&more, &none} {
		if _, err := f.Plan(); err == nil || !strings.Contains(err.Error(), "privacy.effective_sigma") {
			t.Errorf("%+v: %v", f.Privacy, err)
		}
	}
}
