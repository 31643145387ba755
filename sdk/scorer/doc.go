// Package scorer turns programs into oracles: an executable in any language computes the loss of a sample at a point.
//
// [OpenStream] keeps one or more processes of the program running, writes queries to their standard input and reads
// answers from their standard output. The result is an [Oracle], a [zoest.BatchOracle]. If the program's answers do
// not depend on the number of processes or the grouping of queries, neither do the losses.
//
// A process starts with a hello and then answers queries in any order. With the format [JSON] each message is a line:
//
//	program:  {"hello":1,"dim":3,"samples":20,"data":"9f86d081884c7d65"}
//	node:     {"id":1,"sample":7,"x":[0.5,-0.25,0]}
//	program:  {"id":1,"loss":0.125}
//	program:  {"id":1,"error":"the reason"}                   if there is no loss
//
// The value of hello is the protocol version, 1; dim is the number of parameters; samples is the number of samples,
// which are numbered from 0. If the fleet file's task is {"program": {...}}, the hello also has "task", this inner object, which says
// what the parameters mean. data is a digest of the program's data, such as a SHA-256, which package sdk uses to decide
// whether a restarted node continues with the same bits ([Oracle.Digest]); it may be missing. Parameters are float32 with the fewest digits that identify the value, even for a reader that parses a
// float64 and rounds it to float32.
//
// With the format [CBOR] each message is a frame: its length as four little-endian bytes, and then that many bytes
// with one CBOR map (RFC 8949) with these keys:
//
//	hello     1 version, 1;  2 dim;  3 samples;  4 task, text with its JSON;  5 data, text
//	query     1 id;  2 sample;  3 parameters: tag 85 (RFC 8746), a byte string of little-endian float32
//	answer    1 id;  2 loss, or 3 the reason why there is no loss, text
//
// Every query has the same layout, so a program can read it without a CBOR library: examples/scorer/README.md lists
// every byte.
//
// A program must read its data once, when it starts, and number the samples by their places in it: a program that reads
// its file again for each query mixes old and new data after an edit, and in one that sorts samples by their content, one
// sample moves others.
//
// # Failures
//
// The package kills a process that violates the protocol, hangs or exits, with its process group and, on Linux, with
// all its descendants that still have the variable SPADE_EDGE_SCORER in their environment. Another process takes its
// place at once or, after further failures, after a pause, which grows with each failure. The error names the process,
// what it did, and its last output to standard error. The package repeats the open queries of the process once, one at
// a time, so that a query that kills the program does not affect other queries. After eight failed processes in a row
// without an answer, the program is considered broken: queries fail at once, except for one query after each pause,
// until a query is answered. A broken program therefore delays a node by about eight times the sum of its time limits,
// and then by one time limit after each pause. A private run continues with constants in place of losses; any
// other run ends with the error.
//
// In a run that protects each record, a record that makes the program fail must not leave another record without a
// loss. Such a run sets [Program].Apart: only processes that fail before their hello then count as failures.
//
// Errors, and a program's output to standard error, may reveal samples and points: neither may leave the device. The
// program has all permissions of its user: this package does not prevent it from sending data elsewhere.
package scorer
