// Package trust decides what a member believes. A [Machine] holds the signed statements of one member and of its
// neighbors, and checks every message of a neighbor against them, before the message reaches the machine of package
// admm. It does no input or output, starts no goroutine, and reads no clock: a message goes in, and a [Verdict] comes
// out.
//
// A driver calls
//
//   - [Machine.Load], [Machine.Resume] and [Machine.Drop] with what it has stored, when it starts, and [Machine.Disclose]
//     once the stored release is marked in the ledger;
//   - [Machine.Receive] with every message; if the verdict is [Take], the machine of package admm gets the message, and
//     [Machine.Taken] what that machine answers;
//   - [Machine.Attach] with every message that it sends, which adds the statements that prove the message;
//   - [Machine.Released] with a new release, then it stores the release together with what [Machine.Record] adds, then it
//     marks the release in the ledger, then it calls [Machine.Disclose], and only then it sends the release;
//   - [Machine.Drop] when it has dropped an edge, also for a reason of its own; then it sends [Machine.Notices];
//   - [Machine.Tick] when some time has passed, and [Machine.Reached] when a connection to a neighbor opens;
//   - [Machine.Remember] now and then, and before it ends.
//
// After each of these calls, the driver stores [Machine.Journal] if [Machine.Unstored] says so, then carries out the
// verdict: statements are stored before an edge is dropped for them, and before they are shown.
//
// What a neighbor says about this member's releases counts only with a signature of this member, and what it says about
// its own releases only with its own. Two different signed releases of one round prove that two devices use one key, or
// that a device was set back. Nothing that one member says about another has any effect.
package trust
