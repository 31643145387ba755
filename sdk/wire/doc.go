// Package wire encodes messages of package admm as frames ([Codec]), the state of a node as a [Snapshot] for the disk,
// and the [Hello] that opens a connection. FORMAT.md beside this file describes every field and byte, and which fields a
// frame of each kind has.
//
// Each of the three is one map in deterministic CBOR (RFC 8949, section 4.2.1) with small integer keys. Vectors are byte
// strings. In frames they are compressed where that is shorter: floats by planes of their bytes, 1.15 to 1.2 times shorter
// with noise in them; a release on a grid by Rice codes, within 3 % of its entropy from dimension 10,000 on, and within
// 6 % from 300 on and for a grid as coarse as the noise.
//
// The bytes are a function of the message alone. Decoding trusts nothing: the dimension is known in advance and bounds
// every length before anything is allocated. Bytes that an encoder of this package would not write are refused, except
// that a block may be stored in another form than the shortest.
package wire
