package admm

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// TestReceiveRules checks that client 2, in round 2, accepts a neighbor's valid messages and refuses invalid ones.
func TestReceiveRules(t *testing.T) {
	net := newNetwork(t, configs(4, kite, nil))
	for range 2 {
		must(t, net.round())
	}
	m := net.machines[2]
	mine := func(round int) []float32 { return net.machines[3].Posted(0, round).Vector }
	good := []float32{1, 2, 3, 4, 5}
	for _, c := range []struct {
		name string
		msg  Message
		want string // part of the expected error; empty if no error is expected
	}{
		{"a repeat", Message{Kind: Release, From: 3, Round: 2, Vector: mine(2)}, ""},
		{"a straggler", Message{Kind: Release, From: 3, Round: 1, Vector: mine(1)}, ""},
		{"one round early", Message{Kind: Release, From: 3, Round: 3, Vector: good}, ""},
		{"the same again", Message{Kind: Release, From: 3, Round: 3, Vector: good}, ""},
		{"another of that round", Message{Kind: Release, From: 3, Round: 3, Vector: []float32{1, 2, 3, 4, 6}},
			"message of round 3 from client 3 contradicts"},
		{"another of this round", Message{Kind: Release, From: 3, Round: 2, Vector: good},
			"message of round 2 from client 3 contradicts"},
		{"two rounds early", Message{Kind: Release, From: 3, Round: 4, Vector: good},
			"found a message of round 4 from client 3, want a round in 1..3 (the receiving client is in round 2)"},
		{"round 0", Message{Kind: Release, From: 3, Round: 0, Vector: good}, "message of round 0 from client 3"},
		{"a stranger", Message{Kind: Release, From: 7, Round: 2, Vector: good},
			"the sender is client 7, want one of the neighbors [0 1 3]"},
		{"itself", Message{Kind: Release, From: 2, Round: 2, Vector: good}, "the sender is client 2"},
		{"too short", Message{Kind: Release, From: 0, Round: 3, Vector: good[:4]},
			"release 3 has 4 numbers and 0 grid steps, want 5 and 0 (sent by client 0)"},
		{"a NaN", Message{Kind: Release, From: 0, Round: 3, Vector: []float32{1, 2, float32(math.NaN()), 4, 5}},
			"coordinate 2 of release 3 is NaN"},
		{"a giant", Message{Kind: Release, From: 0, Round: 3, Vector: []float32{1, 2, 3, -3e38, 5}},
			"coordinate 3 of release 3 is -3e+38, want at most 1e+30 in absolute value"},
		{"an infinity", Message{Kind: Release, From: 0, Round: 3, Vector: []float32{1, 2, 3, 4, float32(math.Inf(-1))}},
			"coordinate 4 of release 3 is -Inf"},
		{"done too early", Message{From: 0, Round: 2, Kind: Done}, "neighbor 0 reports completion after round 2, want round 9"},
	} {
		err := m.Receive(c.msg)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestBadLossNonPrivate checks that without privacy, an unavailable loss is refused with an error that names its
// sample, and that the query stays open.
func TestBadLossNonPrivate(t *testing.T) {
	m := newNetwork(t, configs(4, kite, nil)).machines[1]
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		if r, err := m.Ready(); err != nil || len(r.Queries) != 1 || r.Queries[0].Sample != 0 {
			t.Fatalf("open are %v, %v, want the query of sample 0", r.Queries, err)
		}
		if err := m.Answer(bad); err == nil || !strings.Contains(err.Error(), "admm: round 0: zoest: loss of sample 0 is") {
			t.Errorf("loss %v: %v", bad, err)
		}
	}
}

// TestBadLossPrivate checks that in a private run the public constant replaces an unavailable loss, because nobody else
// may notice that the loss is unavailable.
func TestBadLossPrivate(t *testing.T) {
	run := func(loss float64) (*network, Status) {
		net := newNetwork(t, configs(4, kite, private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})))
		net.loss = func(client int, x []float32, sample int) float64 {
			if client == 1 && sample == 2 {
				return loss
			}
			return lossFunc(client, x, sample)
		}
		must(t, net.run())
		return net, net.machines[1].Status()
	}
	want, st := run(0)
	if st.Failed != 0 {
		t.Errorf("%d failed queries, want none", st.Failed)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), -1e39} {
		got, st := run(bad)
		if !sameBits(got.models(), want.models()) {
			t.Errorf("loss %v leaves a trace", bad)
		}
		if st.Failed == 0 || st.Failed >= st.Queries {
			t.Errorf("%d of %d queries failed", st.Failed, st.Queries)
		}
	}
}

