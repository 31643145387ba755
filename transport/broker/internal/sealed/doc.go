// Package sealed carries frames between members through any kind of untrusted broker. A transport that uses a broker
// embeds an [End], provides it with a [Line] to the broker, and passes incoming messages to [End.Take].
//
// An End splits each frame into pieces, seals and signs each piece for the receiver, and reassembles the pieces that
// arrive. It tracks which frames the broker stores, so that it rarely repeats a frame while the receiver is asleep. The
// package documentation of transport/broker/nats describes the threat model.
package sealed
