// Package mqtt carries frames between members through a broker that speaks MQTT 5: a [transport.Transport] for devices
// whose one way out is such a broker, and that sleep. It is a module of its own.
//
// Every member has a session at the broker, with its tag as the client id, and publishes what it has for a peer on the
// topic spade/<run>/<its tag>/<the peer's tag> at QoS 1. Nothing is retained. A session outlasts its connection by
// [Config.MaxAge], and the broker queues for it meanwhile. A frame that was confirmed is given to the broker again ever less often
// while nothing comes from the peer, and such a repeat expires when the next one comes: a peer that sleeps finds a few messages, not
// hundreds. A message that is read is gone from the broker; a node that dies before it could keep what a frame said asks
// its neighbors when it starts, as after any loss. Delivery is at least once below, as long as both ends come back, and
// the rounds of the method make it exactly once above. If the broker loses a session, its member says so to its peers,
// and everything is sent again.
//
// # The broker is not trusted
//
// Frames are sealed and signed as by package transport/nats, whose documentation has the threat model; no code of that is here.
// Whoever controls the broker, or the network, can drop, delay, reorder and repeat messages, and see who talks to whom,
// when, and how long frames are. It cannot read, change or make a frame, nor move one to another run, edge or sender.
// What it sends that is not MQTT ends the connection, and takes no more memory than one packet, 256 KiB and a header.
//
// # The client
//
// The module has a client of its own, in packet.go and conn.go, of the few packets that QoS 1 needs. The usual one for
// MQTT 5 in Go, github.com/eclipse/paho.golang (v0.23.0), trusts its broker: it takes a length of five bytes, so that six
// bytes from a broker make it panic on 32-bit machines, as on linux/arm/6, and ask for 4 GiB on others; a PUBACK whose
// properties have such a length panics likewise. It writes to standard output when a context ends at the wrong moment,
// and a message whose confirmation is late takes a place of the broker's receive maximum until the next connection. Its
// autopaho needs a second library for websockets beside the one that SPADE-Edge has. Mosquitto is what the tests hold
// this client against.
//
// With mqtt:// rather than tls://, and ws:// rather than wss://, topics, times and the password are readable on the way.
// A proxy for outgoing connections passes TLS on to the broker. Whoever ends TLS before the broker, as an HTTP server
// does that has it under a path, can do what a broker can.
package mqtt
