// Package edge opens and closes everything that a durable node needs, in one folder: [Open] returns a [Node] with
// websockets, pinned keys, a state that survives a crash, the lifetime ledger of the device's data, and a certificate at
// the end.
//
//	fleet, err := fleetfile.Read("fleet.json") // the same on every device
//	...
//	node, err := edge.Open("data", fleet, "pump-1", oracle, edge.Options{Samples: len(rows), Declared: state.NeverUsed})
//	...
//	defer node.Close()
//	err = node.Run(ctx) // after a kill or a power cut, start the program again
//	model := node.Model()
//
// Before the first start, each device makes its keys with [Identity] and publishes the public ones. Someone collects them
// in a fleetfile.File: an sdk.Fleet, whose Method and Privacy plan.Suggest chooses, and each member's keys and addresses.
// Of two neighbors, at least one must have an address and Options.Listen.
//
// The folder belongs to one member with one data set, for all its runs:
//
//	node.key            the secret key, which Identity makes
//	pairs.key           one-time keys of pairwise noise
//	ledger.json         what all runs on the data have spent
//	ledger.json.*       the ledger's mark, and what neighbors have signed about their ledgers
//	state-RUN/          the state of a run
//	certificate-RUN.json  what the run and all earlier ones have cost
//
// A program without websockets, with another place for its files, or without a disk uses [sdk.New], which takes each part
// by itself. Package device runs a node from the files of the program spade-edge.
package edge
