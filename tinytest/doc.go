// Package tinytest is the test kit of SPADE-Edge. Programs that embed the SDK can use it, too, even outside go test:
// its functions return errors.
//
// Worlds. A [World] runs a fleet of nodes in one process, on a network and on disks with faults that follow from a seed.
// A [Link] loses, delays, repeats or forges frames: [Drop], [Delay], [Duplicate], [Messages]; [Chain] combines links, and
// [Linked] applies them to any transport. [CrashAt], [TornWrite] and [LyingSync] are faults of an [OpenStore]. A [Player]
// is an adversary with a valid key.
//
// Conformance. [TestTransport] and [TestOracle] check an implementation against the documentation of its interface and
// return one error that explains each broken rule.
//
// A loss in [0, 1] with a known minimizer: [SquaredProbability].
package tinytest
