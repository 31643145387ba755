package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// Status returns the status of the node. Before Run has created the node, it returns the result of [StatusOf]. Any
// goroutine may call Status, Model and Certificate.
func (d *Device) Status(ctx context.Context) (*monitor.Status, error) {
	if d.alive.Load() {
		st := d.monitor.Status()
		return &st, nil
	}
	return StatusOf(ctx, d.File, d.Fleet)
}

// Model returns the model of the node, see [sdk.Node.Model]. Before Run has created the node, it returns the model in
// the state folder.
func (d *Device) Model() ([]float32, error) {
	if d.alive.Load() {
		return d.node.Model(), nil
	}
	kept, err := Kept(d.File, d.Fleet)
	if err != nil {
		return nil, err
	}
	return kept.State.X, nil
}

// Certificate returns the certificate of all releases so far, in JSON: the node's certificate or, before Run has
// created the node, the certificate file in the state folder. A run without privacy has no certificate.
func (d *Device) Certificate() ([]byte, error) {
	if !d.alive.Load() {
		return fleetfile.ReadFile(d.File.Certificate(), fleetfile.MaxFile, "a certificate")
	}
	cert, err := d.node.Certificate()
	if err != nil {
		return nil, err
	}
	return cert.JSON()
}

// StatusOf returns the status of the node that a node file describes: from the node itself while it is running,
// otherwise from disk.
func StatusOf(ctx context.Context, file *fleetfile.Node, fleet *fleetfile.File) (*monitor.Status, error) {
	st, err := AskStatus(ctx, file.State)
	if errors.Is(err, ErrNotRunning) {
		return Left(file, fleet)
	}
	return st, err
}

// Left returns the status of a node that is not running, as read from its files. It fails if the files cannot be read.
func Left(file *fleetfile.Node, fleet *fleetfile.File) (*monitor.Status, error) {
	f, now, phase := fleet.Fleet, sdk.Status{}, monitor.Fresh
	dir, err := state.Inspect(file.State)
	fault := dir.Refused
	if err == nil {
		switch now.Round = dir.Round; {
		case now.Round >= f.Method.Last():
			phase = monitor.Finished
		case now.Round > 0:
			phase = monitor.Stopped
		}
		if kept, err := state.ReadSnapshot(file.State); err == nil {
			now.DataChanged = kept.Data.String()
			if kept.State.Failed > 0 {
				now.Queries, now.FailedQueries, now.LastFailure = kept.State.Queries, kept.State.Failed, kept.FailureText()
			}
		}
		now.OtherLedgers = dir.Journal.Ledgers
		if fault = cmp.Or(fault, evidenceLeft(&now, &dir.Journal, file.Name, fleet)); fault != nil {
			phase = monitor.Damaged
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if free, known := Free(file.State); known && fault == nil && phase != monitor.Finished {
		fault = DiskFull(file.State, 1<<20, free)
	}
	st, cfg := monitor.NewStatus(f, file.Name, &now), sdk.Config{Fleet: fleet, Name: file.Name}
	for _, q := range dir.Journal.Quarantine {
		st.Neighbors = append(st.Neighbors, monitor.Neighbor{Name: q.Neighbor, Quarantine: &monitor.Quarantine{Release: q.Release, Reason: q.Why}})
	}
	if now.FailedQueries > 0 {
		st.Local = &monitor.Local{Loss: monitor.Unknown(), Accuracy: monitor.Unknown(), Majority: monitor.Unknown(),
			Losses: monitor.LossesOf(&now, nil)}
	}
	if p := f.Privacy; !p.NonPrivate {
		var life *certificate.Lifetime
		if ledger, err := state.ReadLedger(file.Ledger); err == nil {
			life, cfg.Ledger = ledger.Lifetime(p.Delta), ledger
		} else {
			fault = cmp.Or(fault, err)
		}
		st.Privacy = monitor.NewPrivacy(f, f.Total(f.Method.Data(now.Round)), life)
	}
	// A state of another run, or one that is older than its ledger: the node would refuse it.
	r := cfg.Check(func() (*wire.Snapshot, error) { return state.ReadSnapshot(file.State) })
	if r.State != nil || errors.Is(r.Ledger, state.ErrRollback) {
		phase, fault = monitor.Damaged, cmp.Or(fault, r.State, r.Ledger)
	}
	if st.Phase = phase; fault != nil {
		st.Fault = fault.Error()
	}
	return &st, nil
}

// DiskFull returns an error if fewer bytes are free on the disk of a folder than a node needs.
func DiskFull(folder string, needs, free int64) error {
	if free >= needs {
		return nil
	}
	return fmt.Errorf("the disk of %s is full: %d bytes are free, and the run needs up to %d; free some space and run again", folder, free, needs)
}

// evidenceLeft adds to st the evidence in a journal that is valid under the keys in the fleet file, as a node does when it
// starts. It returns an error if some of it is against the named node itself: such a node refuses to continue.
func evidenceLeft(st *sdk.Status, j *state.Journal, name string, fleet *fleetfile.File) (own error) {
	for _, e := range j.Evidence {
		if e.Verify(fleet.Fleet.Run, fleet.Fleet.Hash(), fleet.SigningKeys(e.Member)) != nil {
			continue
		}
		st.Evidence = append(st.Evidence, e)
		if e.Member == name {
			own = fmt.Errorf("%v: %w", e, trust.ErrClone)
		}
	}
	return own
}

// ErrOtherState means that a state folder does not belong to the node and run of the node file.
var ErrOtherState = errors.New("the state belongs to another node or run")

// Kept reads the last release from a node's state folder. It replaces State.X with the result of
// [sdk.Fleet.Model] for this release. The error wraps fs.ErrNotExist if the node has made no release.
func Kept(file *fleetfile.Node, fleet *fleetfile.File) (*wire.Snapshot, error) {
	kept, err := state.ReadSnapshot(file.State)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("no model yet: the node has not made a release: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if hash := fleet.Fleet.Hash(); kept.Fleet != hash || kept.Member != file.Name {
		return nil, fmt.Errorf("%w: %s has the model of %q in the fleet with hash %x, want the model of %q in the "+
			"fleet with hash %x, as in the node file", ErrOtherState, file.State, kept.Member, kept.Fleet[:8], file.Name, hash[:8])
	}
	kept.State.X = fleet.Fleet.Model(kept.State.X, kept.State.Round)
	return kept, nil
}
