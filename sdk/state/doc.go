// Package state keeps what must survive a crash and a power cut: the state behind a node's last two releases, the log
// of its releases and the evidence it has found ([Dir]), the lifetime account of a data set ([Ledger]), what neighbors
// have signed of their ledgers ([Heads]), and the certificate ([WriteCertificate]).
//
// A release is made in this order: reserve its line in the ledger, draw its noise, save its state, mark it in the
// ledger, send it. Each step is durable before the next begins. [dpmech.CheckResume] says what a node may do after a
// crash.
//
// Every file here is written in one of three ways. A slot is overwritten in place and carries a SHA-256. A log is only
// added to. All others are replaced: the new content is written beside the file, synced, and renamed over it. A write
// or sync that failed is never repeated, since the system may report success for data that the disk has lost: the [Dir]
// or [Ledger] refuses everything until it is opened again.
package state
