// Package mem connects the nodes of one process: it provides a [transport.Transport] without sockets for simulations,
// demonstrations and tests.
//
// A [Net] is a set of named members that can all send to each other. Frames between two members arrive exactly once and
// in order. Frames to a closed member are lost, as if its process had died. There is no authentication: members in one
// process trust each other.
//
// Each directed pair of members has its own queue, which holds a few frames. Send waits while the queue is full,
// without delaying other pairs.
package mem
