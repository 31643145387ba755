// Package sdk lets a Go program take part in a network that trains one shared parameter vector: without a server,
// without gradients, and without the data ever leaving the device.
//
// You bring an [Oracle]: the loss of a parameter vector on one of your samples. The members of a [Fleet] agree on
// everything public, and each runs a [Node]. The node queries its own loss at perturbed points. Once a round it adds
// noise to what it has learned, and sends that to its neighbors. At the end every node holds a model, and [Node.Spend]
// says what a neighbor could have learned about the data behind it.
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
// A device needs more of [Config]: Store, Ledger and Heads of package state, and keys. With keys a claim counts only
// with the signature of whoever it is about, and two signed releases of one round are [signed.Evidence]. Package audit
// checks certificates. Package admm holds the method, SPADE-DFL, in the words of the paper.
package sdk
