// Package cbor is the codec of CBOR (RFC 8949) for frames, hellos and snapshots of package wire.
//
// Maps whose keys come in any order are checked by github.com/fxamacker/cbor. [Unmarshal] splits a map into an [Item]
// for each field, which aliases the input, and the items' methods read the values. This allocates nothing. The rest is
// written by hand, for reasons that the library does not serve:
//
//   - Splitting: the library fills structs, by reflection. All of that stays out of a program that only checks with it.
//   - Writing: a vector of a million numbers goes straight from a float32 slice to its place in the frame, without the
//     copy that a Marshaler or a RawMessage takes; and some integers have a width that does not depend on their value.
//   - Snapshots: [Reader] decodes arrays into slices that are there already, takes fields in one order only, and bounds
//     what it allocates by what is left of the input. The library checks the whole input first, and refuses long arrays
//     only by a fixed limit.
package cbor
