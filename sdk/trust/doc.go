// Package trust is what one member knows about the statements of all: the [Log] has what it has signed itself and what it
// holds of its neighbors'. A node calls it at few points: [Log.Sign] when a release is made, [Log.Attach] for an outgoing
// message, and one check for each kind of incoming message. It does no input or output of its own, and decides nothing:
// errors say what a message shows.
//
// Whatever a neighbor says of this member's releases it proves with this member's own statement ([Log.Proof]), and what it
// says of itself with its own ([Log.Stands]). Two statements that cannot both be right are a [Contradiction]: evidence that
// anybody can check who has the public key. [Gossip] finds such statements where different neighbors hold them. [Stops] are
// the early-stop requests that count, and [Secrets] what a member agrees on with others to share noise.
package trust
