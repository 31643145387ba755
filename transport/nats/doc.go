// Package nats carries frames between members through a NATS server with JetStream: a [transport.Transport] for devices that can only
// dial out, that sleep, or that meet at different times. It is a module of its own, so that a program over websockets does
// not grow by it.
//
// # How it works
//
// All members of a run connect to one broker, which may be a cluster. There the run has a stream, SPADE- and a tag of the run's name, and in it
// every directed edge has its subjects:
//
//	spade.<run>.<from>.<to>.<place>
//
// The three names are tags, the first bytes of a hash. Each edge has four places for frames, 0 to 3, and one for a hello. What is
// laid in a place pushes out what was there, and nothing else ever takes it away but age: so the broker keeps at least the last
// four frames of each edge, as many as neighbors may need who are never more than one round apart: the messages of two
// rounds and a repeat of each. A frame that is sent again goes into the place that it has, and while its peer is silent it is sent
// less and less often. A place holds as many messages as the longest frame has pieces.
//
// A node reads what lies there for it, and then what comes. Nothing is acknowledged to the broker, which therefore has nothing to
// remember of a reader: a node that starts again, or finds that the server has, reads all of its places again, and finds in them
// whatever it died too early to keep. Acknowledging is left to the rounds, in which a neighbor's next message says that mine has arrived. The broker confirms what it
// stores, and what it does not confirm is published again; what comes twice is dropped by number, and if it is not, because a node
// has started anew, the rounds do not mind. Delivery is at least once below, and exactly once above.
//
// If the broker loses its disk the members notice, make the stream again, and send again what they hold.
//
// Members that are awake at different times make progress as long as their processes live: a device that sleeps should be
// suspended, and not stop its node. A node that has started asks each neighbor once what it remembers, and waits for their
// answers; for that both have to be awake some time, though not at the same one.
//
// # The broker is not trusted
//
// A frame of more than 256 KiB, or of what the broker takes less 1 KiB, is cut into pieces. Each piece is in an envelope of its own:
//
//   - It is sealed for the receiver: AES-256-GCM under a content key drawn for it, which is sealed in its turn under a key agreed on by X25519
//     between a key pair made for this envelope and the receiver's pinned key, through HKDF-SHA-256.
//     If the receiver has two pinned keys, the current and the next, the content key is sealed for both.
//   - It is signed with the sender's Ed25519 key, which the receiver has pinned.
//   - The sealing and the signature both cover the run's name, the names of both ends, the hash of the fleet, a number drawn
//     when the sender's process started, which of its frames it is, and which piece of how many.
//
// There is no exchange of keys and nothing to keep. The receiver's X25519 key is its Ed25519 key, moved to the other form of
// the same curve: u = (1+y)/(1-y). One key pair can serve both purposes safely (E. Thormarker, On using the same key pair for
// Ed25519 and an X25519 based KEM, Cryptology ePrint Archive 2021/509), and all that is hashed has a prefix of its own here.
//
// Whoever runs the broker, has broken into it, or listens on the way to it, can then
//
//   - drop and delay messages, hand them out in another order, and hand them out again. That can hold up a run for as long
//     as they do it. It cannot change its result.
//   - learn which tags talk to which, when, from which network addresses, how often, and how long frames are: nothing is padded.
//     Hence the dimension of the model, the graph, and how long rounds take. Tags are hashes without a secret: who knows or guesses the names of
//     the run and its members recognizes them. The hash of the fleet is readable too.
//   - not read a frame, nor change one, make one, take one from another run, or show one on another edge or in another's name. What
//     has been tampered with is refused, with what is wrong about it, in the log and in [Transport.Peers].
//   - not fill a node's log, nor its memory with frames: those that are arriving, and those that wait for Recv, are counted, and
//     refusals are logged less and less often. It can make a node check signatures, one or two for every message; and what
//     the broker's client takes up for the messages that it reads ahead, at most eight, is as much as the server says.
//
// A member that is turned can do as it likes on its own edges, as over any transport. It sees nothing of other edges, and can pass on no
// envelope of another member as its own.
//
// Old frames of the same run do no harm, even to a node that has forgotten that it has seen them. A frame is what its sender has said
// of a round that is over, and saying it again is nothing new: a release is compared with the one held for its round or is behind
// it, a last word stays true, and that a neighbor has held a certain release once is just the evidence by which a device that was set back is
// found. An answer to the question what a neighbor remembers bears a number drawn by the asking process, and counts in that process only.
//
// A frame of another run is refused by the run's name. So a name is used once: a run that is begun again under the same name, without the state it had,
// would take what the broker has kept of the first for its own, and stop at the contradictions.
//
// # What is not protected
//
// There is no forward secrecy for the receiver: who records what the broker has seen and gets hold of a member's secret key later, can
// read all that was ever sent to that member. It cannot read what that member has sent, because the sender's half of each
// agreement is forgotten at once. In a private run these frames are what the neighbors were told, and what the guarantee covers
// if everybody reads them. It is the price for frames that can be read by a process that did not exist when they were sent.
// A new key (see [Transport.Update]) ends it for what comes after.
//
// TLS to the broker (tls://) hides subjects, times and credentials from those on the way; frames do without it, and nats:// to another
// machine is allowed, with a line in the log.
//
// # What the broker needs
//
// JetStream, a limit for messages (max_payload) of at least 8 KiB, and room for four frames of every directed edge. A member
// makes the stream if it is not there. If it is, made by an operator with other limits of age, bytes or replicas,
// it is used as it is. README.md has the permissions of a member.
package nats
