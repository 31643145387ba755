// Package ws carries frames between members over websockets. It provides a [transport.Transport] for real networks,
// with TLS 1.3 and pinned keys at both ends.
//
// # Security
//
// A member is identified by an Ed25519 key. As in WireGuard, every node pins the public keys of its neighbors. There
// are no certificate authorities and no expiry dates, and nodes do not need a clock. In the TLS handshake, each end
// proves that it has a key that the other end has pinned. [Transport.Recv] returns the name of the member with this
// key. To change a member's key, pin the new key in addition to the old key at all neighbors, let the member use the
// new key, and then remove the old pin; [Transport.Update] changes pins while frames flow. There is no mode without
// TLS, and sessions are never resumed.
//
// Anyone who controls the network can see which members communicate, when and how much, and can cut or delay
// connections, which the nodes then restore. At most 64 strangers can be in an unfinished handshake at the same time,
// and a node reads at most 16 KiB from each stranger. Including the memory for TLS, strangers cost at most 8 MiB. If
// there are too many strangers, the node closes a connection from the source with the most strangers. The first message
// of a peer's handshake carries a pre-authentication token (token.go), which reserves one of the peer's own four
// places. The holder of a pinned key can send frames only in the name of that member, can make a node hold four frames
// of the maximum length, and cannot delay frames of other members. A node disconnects a peer that sends too much data
// other than frames, such as endless pings.
//
// A proxy between two members must pass TLS through. It can choose the destination by its own port, by the server name
// in TLS, or by the host in a CONNECT request ([Config.Proxy]). A proxy that terminates TLS presents its own key, which
// both ends report.
//
// # Connections
//
// A node that has the address of a peer dials it and retries. It retries every second for the first ten minutes. After
// that, or if the peer or a proxy refuses, it waits for up to half a minute. If both ends dial at the same time, the
// end whose name sorts lower decides which connection to use (see session.open). A new connection replaces an older one
// that the peer has lost. The two ends first exchange hellos, whose content the application chooses ([Config.Hello]);
// both ends report a refused hello. Then each end grants the other end as many frames as it has room for. So each end
// can always read from the connection: a peer that computes for minutes stays connected, and a dead peer is detected
// within a minute and a half. A link may be arbitrarily slow as long as some bytes are transferred. Frames arrive
// exactly once and in order, except that when a connection breaks, some frames may be lost and one frame may arrive
// twice.
//
// # Format
//
// A connection uses the websocket subprotocol "spade-edge.1". Each message is one binary websocket message: a byte for
// the kind, a 4-byte big-endian number, and the body. A message states its own length, so that the receiver knows it
// before the last fragment. Keepalives are also messages: they carry credit. A node answers pings but sends none.
// Instead of opening a websocket, a peer may ask whether the node would accept its connection (see [Probe]).
//
// The websocket library makes the opening handshake. This package reads and writes the websocket frames, because the
// library wakes a goroutine several times for each.
package ws
