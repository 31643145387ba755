package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// both is the transport of a member that belongs to two networks: it sends every frame to both networks and receives
// from both. It delays each release until it has received a release from each network.
type both struct {
	one, other transport.Transport
	dim        int
	in         chan heard
	once       sync.Once
}

type heard struct {
	from  string
	frame []byte
	err   error
}

func (b *both) Send(ctx context.Context, to string, frame []byte) error {
	return errors.Join(b.one.Send(ctx, to, frame), b.other.Send(ctx, to, append([]byte(nil), frame...)))
}

func (b *both) Recv(ctx context.Context) (string, []byte, error) {
	b.once.Do(func() {
		var released sync.WaitGroup
		released.Add(2)
		for _, tr := range []transport.Transport{b.one, b.other} {
			go func() {
				codec, err := wire.NewCodec(b.dim)
				for first := true; err == nil; {
					var msg admm.Message
					from, frame, err := tr.Recv(context.Background())
					if err == nil && first && codec.Decode(frame, &msg) == nil && msg.Kind == admm.Release {
						first = false
						released.Done()
						released.Wait()
					}
					b.in <- heard{from, frame, err}
					if err != nil {
						return
					}
				}
			}()
		}
	})
	select {
	case h := <-b.in:
		return h.from, h.frame, h.err
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
}

func (b *both) MaxFrame() int { return b.one.MaxFrame() }
func (b *both) Close() error  { return errors.Join(b.one.Close(), b.other.Close()) }

// TestDoubleLeavesEvidence runs a copy of a device, with the same key and state, at the same time as the device. Both
// reach the same neighbor, which stores evidence that others can verify and that survives a restart. A node that
// receives the evidence stops and never starts again. No node finishes.
func TestDoubleLeavesEvidence(t *testing.T) {
	f := privateRing()
	f.Members, f.Edges = f.Members[:2], f.Edges[:1]
	nets := []*mem.Net{mem.New(f.Members...), mem.New(f.Members...)}
	open := func(i int, name string) transport.Transport {
		tr, err := nets[i].Node(name)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	dir := t.TempDir()
	config := func(name string, i int, tr transport.Transport, folder string) sdk.Config {
		c := sdk.Config{Fleet: f, Name: name, Samples: samples[i], Oracle: oracle(i), Transport: tr,
			ResendAfter: 5 * time.Millisecond}
		sign(&c)
		store, err := state.Open(filepath.Join(dir, folder))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		c.Store = store
		return c
	}
	b := config("b", 1, &both{one: open(0, "b"), other: open(1, "b"), dim: f.Dim, in: make(chan heard)}, "b")
	cfgs := []sdk.Config{config("a", 0, open(0, "a"), "first"), config("a", 0, open(1, "a"), "second"), b}
	var all []*sdk.Node
	for _, c := range cfgs {
		n, err := sdk.New(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	errs := make([]error, len(all))
	var clones, rest sync.WaitGroup
	for i, n := range all {
		if i == 2 {
			rest.Go(func() { errs[i] = n.Run(ctx) })
			continue
		}
		clones.Go(func() { errs[i] = n.Run(ctx) })
	}
	clones.Wait()
	stop()
	rest.Wait()
	for i, n := range all[:2] {
		if !errors.Is(errs[i], trust.ErrClone) || n.Status().Done {
			t.Errorf("copy %d: %v, %+v", i, errs[i], n.Status())
		}
	}
	evidence := all[2].Status().Evidence
	if len(evidence) != 1 || evidence[0].Member != "a" {
		t.Fatalf("the neighbor has %+v, %v", evidence, errs[2])
	}
	if err := evidence[0].Verify(f.Run, f.Hash(), memberKeys("a")); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"another run":    evidence[0].Verify("other", f.Hash(), memberKeys("a")),
		"another member": evidence[0].Verify(f.Run, f.Hash(), memberKeys("b")),
		"twice the same": (signed.Evidence{Member: "a", Round: evidence[0].Round, First: evidence[0].First,
			Second: evidence[0].First}).Verify(f.Run, f.Hash(), memberKeys("a")),
		"another round": (signed.Evidence{Member: "a", Round: 77, First: evidence[0].First,
			Second: evidence[0].Second}).Verify(f.Run, f.Hash(), memberKeys("a")),
		"half of it": (signed.Evidence{Member: "a", First: evidence[0].First}).Verify(f.Run, f.Hash(),
			memberKeys("a")),
	} {
		if err == nil {
			t.Errorf("%s: the evidence counts", name)
		}
	}
	for _, c := range cfgs {
		if err := c.Store.Close(); err != nil {
			t.Fatal(err)
		}
		_ = c.Transport.Close()
	}
	again := config("b", 1, open(0, "b"), "b")
	n, err := sdk.New(again)
	if err != nil || len(n.Status().Evidence) != 1 {
		t.Errorf("the neighbor after a restart: %v", err)
	}
	for i, folder := range []string{"first", "second"} {
		if _, err := sdk.New(config("a", 0, open(i, "a"), folder)); !errors.Is(err, trust.ErrClone) {
			t.Errorf("%s after a restart: %v", folder, err)
		}
	}
}

// TestLedgerThatWentOnIsFoundOut rolls back a ledger, which then grows to at least its old length in a run without
// neighbors that remember the old ledger. In the next run, a neighbor that remembers the old ledger must detect the
// rollback.
func TestLedgerThatWentOnIsFoundOut(t *testing.T) {
	for _, runs := range []int{1, 2} {
		dir, old := newLedgers(t, privateRing()), t.TempDir()
		copyFiles(t, dir, old, "b.ledger", "b.ledger.mark")
		play := func(name string) ([]*sdk.Node, []error) { return runOfTwo(t, dir, name, func(int, *sdk.Config) {}) }
		if _, errs := play("one"); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		copyFiles(t, dir, old, "a.ledger.neighbors")
		copyFiles(t, old, dir, "b.ledger", "b.ledger.mark")
		for i := range runs {
			if err := os.Remove(filepath.Join(dir, "a.ledger.neighbors")); err != nil {
				t.Fatal(err)
			}
			if _, errs := play(fmt.Sprintf("aside %d", i)); errors.Join(errs...) != nil {
				t.Fatal(errs)
			}
		}
		copyFiles(t, old, dir, "a.ledger.neighbors")
		if nodes, errs := play("two"); !errors.Is(errs[1], state.ErrRollback) || nodes[1].Status().Round != 0 {
			t.Errorf("after %d runs aside: %v, %d releases", runs, errs[1], nodes[1].Status().Round)
		}
	}
}

// runOfTwo runs the first two members. dir holds their ledgers and what these remember of neighbors.
func runOfTwo(t *testing.T, dir, name string, change func(i int, c *sdk.Config)) (nodes []*sdk.Node, errs []error) {
	t.Helper()
	cfgs := configsOfTwo(t, dir, name)
	for i := range cfgs {
		c := &cfgs[i]
		defer c.Ledger.Close()
		defer c.Transport.Close()
		change(i, c)
		n, err := sdk.New(*c)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	errs = make([]error, 2)
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			if errs[i] = n.Run(ctx); errs[i] != nil {
				stop()
			}
		})
	}
	all.Wait()
	return nodes, errs
}

// configsOfTwo returns the configurations for [runOfTwo]. The caller must close the ledgers and transports.
func configsOfTwo(t *testing.T, dir, name string) (cfgs []sdk.Config) {
	t.Helper()
	f := privateRing()
	f.Run = name
	f.Members, f.Edges = f.Members[:2], f.Edges[:1]
	trs := inMemory(t, f)
	for i, member := range f.Members {
		c := sdk.Config{Fleet: f, Name: member, Samples: samples[i], Oracle: oracle(i), Transport: trs[i],
			ResendAfter: 5 * time.Millisecond, Linger: 30 * time.Second}
		sign(&c)
		var err1, err2 error
		c.Store, err1 = tinytest.MemStore()()
		c.Ledger, err2 = state.OpenLedger(filepath.Join(dir, member+".ledger"))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		cfgs = append(cfgs, c)
	}
	return cfgs
}

func copyFiles(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeepCertificate checks that a new certificate replaces a stored certificate with the same last release only if it
// has at least as many countersignatures.
func TestKeepCertificate(t *testing.T) {
	f := privateRing()
	f.Members, f.Edges = f.Members[:2], f.Edges[:1]
	all := nodes(t, f, inMemory(t, f), nil)
	mustRun(t, all)
	cert, err := all[0].Certificate()
	if err != nil || len(cert.Countersigned) != 1 {
		t.Fatalf("%+v, %v", cert, err)
	}
	path := filepath.Join(t.TempDir(), "certificate.json")
	bare, other := *cert, *cert
	bare.Countersigned = nil
	other.Countersigned, other.Head = nil, "ff"+cert.Head[2:]
	for i, step := range []struct {
		write *certificate.Certificate
		want  *certificate.Certificate
	}{{&bare, &bare}, {cert, cert}, {&bare, cert}, {&other, &other}, {cert, cert}} {
		if err := state.WriteCertificate(path, step.write); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		want, _ := step.want.JSON()
		if err != nil || string(got) != string(want) {
			t.Errorf("step %d: the file has %s, %v; want %s", i, got, err, want)
		}
	}
}
