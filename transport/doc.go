// Package transport says what SPADE-Edge needs of a network: frames of bytes between members known by name.
//
// A [Transport] may drop, duplicate and reorder frames, but it never corrupts one and never lies about a sender: the
// name that Recv returns comes from the transport's own authentication, not from the frame. This layer does not know
// what the frames mean. Package mem connects nodes inside one process, package ws uses websockets with mutually pinned
// keys, and package nats, a module of its own, a NATS broker that is not trusted.
package transport
