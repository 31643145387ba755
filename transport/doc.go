// Package transport says what SPADE-Edge needs of a network: frames of bytes between members known by name.
//
// A [Transport] may drop, duplicate and reorder frames, but it never corrupts one and never lies about a sender:
// the name that Recv returns comes from the transport's own authentication, not from the frame. What the frames mean is
// no business of this layer. Package mem connects nodes inside one process, package ws over websockets with
// mutually pinned keys.
package transport
