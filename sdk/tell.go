package sdk

import (
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// lifeMask are the bits of a life that tell the lives of one device apart; the others count the devices of a name.
const lifeMask = 1<<48 - 1

// tell answers a neighbor that has lost its state and asks, in r.frame, for a part of what is known of it here. All of that is the
// neighbor's own, or was released to it. Nothing changes: the machine goes on, and the neighbor asks again for what gets lost.
func (r *run) tell(from int, name string) error {
	ask := r.frame
	if _, known := r.outbox[from]; !known {
		return errors.New("sdk: the sender asks for its state and is no neighbor")
	}
	if !r.releases {
		return fmt.Errorf("sdk: the sender asks for its state, and the fleet's payload is not %q", PayloadRelease)
	}
	if r.told[from] != ask.Life {
		r.told[from] = ask.Life
		if _, worth := r.mention("asks", name); worth {
			r.log.Warn("a neighbor has lost its state and asks for what is known of it here", "neighbor", name)
		}
	}
	answer := wire.Frame{
		Kind: wire.Tell, Part: ask.Part, Round: ask.Round, Held: r.machine.Heard(from),
		Life: uint64(r.machine.Device(from))<<48 | ask.Life&lifeMask,
	}
	r.proveAnswer(from, &answer)
	switch ask.Part {
	case wire.Standing:
		answer.Round = r.machine.Status().Round
		if own := last(r.claims.own); own != nil {
			answer.Own = own.Append(nil)
		}
	case wire.Sent:
		if msg, ok := r.machine.Held(from, ask.Round); ok {
			answer.Vector, answer.Grid = msg.Vector, msg.Grid
		}
	default:
		r.remember(&answer, name)
	}
	frame, err := r.codec.Append(nil, &answer)
	if err != nil {
		return err
	}
	r.post(from, frame)
	return nil
}

// proveAnswer adds the asker's own signature to an answer: of its latest release, or of the one that the answer is about. An answer about
// a place on the grid is about the release that led there.
func (r *run) proveAnswer(from int, answer *wire.Frame) {
	held := r.claims.peers[from].held
	shown := proving(held, answer.Held)
	switch answer.Part {
	case wire.Sent:
		shown = of(held, answer.Round)
	case wire.AskerAt:
		shown = of(held, answer.Round-1)
	case wire.AskerZ, wire.TellerZ, wire.TellerAt:
		shown = nil
	}
	if shown != nil {
		answer.Proof = shown.Append(nil)
	}
}

// remember fills in what a neighbor asks for of the state that was kept with a release: of the newest or of the one before. The
// machine's own z may have gone on since.
func (r *run) remember(answer *wire.Frame, name string) {
	if r.past == nil && r.cfg.Store != nil {
		saved, err := r.cfg.Store.Load()
		if err != nil {
			r.log.Error("a neighbor cannot be told what it has lost", "neighbor", name, "err", err)
			return
		}
		for _, s := range saved {
			var cp wire.Checkpoint
			if err := wire.DecodeCheckpoint(s.State, &cp); err != nil {
				r.log.Error("a neighbor cannot be told what it has lost", "neighbor", name, "err", err)
				return
			}
			r.past = append(r.past, cp)
		}
	}
	for _, cp := range r.past {
		if cp.Round != answer.Round {
			continue
		}
		for _, e := range cp.Edges {
			if e.Peer != name {
				continue
			}
			switch answer.Part {
			case wire.AskerZ:
				answer.Vector = e.PeerZ
			case wire.TellerZ:
				answer.Vector = e.Z
			case wire.AskerAt:
				answer.Grid = e.PeerGrid
			case wire.TellerAt:
				answer.Grid = difference(cp.Grid, cp.Delta)
			}
		}
	}
}

// difference returns a - b, or a copy of a if b has no numbers.
func difference(a, b []int32) []int32 {
	d := make([]int32, len(a))
	copy(d, a)
	for i, x := range b {
		d[i] -= x
	}
	return d
}

// post hands a frame to a neighbor's sender, unless that has enough to do: what is missing will be asked for again.
func (r *run) post(to int, frame []byte) {
	select {
	case r.outbox[to] <- frame:
	default:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.BytesSent += int64(len(frame))
}
