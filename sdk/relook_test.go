package sdk_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// forgetful acts as a neighbor that denies having seen any node before, to make nodes use their data a second time. It
// reports the first release of each node on the channel looks.
func forgetful(ctx context.Context, f *sdk.Fleet, tr transport.Transport, looks chan<- struct{}) error {
	codec, err := wire.NewCodec(f.Dim)
	if err != nil {
		return err
	}
	var in admm.Message
	for {
		from, frame, err := tr.Recv(ctx)
		if err == nil && wire.IsHeartbeat(frame) {
			continue
		}
		if err == nil {
			err = codec.Decode(frame, &in)
		}
		switch {
		case err != nil:
			return err
		case in.Kind == admm.Probe:
			out, err := codec.Append(nil,
				&admm.Message{Kind: admm.ProbeReply, Incarnation: in.Incarnation})
			if err == nil {
				err = tr.Send(ctx, from, out)
			}
			if err != nil {
				return err
			}
		case in.Kind == admm.Release && in.Round == 1 && !in.Resent:
			select {
			case looks <- struct{}{}:
			default:
			}
		}
	}
}

// TestNoSecondLook checks that a node without a store never releases the same data twice, even if a neighbor claims
// that nothing was sent: the node learns from its ledger that an earlier incarnation made a release. The same holds for
// a second node with the same name that was created before the first node ran.
func TestNoSecondLook(t *testing.T) {
	f := privateRing()
	f.Members, f.Edges = f.Members[:2], f.Edges[:1]
	trs := inMemory(t, f)
	ledger, err := state.CreateLedger(filepath.Join(t.TempDir(), "ledger"), "d", dpmech.Client, nil, state.NeverUsed)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	cfg := sdk.Config{Fleet: f, Name: "b", Samples: 5, Oracle: oracle(1), Transport: trs[1], Ledger: ledger,
		ResendAfter: 5 * time.Millisecond}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	looks := make(chan struct{}, 1)
	neighbor := make(chan error, 1)
	go func() { neighbor <- forgetful(ctx, f, trs[0], looks) }()

	first, err := sdk.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	twin, err := sdk.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- first.Run(running) }()
	<-looks
	end()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := twin.Run(ctx); !errors.Is(err, state.ErrRollback) ||
		!strings.Contains(err.Error(), "another node with the same name") {
		t.Errorf("a twin: %v", err)
	}
	if _, err := sdk.New(cfg); !errors.Is(err, state.ErrRollback) || !strings.Contains(err.Error(), "this device has lost its state of the run") {
		t.Errorf("the next incarnation: %v", err)
	}
	if n := ledger.Head().Seq; n != 1 {
		t.Errorf("the ledger counts %d releases", n)
	}

	stop()
	if err := <-neighbor; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLedgerComesLater checks that a ledger added after a run has begun also counts the releases that the run made
// before.
func TestLedgerComesLater(t *testing.T) {
	t.Parallel()
	f := privateRing()
	f.Members, f.Edges = f.Members[:1], nil
	dir := t.TempDir()
	ledger, err := state.CreateLedger(filepath.Join(dir, "ledger"), "d", dpmech.Client, nil, state.NeverUsed)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	ctx, stop := context.WithCancel(t.Context())
	cfg := sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: inMemory(t, f)[0]}
	cfg.Events.Released = func(round int, _ []float32) {
		if round == 3 {
			stop()
		}
	}
	for incarnation := range 2 {
		store, err := state.Open(filepath.Join(dir, "state"))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Store = store
		n, err := sdk.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		err = n.Run(ctx)
		if incarnation == 0 && !errors.Is(err, context.Canceled) || incarnation == 1 && err != nil {
			t.Fatalf("incarnation %d: %v", incarnation, err)
		}
		if incarnation == 1 {
			cert, err := n.Certificate()
			if err != nil {
				t.Fatal(err)
			}
			if cert.Rounds != 8 || cert.Lifetime.Rho != cert.Rho {
				t.Errorf("%d releases that cost %v, and %v in the ledger", cert.Rounds, cert.Rho, cert.Lifetime.Rho)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, cfg.Ledger = t.Context(), ledger
	}
}

// TestCertificateIsCheckedFirst checks that an error that would prevent a certificate is reported before the node
// releases anything.
func TestCertificateIsCheckedFirst(t *testing.T) {
	f := privateRing()
	f.Members, f.Edges = f.Members[:1], nil
	cfg := sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: inMemory(t, f)[0],
		ConditionalOn: []string{"two\nlines"}}
	if _, err := sdk.New(cfg); err == nil || !strings.Contains(err.Error(), "conditional_on[0]") {
		t.Errorf("%v", err)
	}
}
