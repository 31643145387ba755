// Package mem connects the nodes of one process: a [transport.Transport] without sockets, for simulations,
// demonstrations and tests.
//
// A [Net] is a set of named members that can all send to each other. Frames between two members arrive once and in
// order; frames to a closed member are lost, as if its process had died. There is no authentication: members of one
// process trust each other.
//
// Each directed pair of members has its own queue for a few frames. A Send waits while its queue is full and does not
// delay others.
package mem
