// Package mqtt carries frames between members through a broker that speaks MQTT 5: a [transport.Transport] for devices
// that sleep, or that cannot reach anything else. It is a separate module.
//
// Every member has a session at the broker, with its tag as the client id, and publishes its messages for a peer on the
// topic spade/<run>/<its tag>/<the peer's tag> at QoS 1. Nothing is retained. A session outlasts its connection by
// [Config.MaxAge], during which the broker queues messages for it. While nothing arrives from a peer, a confirmed frame
// is given to the broker again at increasing intervals, and each repeat expires when the next one is due: a peer that
// sleeps finds a few messages, not hundreds. The broker discards a message once it is read; a node that dies before it
// could save the content asks its neighbors when it starts. The transport delivers at least once, as long as both ends
// return, and the rounds of the method turn this into exactly once. If the broker loses a member's session, the member
// informs its peers, and all frames are sent again.
//
// # The broker is not trusted
//
// Frames are sealed and signed as in package transport/nats, whose documentation has the threat model. Anyone who
// controls the broker, or the network, can drop, delay, reorder and repeat messages, and see who communicates with
// whom, when, and how long frames are. They cannot read, change or create a frame, nor move one to another run, edge or
// sender. Invalid MQTT from the broker ends the connection, and takes no more memory than one packet, 256 KiB and a
// header.
//
// With mqtt:// rather than tls://, and ws:// rather than wss://, topics, times and the password are readable on the
// network. A proxy for outgoing connections forwards TLS to the broker. Anything that terminates TLS before the broker,
// such as an HTTP server that serves the broker under a path, can do what a broker can.
//
// # The client
//
// The module has its own client, in packet.go and conn.go, for the few packets that QoS 1 needs, because the usual
// client, github.com/eclipse/paho.golang (v0.23.0), trusts its broker: invalid lengths make it panic or allocate 4 GiB.
// See .github/decisions/07-own-mqtt-client.md. The tests check this client against Mosquitto.
package mqtt
