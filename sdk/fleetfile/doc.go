// Package fleetfile reads the two files of a node, the fleet file and the node file, and writes fleet files. FORMAT.md
// in this folder documents both, field by field.
//
// The fleet file is public and the same on every member. It holds a [sdk.Fleet], whose hash neighbors compare when they
// connect, and each member's keys and addresses, which may change during a run. The node file is private and stays on
// the device.
//
// Both files are strict JSON: unknown and duplicate fields, null, wrong types and trailing text are refused. All wrong
// values in a file are reported at once, each with its location, what was found and what was expected. Kinds of oracle
// and of transport register themselves, see [RegisterOracle]: a program imports package builtin or broker to register
// the kinds of that package.
package fleetfile
