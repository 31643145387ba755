// Package scorer makes oracles of programs: an executable in any language computes the loss of a sample at a point.
//
// [OpenStream] keeps one or several processes of the program running, writes queries to their standard input and reads
// answers from their standard output. The result is an [Oracle], a [zoest.BatchOracle]. Its losses do not depend on the
// number of processes or the grouping of queries, as far as the program's answers do not.
//
// A process starts with a hello and then answers queries in any order. With the format [JSON] each message is a line:
//
//	program:  {"hello":1,"dim":3,"samples":20}
//	node:     {"id":1,"sample":7,"x":[0.5,-0.25,0]}
//	program:  {"id":1,"loss":0.125}
//	program:  {"id":1,"error":"why there is none"}            instead, if there is none
//
// The 1 behind hello is the version of the protocol; dim is the number of parameters, samples that of the losses, which
// are numbered from 0. A program that expands the numbers of an adapter itself repeats that of the fleet file, an object, as
// "adapter", and dim is then that of the adapter. Parameters are float32 with the fewest digits that tell one from another, also for a reader that
// parses them as float64 and rounds to float32.
//
// With the format [CBOR] each message is a frame: its length as four bytes, the lowest first, and then that many bytes,
// one map of CBOR (RFC 8949) with these keys:
//
//	hello     1 version, 1;  2 dim;  3 samples;  4 adapter, text with its JSON
//	query     1 id;  2 sample;  3 parameters: tag 85 (RFC 8746), a byte string of little-endian float32
//	answer    1 id;  2 loss, or 3 the reason why there is none, text
//
// A query always has the same layout, which a program can read without a CBOR library: examples/scorer/README.md has
// every byte.
//
// # Failures
//
// A process that breaks the rules, hangs or ends is killed, with its process group and, on Linux, with all its
// descendants that still have the variable SPADE_EDGE_SCORER in their environment. Another process takes its place at
// once, and after a further failure following a growing pause. The error names the process, what it did, and its last
// output to standard error. Its open queries are asked once more, one at a time, so that a query that kills the program
// affects no other. After eight failed processes in a row without an answer the program counts as broken: queries fail
// at once, except one after each pause, until one is answered. So a broken program delays a node by about eight times
// the sum of its time limits, and then by one time limit after each pause. A private run continues with public
// constants in place of losses; any other run ends with the error.
//
// In a run that protects each record, a record's effect on the program must not cost another its loss, see
// [Program].Apart. Then only processes that fail before their hello count.
//
// Errors, and a program's output to standard error, may reveal samples and points: neither must leave the device. The
// program can do what its user can: nothing here keeps it from sending the data elsewhere.
package scorer
