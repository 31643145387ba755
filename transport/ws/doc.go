// Package ws carries frames between members over websockets: a [transport.Transport] for real networks, with TLS 1.3
// and pinned keys at both ends.
//
// # Security
//
// A member is an Ed25519 key. Every node pins the public keys of its neighbors, as WireGuard does: there is no
// certificate authority, nothing expires, and a node needs no clock. Both ends prove in the TLS handshake that they
// hold a key that the other has pinned, and [Transport.Recv] returns the name that belongs to it. To change a key, pin
// the new one beside the old one everywhere, change it, and drop the old pin; [Transport.Update] does so while frames
// flow. There is no mode without TLS and no session resumption.
//
// Who controls the network can see who talks to whom, when and how much, and cut or delay connections, which are then
// made again. At most 64 strangers may be without a completed handshake, and at most 16 KiB are read from one before it
// has shown a pinned key: strangers cost 8 MiB at most. One that is too many costs another one of the source with the
// most of them its place. A peer shows with the first message of its handshake that it is one, see token.go, and then has
// one of four places of its own. Who holds a pinned key can speak in that member's name alone and make a node hold four
// frames of the greatest length, and delays no frame of another member. A peer that sends much more than frames, such as
// pings without end, loses the connection.
//
// Proxies between two members must pass TLS through, by port, by server name, or because they were asked to
// ([Config.Proxy]). One that ends TLS presents a key of its own, which both ends report.
//
// # Connections
//
// Whoever has a peer's address dials, and keeps trying while there is no connection: every second in the first ten
// minutes, unless something answers and refuses, and then with waits up to half a minute. If both ends dial at once, the
// one whose name sorts lower decides which connection is used, see session.opening; that needs no clock. A new
// connection replaces an older one that its peer has lost. First both ends exchange a hello, whose content is the application's
// ([Config.Hello]); both report a refused one. Then each end tells the other how many frames it has room for and sends
// no more than it was told. So the connection is always being read, a peer that computes for minutes stays connected,
// and one that has died is noticed within a minute and a half. A line may be as slow as it wants as long as something
// moves. Frames arrive once and in order, but when a connection breaks some may be lost, and one may arrive twice.
//
// # Format
//
// A connection has the websocket subprotocol "spade-edge.1". A message is a binary websocket message: one byte of kind,
// a number of 4 bytes (big-endian) and the body. It states its own length because the websocket library can take a
// broken connection for the end of a message. Keepalives are messages too: the library gives the answer to a websocket
// ping only five seconds to leave, and a large frame on a slow line takes longer. In place of a websocket a peer may
// ask whether it would get one, see [Probe].
package ws
