// Package recovery gives the state of a lost device back to the one that replaces it: [Recovery] asks the neighbors,
// and [Respond] answers for one of them. It has no clock, socket or disk; package sdk drives it.
//
// # What the neighbors know
//
// In a fleet with payload "release" both ends of an edge store both z of it, and each neighbor has what was sent to it.
// The new device goes on from the newest release r that any of them holds. A neighbor has then made r-1, r or r+1
// releases itself. The state that it stored with its own release r has the z from before it took in release r, the grid
// point of release r-1, and its own: these are asked for. A neighbor that has not come to its own release r is sent
// what it lacks of r-1 and r, as the lost device would have done, and waited for; so when the new device begins, every
// neighbor holds r. The state is put together, charged (every release that a neighbor has seen, to the run and to the
// ledger) and stored in one step. Before that nothing is stored: a recovery that is interrupted has not happened, and
// may begin again. If no neighbor holds a release, the run begins at its start.
//
// # No second look at the data
//
// The lost device may have been further than its neighbors know: releases may have been on their way, or have been
// received and lost in a restart. But it cannot have made release r+3, since for that it needed what every neighbor
// releases in round r+2, which needs its own of r+1. So the new device makes its releases r+1 and r+2 without its data:
// the update is zero, noise and price are what they always are. Whatever the lost device has made and whoever has seen
// it, no round looks at the data twice, and the count of rounds is right.
//
// # What has to agree, and what is proved
//
// All neighbors must answer, and once more when all is there. What they say of the same release, and of its grid point,
// must be the same to the bit, and how far they have come must be possible.
//
// In a fleet with keys a neighbor shows the lost device's signature of the newest release that it has held and of each
// release that it tells, and its own signature of its number of releases. A release whose digest was not signed is
// refused. So no neighbor can make up a release of the lost device, or have the new one charged for it. Two signed
// releases of one round show that the lost device had a double, and end the recovery ([ErrConflict]).
//
// # What is taken on trust
//
// Both z of an edge and the grid points are not signed, and only the two ends of the edge know them. A lie there spoils
// the model, as a false release of the liar's own would. A neighbor can hide releases that it has held. The privacy
// guarantee needs one neighbor that is honest about how many releases it has made itself. In a fleet without keys
// releases are believed too: a lie about one is found out only if an honest neighbor holds the same release, and a lie
// upwards costs budget.
//
// # What is lost for good
//
// A neighbor that was restarted, as by the power cut that has destroyed the device, has lost what it had received and
// not yet used. If it knows that it had release r, nobody has that any more, and no neighbor's own release rests on it,
// the new device goes on from r-1; r is charged all the same. The recovery is refused if a neighbor has used r and
// nobody can tell it any more, which happens with releases off the grid, and if release r-1 is still needed and no
// neighbor ever received it. The running mean of releases begins anew with r, and so do the baselines of the centered
// estimator, with 0: the models are others than those of a run in which nothing was lost, and as good.
//
// # The lost device must not come back
//
// Retire its key first: move it to the member's retired keys, so that it cannot connect and its signatures still count.
// If its key still connects and it is started again on its old state, each neighbor that remembers its successor (it
// has made a release since, or not been restarted) shows it what the successor has signed, and it ends. A device that
// was never switched off, as behind a network that was cut, is shown the same when the connection to a neighbor opens
// and when it sends a release; neighbors have seen what it makes until then. Without keys it cannot be told from its
// successor.
package recovery
