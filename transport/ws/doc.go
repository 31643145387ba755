// Package ws carries frames between members over websockets: a [transport.Transport] for real networks, with TLS 1.3
// and pinned keys at both ends.
//
// # Security
//
// A member is an Ed25519 key. Every node pins the public keys of its neighbors, as WireGuard does. There is no
// certificate authority and no expiry date, and no node needs a clock. In the TLS handshake both ends prove that they
// hold a key that the other has pinned, and [Transport.Recv] returns the name that belongs to this key. To change a
// member's key, pin the new key beside the old key at all neighbors, let the member use the new key, and drop the old
// pin; [Transport.Update] changes pins while frames flow. There is no mode without TLS and no session resumption.
//
// Anyone who controls the network can see which members communicate, when and how much, and can cut or delay
// connections, which the nodes then reestablish. At most 64 strangers may have an unfinished handshake, and a node
// reads at most 16 KiB from each: strangers cost at most 8 MiB. If there are too many strangers, the node closes the
// connection of a stranger from the source with the most strangers. The first message of a peer's handshake carries a
// pre-authentication token (token.go), which reserves one of the peer's own four places. The holder of a pinned key can
// send in that member's name only, can make a node hold four frames of the maximum length, and cannot delay a frame of
// another member. A node disconnects a peer that sends much more than frames, such as endless pings.
//
// A proxy between two members must pass TLS through, by port, by server name or by CONNECT ([Config.Proxy]). A proxy
// that terminates TLS presents its own key, which both ends report.
//
// # Connections
//
// A node that has a peer's address dials it and retries: every second in the first ten minutes, and with waits of up to
// half a minute after that or when the peer or a proxy answers and refuses. If both ends dial at once, the end whose
// name sorts lower decides which connection is used, see session.open. A new connection replaces an older connection
// that the peer has lost. Both ends first exchange a hello, whose content is the application's ([Config.Hello]); both
// report a refused hello. Then each end grants the other as many frames as it has room for. So the connection is always
// being read: a peer that computes for minutes stays connected, and a dead peer is detected within a minute and a half.
// A link may be arbitrarily slow as long as some bytes move. Frames arrive once and in order, but when a connection
// breaks, some frames may be lost, and one frame may arrive twice.
//
// # Format
//
// A connection has the websocket subprotocol "spade-edge.1". A message is a binary websocket message: one byte of kind,
// a number of 4 bytes (big-endian) and the body. A message states its own length because the websocket library can
// mistake a broken connection for the end of a message. Keepalives are messages too: the library closes a connection if
// the answer to a ping takes over five seconds to leave, as it may behind a large frame. Instead of opening a
// websocket, a peer may ask whether the node would accept its connection, see [Probe].
package ws
