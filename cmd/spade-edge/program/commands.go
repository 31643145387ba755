// Package program implements the program spade-edge over any transport. A main package passes a [Program], which
// defines how its nodes connect: spade-edge uses websockets; spade-edge-nats and spade-edge-mqtt use a broker.
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

// Program describes how a program differs from the other programs: its name and its nodes' transports.
type Program = cli.Program

// Answer is the response of one peer to a connection attempt.
type Answer = cli.Answer

// Websockets is the program spade-edge, whose nodes connect directly to each other.
var Websockets = node.Websockets

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
