// Package signed holds what a member of a fleet vouches for with its key: one [Release] for each of its releases,
// chained by hash, and what a neighbor says at the end of a run that it holds, a countersignature.
//
// Whatever one member claims about the releases of another it shows with the other's own signature. So a claim cannot
// be made up, and two different releases of one round under one signature are evidence that a device has a double.
//
// A signature is Ed25519 (RFC 8032) over a [Scope] and a fixed layout of bytes; see [Release.Append]. The scope ties it
// to one run, one fleet and one member, and is known to both ends, so that it does not travel.
//
// What it costs. A frame with a release is 199 bytes longer, 196 of them the release as [Release.Append] writes it. A
// round of two private nodes in one process, with a loss that takes no time, on two cores of an AMD EPYC ("go test
// ./sdk -run xxx -bench Round -benchtime 1000x"):
//
//	                 without keys                  with keys                  ratio of bytes, of time
//	d = 10           41 bytes,      23 us           439 bytes, 165 us         10.8,  7.2
//	d = 10,000       16,265 bytes, 583 us        16,665 bytes, 737 us         1.025, 1.26
//
// Signing takes 16 us of that, and checking one signature 38 us.
package signed
