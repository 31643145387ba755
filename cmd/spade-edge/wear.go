package main

import (
	"encoding/json"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// disk is what a node's state and ledger take, in bytes as they are handed to the file system: its journal and whole pages come on
// top. Numbers in text are taken to have the digits that most have.
type disk struct {
	Slots   int64 `json:"slots"`   // set aside: two slots, each for the longest state
	Round   int64 `json:"round"`   // written in a round of learning: state, a line of the log, one of the ledger, and its mark
	Log     int64 `json:"log"`     // of these, the line of the log, which grows by it
	Ledger  int64 `json:"ledger"`  // and the line of the ledger, likewise, with its mark; 0 in a run that is not private
	Written int64 `json:"written"` // in the whole run: what wears flash out
}

// newDisk counts what a node with a [sdk.DirStore] and, in a private run, a [dpmech.Ledger] writes for a state of so many bytes.
func newDisk(f *sdk.Fleet, c admm.Config, state int64) disk {
	const hash = 64 // digits of a SHA-256
	self := f.Members[c.Estimator.Client]
	note := int64(len(`{"model_sha256":""}`) + hash)
	var ledger int64
	if !c.NonPrivate {
		note += int64(len(`,"rho":0.1234567890123456`))
		clip, _ := json.Marshal(f.Privacy.Clip)
		sigma, _ := json.Marshal(f.Privacy.Sigma)
		ledger = int64(len(`{"seq":12,"prev":"","run":"","fleet":"","member":"","round":12,"clip":,"sigma":}`) + 1 + 2*hash +
			len(f.Run) + len(self) + len(clip) + len(sigma))
		ledger += int64(len(`{"id":"","seq":12,"hash":""}`) + 1 + hash + hash/2)
	}
	d := disk{
		Slots:  f.StoreSize(self, c.Estimator.Samples),
		Log:    note + int64(len(`{"round":12,"digest":"","note":}`)+1+hash),
		Ledger: ledger,
	}
	const header = 64 // of a slot, with its digest
	calm := state + header + note + d.Log
	d.Round = calm + ledger
	d.Written = int64(f.Method.Rounds)*d.Round + int64(f.Method.Cooldown)*calm
	return d
}
