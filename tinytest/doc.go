// Package tinytest is the test kit of SPADE-Edge. Programs that embed the SDK can use it, too, even outside go test:
// its functions return errors.
//
// Faults. A fault schedule ([Drop], [Delay] or [Duplicate]) decides what happens to a message. The decision depends
// only on a seed, the edge and the number of the message on the edge. [Chain] combines schedules, and [Faulty] applies
// them to a transport. [CrashAt] and [TornWrite] wrap an [OpenStore].
//
// Conformance. [TestTransport] and [TestOracle] check an implementation against the documentation of its interface and
// return one error that explains each broken rule.
//
// A loss in [0, 1] with a known minimizer: [SquaredProbability].
package tinytest
