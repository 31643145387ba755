package admm

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func probing(i int, c *Config) { c.Probe = true }

func sentTo(to int, sent []Message) []Message {
	return slices.DeleteFunc(slices.Clone(sent), func(msg Message) bool { return msg.To != to })
}

// withoutProbes returns the messages that are neither probes nor answers to probes.
func withoutProbes(sent []Message) []Message {
	return slices.DeleteFunc(slices.Clone(sent), func(msg Message) bool { return isProbe(msg) })
}

// must drives a machine as far as possible, or to its next release, and returns the messages that it sent. The test
// fails if the machine returns an error.
func (net *network) must(t testing.TB, i int) []Message {
	t.Helper()
	sent, err := net.drive(i)
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// afterRounds runs a network for the given number of rounds and delivers all messages. It returns the network, and
// every client's state after each release, newest first.
func afterRounds(t testing.TB, rounds int, change func(i int, c *Config)) (net *network, kept [][]State) {
	t.Helper()
	cfgs := configs(4, kite, change)
	kept = make([][]State, len(cfgs))
	net = newNetwork(t, cfgs)
	net.released = func(client, _ int) {
		kept[client] = append([]State{net.machines[client].State().copied()}, kept[client]...)
	}
	for len(kept[0]) < rounds {
		if err := net.round(); err != nil {
			t.Fatal(err)
		}
	}
	return net, kept
}

// TestFirstReleaseWaitsForEveryReply checks that a machine probes its neighbors when it starts and again at every tick,
// and that it makes no release before each neighbor has answered. Its local work must not wait for the answers.
func TestFirstReleaseWaitsForEveryReply(t *testing.T) {
	net := newNetwork(t, configs(4, kite, probing))
	m := net.machines[2]
	sent := net.must(t, 2)
	for _, again := range []string{"at the start", "after a tick"} {
		for _, j := range []int{0, 1, 3} {
			want := []Message{{From: 2, To: j, Kind: Probe}}
			if got := sentTo(j, sent); len(got) != 1 || got[0].Round != 0 || got[0].Kind != Probe || got[0].Held != 0 {
				t.Errorf("%s: sent %+v, want %+v", again, got, want)
			}
		}
		m.Tick()
		sent = net.must(t, 2)
	}
	for _, c := range []struct {
		from    int
		kind    Kind
		waiting []int
	}{{3, ProbeReply, []int{0, 1}}, {1, Probe, []int{0, 1}}, {0, ProbeReply, []int{1}}, {3, ProbeReply, []int{1}}} {
		if err := m.Receive(Message{From: c.from, To: 2, Kind: c.kind}); err != nil {
			t.Fatal(err)
		}
		for _, msg := range net.must(t, 2) {
			if !isProbe(msg) {
				t.Errorf("sent %+v before everybody has answered", msg)
			}
		}
		if st := m.Status(); st.Round != 0 || !slices.Equal(st.Waiting, c.waiting) || st.Queries == 0 {
			t.Errorf("after the word of %d: %+v, want round 0, waiting for %v, and queries", c.from, st, c.waiting)
		}
	}
	if err := m.Receive(Message{From: 1, To: 2, Kind: ProbeReply}); err != nil {
		t.Fatal(err)
	}
	net.must(t, 2)
	if st := m.Status(); st.Round != 1 {
		t.Errorf("after the last message: %+v, want release 1", st)
	}
}

// TestRollback rolls a machine back to an empty disk or an old state. The machine must stop as soon as one neighbor
// reports a later release: in an answer, in the neighbor's own probe, or in a Done.
func TestRollback(t *testing.T) {
	net, kept := afterRounds(t, 9, probing)
	cfg := configs(4, kite, probing)[2]
	for _, c := range []struct {
		name  string
		from  []State
		msg   Message
		round int
	}{
		{"empty disk", nil, Message{Kind: ProbeReply, Round: 9, Held: 8}, 0},
		{"a probe", nil, Message{Kind: Probe, Round: 9, Held: 1}, 0},
		{"an old state", kept[2][4:6], Message{Kind: ProbeReply, Round: 7, Held: 6}, 5},
		{"a Done", kept[2][2:4], Message{Kind: Done, Round: 9}, 7},
	} {
		m := reborn(t, cfg, c.from...)
		c.msg.From, c.msg.To = 3, 2
		if err := m.Receive(c.msg); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		held := max(c.msg.Held, 9*b2i(c.msg.Kind == Done))
		var back *RollbackError
		_, err := m.Ready()
		if !errors.As(err, &back) || *back != (RollbackError{Client: 2, Peer: 3, Held: held, Round: c.round}) {
			t.Errorf("%s: %v, want a rollback from %d to %d", c.name, err, held, c.round)
		}
		if _, again := m.Ready(); again == nil {
			t.Errorf("%s: the machine went on", c.name)
		}
	}

	// This is the answer of a neighbor that has received everything: Held is the newest release.
	m := reborn(t, cfg)
	probe, _ := m.Ready()
	for _, msg := range probe.Send {
		if err := net.machines[msg.To].Receive(msg); err != nil {
			t.Fatal(err)
		}
		for _, msg := range sentTo(2, net.must(t, msg.To)) {
			if isProbe(msg) {
				if err := m.Receive(msg); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	var back *RollbackError
	if _, err := m.Ready(); !errors.As(err, &back) || back.Held != 9 || back.Round != 0 {
		t.Errorf("after the answers: %v", err)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestLateClaimIsRefused checks that a neighbor cannot stop a machine at will: once the neighbor has answered a probe,
// the machine refuses the neighbor's claims to hold a release that the machine does not know of.
func TestLateClaimIsRefused(t *testing.T) {
	want := quiet(t, probing)
	net, _ := afterRounds(t, 4, probing)
	for _, msg := range []Message{
		{From: 3, To: 2, Kind: Probe, Round: 4, Held: 5},
		{From: 3, To: 2, Kind: ProbeReply, Round: 4, Held: 5},
		{From: 3, To: 2, Kind: Done, Round: 9},
	} {
		var back *RollbackError
		if err := net.machines[2].Receive(msg); !errors.As(err, &back) || back.Peer != 3 {
			t.Errorf("%+v: %v, want a rollback", msg, err)
		}
	}
	for range 8 {
		if err := net.round(); err != nil {
			t.Fatal(err)
		}
	}
	if !net.allFinished() || !sameBits(net.models(), want) {
		t.Errorf("the run did not go on as if nothing had been said: %+v", net.machines[2].Status())
	}
}

// TestProbeIsAnsweredWithWhatIsMissing checks that a restarted neighbor receives the machine's releases of the
// neighbor's round and of the next round, if they exist.
func TestProbeIsAnsweredWithWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		round int // the round of the neighbor
		want  []int
	}{{0, nil}, {1, nil}, {2, []int{3}}, {3, []int{3, 4}}, {4, []int{4}}, {5, nil}} {
		net, _ := afterRounds(t, 4, probing)
		if err := net.machines[2].Receive(Message{From: 3, To: 2, Kind: Probe, Round: c.round, Held: 3}); err != nil {
			t.Fatal(err)
		}
		r, err := net.machines[2].Ready()
		if err != nil {
			t.Fatal(err)
		}
		sent := sentTo(3, r.Send)
		if len(sent) == 0 || sent[0].Kind != ProbeReply || sent[0].Round != 4 || sent[0].Held != 4 {
			t.Errorf("neighbor in round %d: %+v, want a probe's reply first", c.round, sent)
		}
		var got []int
		for _, msg := range withoutProbes(sent) {
			if got = append(got, msg.Round); !msg.Resent || len(msg.Vector) != 5 {
				t.Errorf("neighbor in round %d: sent %+v", c.round, msg)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("neighbor in round %d: sent releases %v, want %v", c.round, got, c.want)
		}
	}
}

func TestProbeRefusesNumbersOutOfRange(t *testing.T) {
	net := newNetwork(t, configs(4, kite, probing))
	net.must(t, 2)
	m := net.machines[2]
	for _, msg := range []Message{
		{From: 3, Kind: Probe, Round: -1},
		{From: 3, Kind: Probe, Round: 10},
		{From: 3, Kind: Probe, Held: -1},
		{From: 3, Kind: Probe, Held: 10},
	} {
		if err := m.Receive(msg); err == nil || !strings.Contains(err.Error(), "the probe from neighbor 3 reports release") {
			t.Errorf("%+v: %v", msg, err)
		}
	}
	if err := m.Receive(Message{From: 7, Kind: Probe}); err == nil || !strings.Contains(err.Error(), "the sender is client 7") {
		t.Errorf("a stranger's probe: %v", err)
	}
	if st := m.Status(); !slices.Equal(st.Waiting, []int{0, 1, 3}) {
		t.Errorf("waiting for %v, want everybody", st.Waiting)
	}
	if sent := net.must(t, 2); len(sent) != 0 {
		t.Errorf("sent %+v", sent)
	}
}

// TestDamagedState restores a machine whose second-newest state is damaged. The machine must ignore a late message of
// the round of that state. It must end if a neighbor is still in that round and lacks the client's release.
func TestDamagedState(t *testing.T) {
	net, kept := afterRounds(t, 4, probing)
	m := reborn(t, configs(4, kite, probing)[2], kept[2][0])
	if _, err := m.Ready(); err != nil {
		t.Fatal(err)
	}
	straggler := Message{Kind: Release, From: 3, To: 2, Round: 3, Vector: net.machines[3].Posted(0, 3).Vector}
	if err := m.Receive(straggler); err != nil {
		t.Errorf("a straggler: %v", err)
	}
	if r, err := m.Ready(); err != nil || len(r.Send) != 0 {
		t.Errorf("a straggler is answered with %+v, %v", r.Send, err)
	}
	if err := m.Receive(Message{From: 1, To: 2, Kind: ProbeReply, Round: 4, Held: 3}); err != nil {
		t.Errorf("a neighbor that has gone on: %v", err)
	}
	if err := m.Receive(Message{From: 3, To: 2, Kind: ProbeReply, Round: 3, Held: 2}); err != nil {
		t.Fatal(err)
	}
	_, err := m.Ready()
	if err == nil || !strings.Contains(err.Error(), "neighbor 3 lacks release 3, and this client's stored state of that release is damaged") {
		t.Errorf("a neighbor that has not: %v", err)
	}
}

// TestReached checks that when the connection to a neighbor opens, the machine at once repeats the messages that this
// neighbor may lack, and sends nothing to other neighbors.
func TestReached(t *testing.T) {
	net := newNetwork(t, configs(4, kite, func(int, *Config) {}))
	m := net.machines[2]
	first := net.must(t, 2)
	if len(first) != 3 || m.round != 1 {
		t.Fatalf("sent %+v in round %d", first, m.round)
	}
	m.Reached(1)
	m.Reached(7) // not the number of a client
	again := net.must(t, 2)
	if len(again) != 1 || again[0].To != 1 || again[0].Round != 1 ||
		!slices.Equal(again[0].Vector, sentTo(1, first)[0].Vector) {
		t.Errorf("sent %+v, want the message of round 1 to 1 once more", again)
	}
}
