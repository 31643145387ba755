// Package wire encodes messages of package admm as frames ([Codec]), a node's state for the disk ([Snapshot]), and the
// [Hello] that opens a connection. FORMAT.md beside this file describes every field and byte.
//
// Each of the three is one map in deterministic CBOR (RFC 8949, section 4.2.1) with small integer keys. Vectors are
// byte strings. Frames compress them where that is shorter: floats by planes of their bytes, by a factor of 1.15 to 1.2
// with noise in them; a release on a grid by Rice codes, within 3 % of its entropy from dimension 10,000 on, and within
// 6 % from 300 on and for a grid as coarse as the noise.
//
// The bytes are a function of the message alone. Decoding trusts nothing: the dimension is known in advance and bounds
// every length before an allocation. It refuses bytes that an encoder of this package would not write, except that a
// block may have another form than the shortest.
package wire
