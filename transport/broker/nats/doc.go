// Package nats carries frames between members through a NATS server with JetStream. It provides a [transport.Transport]
// for devices that can only make outgoing connections, that sleep, or that are awake at different times. It is in the
// module transport/broker.
//
// All members of a run connect to one broker, which has a stream for the run. The stream has five places for every
// directed edge, one for a hello and four for frames, which is enough for neighbors that are never more than one round
// apart. A new message replaces the message in its place, and a repeated frame goes into its old place. Otherwise the
// broker removes a message only when it is too old. A node reads the messages stored for it, and then new messages. It
// acknowledges no messages, so after a restart of the node or the broker it reads all stored messages again. The
// transport delivers each frame at least once, and the nodes execute each round exactly once. If the broker loses its
// disk, the members create the stream again and resend their frames. It is better to suspend a device that sleeps than
// to stop its node, because a node that starts asks each neighbor for its state and waits for the answers.
//
// # The broker is not trusted
//
// A frame is split into pieces of at most 256 KiB. Each piece is encrypted with AES-256-GCM under a content key, and
// the content key is sealed for the receiver's pinned keys by X25519 with an ephemeral key pair and HKDF-SHA-256. The
// envelope is signed with the sender's Ed25519 key. Encryption and signature cover the names of the run, the sender and
// the receiver, the hash of the fleet, and the numbers of the process, frame and piece. The X25519 key is the Ed25519
// key in the Montgomery form of the curve. Using one key for both purposes is safe (E. Thormarker, On using the same
// key pair for Ed25519 and an X25519 based KEM, ePrint 2021/509). All hashes are domain-separated. Anyone who controls
// the broker or the network can
//
//   - drop, delay, reorder and repeat messages. This may delay a run but does not change its result: a repeated frame
//     contains the same data for the same round.
//   - see who communicates with whom, when, from where and how often, and how long frames are. This reveals the graph
//     and the dimension of the model. Subjects are hashes without a secret, so a guess of the names can be confirmed.
//   - make a node check signatures. [Transport.Peers] counts refused messages, and the log reports them at decreasing
//     rates. The memory for frames is bounded.
//
// They cannot read, change or create a frame, or move a frame to another run, edge or sender.
//
// A dishonest member learns nothing about the frames of other edges. Never reuse the name of a run: a second run with
// the same name would accept the stored frames of the first run as its own, and stop because these frames contradict
// its state.
//
// There is no forward secrecy for the receiver: anyone who records the messages and later obtains a member's secret key
// can read everything that was sent to that member before its key was changed (see [Transport.Update]), but not what
// the member sent. This is unavoidable if a later process must be able to read frames. In a private run, the privacy
// guarantee covers these frames.
//
// The broker needs JetStream, a max_payload of at least 8 KiB, and storage for four frames of every directed edge.
// README.md lists the permissions that a member needs. With nats:// instead of tls://, or ws:// instead of wss://,
// anyone on the network can read subjects, times and credentials. A proxy for outgoing connections forwards TLS to the
// broker. Anything that terminates TLS before the broker, such as an HTTP server that serves the broker under a path,
// has the same abilities as the broker.
package nats
