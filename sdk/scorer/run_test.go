package scorer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// node returns the node of a fleet with a single member. The program of the node's oracle has just died and cannot be
// restarted.
func node(t *testing.T, privacy sdk.Privacy) *sdk.Node {
	t.Helper()
	s := open(t, config(t, scorer.JSON, "dies for good", filepath.Join(t.TempDir(), "flag")))
	works(t, s)
	if _, err := s.Loss(t.Context(), []float32{trigger, 0, 0}, 0); err == nil {
		t.Fatal("the program is alive")
	}
	if err := s.LastFailure(); err == nil || !strings.HasPrefix(err.Error(), "scorer: ") {
		t.Errorf("the last failure is %v", err)
	}
	fleet := &sdk.Fleet{
		Run: "broken", Dim: dim, Members: []string{"a"},
		Method:  sdk.Method{Rounds: 3, Tau: 2, Rho: 1, Gain: 0.4, Eta: []float64{0.05}, Mu: []float64{0.2}},
		Privacy: privacy,
	}
	tr, err := mem.New("a").Node("a")
	if err != nil {
		t.Fatal(err)
	}
	n, err := sdk.New(sdk.Config{Fleet: fleet, Name: "a", Samples: s.Samples(), Oracle: s, Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPrivateRunGoesOn checks that a private node whose program is gone participates until the end of the run, so that
// its neighbors notice nothing.
func TestPrivateRunGoesOn(t *testing.T) {
	t.Parallel()
	n := node(t, sdk.Privacy{Clip: 0.1, Sigma: 1, Delta: 1e-5})
	if err := n.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := n.Status(); !st.Done || st.Queries != 45 || st.FailedQueries != 45 {
		t.Errorf("status %+v, want 45 queries, all of them failed", st)
	}
}

// TestOtherRunEnds checks that a node without privacy ends its run with the error of the program.
func TestOtherRunEnds(t *testing.T) {
	t.Parallel()
	err := node(t, sdk.Privacy{NonPrivate: true}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "scorer: ") ||
		!strings.Contains(err.Error(), "has ended: exit status 7") {
		t.Errorf("error %v", err)
	}
}
