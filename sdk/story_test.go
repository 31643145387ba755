package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

func fleetOn(t *testing.T, spec string, n int) *sdk.Fleet {
	t.Helper()
	g, err := graph.Parse(spec, n, 3)
	if err != nil {
		t.Fatal(err)
	}
	f := privateRing()
	f.Members, f.Edges, f.Method.Rounds, f.Method.Cooldown, f.Method.Tau = nil, nil, 14, 12, 1
	for i := range n {
		f.Members = append(f.Members, string(rune('a'+i)))
	}
	for _, e := range g.Edges() {
		f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
	}
	return f
}

// away returns the length, in edges, of the shortest path from member a to member b that avoids a third member
// (without), or -1 if no path avoids that member.
func away(f *sdk.Fleet, a, b, without string) int {
	hops := map[string]int{a: 0}
	for queue := []string{a}; len(queue) > 0; queue = queue[1:] {
		for _, e := range f.Edges {
			for _, to := range [][2]string{{e[0], e[1]}, {e[1], e[0]}} {
				if _, known := hops[to[1]]; to[0] == queue[0] && to[1] != without && !known {
					hops[to[1]] = hops[to[0]] + 1
					queue = append(queue, to[1])
				}
			}
		}
	}
	if n, known := hops[b]; known {
		return n
	}
	return -1
}

