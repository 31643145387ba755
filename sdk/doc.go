// Package sdk lets a Go program take part in a network that trains one shared parameter vector, without a server and
// without gradients. Data never leaves the device.
//
// You bring an [Oracle]: the loss of a parameter vector on one of your samples. The members of a [Fleet] agree on
// everything public, and each runs a [Node]. The node queries its loss at perturbed points, and once a round sends its
// update, with noise, to its neighbors. At the end every node holds a model, and [Node.Spend] says what it has leaked.
//
//	node, err := sdk.New(sdk.Config{
//		Fleet:     fleet,     // the same on every member
//		Name:      "ward-3",  // who this one is
//		Samples:   len(data), // how many samples the oracle knows
//		Oracle:    oracle,    // your loss
//		Transport: tr,        // package transport/ws, or transport/mem in tests
//	})
//	...
//	err = node.Run(ctx)
//	x := node.Model()
//
// A device also needs Store, Ledger and Heads of package state, and keys: with keys a claim counts only with the signature
// of the member that it is about. Package plan chooses settings, package audit checks certificates, and package admm holds
// the method, SPADE-DFL, in the words of the paper.
package sdk
