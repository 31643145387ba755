// Package sealed carries frames between members through an untrusted broker of any kind. A transport over a broker
// embeds an [End], gives it a [Line] to the broker, and passes arriving messages to [End.Take].
//
// An End cuts a frame into pieces, seals and signs each piece for its receiver, and reassembles arriving pieces. It
// tracks what the broker stores, so that it rarely repeats a frame while the receiver sleeps. The package documentation
// of transport/nats has the threat model.
package sealed