// withBad runs a fleet in which tell alters the frames of one member (liar). It returns all nodes, and the joined
// errors of all members except the liar.
func withBad(t *testing.T, f *sdk.Fleet, liar string, tell lie, change func(c *sdk.Config)) (all map[string]*sdk.Node, err error) {
	t.Helper()
	all = map[string]*sdk.Node{}
	trs := inMemory(t, f)
	for i, name := range f.Members {
		c := sdk.Config{Fleet: f, Name: name, Samples: 3, Oracle: oracle(i), Noise: noise(i), Transport: trs[i],
			ResendAfter: 200 * time.Millisecond, Linger: 30 * time.Second}
		sign(&c)
		if name == liar {
			if c.Transport, err = lying(trs[i], f, name, memberKey(name), tell); err != nil {
				t.Fatal(err)
			}
		}
		if change != nil {
			change(&c)
		}
		if all[name], err = sdk.New(c); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	errs := make([]error, len(f.Members))
	var honest, bad sync.WaitGroup
	for i, name := range f.Members {
		group := &honest
		if name == liar {
			group = &bad
		}
		group.Go(func() { errs[i] = all[name].Run(ctx) })
	}
	honest.Wait()
	stop()
	bad.Wait()
	if liar != "" {
		errs[slices.Index(f.Members, liar)] = nil
	}
	return all, errors.Join(errs...)
}

// TestTwoStories lets a member make two signed releases of each round from round q on, each with its own chain: one for
// some neighbors, and one for the rest. Every honest member must get evidence, the member's neighbors must continue
// without it, and nobody else may be accused.
//
// Take the shortest path that connects two neighbors with different releases and avoids the malicious member. Let dist
// be its length. When release q+ceil(dist/2)+1 begins, a member on that path detects the difference. From then on, a
// question or an answer crosses at least one edge per release. If digests were not compared, no honest member would
// receive both releases.
func TestTwoStories(t *testing.T) {
	for _, c := range []struct {
		graph string
		n     int
		liar  string
	}{{"complete", 5, "c"}, {"ring", 6, "b"}, {"er:0.5", 8, "d"}, {"grid:3x3", 9, "e"}, {"grid:3x3", 9, "a"}} {
		t.Run(fmt.Sprintf("%s of %d, %s", c.graph, c.n, c.liar), func(t *testing.T) {
			t.Parallel()
			const q = 3
			f := fleetOn(t, c.graph, c.n)
			if c.graph == "ring" {
				f.Edges = append(f.Edges, [2]string{"a", "d"}, [2]string{"c", "f"})
			}
			var near []string
			for _, e := range f.Edges {
				if i := slices.Index(e[:], c.liar); i >= 0 {
					near = append(near, e[1-i])
				}
			}
			slices.Sort(near)
			victim := func(name string) bool { return slices.Index(near, name) >= (len(near)+1)/2 }
			other := jump(q, 1)
			all, err := withBad(t, f, c.liar, func(to string, m admm.Message) []admm.Message {
				if victim(to) {
					return other(to, m)
				}
				return []admm.Message{m}
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, n := range all {
				st := n.Status()
				if name == c.liar {
					continue
				}
				if !st.Done || len(st.Evidence) != 1 || st.Evidence[0].Member != c.liar ||
					st.Evidence[0].Verify(f.Run, f.Hash(), memberKeys(c.liar)) != nil {
					t.Errorf("%s: done %v, evidence %v", name, st.Done, st.Evidence)
				}
				dist := len(f.Members)
				for _, to := range near {
					if apart := away(f, name, to, c.liar); slices.Contains(near, name) && victim(to) != victim(name) && apart > 0 {
						dist = min(dist, apart)
					}
				}
				latest := q + (dist+1)/2 + 1 + 2*dist + 2
				for _, of := range st.Neighbors {
					out := of.Quarantine.Release
					if (out > 0) != (of.Name == c.liar) || out > latest {
						t.Errorf("%s goes on without %s from release %d on, want %d at the latest, and of %s alone", name, of.Name, out, latest,
							c.liar)
					}
				}
			}
		})
	}
}

// TestLyingDigests checks that wrong, missing or invented digests lead to no accusation, and that the models equal
// those of an undisturbed run, bit for bit.
func TestLyingDigests(t *testing.T) {
	f := fleetOn(t, "grid:3x3", 9)
	quiet, err := withBad(t, f, "e", func(_ string, m admm.Message) []admm.Message { return []admm.Message{m} }, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := withBad(t, f, "e", func(to string, m admm.Message) []admm.Message {
		switch {
		case len(m.Signed.Digests) > 0 && to < "e":
			m.Signed.Digests[len(m.Signed.Digests)-1-m.Round%3]++
		case m.Round%2 == 0:
			m.Signed.Digests = nil
		}
		return []admm.Message{m}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range all {
		if st := n.Status(); len(st.Evidence) > 0 || !slices.Equal(n.Model(), quiet[name].Model()) {
			t.Errorf("%s: evidence %v, model %v, want %v", name, st.Evidence, n.Model(), quiet[name].Model())
		}
		for _, of := range n.Status().Neighbors {
			if of.Quarantine.Release > 0 {
				t.Errorf("%s goes on without %s: %s", name, of.Name, of.Quarantine.Why)
			}
		}
	}
}

// TestEvidenceTravels checks that a member stores evidence against a member that is not its neighbor, and relays the
// evidence to the guilty member's neighbors. The guilty member must stop with ErrClone.
func TestEvidenceTravels(t *testing.T) {
	t.Parallel()
	f := fleetOn(t, "ring", 6)
	first := signed.Statement{Kind: signed.Release, Round: 2, Value: [32]byte{1}}
	second := signed.Statement{Kind: signed.Release, Round: 2, Value: [32]byte{2}}
	for _, s := range []*signed.Statement{&first, &second} {
		s.Sign(memberKey("d"), signed.NewScope(f.Run, f.Hash(), "d"))
	}
	all, err := withBad(t, f, "a", func(to string, m admm.Message) []admm.Message {
		if m.Kind == admm.Release && m.Round == 3 {
			return []admm.Message{m, {Kind: admm.Conflict, Round: 2, Signed: admm.Signed{Proof: first.Append(nil), Other: second.Append(nil),
				Digests: trust.About(3)}}}
		}
		return []admm.Message{m}
	}, nil)
	if !errors.Is(err, sdk.ErrClone) {
		t.Error(err)
	}
	for _, name := range []string{"b", "c", "e", "f"} {
		st := all[name].Status()
		if !st.Done || len(st.Evidence) != 1 || st.Evidence[0].Member != "d" {
			t.Errorf("%s: done %v, evidence %v", name, st.Done, st.Evidence)
		}
		for _, of := range st.Neighbors {
			if (of.Quarantine.Release > 0) != (of.Name == "d") {
				t.Errorf("%s has %s in quarantine: %+v", name, of.Name, of.Quarantine)
			}
		}
	}
}

type watching struct {
	transport.Transport
	codec *wire.Codec
	note  func(release int, digests []byte)
}

func (w watching) Send(ctx context.Context, to string, frame []byte) error {
	var m admm.Message
	if err := w.codec.Decode(frame, &m); err == nil && m.Kind == admm.Release && !m.Resent {
		w.note(m.Round, m.Signed.Digests)
	}
	return w.Transport.Send(ctx, to, frame)
}

// TestDigestsDoNotTellTheTime checks that the digests sent with a release depend only on what went into that release:
// the digests that a member sends must be the same in several runs that differ only in which member is slow. On a ring
// some releases arrive before a node's local work, some during it, and some after it.
func TestDigestsDoNotTellTheTime(t *testing.T) {
	t.Parallel()
	f := fleetOn(t, "ring", 6)
	var first map[string]string
	for _, slow := range []string{"a", "c", "d", ""} {
		var mu sync.Mutex
		sent := map[string]string{}
		_, err := withBad(t, f, "", nil, func(c *sdk.Config) {
			name, ask := c.Name, c.Oracle
			codec, err := wire.NewCodec(f.Dim)
			if err != nil {
				t.Fatal(err)
			}
			c.Transport = watching{c.Transport, codec, func(release int, digests []byte) {
				mu.Lock()
				defer mu.Unlock()
				sent[fmt.Sprint(name, release)] = fmt.Sprintf("%x", digests)
			}}
			c.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, i int) (float64, error) {
				if name == slow {
					time.Sleep(time.Millisecond)
				}
				return ask.Loss(ctx, x, i)
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = sent
		}
		if last := sent[fmt.Sprint("a", f.Method.Last())]; !maps.Equal(sent, first) || len(last) != 2*5*trust.DigestSize {
			t.Errorf("with %q slow: %d releases, the last with %q, and not what was sent with %q slow", slow, len(sent), last, "a")
		}
	}
}
