// Package sdk lets a Go program take part in a network that trains one shared parameter vector: without a server, without
// gradients, and without the data ever leaving the device.
//
// You bring a loss: a function that says how badly a parameter vector does on one of your samples, an [Oracle]. The
// members of a [Fleet] agree on everything public, and each runs a [Node]. The node queries its own loss at perturbed points. Once a
// round it adds noise to what it has learned, and sends that to its neighbors. At the end every node holds a model, and [Node.Spend] says
// what a neighbor could have learned about the data behind it.
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
// A device needs more of [Config]: a Store, so that a crash makes no round twice; a Ledger, which counts what all runs on
// the data have spent; Key and Keys, with which releases are signed; and Heads, which remembers what neighbors have signed.
// Package state has all but the keys. With keys, what a neighbor says of this node's releases counts only with this node's
// signature, and two signed releases of one round are evidence of a double, see [signed.Evidence]. [Node.Certificate] says
// what was spent; package audit checks a certificate of another member.
//
// The method is SPADE-DFL; package admm holds it, step by step, in the words of the paper.
package sdk
