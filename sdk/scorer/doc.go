// Package scorer makes oracles of programs: the loss of a sample at a point comes from an executable in any language.
//
// [OpenStream] keeps one or several processes of the program running, writes queries to their standard input and reads the
// answers from their standard output. It makes an [Oracle], a [zoest.BatchOracle] whose losses do not depend on how many
// processes there are or on how queries are grouped, as far as the program's own answers do not.
//
// A process begins with a hello, and then answers queries in any order. With the format [JSON] each message is a line:
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
// With the format [CBOR] each message is a frame: its length as four bytes, the lowest first, and then so many bytes,
// which are one map of CBOR (RFC 8949) with these keys:
//
//	hello     1 version, 1;  2 dim;  3 samples;  4 adapter, text with its JSON
//	query     1 id;  2 sample;  3 parameters: tag 85 (RFC 8746), a byte string of little-endian float32
//	answer    1 id;  2 loss, or 3 the reason why there is none, text
//
// A query always has the same layout, which a program can read without a CBOR library: examples/scorer/README.md has every
// byte.
//
// # What goes wrong
//
// A process that breaks the rules, hangs or ends is killed, with its process group and, on Linux, with all that it has
// started and that still has the variable SPADE_EDGE_SCORER in its environment. Another takes its place at once, and if
// that fails too after a pause that grows. The error names the process, what it did, and what it wrote to standard error
// last. The queries that it held are asked once more, one at a time, so that a query that kills the program affects no
// other. After eight failed processes in a row without an answer the program counts as broken: queries fail at once,
// but for one after each pause, until one is answered. So a broken program holds a node up for about eight times the sum
// of its time limits, and then for one time limit after each pause: a private run goes on with public constants in place
// of losses, and a run that is not private ends with the error.
//
// In a run that protects each record, what one record does to the program must not cost another its loss: see
// [Program].Apart. Then only processes that fail before their hello count.
//
// Errors, and what a program writes to standard error, may reveal samples and points: neither must leave the device. The
// program can do what its user can: nothing here keeps it from sending the data elsewhere.
package scorer
