// Package sealed carries frames between members through an untrusted broker: the part that all brokers share. A
// transport over a broker embeds an [End], gives it a [Line] to the broker, and calls [End.Take] with what arrives.
//
// An End cuts a frame into pieces, seals each for its receiver, signs it, and reassembles arriving pieces. It remembers
// what the broker stores, so that it rarely repeats a frame while the receiver sleeps. The package documentation of
// transport/nats has the threat model.
package sealed
