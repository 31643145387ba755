// Package nats carries frames between members through a NATS server with JetStream: a [transport.Transport] for devices
// that can only dial out, that sleep, or that are awake at different times. It is a module of its own.
//
// All members of a run connect to one broker, where the run has a stream and every directed edge five places in it: one
// for a hello and four for frames, as many as neighbors may need who are never more than one round apart. A new message
// pushes out the one in its place; otherwise only age removes it. A frame that is sent again goes into the place it
// has. A node reads what is stored for it, and then what comes. It acknowledges nothing: after a restart of either end
// it reads everything again. Delivery is at least once below, and the rounds of the method make it exactly once above.
// If the broker loses its disk, the members make the stream again and send again what they hold. A device that sleeps
// should be suspended rather than end its node, because a node that starts asks each neighbor for its state and waits
// for the answers.
//
// # The broker is not trusted
//
// A frame is cut into pieces of at most 256 KiB. Each is sealed for the keys pinned for the receiver (AES-256-GCM under
// a content key, which is sealed by X25519 with a key pair made for it, and HKDF-SHA-256) and signed with the sender's
// Ed25519 key. Both cover the names of run, sender and receiver, the hash of the fleet, and which piece of which frame
// of which process it is. The X25519 key is the Ed25519 key on the other form of the curve; that is safe (E.
// Thormarker, On using the same key pair for Ed25519 and an X25519 based KEM, ePrint 2021/509), and all that is hashed
// has a prefix of its own. Whoever controls the broker, or the network, can
//
//   - drop, delay, reorder and repeat messages. That holds up a run and does not change its result: a repeated frame is
//     what its sender once said of a round, and still true.
//   - see who talks to whom, when, from where, how often, and the length of frames, hence graph and dimension. Subjects
//     are hashes without a secret: a guess of the names can be confirmed.
//   - make a node check signatures. Refusals are in [Transport.Peers], and in the log less and less often. The memory
//     for frames is bounded.
//   - not read, change or make a frame, nor move one to another run, edge or sender.
//
// A dishonest member sees nothing of other edges. A frame of another run is refused by the run's name, so use a name
// once: a run begun again under its old name would take the stored frames of the first for its own, and stop at the
// contradictions.
//
// There is no forward secrecy for the receiver: who records the messages and later gets a member's secret key can read
// what was sent to it until its key was changed (see [Transport.Update]), though not what it has sent. This is the
// price of frames that a later process can read. In a private run they are what the neighbors were told, and the
// guarantee covers it.
//
// The broker needs JetStream, max_payload of at least 8 KiB, and room for four frames of every directed edge. README.md
// has the permissions of a member. With nats:// rather than tls://, and ws:// rather than wss://, subjects, times and
// credentials are readable on the way. A proxy for outgoing connections passes TLS on to the broker. Whoever ends TLS
// before the broker, as an HTTP server does that has it under a path, can do what a broker can.
package nats
