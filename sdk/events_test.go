package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"expvar"
	"fmt"
	"log"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// TestEvents runs three nodes, of which a goes on without c. The node a must report each event in the order in which it
// happens, to each of two receivers, and its metrics must agree with its status.
func TestEvents(t *testing.T) {
	f := only(3, privateRing())
	f.Method.Rounds, f.Method.Cooldown = 2, 1
	failed, blocked := make(chan error, 1), make(chan error)
	defer close(blocked)
	var events []string
	say := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	var text bytes.Buffer
	all := nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
		if c.Without = []string{[]string{"c", "c", "a"}[i]}; i > 0 {
			return
		}
		c.Oracle = sdk.OracleFunc(func(_ context.Context, x []float32, i int) (float64, error) {
			if i == 1 {
				return 0, errors.New("no such row")
			}
			return float64(x[0]), nil
		})
		logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Events = sdk.Events{
			Began:    func(release int) { say("begins %d", release) },
			Released: func(release int, x []float32) { say("released %d with %d", release, len(x)) },
			Dropped:  func(q state.Quarantine) { say("dropped %s: %s", q.Neighbor, q.Why) },
			Done:     func(model []float32) { say("done with %d", len(model)) },
		}
		c.Events = monitor.Both(monitor.Both(c.Events, sdk.Events{}), monitor.Log(logger))
		logged := c.Events.Failed
		c.Events.Failed = func(why error) { logged(why); failed <- why; <-blocked } // must not hold up the run
	})
	mustRun(t, all[:2])
	<-failed
	dim := fmt.Sprint(" with ", f.Dim)
	want := []string{"dropped c: this node was told to go on without it", "begins 1", "released 1" + dim, "begins 2", "released 2" + dim,
		"released 3" + dim, "done" + dim}
	if !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
	for _, line := range []string{"edge dropped", "query failed", "the model is final"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("the log has no line %q", line)
		}
	}
	a := all[0]
	st, m := a.Status(), a.Metrics()
	if m["release"] != 3 || m["last_release"] != 3 || m["neighbors"] != 2 || m["neighbors_dropped"] != 1 || m["rho"] != a.Spend().Rho ||
		m["bytes_sent"] != float64(st.BytesSent) {
		t.Errorf("metrics %v, status %+v", m, st)
	}
}

// A collector reads a node's metrics.
func ExampleNode_Metrics() {
	tr, err := mem.New("a").Node("a")
	if err != nil {
		log.Fatal(err)
	}
	fleet := &sdk.Fleet{Run: "alone", Dim: 1, Members: []string{"a"}, Privacy: sdk.Privacy{NonPrivate: true},
		Method: sdk.Method{Rounds: 3, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{0.1}, Mu: []float64{0.1}}}
	loss := func(_ context.Context, x []float32, _ int) (float64, error) { return float64(x[0] * x[0]), nil }
	node, err := sdk.New(sdk.Config{Fleet: fleet, Name: "a", Samples: 1, Oracle: sdk.OracleFunc(loss), Transport: tr})
	if err != nil {
		log.Fatal(err)
	}
	expvar.Publish("spade", expvar.Func(func() any { return node.Metrics() }))
	if err := node.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(expvar.Get("spade"))
	// Output: {"bytes_sent":0,"consensus_error":0,"frames_refused":0,"last_release":3,"neighbors":0,"neighbors_dropped":0,"neighbors_waited_for":0,"release":3}
}
