// Package wire encodes what package admm has: a message as a frame ([Codec]), and a state as a [Snapshot] for the disk;
// and the [Hello] with which a connection opens. FORMAT.md beside this file has every field and byte.
//
// Each of the three is one CBOR item (RFC 8949) of definite length, a map with small integer keys. Vectors are typed
// arrays (RFC 8746). In frames they are compressed where that is shorter: floats by planes of their bytes, which makes
// floats with noise in them 1.15 to 1.2 times shorter; a release on a grid by Rice codes or huff0, within 3 % of its
// entropy from dimension 10,000 on, and within 6 % from 300 on.
//
// The bytes are a function of the message alone. Decoding trusts nothing: the dimension is known in advance and bounds
// every length before anything is allocated. What an encoder of this package would not have written is refused, except
// that fields of a frame may come in any order and that a block may be stored in another form than the shortest.
package wire
