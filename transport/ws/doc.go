// Package ws carries frames between members over websockets: a [transport.Transport] for real networks, with TLS 1.3
// and pinned keys at both ends.
//
// # Security
//
// A member is an Ed25519 key. Every node pins the public keys of its neighbors, as WireGuard does: no certificate
// authority, no expiry, no clock. In the TLS handshake both ends prove that they hold a key that the other has pinned,
// and [Transport.Recv] returns the name that belongs to it. To change a key, pin the new one beside the old one
// everywhere, change it, and drop the old pin; [Transport.Update] does so while frames flow. There is no mode without
// TLS and no session resumption.
//
// Anyone who controls the network can see who talks to whom, when and how much, and can cut or delay connections, which
// are then made again. At most 64 strangers may be without a completed handshake, and at most 16 KiB are read from one
// before it has shown a pinned key: strangers cost at most 8 MiB. If there are too many, one of the source with the most
// of them is closed. The first message of a peer's handshake carries a pre-authentication token (token.go), which
// reserves one of four places of the peer's own. A holder of a pinned key can speak in that member's name alone, can
// make a node hold four frames of the greatest length, and delays no frame of another member. A peer that sends much more
// than frames, such as pings without end, loses the connection.
//
// A proxy between two members must pass TLS through, by port, by server name or by CONNECT ([Config.Proxy]). One that
// ends TLS presents a key of its own, which both ends report.
//
// # Connections
//
// A node that has a peer's address dials it and retries: every second in the first ten minutes, then, or if something
// answers and refuses, with waits of up to half a minute. If both ends dial at once, the one whose name sorts lower
// decides which connection is used, see session.open. A new connection replaces an older one that its peer has lost.
// Both ends first exchange a hello, whose content is the application's ([Config.Hello]); both report a refused one. Then
// each end grants the other as many frames as it has room for. So the connection is always being read: a peer that
// computes for minutes stays connected, and a dead one is noticed within a minute and a half. A line may be as slow as it
// wants as long as something moves. Frames arrive once and in order, but when a connection breaks some may be lost, and
// one may arrive twice.
//
// # Format
//
// A connection has the websocket subprotocol "spade-edge.1". A message is a binary websocket message: one byte of kind,
// a number of 4 bytes (big-endian) and the body. It states its own length because the websocket library can take a
// broken connection for the end of a message. Keepalives are messages too: the library closes a connection on which the
// answer to a ping takes over five seconds to leave, as behind a large frame on a slow line. In place of a websocket a
// peer may ask whether it would get one, see [Probe].
package ws
