// Package state stores what must survive a crash and a power cut. A [Dir] holds the state behind a node's last two
// releases, the log of its releases, and the evidence it found. A [Ledger] is the lifetime account of a data set.
// [PairKeys] holds the device's one-time keys of pairwise noise, [Heads] what neighbors signed about their ledgers, and
// [WriteCertificate] stores the certificate.
//
// A node makes a release in this order: reserve its line in the ledger, draw its noise, save its state, mark it in the
// ledger, send it. Each step is durable before the next begins. [dpmech.CheckResume] decides what a node may do after a
// crash.
//
// # Three syncs per round
//
//	written, in place                  after its sync                      if the power fails before the sync
//	ledger line k, over zeros          k is paid for and may be drawn      torn: it is cut off, k was never drawn
//	slot k, over slot k-2              the bytes of k can be sent again    torn: slot k-1 is used, k is drawn anew
//	line of releases.log               none: slots restore it              lines are missing
//	mark k, over mark k-2              k may be sent                       torn: mark k-1 is used, k is marked at start
//
// A round without data writes and syncs only the slot. No file is created or renamed. Only two files grow: the ledger,
// by a block for about fifteen lines, and the log, which is not synced. The three writes cannot share a sync, because
// the writes before a sync become durable in any order.
//
// # Files
//
// A slot and the two places of a mark are overwritten in place and carry a SHA-256. The ledger's lines are chained by
// SHA-256; zeros follow them until the ledger is closed. No line contains a zero, so a missing part is detected. The
// log only grows. All other files are replaced: new content is written to a temporary file, synced, and renamed over
// the old file. A failed write or sync is never retried, because the system may report success for data that the disk
// lost: the [Dir] or [Ledger] fails until it is opened again, which rewrites whatever may not be durable.
//
// On systems where files have no locks or folders no sync (js, wasip1, plan9, aix and solaris), all functions that open or
// replace a file fail with [errors.ErrUnsupported]; a node there needs a [Store] of its own, or does without.
package state
