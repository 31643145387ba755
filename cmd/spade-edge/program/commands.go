// Package program implements the program spade-edge over any transport. A main package passes a [Program], which says
// how its nodes connect: in spade-edge over websockets, in spade-edge-nats and spade-edge-mqtt through a broker.
//
// "spade-edge help" lists the commands and topics; "spade-edge help exit-codes" lists the exit codes. With -json, one
// JSON object goes to standard output and everything else to standard error.
package program

import (
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/lab"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"
)

// Program is the part that differs between programs: the name and the transports of the nodes.
type Program = cli.Program

// Answer is the result of asking one peer.
type Answer = cli.Answer

// Websockets is the program spade-edge, whose nodes connect to each other.
var Websockets = node.Websockets

func init() { // help reads all commands
	cli.Commands = []*cli.Command{
		{Name: "demo", Short: "eight nodes with real websockets on this machine", Run: lab.Demo},
		{Name: "simulate", Short: "a network of any size in one process, on your data", Run: lab.Simulate},
		{Name: "plan", Short: "what a run will take: rounds, bytes, epsilon", Run: lab.Plan},
		{Name: "fit", Short: "how members prepare their data, fitted on public data", Run: fleet.Fit},
		{Name: "keygen", Short: "the key of a node", Run: fleet.Keygen},
		{Name: "init", Short: "the files of a fleet", Run: fleet.Init},
		{Name: "fleet", Short: "members, keys, addresses and the next run of a fleet", Run: fleet.Edit},
		{Name: "privacy", Short: "plan noise, verify a certificate, look after a ledger", Run: privacy.Run},
		{Name: "check", Short: "whether a node is fit to run", Run: node.Check},
		{Name: "run", Short: "one node of a fleet, on a device", Run: node.Run},
		{Name: "status", Short: "where a node stands, running or not", Run: node.Status},
		{Name: "stop", Short: "end a running node, to go on later", Run: node.Stop},
		{Name: "export", Short: "a node's model in a file, with checksum and certificate", Run: node.Export},
		{Name: "predict", Short: "what an exported model says of new samples, and why", Run: node.Predict},
		{Name: "evaluate", Short: "what an exported model is worth on labelled samples", Run: node.Evaluate},
		{Name: "version", Short: "what this program was built from", Run: cli.Version},
	}
}