// TestNoiseSource checks that the machine stops without a release if the noise source fails.
func TestNoiseSource(t *testing.T) {
	g := dpmech.Gaussian{Clip: 0.3, Sigma: 0.2}
	net := newNetwork(t, configs(1, nil, func(i int, c *Config) {
		private(g)(i, c)
		c.Noise = bytes.NewReader(nil)
	}))
	_, err := net.drive(0)
	if err == nil || !strings.Contains(err.Error(), "admm: round 0: dpmech: source of random bytes: EOF") {
		t.Errorf("error %v", err)
	}
	if st := net.machines[0].Status(); st.Round != 0 || len(net.machines[0].send) != 0 {
		t.Errorf("released without noise: %+v", st)
	}
	if _, again := net.machines[0].Ready(); again == nil {
		t.Error("the machine went on after its source of noise had failed")
	}
}

// TestNewRefuses checks that New refuses what would make a machine panic, never end, or protect nobody. Ranges of a
// fleet's settings are sdk.Plan's.
func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"Dim is 0":                               func(c *Config) { c.Estimator.Dim, c.X0 = 0, nil },
		"X0 has length 2, want 5":                func(c *Config) { c.X0 = []float32{1, 2} },
		"Rounds is 0":                            func(c *Config) { c.Rounds = 0 },
		"and Tau is 0":                           func(c *Config) { c.Tau = 0 },
		"Eta has 0 values":                       func(c *Config) { c.Eta = nil },
		"and Mu 0":                               func(c *Config) { c.Mu = nil },
		"NonPrivate is true, but Privacy, Noise": func(c *Config) { c.Noise = bytes.NewReader(nil) },
		"NonPrivate is true, but Privacy":        func(c *Config) { c.Privacy = dpmech.Gaussian{Clip: 1, Sigma: 1} },
		"or GridStep is set":                     func(c *Config) { c.GridStep = 1 },
		"Noise is nil":                           func(c *Config) { c.NonPrivate, c.Privacy = false, dpmech.Gaussian{Clip: 1, Sigma: 1} },
	} {
		cfg := configs(4, kite, nil)[2]
		change(&cfg)
		if m, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) || m != nil {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	each := perRecord(dpmech.Gaussian{Clip: 0.01, Sigma: 0.1}, nil)
	for want, change := range map[string]func(c *Config){
		"Estimator.Records is false":      func(c *Config) { c.Estimator.Records = false },
		"Records is {Mean:0 Most:0":       func(c *Config) { c.Records = Records{} },
		"Samples is 4, want a multiple":   func(c *Config) { c.Records.Places = 3 },
		"for each record or person, and ": func(c *Config) { c.Privacy.Unit, c.Estimator.Records = dpmech.Client, false },
	} {
		cfg := configs(1, nil, each)[0]
		change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestRoundDoesNotAllocate checks that after warm-up, a private machine allocates nothing during a whole round, not
// even for its messages.
func TestRoundDoesNotAllocate(t *testing.T) {
	net := newNetwork(t, configs(2, [][2]int{{0, 1}}, func(i int, c *Config) {
		private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2})(i, c)
		c.Rounds, c.Members = 100, 2
	}))
	round := func() {
		for i, m := range net.machines {
			for {
				r, err := m.Ready()
				must(t, err)
				if r.Released > 0 {
					break
				}
				if r.Reserve > 0 {
					continue
				}
				must(t, m.Answer(lossFunc(i, r.Queries[0].Point, r.Queries[0].Sample)))
			}
		}
		for i, m := range net.machines {
			msg := Message{Kind: Release, From: i, To: 1 - i, Round: m.round, Vector: m.Posted(0, m.round).Vector}
			must(t, net.machines[1-i].Receive(msg))
		}
	}
	round()
	round()
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("%v allocations a round, want 0", n)
	}
}

// TestLateRepeat repeats a neighbor's message of the previous round just before the machine makes its next release. The
// machine makes this release before it sends its answer. The answer is then obsolete, and must not be sent with the
// vector of the new release.
func TestLateRepeat(t *testing.T) {
	net := newNetwork(t, configs(2, [][2]int{{0, 1}}, func(_ int, c *Config) { c.Rounds, c.Cooldown = 1, 6 }))
	for range 3 {
		must(t, net.round())
	}
	older := Message{Kind: Release, From: 1, To: 0, Round: 2, Vector: net.machines[1].Posted(0, 2).Vector}
	must(t, net.machines[0].Receive(older))
	sent, err := net.drive(0)
	must(t, err)
	for _, msg := range sent {
		if msg.Round != 4 {
			t.Errorf("message of round %d sent with release 4", msg.Round)
		}
	}
	if len(sent) != 1 {
		t.Errorf("%d messages sent, want the one of round 4", len(sent))
	}
}
