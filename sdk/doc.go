// Package sdk lets a Go program join a network that trains one shared parameter vector without a server and without
// gradients. Data never leaves the device.
//
// You supply an [Oracle]: the loss of a parameter vector on one of your samples. The members of a [Fleet] agree on
// everything public. Each member runs a [Node]. At the end every node holds a model, and [Node.Spend] returns an upper
// bound on what the node leaked.
//
//	node, err := sdk.New(sdk.Config{
//		Fleet:     fleet,     // the same on every member
//		Name:      "ward-3",  // this member
//		Samples:   len(data), // number of samples of the oracle
//		Oracle:    oracle,    // your loss
//		Transport: tr,        // package transport/ws, or transport/mem in tests
//	})
//	...
//	err = node.Run(ctx)
//	x := node.Model()
//
// A deployed program needs, beside this package:
//
//	sdk/edge       opens and closes what follows, in one folder
//	transport/ws   websockets with pinned keys
//	sdk/state      Store, Ledger and one-time keys, in files
//	sdk/secret     the device's key, in a file
//	sdk/fleetfile  the public file of a fleet
//	sdk/plan       settings from public numbers, before the run
//
// # What a node does in a round
//
// The method and the rules of trust are two machines without clock, goroutine or I/O: [admm.Machine] makes releases, and
// [trust.Machine] decides what a neighbor's message proves. Run drives both, in one goroutine ([admm.Ready] lists the
// duties):
//
//  1. Query. The oracle gets the machine's queries, a few at a time. Between two calls the node takes at most one frame, so
//     that no neighbor can stop the work. In a private run a constant replaces a loss that is missing: a node
//     that fell silent on some data would reveal them.
//  2. Reserve. The one-time key of pairwise noise is bound to the run, and the release is counted against the run's
//     limit and charged to the lifetime ledger, before the noise is drawn. If the budget does not cover it, the run ends
//     here: nothing was drawn, and neighbors see no more than that a round is missing.
//  3. Draw. The machine clips the update, adds the noise and makes the release. From here to step 6 nothing depends on
//     data. If the process ends before the next step, nobody has seen the draw: a new one replaces it for the same charge.
//  4. Store. The release is signed, with the hash of the one before, and the state that contains it is stored. After a
//     crash the node sends these bytes; a second release of the round would be a second look at the data.
//  5. Mark. The ledger notes that the release may have been sent. A state that is older than the mark was set back, so the
//     node does not continue from it.
//  6. Send. Only now status, events and neighbors see the release.
//  7. Receive. A frame is decoded, and [trust.Machine.Receive] gives its verdict. What proves something is stored first;
//     then the neighbor sees the proof, and the edge is dropped or the run ends. The machine of the method takes the rest. It
//     begins the next round when it holds every neighbor's release, whose arrival also confirms this node's own.
//
// If nothing moves, the node sends its last messages again, ever less often. It exits when every neighbor has said that it
// needs nothing more, and countersigned the last release.
//
// Package admm implements the method, SPADE-DFL, in the notation of the paper, and package audit checks certificates.
package sdk
