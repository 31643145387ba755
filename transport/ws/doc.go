// Package ws carries frames between members over websockets: a [transport.Transport] for real networks, with TLS 1.3 and
// pinned keys at both ends.
//
// # Who is trusted with what
//
// A member is an Ed25519 key. Every node pins the public keys of its neighbors, as WireGuard does: there is no certificate
// authority, and since nothing expires a node needs no clock. The certificates that TLS insists on are made at start and
// only wrap the key. A connection is accepted if both ends prove in the TLS handshake to hold a key that the other has
// pinned; that proof is where the sender's name comes from that [Transport.Recv] returns. To change a key, pin the new one
// beside the old one everywhere, change it, and drop the old pin; [Transport.Update] does so while frames flow.
//
// Somebody who controls the network can read nothing and change nothing; they can see who talks to whom, when and how much,
// and can cut or delay connections, which are then made again for ever. There is no mode without TLS to fall back to, and no
// session resumption by which a key could outlive its pin.
//
// Of the connections that have not got through the hello yet only the 64 newest are kept, and of none are more than 16 KiB
// read before it has shown a key that is pinned. Strangers therefore cost 8 MiB at most, and keep a peer out only if more than
// that many arrive while it shakes hands. Somebody who holds a pinned key can speak in that member's name, though in no
// other, and make us hold, until Recv takes them, four frames of the greatest length. What they do or leave undone holds up no
// frame of another member.
//
// Proxies and load balancers between two members must pass TLS through, by port or by server name. One that ends TLS presents
// a key of its own: the end that meets it refuses with an error that names the key found and the keys wanted, and the other
// end of that connection reports that its own key was refused.
//
// # One connection for each pair
//
// Of two neighbors the one whose name sorts lower dials. It keeps trying, with waits that double up to half a minute. If the
// other end still has an older connection of the same peer, that one is given up. First both ends exchange a hello, whose
// content is the application's ([Config.Hello]); a refused hello is explained at both ends. Afterwards every end tells the
// other how many frames it has room for and sends no more than it was told; room for two is announced at once, room for one
// along with the next frame or sign of life. So the connection is always being read, even if nobody calls Recv: a peer that
// computes for minutes stays connected, and one that has died or dropped off the network is noticed within a minute and a half.
// A line may be as slow as it wants: what counts is that something moves.
//
// Frames arrive once and in order, but for those under way when a connection breaks: some may be lost, and one may arrive twice.
//
// # Memory and bytes
//
// No frame of more than 64 KiB is ever held twice: one that is sent is read where it lies, in pieces of that length, and one
// that arrives is read into the memory that Recv hands out. An application that gives that memory back
// ([Transport.Recycle]) has later frames read into it.
//
// An idle edge costs each end about 40 KB on 64-bit machines, goroutines and TLS included, and about 80 KB once a frame of
// more than a TLS record has come; a test holds this to 48 and 96 KiB. While a message is being written up to 150 KiB more
// are in use, which all connections take from the same pools. Beyond that there are only the frames that [Config.MaxFrame]
// speaks of.
//
// What TLS and websockets add to a frame of 40 KB is 0.2 %. [PeerStatus] has the bytes as TCP has seen them.
//
// # Compatibility
//
// The framing has a name, the websocket subprotocol "spade-edge.1", and ends that do not share one refuse each other. A message
// is a binary websocket message: one byte of kind, a number of 4 bytes (big-endian) and the body. Its length is stated in the
// message because the websocket library can take a connection that breaks for the end of a message. Signs of life are
// messages too; websocket pings are answered, but none are sent, because the library gives an answer only five seconds
// to leave and a large frame on a slow line takes longer.
//
// In place of a websocket a peer may ask whether it would get one, see [Probe]. That is one exchange of hellos, which leaves
// connections alone.
package ws
