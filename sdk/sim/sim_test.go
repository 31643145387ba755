package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest"
)

// pair returns two clients; change may alter the configuration of the second one.
func pair(change func(c *admm.Config)) []sim.Client {
	return everybody(2, func(c *admm.Config) {
		if c.Estimator.Client == 1 && change != nil {
			change(c)
		}
	})
}

func newSim(t *testing.T, clients []sim.Client) *sim.Sim {
	t.Helper()
	network, err := sim.New(clients)
	if err != nil {
		t.Fatal(err)
	}
	return network
}

// TestSimRepeats checks that two identical runs have the same transcript and the same counts, and that every
// message is measured.
func TestSimRepeats(t *testing.T) {
	var transcripts []string
	for range 2 {
		network := newSim(t, pair(nil))
		rounds := 0
		network.Meter = func() func(*admm.Message) (int, error) {
			return func(m *admm.Message) (int, error) { return len(m.Vector), nil }
		}
		before := network.Transcript()
		err := network.Run(t.Context(), func(round int) error {
			if rounds++; rounds != round {
				t.Errorf("round %d came as number %d", round, rounds)
			}
			if now := network.Transcript(); now == before {
				t.Errorf("round %d left no trace in the transcript", round)
			} else {
				before = now
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if asked, failed := network.Queries(); asked != 2*12*(4+2*4) || failed != 0 {
			t.Errorf("%d queries, %d of them failed", asked, failed)
		}
		if network.Weight() != 2*12*3 || rounds != 12 {
			t.Errorf("%d numbers in %d rounds, want 72 in 12", network.Weight(), rounds)
		}
		if err := network.Run(t.Context(), nil); err != nil || network.Weight() != 2*12*3 {
			t.Errorf("after the last round: error %v, %d numbers", err, network.Weight())
		}
		transcripts = append(transcripts, network.Transcript())
	}
	if transcripts[0] != transcripts[1] {
		t.Error("two runs differ")
	}
}

func TestNewRefuses(t *testing.T) {
	for want, clients := range map[string][]sim.Client{
		"no clients":               nil,
		"has Estimator.Client 5":   pair(func(c *admm.Config) { c.Estimator.Client = 5 }),
		"makes 9 releases":         pair(func(c *admm.Config) { c.Rounds = 9 }),
		"has neighbor 4":           pair(func(c *admm.Config) { c.Neighbors = []int{0, 4} }),
		"does not list the client": pair(func(c *admm.Config) { c.Neighbors = nil }),
		"client 1 has no oracle":   {pair(nil)[0], {Config: pair(nil)[1].Config}},
		"client 1: admm: Rounds":   pair(func(c *admm.Config) { c.Tau = 0 }),
		"client 1: zoest: Dim ":    pair(func(c *admm.Config) { c.Estimator.Dim = -1 }),
	} {
		if network, err := sim.New(clients); err == nil || !strings.Contains(err.Error(), want) || network != nil {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestRunEnds checks that an error from the oracle, the caller, the meter or the context ends a run, and that Run returns it.
func TestRunEnds(t *testing.T) {
	broken, enough := errors.New("broken"), errors.New("enough")
	clients := pair(nil)
	clients[1].Oracle = zoest.OracleFunc(func(context.Context, []float32, int) (float64, error) { return 0, broken })
	network := newSim(t, clients)
	if err := network.Run(t.Context(), nil); !errors.Is(err, broken) ||
		!strings.Contains(err.Error(), "client 1, round 0") {
		t.Errorf("error %v, want %v with client and round", err, broken)
	}
	network = newSim(t, pair(nil))
	if err := network.Run(t.Context(), func(int) error { return enough }); !errors.Is(err, enough) ||
		network.Round() != 1 {
		t.Errorf("error %v after round %d, want %v after 1", err, network.Round(), enough)
	}
	network = newSim(t, pair(nil))
	network.Meter = func() func(*admm.Message) (int, error) {
		return func(*admm.Message) (int, error) { return 0, broken }
	}
	if err := network.Run(t.Context(), nil); !errors.Is(err, broken) {
		t.Errorf("error %v of the meter, want %v", err, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := network.Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
