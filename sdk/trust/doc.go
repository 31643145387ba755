// Package trust tracks the signed statements that one member has. The [Log] holds the member's own releases and the
// releases of its neighbors. A node calls [Log.Sign] when it makes a release, [Log.Attach] for an outgoing message, and
// one check for each kind of incoming message. The package does no input or output and makes no decisions: its errors
// report what a message shows.
//
// A neighbor proves claims about this member's releases with a statement that this member signed ([Log.Proof]), and
// claims about itself with a statement of its own ([Log.Stands]). Two statements that contradict each other are a
// [Contradiction]. [Secrets] holds the keys of pairwise
// noise.
package trust
