// Package fleetfile reads the two files of a node and writes the shared one. FORMAT.md beside this file shows both,
// field by field.
//
// The fleet file is public and the same on every member: a [sdk.Fleet], whose hash neighbors compare when they connect,
// and each member's keys and addresses, which may change during a run. The node file is private and stays on the
// device.
//
// Both are strict JSON: unknown and duplicate fields, null, wrong types and text behind the end are refused. All wrong
// values of a file are reported together, each with its place, what was found and what was wanted. Kinds of oracle and
// of transport register themselves, see [RegisterOracle]: a program imports package builtin or broker for its effect.
package fleetfile
