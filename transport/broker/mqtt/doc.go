// Package mqtt carries frames between members through an MQTT 5 broker. It provides a [transport.Transport] for devices
// that sleep, or that cannot reach any other server. It is in the module transport/broker.
//
// Every member has a session at the broker. The member's client id is its tag, a hash of its name. The member publishes
// its messages to a peer at QoS 1 on the topic spade/<run>/<its tag>/<the peer's tag>, and no message is retained.
// While a member is disconnected, the broker keeps its session for [Config.MaxAge] and queues messages for it. As long
// as no message arrives from a peer, a node repeats each confirmed frame at increasing intervals. Each repeat expires
// when the next repeat may be sent, so a peer that wakes finds a few messages instead of hundreds. The broker discards
// a message once it has been read, so a node that died before saving the content asks its neighbors for the content
// when it restarts. The transport delivers each frame at least once, as long as both ends return, and the nodes execute
// each round exactly once. If the broker loses a member's session, the member informs its peers, and all frames are
// sent again.
//
// # The broker is not trusted
//
// Frames are sealed and signed as in package transport/broker/nats, whose documentation describes the threat model. Anyone who
// controls the broker or the network can drop, delay, reorder and repeat messages, and can see who communicates with
// whom, when, and how long frames are. They cannot read, change or create a frame, or move a frame to another run, edge
// or sender. Invalid MQTT data from the broker ends the connection, and takes no more memory than one packet: 256 KiB
// and a header.
//
// With mqtt:// instead of tls://, or ws:// instead of wss://, anyone on the network can read topics, times and the
// password. A proxy for outgoing connections forwards TLS to the broker. Anything that terminates TLS before the
// broker, such as an HTTP server that serves the broker under a path, has the same abilities as the broker.
//
// # In a browser
//
// In WebAssembly (GOOS=js) the URL is ws or wss, and Config.TLS and Config.Proxy are nil, because the browser opens the
// websocket. The broker's certificate must be one that the browser trusts. Frames are sealed as everywhere, so a page that
// has a key of its own is a member like any other.
//
// # The client
//
// The package has its own client, in packet.go and conn.go, which supports only the few packets that QoS 1 needs. The
// usual client, github.com/eclipse/paho.golang (v0.23.0), trusts its broker: invalid lengths make it panic or allocate
// 4 GiB. The file .github/decisions/07-own-mqtt-client.md has the reasons. The tests check this client against
// Mosquitto.
package mqtt
