// Package edge opens and closes everything that a durable node needs, in one folder: [Open] returns a [Node] with
// websockets, pinned keys, a state that survives a crash, the lifetime ledger of the device's data, and a certificate at
// the end.
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
