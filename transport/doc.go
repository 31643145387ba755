// Package transport defines the network that SPADE-Edge needs: frames of bytes between members known by name.
//
// A [Transport] may drop, duplicate and reorder frames, but it never corrupts one and never lies about a sender: the
// name from Recv comes from the transport's own authentication. This layer does not interpret frames. Package mem
// connects nodes inside one process, package ws uses websockets with mutually pinned keys, and the modules nats and
// mqtt use a broker that is not trusted.
package transport
