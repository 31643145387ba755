package sdk

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// build identifies the arithmetic that produced a stored state. A program with a different build must not continue the
// run.
const build = "spade-edge arithmetic 2"

// resume restores the node's machine and its counted releases from the stored state. If no state is stored, it creates
// a new machine.
func (n *Node) resume(mcfg admm.Config) error {
	snaps, noted, err := n.cfg.load()
	if err != nil {
		return err
	}
	if len(snaps) > 0 {
		before := note{Began: n.began, Made: n.made}
		_ = json.Unmarshal([]byte(noted), &before) // a Store may lose notes
		n.began, n.made = before.Began, before.Made
	}
	n.tieData(mcfg, snaps)
	newest := &wire.Snapshot{}
	if len(snaps) > 0 {
		newest = &snaps[0]
	}
	round := newest.State.Round
	if err := n.account.check(n.fleet.Method, round, newest.Ledger); err != nil {
		return err
	}
	if len(snaps) == 0 {
		n.machine, err = admm.New(mcfg)
		return err
	}
	if err := n.account.resume(n.fleet.Method.Data(round), newest.Ledger); err != nil {
		return n.cfg.inState(round, err)
	}
	for i := len(snaps) - 1; i >= 0; i-- {
		if err := n.trust.Resume(&snaps[i]); err != nil {
			return n.cfg.inState(snaps[i].State.Round, err)
		}
	}
	var before *admm.State
	if len(snaps) > 1 {
		before = &snaps[1].State
	}
	if n.machine, err = admm.Restore(mcfg, newest.State, before); err != nil {
		return err
	}
	if err := n.account.mark(n.fleet.Method.Data(round)); err != nil { // the last process may have crashed before it marked the release
		return err
	}
	n.failure = newest.FailureText()
	n.trust.Disclose()
	return nil
}

// load returns the stored states, the newest first, and the note of the newest.
func (c *Config) load() (list []wire.Snapshot, noted string, err error) {
	if c.Store == nil {
		return nil, "", nil
	}
	saved, err := c.Store.Load()
	if len(saved) == 0 || err != nil {
		return nil, "", err
	}
	list = make([]wire.Snapshot, len(saved))
	for i, s := range saved {
		snap := &list[i]
		err := wire.DecodeSnapshot(s.State, snap)
		if err == nil {
			err = c.checkOwn(snap.Fleet, snap.Member, snap.Build)
		}
		if err == nil && snap.State.Round != s.Round {
			err = fmt.Errorf("found release %d, want %d", snap.State.Round, s.Round)
		}
		if err != nil {
			return nil, "", c.inState(s.Round, err)
		}
		for k, p := range snap.Peers {
			snap.State.Edges[k].Peer = c.plan.peer(p.Name)
		}
	}
	return list, saved[0].Note, nil
}

// checkOwn returns an error if a stored state does not belong to this node, because its fleet, member or arithmetic
// differs.
func (c *Config) checkOwn(fleet [32]byte, member, arithmetic string) error {
	if want := c.plan.hash(); fleet != want || member != c.Name {
		return fmt.Errorf("it belongs to a fleet with hash %x and member %q, want %x and %q: give each run a state of its own", fleet[:8],
			member, want[:8], c.Name)
	}
	if arithmetic != build {
		return fmt.Errorf("it comes from a program with %q, want %q: finish the run with the program that began it", arithmetic, build)
	}
	return nil
}

// inState names the stored state of a release in an error, with the store if it has a name.
func (c *Config) inState(release int, err error) error {
	store := ""
	if named, ok := c.Store.(fmt.Stringer); ok {
		store = named.String() + ": "
	}
	return fmt.Errorf("sdk: %sstored state of release %d: %w", store, release, err)
}

// record stores the state of the new release and then marks the release in the ledger. The node must not show or send
// the release before both steps have succeeded. After an error the node cannot continue, because it is unknown whether
// the release is on disk.
func (n *Node) record() error {
	s := n.machine.State()
	n.mu.Lock()
	n.made = minute()
	n.mu.Unlock()
	if err := n.trust.Released(&s); err != nil {
		return err
	}
	if n.cfg.Store != nil {
		if err := n.save(&s); err != nil {
			return err
		}
	}
	if err := n.account.mark(n.fleet.Method.Data(s.Round)); err != nil {
		return err
	}
	n.trust.Disclose()
	return nil
}

// note is the note of a stored state, which also goes into the log of releases.
type note struct {
	Model string `json:"model_sha256"`
	Began string `json:"began"` // when the run began on this device, for certificates
	Made  string `json:"made"`  // when the release was made
}

// minute returns the time in the form of [certificate.About]. A certificate must not show the duration of a round.
func minute() string { return time.Now().UTC().Truncate(time.Minute).Format(time.RFC3339) }

func (n *Node) save(s *admm.State) error {
	snap := wire.Snapshot{Fleet: n.cfg.plan.hash(), Member: n.cfg.Name, Build: build, State: *s, Data: n.data, Failure: n.storedFailure()}
	for _, e := range s.Edges {
		snap.Peers = append(snap.Peers, wire.Peer{Name: n.fleet.Members[e.Peer]})
	}
	n.trust.Record(&snap)
	if n.cfg.Ledger != nil {
		head, err := json.Marshal(n.cfg.Ledger.Head())
		if err != nil {
			return err
		}
		snap.Ledger = string(head)
	}
	var err error
	if n.encoded, err = wire.AppendSnapshot(n.encoded[:0], &snap); err != nil {
		return err
	}
	text, err := json.Marshal(note{Model: ModelHash(s.X), Began: n.began, Made: n.made})
	if err != nil {
		return err
	}
	if err := n.cfg.Store.Save(state.Record{Round: s.Round, State: n.encoded, Note: string(text)}); err != nil {
		return fmt.Errorf("sdk: release %d was not sent, because its state could not be stored: %w", s.Round, err)
	}
	return nil
}

// chargeLost charges this node's releases up to the given one, which a neighbor has proved that it holds, but this node's
// disk has lost.
func (n *Node) chargeLost(held int) error {
	m, at := n.fleet.Method, n.machine.Status().Round
	if n.account == nil || held <= at {
		return nil
	}
	for round := m.Data(at) + 1; round <= m.Data(held); round++ {
		if err := n.account.reserve(round); err != nil {
			return err
		}
	}
	return n.account.mark(m.Data(held))
}
