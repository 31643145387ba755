package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestLiesCostNothing simulates a neighbor that says without proof that it holds releases, and sends a release without a
// signature. The test makes three consecutive runs on one ledger. No lie may cause a charge, block a later run, or affect
// a run that also gets the neighbor's honest frames. (The dialogues of package trust have every other lie.)
func TestLiesCostNothing(t *testing.T) {
	t.Parallel()
	const rounds = 8
	dir := newLedgers(t, privateRing())
	for run := 1; run <= 3; run++ {
		f := privateRing()
		f.Run = fmt.Sprintf("run %d", run)
		f.Members, f.Edges = f.Members[:2], f.Edges[:1]
		trs := inMemory(t, f)
		log := new(journal)
		var all []*sdk.Node
		var ledgers []*state.Ledger
		for i, name := range f.Members {
			cfg := sdk.Config{Fleet: f, Name: name, Samples: samples[i], Oracle: oracle(i), Transport: trs[i],
				ResendAfter: 100 * time.Millisecond, Linger: 10 * time.Second, Noise: noise(i)}
			sign(&cfg)
			var err error
			if i == 0 {
				cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
			} else {
				cfg.Transport = linked(f, trs, i, messages(t, f, func(_ tinytest.Packet, m admm.Message) []admm.Message {
					switch {
					case m.Kind == admm.Release && m.Round == 2:
						return []admm.Message{m, {Kind: admm.Done, Round: 12}}
					case m.Kind == admm.Release && m.Round == 4 && !m.Resent:
						bare := m
						bare.Signed.Own = nil
						return []admm.Message{bare, m}
					}
					return []admm.Message{m}
				}))
			}
			if cfg.Store, err = tinytest.MemStore()(); err == nil {
				cfg.Ledger, err = state.OpenLedger(filepath.Join(dir, name+".ledger"))
			}
			if err != nil {
				t.Fatal(err)
			}
			n, err := sdk.New(cfg)
			if err != nil {
				t.Fatalf("run %d: %v", run, err)
			}
			all, ledgers = append(all, n), append(ledgers, cfg.Ledger)
		}
		mustRun(t, all)
		for _, want := range []string{"the sender claims to hold release 12 of this node, but shows no signature of that release",
			`release 4 is not signed, want the signature of \"b\"`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("run %d: the log does not say %q:\n%.2000s", run, want, log)
			}
		}
		ledger, err := state.ReadLedger(filepath.Join(dir, "a.ledger"))
		if err != nil {
			t.Fatal(err)
		}
		if last, seq := ledger.Last(runID(f.Run, f.Hash(), "a")), ledger.Head().Seq; last != rounds || seq != run*rounds {
			t.Errorf("run %d: release %d is the last in the ledger, of %d lines; want %d of %d", run, last, seq, rounds,
				run*rounds)
		}
		cert, err := all[0].Certificate()
		if err != nil {
			t.Fatal(err)
		}
		report, err := audit.Certificate(f, cert, memberKeys)
		if err != nil || len(report.Countersigned) != 1 {
			t.Errorf("run %d: %+v, %v", run, report, err)
		}
		for _, l := range ledgers {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, tr := range trs {
			_ = tr.Close()
		}
	}
}

// TestKeysOrNone checks that a member with keys and a member without keys cannot finish a run, because the first
// refuses the unsigned messages of the second. New must refuse an invalid key, and a configuration with only one of Key
// and Keys.
func TestKeysOrNone(t *testing.T) {
	t.Parallel()
	f := privateRing()
	f.Members, f.Edges = f.Members[:2], f.Edges[:1]
	log := new(journal)
	all := nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
		if i == 1 {
			c.Key, c.Keys = nil, nil
		} else {
			c.Logger = slog.New(slog.NewTextHandler(log, nil))
		}
	})
	for i, err := range runAll(log.endsAt(t, `release 1 is not signed, want the signature of \"b\"`), all) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("node %d: %v\n%s", i, err, log)
		}
	}
	for _, c := range []struct {
		change func(c *sdk.Config)
		want   string
	}{
		{func(c *sdk.Config) { c.Keys = nil }, "only one of Key and Keys is set, want both or neither"},
		{func(c *sdk.Config) { c.Key = nil }, "only one of Key and Keys is set, want both or neither"},
		{func(c *sdk.Config) { c.Key = c.Key[:10] }, "Key has 10 bytes, want 64"},
		{func(c *sdk.Config) { c.Key = memberKey("b") }, `Keys has 1 keys for "a", but Key matches none of them`},
	} {
		cfg := sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: inMemory(t, f)[0]}
		sign(&cfg)
		c.change(&cfg)
		if _, err := sdk.New(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want it to say %s", err, c.want)
		}
	}
}
