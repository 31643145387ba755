package sdk

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
)

// digest returns a digest, under a key, of what an oracle says about its data, or zero if it says nothing.
func digest(key [32]byte, o Oracle) (sum [32]byte) {
	if d, ok := o.(zoest.Digester); ok {
		if text := d.Digest(); text != "" {
			h := hmac.New(sha256.New, key[:])
			h.Write([]byte(text))
			h.Sum(sum[:0])
		}
	}
	return sum
}

// quiet reports whether no release after the given one uses data, or has noise.
func (c *Config) quiet(release int) bool {
	m := c.plan.fleet.Method
	return m.Data(release) == m.Rounds
}

// presentData returns the identity of the present data. If it is not known to be the data of a stored state whose last
// release is given, it also returns a sentence that says so; without a state, the release is 0. If each record is
// protected, unknown data count as changed, because all memory must be of present records: then replacing a record moves
// no other row. In other runs, the memory of other data is harmless, though wrong.
func (c *Config) presentData(then wire.Data, release int) (now wire.Data, changed string) {
	now = then
	if c.quiet(release) {
		return now, ""
	}
	var unknown [32]byte
	switch now.Digest = digest(then.Key, c.Oracle); {
	case release == 0 || now.Digest == then.Digest && now.Digest != unknown:
		return now, ""
	case (now.Digest == unknown || then.Digest == unknown) && c.plan.fleet.Privacy.Unit != dpmech.Record:
		return now, ""
	}
	kept := then.Changed[:min(len(then.Changed), wire.MaxChanged-1)]
	newest := now
	newest.Changed = []int32{int32(release + 1)}
	now.Changed = append(slices.Clone(kept), newest.Changed...)
	return now, newest.String() + ": the estimator begins with an empty memory"
}

// tieData makes the estimator forget data that has changed since the stored states, of which the newest is the first.
// Each state has the identity of the data to which its memory belongs. So if the process ends before it stores the next
// release, the next process decides again from the same state.
func (n *Node) tieData(mcfg admm.Config, snaps []wire.Snapshot) {
	if len(snaps) == 0 {
		_, _ = rand.Read(n.data.Key[:]) // never fails
		n.data, _ = n.cfg.presentData(n.data, 0)
		return
	}
	var changed string
	if n.data, changed = n.cfg.presentData(snaps[0].Data, snaps[0].State.Round); changed != "" {
		n.log.Warn(changed)
		snaps[0].State.Forget(mcfg)
	}
}
