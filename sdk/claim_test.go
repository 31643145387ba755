package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
)

// liar is the transport of a neighbor with its own key. It alters the neighbor's messages and sends additional
// messages.
type liar struct {
	transport.Transport
	mu    sync.Mutex
	codec *wire.Codec
	lie   func(f *admm.Message) (more []admm.Message)
}

func (v *liar) Send(ctx context.Context, to string, frame []byte) error {
	if wire.IsHeartbeat(frame) {
		return v.Transport.Send(ctx, to, frame)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var f admm.Message
	if err := v.codec.Decode(frame, &f); err != nil {
		return err
	}
	more := v.lie(&f)
	for _, f := range append([]admm.Message{f}, more...) {
		b, err := v.codec.Append(nil, &f)
		if err != nil {
			return err
		}
		if err := v.Transport.Send(ctx, to, b); err != nil {
			return err
		}
	}
	return nil
}

// forge returns a release that names one member (member) as its author but is signed with the key of another member
// (by).
func forge(f *sdk.Fleet, member, by string, round int) []byte {
	r := signed.Statement{Kind: signed.Release, Round: round, Value: [32]byte{1, 2, 3}}
	r.Sign(memberKey(by), signed.NewScope(f.Run, f.Hash(), member))
	return r.Append(nil)
}

// TestLiesCostNothing simulates a neighbor that has a key and claims, in every possible way, to hold releases that it
// does not hold. The test makes three consecutive runs on one ledger. The node must refuse each false claim with an
// error that names what is missing. No false claim may cause a charge, block a later run, or affect a run that also
// gets the neighbor's honest frames.
func TestLiesCostNothing(t *testing.T) {
	t.Parallel()
	const rounds = 8
	once := func(
		lie func(f *sdk.Fleet, frame *admm.Message) []admm.Message,
	) func(f *sdk.Fleet) func(frame *admm.Message) []admm.Message {
		return func(f *sdk.Fleet) func(frame *admm.Message) []admm.Message {
			return func(frame *admm.Message) []admm.Message { return lie(f, frame) }
		}
	}
	// beside sends an extra frame with each release of the given round.
	beside := func(
		round int, make func(f *sdk.Fleet) admm.Message,
	) func(f *sdk.Fleet) func(frame *admm.Message) []admm.Message {
		return once(func(f *sdk.Fleet, frame *admm.Message) []admm.Message {
			if frame.Kind == admm.Release && frame.Round == round {
				return []admm.Message{make(f)}
			}
			return nil
		})
	}
	for _, c := range []struct {
		name string
		lie  func(f *sdk.Fleet) func(frame *admm.Message) []admm.Message
		want string
	}{
		{"a Done in the middle",
			beside(2, func(*sdk.Fleet) admm.Message { return admm.Message{Kind: admm.Done, Round: 12} }),
			"the sender claims to hold release 12 of this node, but shows no signature of that release"},
		{"a Done with its own signature", beside(2, func(f *sdk.Fleet) admm.Message {
			return admm.Message{Kind: admm.Done, Round: 12,
				Signed: admm.Signed{Proof: forge(f, "a", "b", 12), Countersign: make([]byte, 64)}}
		}), "release 12: the signature matches none of the member's keys"},
		{"a Done with the signature of an earlier release", once(func(f *sdk.Fleet, frame *admm.Message) []admm.Message {
			if (frame.Kind == admm.Probe || frame.Kind == admm.ProbeReply) && len(frame.Signed.Proof) > 0 ||
				frame.Kind == admm.Done {
				return nil
			}
			if frame.Kind == admm.Release && frame.Round == 3 {
				return []admm.Message{{Kind: admm.Done, Round: 12,
					Signed: admm.Signed{Proof: forge(f, "a", "a", 1), Countersign: make([]byte, 64)}}}
			}
			return nil
		}), "shows no signature of that release"},
		{"a probe from the future at the start", once(func(_ *sdk.Fleet, frame *admm.Message) []admm.Message {
			if frame.Kind == admm.ProbeReply {
				return []admm.Message{{Kind: admm.ProbeReply, Round: 3, Held: 3,
					Incarnation: frame.Incarnation}}
			}
			return nil
		}), "the sender claims to hold release 3 of this node, but shows no signature of that release"},
		{"a probe with the signature of itself", beside(2, func(f *sdk.Fleet) admm.Message {
			return admm.Message{Kind: admm.Probe, Held: 7, Incarnation: 1, Signed: admm.Signed{Proof: forge(f, "b", "b", 7)}}
		}), "the sender claims to hold release 7 of this node, but the proof is not valid: signed: release 7: the signature matches none of the " +
			"member's keys"},
		{"a claim to have made releases",
			beside(1, func(*sdk.Fleet) admm.Message { return admm.Message{Kind: admm.Probe, Round: 2, Incarnation: 1} }),
			"claims to have made release 2, but shows no signature of that release"},
		{"a release without a signature", once(func(_ *sdk.Fleet, frame *admm.Message) []admm.Message {
			if frame.Kind == admm.Release && frame.Round == 4 && !frame.Resent {
				bare := *frame
				bare.Signed.Own = nil
				honest := *frame
				*frame = bare
				return []admm.Message{honest}
			}
			return nil
		}), `release 4 is not signed, want the signature of \"b\"`},
		{"another release than the signed one", once(func(_ *sdk.Fleet, frame *admm.Message) []admm.Message {
			if frame.Kind == admm.Release && frame.Round == 4 && !frame.Resent {
				honest := *frame
				frame.Grid = append([]int32(nil), frame.Grid...)
				frame.Grid[0]++
				return []admm.Message{honest}
			}
			return nil
		}), "the content of release 4 differs from the content that the sender has signed"},
		{"the signature of another round", once(func(f *sdk.Fleet, frame *admm.Message) []admm.Message {
			if frame.Kind == admm.Release && frame.Round == 4 && !frame.Resent {
				honest := *frame
				frame.Signed.Own = forge(f, "b", "b", 5)
				return []admm.Message{honest}
			}
			return nil
		}), "the content of release 4 differs from the content that the sender has signed as release 5"},
		{"a double that is none", beside(3, func(f *sdk.Fleet) admm.Message {
			return admm.Message{Kind: admm.Conflict, Round: 1,
				Signed: admm.Signed{Proof: forge(f, "a", "b", 1), Other: forge(f, "a", "b", 1)}}
		}), "release 1: the signature matches none of the member's keys"},
		{"a double of one release", beside(3, func(f *sdk.Fleet) admm.Message {
			one := forge(f, "a", "a", 1)
			return admm.Message{Kind: admm.Conflict, Round: 1, Signed: admm.Signed{Proof: one, Other: one}}
		}), "do not contradict each other"},
		{"a ledger of another run", once(func(f *sdk.Fleet, frame *admm.Message) []admm.Message {
			if frame.Kind == admm.ProbeReply {
				scope := signed.NewScope("run before", f.Hash(), "a")
				frame.Signed.Other = append(scope[:], forge(f, "a", "b", 9)...)
			}
			return nil
		}), "about another run of this node: the signature is not valid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := newLedgers(t, privateRing())
			for run := 1; run <= 3; run++ {
				f := privateRing()
				f.Run = fmt.Sprintf("run %d", run)
				f.Members, f.Edges = f.Members[:2], f.Edges[:1]
				trs := inMemory(t, f)
				codec, err := wire.NewCodec(f.Dim)
				if err != nil {
					t.Fatal(err)
				}
				log := new(journal)
				var all []*sdk.Node
				var ledgers []*state.Ledger
				for i, name := range f.Members {
					cfg := sdk.Config{Fleet: f, Name: name, Samples: samples[i], Oracle: oracle(i), Transport: trs[i],
						ResendAfter: 100 * time.Millisecond, Linger: 10 * time.Second}
					sign(&cfg)
					if i == 0 {
						cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
					} else {
						cfg.Transport = &liar{Transport: trs[i], codec: codec, lie: c.lie(f)}
					}
					cfg.Noise = noise(i)
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
				if !strings.Contains(log.String(), c.want) {
					t.Errorf("run %d: the log does not say %q:\n%.2000s", run, c.want, log)
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
		})
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
