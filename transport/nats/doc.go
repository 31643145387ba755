// Package nats carries frames between members through a NATS server with JetStream: a [transport.Transport] for devices
// that can only dial out, that sleep, or that are awake at different times. It is a separate module.
//
// All members of a run connect to one broker, where the run has a stream with five places for every directed edge: one
// for a hello and four for frames, enough for neighbors that are never more than one round apart. A new message
// replaces the message in its place. Apart from that, the broker removes a message only when it is too old. A repeated
// frame goes into its old place. A node reads the messages stored for it, and then new messages. It acknowledges
// nothing: after a restart of either end it reads everything again. The transport delivers at least once, and the
// rounds of the method turn this into exactly once. If the broker loses its disk, the members create the stream again
// and resend their frames. A device that sleeps should be suspended rather than stop its node, because a starting node
// asks each neighbor for its state and waits for the answers.
//
// # The broker is not trusted
//
// A frame is cut into pieces of at most 256 KiB. Each piece is sealed for the keys pinned for the receiver (AES-256-GCM
// under a content key, which is sealed by X25519 with an ephemeral key pair, and HKDF-SHA-256) and signed with the
// sender's Ed25519 key. Seal and signature cover the names of run, sender and receiver, the hash of the fleet, and the
// piece, frame and process to which the envelope belongs. The X25519 key is the Ed25519 key on the other form of the
// curve; that is safe (E. Thormarker, On using the same key pair for Ed25519 and an X25519 based KEM, ePrint 2021/509),
// and all hashes are domain-separated. Anyone who controls the broker, or the network, can
//
//   - drop, delay, reorder and repeat messages. That delays a run but does not change its result: a repeated frame is
//     a statement about a round that is still true.
//   - see who communicates with whom, when, from where, how often, and the length of frames, hence graph and dimension.
//     Subjects are hashes without a secret: a guess of the names can be confirmed.
//   - make a node check signatures. [Transport.Peers] counts refusals, and the log reports them at decreasing rates. The
//     memory for frames is bounded.
//
// Controlling the broker or the network does not allow reading, changing or creating a frame, or moving a frame to
// another run, edge or sender.
//
// A dishonest member sees nothing of other edges. Use the name of a run only once: a second run with this name would
// accept the stored frames of the first run as its own, and stop because they contradict its state.
//
// There is no forward secrecy for the receiver: anyone who records the messages and later obtains a member's secret key
// can read what was sent to that member until its key was changed (see [Transport.Update]), but not what that member
// sent. This is the price of frames that a later process can read. In a private run the privacy guarantee covers these
// frames.
//
// The broker needs JetStream, max_payload of at least 8 KiB, and room for four frames of every directed edge. README.md
// has the permissions of a member. With nats:// rather than tls://, and ws:// rather than wss://, subjects, times and
// credentials are readable on the network. A proxy for outgoing connections forwards TLS to the broker. Anything that
// terminates TLS before the broker, such as an HTTP server that serves the broker under a path, can do what a broker
// can.
package nats
