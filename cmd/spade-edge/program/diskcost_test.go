package program

import (
	"bytes"
	"io"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"

	"github.com/spade-dfl/spade-edge/sdk"
)

// What a node has written to its disk is what the formula says, to 2 %, and its figures of a round belong to those of
// the run.
func TestWear(t *testing.T) {
	t.Parallel()
	tr := newPair(t)
	a, _ := tr.both(t)
	c := tr.clients(t, "dirichlet:0.3", func(int) io.Reader { return bytes.NewReader(nil) })[0].Config
	want := setup.NewDiskCost(tr.file.Fleet, c, setup.NewState(c))
	if off := float64(a.DiskBytes)/float64(want.Written) - 1; math.Abs(off) > 0.02 {
		t.Errorf("%d bytes written, %d by the formula: %+v", a.DiskBytes, want.Written, want)
	}
	if a.DiskRound != a.DiskBytes/9 || a.SentRound != a.BytesSent/9 || a.SentRound == 0 {
		t.Errorf("of 9 rounds: %+v", a.Usage)
	}
	// A process that serves a finished run once more makes no round.
	tr.edit(t, "a.json", `"resend_seconds": 0.05`, `"resend_seconds": 0.05, "linger_seconds": 0.01`)
	if again := start(t, "run", tr.path("a.json"), "-json").outcome(t); again.DiskRound != 0 || again.SentRound != 0 ||
		again.DiskBytes != 0 {
		t.Errorf("without a round: %+v", again.Usage)
	}
}

// A run that is not private has no ledger.
func TestWearWithoutLedger(t *testing.T) {
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Method.Cooldown = 0 })
	a, _ := tr.both(t)
	c := tr.clients(t, "dirichlet:0.3", nil)[0].Config
	want := setup.NewDiskCost(tr.file.Fleet, c, setup.NewState(c))
	if want.Written != 6*want.Round || math.Abs(float64(a.DiskBytes)/float64(want.Written)-1) > 0.02 {
		t.Errorf("%d bytes written, by the formula %+v", a.DiskBytes, want)
	}
}

// With rounds of mixing and shared noise the formula holds too, but for the secrets, which are kept beside it.
func TestWearOfSharing(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab bc ca", func(f *sdk.Fleet) {
		f.Method.Rounds, f.Method.Mixing, f.Method.Cooldown, f.Method.Eta = 20, 2, 5, []float64{0.5}
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 0.5, PairSigma: 1, EffectiveSigma: 0.6, Colluders: 1, Delta: 1e-5}
	})
	c := tr.clients(t, "dirichlet:0.3", func(int) io.Reader { return bytes.NewReader(nil) })[0].Config
	want := setup.NewDiskCost(tr.file.Fleet, c, setup.NewState(c))
	var nodes []*process
	for _, m := range tr.file.Members {
		nodes = append(nodes, start(t, "run", tr.path(m.Name+".json"), "-json"))
	}
	a := nodes[0].outcome(t)
	if off := float64(a.DiskBytes)/float64(want.Written) - 1; math.Abs(off) > 0.02 {
		t.Errorf("%d bytes written, %d by the formula: %+v", a.DiskBytes, want.Written, want)
	}
}
