// Package wire turns what neighbors say to each other into bytes and back: a [Hello] when a connection opens, then
// [Frame] after Frame.
//
// A frame is one CBOR item (RFC 8949) of definite length, a map with small integer keys:
//
//	1  version   1
//	2  kind      1 message, 2 done
//	3  round     0..MaxRound
//	4  resent    true; absent otherwise
//	5  vector    tag 85 (RFC 8746): a byte string of little-endian float32
//	6  planes    the same bytes in another order, compressed; in place of 5, where that is shorter
//
// Planes are the lowest bytes of all coordinates, then the second lowest, and so on up to the bytes with the sign
// and most of the exponent. Each plane is cut into blocks of 65,536 bytes (the last may be shorter), and each block
// starts with a byte that says how it is stored:
//
//	0  raw       the bytes themselves
//	1  repeat    one byte that all bytes of the block are equal to
//	2  huff0     a length (two bytes, little-endian) and so many bytes of huff0, the entropy coder of zstd
//
// What to expect: noise fills the mantissa, so three of the four planes are incompressible and only signs and
// exponents shrink. Floats with noise in them come out 1.15 to 1.2 times shorter, a vector of zeros hundreds of
// times.
//
// The bytes are a function of the frame alone. Decoding takes nothing on trust: the dimension is known in advance, so
// it bounds every length before anything is allocated. What an encoder of this package would not have written is
// refused, except that fields may come in any order and that a block may be stored in another form than the shortest.
package wire
