// Package state keeps what must survive a crash and a power cut: the state behind a node's last two releases, the log
// of its releases, the evidence it has found and the secrets of its run ([Dir]), the lifetime account of a data set
// ([Ledger]), what neighbors have signed of their ledgers ([Heads]), and the certificate ([WriteCertificate]).
//
// A release is made in this order: reserve its line in the ledger, draw its noise, save its state, mark it in the
// ledger, send it. Each step is durable before the next begins. [dpmech.CheckResume] says what a node may do after a
// crash.
//
// # Three syncs a round
//
//	written, in place                  after its sync                      if the power goes before that
//	line of round k, over zeros        k is paid for and may be drawn      torn: it is cut off, k was never drawn
//	slot of k, over that of k-2        the bytes of k can be sent again    torn: slot k-1 counts, k is drawn anew
//	line of releases.log               none: slots restore it              lines are missing
//	mark of k, over that of k-2        k may be sent                       torn: k-1 counts, k is marked at the start
//
// In a round without data there is only the slot, and one sync. No file is made, renamed or made longer: only the
// ledger grows by a block, with one line of about fifteen, and the log, which is not synced.
//
// No two of the three can share a sync, for the writes before a sync become durable in any order. A state without its
// line would name a line that the ledger does not have. A mark without its state, or a state that is older than its
// mark, is a release that may have been sent and cannot be sent again: a node that finds that refuses for good. A line
// with the mark of the round before would charge for a release that may never be made.
//
// # Files
//
// A slot and the two places of a mark are overwritten in place and carry a SHA-256. The ledger's lines are chained by
// SHA-256; behind them are zeros until it is closed. No line contains a zero, so that one of which a part is missing is
// found out. The log is only added to. All other files are replaced: the new content is written beside the file,
// synced, and renamed over it. A write or sync that failed is never repeated, since the system may report success for
// data that the disk has lost: the [Dir] or [Ledger] refuses everything until it is opened again, which writes again
// what nobody knows to be durable.
package state
