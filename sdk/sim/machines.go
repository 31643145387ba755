package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
)

// Machines returns the machine configurations of all members of a fleet. samples[i] is m_i, and noise(i) returns the noise
// source of member i; noise may be nil if the fleet is not private.
func Machines(fleet sdk.Planner, samples []int, noise func(client int) io.Reader) ([]admm.Config, error) {
	p, err := fleet.Plan()
	if err != nil {
		return nil, err
	}
	f := p.Fleet()
	if len(samples) != len(f.Members) {
		return nil, fmt.Errorf("sim: found %d sample counts for %d members, want one for each member", len(samples), len(f.Members))
	}
	if f.X0Hash != "" || noise == nil && !f.Privacy.NonPrivate {
		return nil, errors.New("sim: a simulation needs X0 itself and, in a private fleet, a source of noise for every member")
	}
	cfgs := make([]admm.Config, len(samples))
	hash := f.Hash()
	for i := range cfgs {
		if cfgs[i], err = p.Machine(i, samples[i]); err != nil {
			return nil, err
		}
		if !f.Privacy.NonPrivate {
			cfgs[i].Noise = noise(i)
		}
		if f.Privacy.PairSigma > 0 {
			cfgs[i].PairKey = func(peer, release int) [32]byte {
				return PairSecret(f.Method.Seed, i, peer).Key(hash, release)
			}
		}
	}
	return cfgs, nil
}

// PairSecret returns the secret of pairwise noise that members i and j share in a simulation. The order of i and j does not
// matter. The secret protects nobody, because anyone can compute it.
func PairSecret(seed uint64, i, j int) pair.Secret {
	b := []byte("spade-edge simulated secret 1\n")
	for _, x := range []uint64{seed, uint64(min(i, j)), uint64(max(i, j))} {
		b = binary.BigEndian.AppendUint64(b, x)
	}
	return sha256.Sum256(b)
}
