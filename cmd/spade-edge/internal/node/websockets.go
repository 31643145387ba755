package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// Websockets is the program spade-edge, whose nodes connect directly to each other.
var Websockets = &cli.Program{
	Name: "spade-edge",
	Accept: func(node *fleetfile.Node) error {
		if kind := broker.Kind(node); kind != "" {
			return fmt.Errorf("transport is %s, which this program does not support: use spade-edge-%[1]s (to build "+
				"it, run go build ./cmd/spade-edge-%[1]s in transport/%[1]s)", kind)
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
func askNeighbors(ctx context.Context, d *device.Device, patience time.Duration, every bool) (all []cli.Answer) {
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
func probe(ctx context.Context, link ws.Config, patience time.Duration) (all []cli.Answer) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers, err := ws.Probe(ctx, link)
	if err != nil {
		return []cli.Answer{{Who: "neighbors", Err: err, Code: cli.ExitUsage}}
	}
	for _, a := range answers {
		to := cli.Answer{Who: fmt.Sprintf("neighbor %q", a.Name)}
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
