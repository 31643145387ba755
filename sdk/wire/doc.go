// Package wire encodes what package admm has: a message as a frame ([Codec]), and a state as a [Snapshot] for the disk;
// and the [Hello] with which a connection opens.
//
// A frame is one CBOR item (RFC 8949) of definite length, a map with small integer keys:
//
//	1  version   1
//	2  kind      1 message, 2 done, 3 release, 4 probe (a probe reply if 4 is true), 5 state request,
//	             6 state response, 7 conflict
//	3  round     0..maxRound
//	4  resent    true; absent otherwise
//	5  vector    tag 85 (RFC 8746): a byte string of little-endian float32
//	6  planes    the same bytes in another order, compressed; in place of 5, where that is shorter
//	7  grid      tag 78 (RFC 8746): a byte string of little-endian int32
//	8  packed    the same numbers, compressed; in place of 7, where that is shorter
//	9  held      0..maxRound
//	10 incarnation, and generation: generation * 2^48 + incarnation
//	11 part      0..5
//	12 own       a byte string, as are the next: the sender's signed release; see package signed
//	13 proof     the receiver's signed release
//	14 other     a second one of the receiver's
//	15 ledger    the id of the sender's lifetime ledger
//	16 countersignature of the sender
//
// Every frame has 1 to 3. A message has one of 5 and 6 as well, and a release one of 5 to 8. A probe has 9 and 10, and
// a state request 10 and 11. A state response has 9 to 11 and, if what was asked for is to be had, one of 5 and 6
// (parts 1 to 3) or one of 7 and 8 (parts 1, 4 and 5). A conflict has 13 and 14.
//
// Between nodes with keys, a message and a release have 12; a probe may have 12 to 15; a done has 13 and 16; a state
// response may have 12 and 13. Each of these fields has 1 to 256 bytes, and those of one frame together at most 448. No
// frame has more.
//
// Planes are the lowest bytes of all coordinates, then the second lowest, and so on up to the bytes with the sign
// and most of the exponent. Each plane is cut into blocks of 65,536 bytes (the last may be shorter), and each block
// starts with a byte that says how it is stored:
//
//	0  raw       the bytes themselves
//	1  repeat    one byte that all bytes of the block are equal to
//	2  huff0     a length (two bytes, little-endian) and so many bytes of huff0, the entropy coder of zstd
//
// What to expect: noise fills the mantissa, so three of the four planes are incompressible and only signs and exponents
// shrink. Floats with noise in them come out 1.15 to 1.2 times shorter, a vector of zeros hundreds of times.
//
// A packed grid codes each number x as z = 0, 1, 2, 3, 4 for x = 0, -1, 1, -2, 2 and so on. It is cut into blocks of
// 65,536 numbers (the last may be shorter), and each block starts with a byte that says how it is stored. Bits fill
// each byte from its lowest bit up, and those left over in the last byte are zero.
//
//	0..30    Rice code of parameter k, which is the byte: for each number, z>>k ones, a zero, and the k low bits of z;
//	         or, if z>>k is 20 or more, 20 ones and the 32 bits of z
//	32..56   split, with k the byte less 32: the k low bits of every number; then a block, stored like one of a plane, of
//	         a byte for each number, z>>k, or 255 if it is as much or more; then for each 255 in turn, the excess of
//	         z>>k over 255
//	64       pairs: a block, stored like one of a plane, of a byte for every two numbers, the first in the low half: z,
//	         or 15 if it is as much or more (0 if there is no second); then for each 15 in turn, the excess of z over 15
//
// An excess is stored with seven bits a byte, the lowest first, and 128 added to all bytes but its last. What to
// expect: numbers that are about normal take within 3 % of their entropy from dimension 10,000 on, and within 6 % from
// 300 on; a standard deviation of 16 takes 32 bytes at dimension 40.
//
// The bytes are a function of the frame alone. Decoding takes nothing on trust: the dimension is known in advance, so
// it bounds every length before anything is allocated. What an encoder of this package would not have written is
// refused, except that fields may come in any order and that a block may be stored in another form than the shortest.
//
// A hello is a map likewise:
//
//	1  codec     version of the frames
//	2  run       text
//	3  fleet     a byte string of 32 bytes
//	4  from      text
//	5  to        text
//	6  sections  a byte string of 4 bytes for each of up to 16 sections; absent if there are none
//
// And so is a snapshot. Here the keys come in this order and no other, floats and integers are typed arrays with the
// tags 85 and 78, nothing is compressed, and what is empty is absent, but for the edges. The numbers with a star have
// eight bytes whatever their value, so that a run's snapshots are all of one size.
//
//	1  version   1
//	2  fleet     a byte string of 32 bytes
//	3  member    text
//	4  build     text
//	5  round     *
//	6  x         floats
//	7  grid      integers
//	8  delta     integers
//	9  mean      floats
//	10 last      floats
//	11 edges     an array of maps: 1 peer, text; 2 heard, *; 3 z, floats; 4 peer z, floats; 5 peer grid,
//	             integers; 6 generation, *
//	12 queries   *
//	13 failed    *
//	14 filter    a byte string
//	15 ledger    text
//	16 generation *
//	17 recovered *
//	18 signed    a byte string; of an edge it is 7
package wire
