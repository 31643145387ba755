package admm

import (
	"errors"
	"slices"
	"testing"
)

// TestQuarantineIsANetworkWithoutTheEdge checks that a network that drops an edge before the first release computes the
// same bits as a network without the edge. The cases cover vectors, and noisy releases on a grid.
func TestQuarantineIsANetworkWithoutTheEdge(t *testing.T) {
	for name, change := range map[string]func(i int, c *Config){
		"vectors": func(int, *Config) {},
		"grid":    onAGrid,
	} {
		t.Run(name, func(t *testing.T) {
			all := everyEdge(5)
			change := func(i int, c *Config) {
				c.Consensus = flowing(5, all)
				change(i, c)
			}
			without := slices.DeleteFunc(everyEdge(5), func(e [2]int) bool { return e == [2]int{1, 3} })
			dropped, absent := newNetwork(t, configs(5, all, change)), newNetwork(t, configs(5, without, change))
			if from := dropped.machines[1].Quarantine(3); from != 2 { // release 1 of client 3 could be in flight
				t.Fatal(from)
			}
			dropped.machines[3].Quarantine(1)
			must(t, errors.Join(dropped.run(), absent.run()))
			for i, m := range dropped.machines {
				if !slices.Equal(m.x, absent.machines[i].x) {
					t.Errorf("client %d ends at %v, want %v", i, m.x, absent.machines[i].x)
				}
			}
		})
	}
}

// TestQuarantineLooksAtNoClock checks that the first release that a client makes without a dropped neighbor depends on
// what the neighbor sent, and not on how far the client has advanced when it drops the edge.
func TestQuarantineLooksAtNoClock(t *testing.T) {
	for _, early := range []bool{true, false} {
		net := newNetwork(t, configs(3, everyEdge(3), onAGrid))
		for range 3 {
			must(t, net.round())
		}
		m := net.machines[0]
		if !early { // the client has advanced as far as possible
			for range 20 {
				if _, err := m.Ready(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if from := m.Quarantine(2); from != m.edge(2).heard+2 {
			t.Errorf("early %v: from release %d on, and release %d has arrived", early, from, m.edge(2).heard)
		}
		if m.Quarantine(2) != m.Quarantined(2) || m.Quarantine(9) != 0 || m.Quarantined(1) != 0 {
			t.Error("a second call, or one for somebody else")
		}
		if err := m.Receive(Message{Kind: Release, From: 2, Round: 4}); !errors.Is(err, errQuarantine) {
			t.Errorf("what it sends: %v", err)
		}
	}
}
