// Package mem connects the nodes of one process: a [transport.Transport] without sockets, for simulations,
// demonstrations and tests.
//
// A [Net] is a set of named members, each of which may send to every other. Frames between two members arrive once and
// in order; frames to a member that closes are lost, as if its process had died. A name is the only identity: members
// of one process trust each other.
//
// Each directed pair of members has its own queue for a few frames. A Send waits while its queue is full and delays
// nobody else.
package mem
