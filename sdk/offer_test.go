package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// offering makes an offer of b for the given run, applies change to the offer, signs it with memberKey(by), and returns
// it.
func offering(f *sdk.Fleet, run, by string, change func(o *signed.Statement)) []byte {
	private, err := pair.NewPrivate()
	if err != nil {
		panic(err)
	}
	o := signed.Statement{Kind: signed.Offer, Round: 1, Value: [32]byte(private.PublicKey().Bytes())}
	change(&o)
	o.Sign(memberKey(by), signed.NewScope(run, f.Hash(), "b"))
	return o.Append(nil)
}

// TestFalseOffersAreRefused simulates a neighbor that offers invalid keys in addition to or instead of its own key. The
// node must refuse each invalid key with a specific error and use only the valid key, without disturbing the run.
func TestFalseOffersAreRefused(t *testing.T) {
	nothing := func(*signed.Statement) {}
	for _, c := range []struct {
		name  string
		offer func(f *sdk.Fleet) []byte
		want  string
	}{
		{"none", func(*sdk.Fleet) []byte { return nil }, `\"b\" offers no valid key for pairwise noise`},
		{"by another", func(f *sdk.Fleet) []byte { return offering(f, f.Run, "a", nothing) },
			"offer 1: the signature matches none of the member's keys"},
		{"of another run", func(f *sdk.Fleet) []byte { return offering(f, "before", "b", nothing) },
			"offer 1: the signature matches none of the member's keys"},
		{"another key", func(f *sdk.Fleet) []byte { return offering(f, f.Run, "b", nothing) },
			`\"b\" has offered two keys`},
		{"for later", func(f *sdk.Fleet) []byte { return offering(f, f.Run, "b", func(o *signed.Statement) { o.Round = 2 }) },
			`the offer from \"b\" starts at release 2, want release 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := sharedRing()
			f.Members, f.Edges = f.Members[:2], f.Edges[:1]
			f.Privacy.Colluders = 0
			book, log := newKeyBook(), new(journal)
			sdk.OnKey(book.note)
			defer sdk.OnKey(nil)
			trs := inMemory(t, f)
			codec, err := wire.NewCodec(f.Dim)
			if err != nil {
				t.Fatal(err)
			}
			var own []byte
			trs[1] = &liar{Transport: trs[1], codec: codec, lie: func(m *admm.Message) []admm.Message {
				switch {
				case m.Kind == admm.Probe || m.Kind == admm.ProbeReply:
					own = slices.Clone(m.Signed.Own)
				case m.Kind == admm.Release && m.Round == 3 && !m.Resent:
					return []admm.Message{{Kind: admm.Probe, Round: 0, Incarnation: 1,
						Signed: admm.Signed{Own: own, Offer: c.offer(f)}}}
				}
				return nil
			}}
			all := nodes(t, f, trs, func(i int, c *sdk.Config) {
				if i == 0 {
					c.Logger = slog.New(slog.NewTextHandler(log, nil))
				}
			})
			mustRun(t, all)
			if !strings.Contains(log.String(), c.want) {
				t.Errorf("the log does not say %q:\n%s", c.want, log)
			}
			sameModels(t, all, book.models(t, f))
		})
	}
}

// TestLowOrderOfferIsRefused checks that the node refuses a key of low order at once, does not answer, and makes no
// release with a secret that anyone can compute.
func TestLowOrderOfferIsRefused(t *testing.T) {
	f := sharedRing()
	f.Members, f.Edges = f.Members[:2], f.Edges[:1]
	f.Privacy.Colluders = 0
	log := new(journal)
	trs := inMemory(t, f)
	codec, err := wire.NewCodec(f.Dim)
	if err != nil {
		t.Fatal(err)
	}
	trs[1] = &liar{Transport: trs[1], codec: codec, lie: func(m *admm.Message) []admm.Message {
		if len(m.Signed.Offer) > 0 {
			m.Signed.Offer = offering(f, f.Run, "b", func(o *signed.Statement) { o.Value = [32]byte{1} })
		}
		return nil
	}}
	all := nodes(t, f, trs, func(i int, c *sdk.Config) {
		if i == 0 {
			c.Logger = slog.New(slog.NewTextHandler(log, nil))
		}
	})
	errs := runAll(log.endsAt(t, `the public key of \"b\" yields no shared secret`), all)
	if st := all[0].Status(); st.Round != 0 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("%v, %+v\n%s", errs[0], st, log)
	}
}

// TestEquivocationEndsNobody checks that a member that offers a different key to each neighbor spoils only the noise on
// its own edges, and that all nodes finish.
func TestEquivocationEndsNobody(t *testing.T) {
	f := sharedRing()
	book := newKeyBook()
	sdk.OnKey(book.note)
	defer sdk.OnKey(nil)
	trs, said := inMemory(t, f), map[string][]byte{}
	for _, to := range f.Members {
		said[to] = offering(f, f.Run, "b", func(*signed.Statement) {})
	}
	trs[1] = &twoFaced{Transport: trs[1], dim: f.Dim, lie: func(to string, m *admm.Message) {
		if len(m.Signed.Offer) > 0 {
			m.Signed.Offer = said[to]
		}
	}}
	mustRun(t, nodes(t, f, trs, nil))
	for release := 1; release <= f.Method.Learning(); release += 1 + f.Method.Mixing {
		for _, e := range f.Edges {
			a := book.last[keyUse{member: e[0], neighbor: e[1], release: release}]
			b := book.last[keyUse{member: e[1], neighbor: e[0], release: release}]
			if liar := slices.Contains(e[:], "b"); (a == b) == liar || a == [32]byte{} {
				t.Errorf("release %d, edge %q: %x and %x", release, e, a[:4], b[:4])
			}
		}
	}
}

type twoFaced struct {
	transport.Transport
	dim int
	lie func(to string, m *admm.Message)
}

func (v *twoFaced) Send(ctx context.Context, to string, frame []byte) error {
	if wire.IsHeartbeat(frame) {
		return v.Transport.Send(ctx, to, frame)
	}
	codec, err := wire.NewCodec(v.dim)
	if err != nil {
		return err
	}
	var m admm.Message
	if err := codec.Decode(frame, &m); err != nil {
		return err
	}
	v.lie(to, &m)
	if frame, err = codec.Append(nil, &m); err != nil {
		return err
	}
	return v.Transport.Send(ctx, to, frame)
}

// TestSecretsStaySecret checks that the logs of a whole run contain no secret, and that a secret is refused in a fleet
// without pairwise noise.
func TestSecretsStaySecret(t *testing.T) {
	f := sharedRing()
	book, log := newKeyBook(), new(journal)
	sdk.OnKey(book.note)
	defer sdk.OnKey(nil)
	mustRun(t, nodes(t, f, inMemory(t, f), func(_ int, c *sdk.Config) {
		c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}))
	for key := range book.of {
		if text := log.String(); strings.Contains(text, string(key.key[:8])) || strings.Contains(text, fmt.Sprintf("%x", key.key[:4])) {
			t.Errorf("a key is in the log:\n%s", text)
		}
	}
	cfg := sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: inMemory(t, f)[0]}
	sign(&cfg)
	cfg.Fleet, cfg.Secret = privateRing(), simulatedSecret(f, 0) // secrets of the other fleet
	if _, err := sdk.New(cfg); err == nil || !strings.Contains(err.Error(), "Secret is set, but the fleet's members share") {
		t.Error(err)
	}
}
