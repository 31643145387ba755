// Package transport defines the network that SPADE-Edge needs: it carries frames of bytes between named members.
//
// A [Transport] may drop, duplicate and reorder frames, but it never corrupts a frame or reports a wrong sender: it
// authenticates the name that Recv returns. This layer does not interpret frames. Package mem connects nodes inside one
// process, package ws uses websockets with mutually pinned keys, and packages nats and mqtt of the module
// transport/broker use an untrusted broker.
package transport
