// Package sealed carries frames between members through a broker that is not trusted: the part that all brokers share.
// A transport over a broker embeds an [End], gives it a [Line] to the broker, and calls [End.Take] with what arrives.
//
// An End cuts a frame into pieces, seals each for its receiver, signs it, and puts pieces that arrive together again. It
// remembers what the broker stores, so that a frame which is sent again goes to the broker rarely while its receiver
// sleeps. The package documentation of transport/nats has the threat model.
package sealed
