package monitor_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// In this example a program serves the page of a node and then reads the node's metrics over HTTP.
func Example() {
	fleet := &sdk.Fleet{
		Run: "solo", Dim: 2, Members: []string{"me"},
		Method:  sdk.Method{Rounds: 3, Tau: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.3}, Mu: []float64{0.5}},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	mon, err := monitor.New(monitor.Config{Fleet: fleet, Name: "me"})
	if err != nil {
		log.Fatal(err)
	}
	tr, err := mem.New(fleet.Members...).Node("me")
	if err != nil {
		log.Fatal(err)
	}
	node, err := sdk.New(sdk.Config{
		Fleet: fleet, Name: "me", Samples: 5, Transport: tr, Events: mon.Events(),
		Oracle: sdk.OracleFunc(func(_ context.Context, x []float32, sample int) (float64, error) { return 0.5, nil }),
	})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := monitor.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go monitor.Serve(ctx, listener, mon.Handler())

	mon.Begin(node)
	mon.End(node.Run(ctx))

	resp, err := http.Get("http://" + listener.Addr().String() + "/metrics")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "spade_edge_round") || strings.Contains(line, `"ended"`) {
			fmt.Print(line)
		}
	}
	// Output:
	// spade_edge_phase{run="solo",node="me",phase="ended"} 1
	// spade_edge_round{run="solo",node="me"} 3
	// spade_edge_rounds{run="solo",node="me"} 3
}
