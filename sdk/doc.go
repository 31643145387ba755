// Package sdk lets a Go program join a network that trains one shared parameter vector without a server and without
// gradients. Data never leaves the device.
//
// You supply an [Oracle]: the loss of a parameter vector on one of your samples. The members of a [Fleet] agree on
// everything public. Each member runs a [Node], which queries its loss at perturbed points and once per round sends a
// noisy update to its neighbors. At the end every node holds a model, and [Node.Spend] returns an upper bound on what
// the node leaked.
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
// A deployed device also needs keys, and the types Store, Ledger and Heads of package state. With keys, a claim about a
// member counts only if that member signed it. Package plan chooses settings, package audit checks certificates, and
// package admm implements the method, SPADE-DFL, in the notation of the paper.
package sdk
