// Package fleetfile reads the two files behind a node, and writes the one that is shared. FORMAT.md beside this file
// shows both, field by field.
//
// The fleet file is public and the same on every member: the run, its graph, its method and its privacy, and of each
// member the public keys and where it can be reached. All of it but keys and addresses is a [sdk.Fleet], whose hash two
// neighbors compare when they connect; keys and addresses may change during a run. The node file is private and stays on
// the device: who this node is, its key, its folder and its oracle.
//
// Both files are strict JSON, without comments. Unknown and repeated fields, wrong types and text behind the end are
// refused. All wrong values of a file are reported together, each with its place, what was found and what was wanted.
//
// Kinds of oracle and of transport register themselves, see [RegisterOracle]: a program that imports package builtin or
// package broker for its effect can read node files that name them.
package fleetfile
