// Package recovery gives the state of a lost device back to the one that replaces it: [Recovery] asks the neighbors,
// and [Respond] answers for one of them. It has no clock, socket or disk; package sdk drives it.
//
// # What the neighbors know
//
// With payload "release" both ends of an edge store both z of it, and each neighbor has what was sent to it. The new
// device goes on from the newest release r that any of them holds. A neighbor has then made r-1, r or r+1 releases
// itself. The state that it stored with its own release r has the z from before it took in release r, the grid point of
// release r-1, and its own: these are asked for. A neighbor that has not come to its own release r is sent what it
// lacks of r-1 and r, and waited for. The state is put together, charged (every release that a neighbor has seen) and
// stored in one step: a recovery that is interrupted has not happened. If no neighbor holds a release, the run begins
// at its start.
//
// # No second look at the data
//
// The lost device may have been further than its neighbors know. But it cannot have made release r+3, since for that it
// needed what every neighbor releases in round r+2, which needs its own of r+1. So the new device makes releases r+1
// and r+2 without its data: the update is zero, noise and price are what they always are. No round looks at the data
// twice.
//
// # What has to agree, what is proved, and what is taken on trust
//
// All neighbors must answer, and once more when all is there. What they say of one release, and of its grid point, must
// be the same to the bit, and how far they have come must be possible. In a fleet with keys a neighbor shows the lost
// device's signature of each release that it speaks of, and its own of its number of releases. Two signed releases of
// one round end the recovery ([ErrConflict]).
//
// Both z of an edge and the grid points are not signed. They have to be complete, and must not lead the model out of
// its range within 16 releases, or nothing is kept. Else a lie there spoils the model, as a false release of the liar's
// own would. A neighbor can hide releases. The privacy guarantee needs one neighbor that is honest about how many
// releases it has made itself. Without keys releases are believed too: a lie about one is found out only if an honest
// neighbor holds it as well, and a lie upwards costs budget.
//
// # What is lost for good
//
// A neighbor that was restarted has lost what it had received and not yet used. If it knows that it had release r,
// nobody has that any more, and no neighbor's own release rests on it, the new device goes on from r-1; r is charged
// all the same. The recovery is refused if a neighbor has used r and nobody can tell it any more, which happens off the
// grid, and if r-1 is still needed and no neighbor ever received it. The running mean begins anew with r, and the
// memory of the centered or the tracking estimator with 0: the models are others than those of a run without a loss, and
// as good.
//
// # The lost device must not come back
//
// Retire its key first: then it cannot connect, and its signatures still count. If it connects all the same, each
// neighbor that remembers its successor shows it what the successor has signed, when the connection opens and when it
// sends a release, and it ends; neighbors have seen what it makes until then. Without keys it cannot be told from its
// successor. What it has released is taken in where the successor is not known yet, or is known to go on from it. A
// neighbor that has gone on from more shows that to the successor, which recovers anew and brings it to the others: two
// releases at most, for a third needs a release of every neighbor that rests on them. A neighbor remembers it from its own
// next release on. If all were killed before that, the lost device goes on, and a neighbor that has used what it made
// refuses the successor and shows it why: it has to recover anew.
package recovery
