// Package mem connects the nodes of one process: a [transport.Transport] without sockets, for simulations,
// demonstrations and tests.
//
// A [Net] is a set of members known by name, each of which may send to every other. Frames between two members arrive
// once and in order; those on their way to a member that has closed are lost, as they would be with a process that
// died. A name is all there is to identity: members of one process trust each other.
//
// Every directed pair of members has a queue of its own with room for a few frames. A Send waits while its queue is
// full and delays nobody else meanwhile.
package mem
