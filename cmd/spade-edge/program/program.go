// Package program implements the program spade-edge over any transport. A main package passes a [Program], which
// defines how its nodes connect: spade-edge uses websockets; spade-edge-nats and spade-edge-mqtt use a broker.
//
// "spade-edge help" lists the commands and topics; "spade-edge help exit-codes" lists the exit codes. With -json, one
// JSON object goes to standard output and everything else to standard error.
package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/lab"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"
	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// Program describes how a program differs from the other programs: its name and its nodes' transports.
type Program = cli.Program

// Answer is the response of one peer to a connection attempt.
type Answer = cli.Answer

func init() { // not an initializer, because the command help reads Commands: that would be a cycle
	cli.Commands = []*cli.Command{
		{Name: "demo", Short: "run eight nodes with real websockets on this machine", Run: lab.Demo},
		{Name: "simulate", Short: "simulate a network of any size on your data", Run: lab.Simulate},
		{Name: "plan", Short: "forecast a run: rounds, bytes, epsilon", Run: lab.Plan},
		{Name: "fit", Short: "fit the preprocessing of all members on public data", Run: fleet.Fit},
		{Name: "keygen", Short: "make the key of a node", Run: fleet.Keygen},
		{Name: "init", Short: "make the files of a fleet", Run: fleet.Init},
		{Name: "fleet", Short: "change members, keys, addresses; prepare the next run", Run: fleet.Edit},
		{Name: "privacy", Short: "plan noise, verify a certificate, manage a ledger", Run: privacy.Run},
		{Name: "check", Short: "check whether a node is ready to run", Run: node.Check},
		{Name: "run", Short: "run one node of a fleet on this device", Run: node.Run},
		{Name: "status", Short: "print where a node stands, running or not", Run: node.Status},
		{Name: "stop", Short: "stop a running node, which can continue later", Run: node.Stop},
		{Name: "export", Short: "write a node's model to a file, with its certificate", Run: node.Export},
		{Name: "predict", Short: "apply an exported model to new samples, with reasons", Run: node.Predict},
		{Name: "evaluate", Short: "score an exported model on labelled samples", Run: node.Evaluate},
		{Name: "version", Short: "print what this program was built from", Run: cli.Version},
	}
}

// Websockets is the program spade-edge, whose nodes connect directly to each other.
var Websockets = &Program{
	Name: "spade-edge",
	Accept: func(node *fleetfile.Node) error {
		if kind := broker.Kind(node); kind != "" {
			return fmt.Errorf("transport is %s, which this program does not support: use spade-edge-%[1]s (a release "+
				"has it; or go install github.com/spade-dfl/spade-edge/transport/broker/cmd/spade-edge-%[1]s@latest)", kind)
		}
		return nil
	},
	Open: func(d *device.Device, log *slog.Logger) (device.Link, error) {
		link := ws.ConfigOf(d.Fleet, d.File.Name, d.Key, d.File.Listen)
		link.Proxy, link.Logger = d.Proxy, log
		t, err := ws.New(link)
		if listens := new(net.OpError); errors.As(err, &listens) {
			return nil, fmt.Errorf(`"listen" in the node file: %w`, err)
		}
		return t, err
	},
	Ask: askNeighbors,
}

// askNeighbors connects to each neighbor that has an address. If every is true, it tries all addresses of all
// neighbors: the first address of each neighbor, then the second address of each, and so on.
func askNeighbors(ctx context.Context, d *device.Device, patience time.Duration, every bool) (all []Answer) {
	link := ws.ConfigOf(d.Fleet, d.File.Name, d.Key, d.File.Listen)
	link.Proxy = d.Proxy
	if !every {
		return probe(ctx, link, patience)
	}
	peers := link.Peers
	for i := 0; ; i++ {
		link.Peers = nil
		for _, p := range peers {
			if n := len(p.Addresses); i < max(1, n) {
				p.Addresses = p.Addresses[min(i, n):min(i+1, n)]
				link.Peers = append(link.Peers, p)
			}
		}
		if len(link.Peers) == 0 {
			return all
		}
		all = append(all, probe(ctx, link, patience)...)
	}
}

// probe connects once to each peer of the given link.
func probe(ctx context.Context, link ws.Config, patience time.Duration) (all []Answer) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers, err := ws.Probe(ctx, link)
	if err != nil {
		return []Answer{{Who: "neighbors", Err: err, Code: cli.ExitUsage}}
	}
	for _, a := range answers {
		to := Answer{Who: fmt.Sprintf("neighbor %q", a.Name)}
		switch {
		case a.Err == nil:
			if a.Proxy != "" {
				a.Where += " through " + a.Proxy
			}
			to.Text = fmt.Sprintf("has the same fleet, at %s, in %v", a.Where, a.Took.Round(100*time.Microsecond))
		case a.Refused:
			to.Err, to.Code = fmt.Errorf("%s: %w", a.Where, a.Err), cli.ExitMismatch
		case a.Where == "":
			to.Err = errors.New("cannot be checked, because this neighbor has no address and dials this node")
		default:
			to.Err = fmt.Errorf("not reachable (yet): %s: %w", a.Where, a.Err)
		}
		all = append(all, to)
	}
	return all
}
