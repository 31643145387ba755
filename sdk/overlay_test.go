package sdk_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/audit"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// partnered returns a private fleet on a ring of up to 12 members, in which each member shares noise with the given
// number of partners.
func partnered(t *testing.T, members, partners, colluders int) *sdk.Fleet {
	t.Helper()
	f := privateRing()
	f.Members, f.Edges = strings.Split("abcdefghijkl", "")[:members], nil
	for i, name := range f.Members {
		f.Edges = append(f.Edges, [2]string{name, f.Members[(i+1)%members]})
	}
	f.Method.Rounds, f.Method.Mixing, f.Method.Cooldown = 3, 1, 2
	p := &f.Privacy
	p.PairSigma, p.Colluders, p.Partners = 2*p.Sigma, colluders, partners
	effective(t, f)
	return f
}

// effective sets the effective sigma of a fleet and returns the fleet's graph of pairwise noise.
func effective(t *testing.T, f *sdk.Fleet) *graph.Graph {
	t.Helper()
	n := len(f.Members)
	ring, err := graph.Parse("ring", n, 1)
	if err != nil {
		t.Fatal(err)
	}
	noise, err := f.Privacy.NoiseGraph(ring, f.Method.Seed)
	if err == nil {
		f.Privacy.EffectiveSigma, err = f.Privacy.Effective(noise)
	}
	if err != nil {
		t.Fatal(err)
	}
	return noise
}

// agree checks that, in every release with noise, the two ends of each edge of the partner graph use the same key, and
// that no other members share noise. It does not compare the keys on the edges of one member (apart).
func (b *keyBook) agree(t *testing.T, f *sdk.Fleet, noise *graph.Graph, apart string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for use := range b.last {
		if e := [2]int{slices.Index(f.Members, use.member), slices.Index(f.Members, use.neighbor)}; !slices.Contains(noise.Neighbors(e[0]), e[1]) {
			t.Errorf("%q shares noise with %q, which is no partner", use.member, use.neighbor)
		}
	}
	for release := 1; release <= f.Method.Learning(); release += 1 + f.Method.Mixing {
		for _, e := range noise.Edges() {
			one, other := f.Members[e[0]], f.Members[e[1]]
			if one == apart || other == apart {
				continue
			}
			key, ok := b.last[keyUse{member: one, neighbor: other, release: release}]
			back, both := b.last[keyUse{member: other, neighbor: one, release: release}]
			if !ok || !both || key != back {
				t.Errorf("release %d: %q and %q do not share noise: %v %x, %v %x", release, one, other, ok, key[:4], both, back[:4])
			}
		}
	}
}

// TestPartnersOnARing checks a ring in which every third member may collude and members share noise with distant
// partners. The models must equal the models of a simulation with the same keys, and the fleet must state the noise
// that remains on the partner graph.
func TestPartnersOnARing(t *testing.T) {
	for _, partners := range []int{8, 11} {
		f := partnered(t, 12, partners, 4)
		noise := effective(t, f)
		c, err := noise.Conductance(2, 4)
		if err != nil || f.Privacy.EffectiveSigma < 0.999*f.Privacy.Sigma*math.Sqrt(c.Least) || c.Least < 5 {
			t.Fatalf("%d partners: effective sigma %v of %v, conductance %v, %v", partners, f.Privacy.EffectiveSigma, f.Privacy.Sigma, c.Least, err)
		}
		book := newKeyBook()
		sdk.OnKey(book.note)
		all := nodes(t, f, inMemory(t, f), nil)
		mustRun(t, all)
		sdk.OnKey(nil)
		sameModels(t, all, book.models(t, f))
		book.agree(t, f, noise, "")
		for i, n := range all {
			cert, err := n.Certificate()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := audit.Certificate(f, cert, memberKeys); err != nil || cert.Spends[0].Shared != f.Privacy.Gaussian().Shared {
				t.Errorf("node %d: %+v, %v", i, cert.Spends, err)
			}
			cert.Spends[0].Shared.Partners--
			if _, err := audit.Certificate(f, cert, memberKeys); err == nil || !strings.Contains(err.Error(), "shared.partners") {
				t.Errorf("node %d, another graph: %v", i, err)
			}
		}
		// A fleet cannot state more noise than remains on the partner graph. If neighbors on the ring shared the noise
		// instead, no pairwise noise would remain.
		more, none := *f, *f
		more.Privacy.EffectiveSigma *= 1.01
		none.Privacy.Partners = 0
		for _, f := range []*sdk.Fleet{&more, &none} {
			if err := f.Validate(); err == nil || !strings.Contains(err.Error(), "privacy.effective_sigma") {
				t.Errorf("%+v: %v", f.Privacy, err)
			}
		}
	}
}

// TestBytesOfOffers checks that the key exchange sends at most as many bytes over an edge, in each direction, as the
// program predicts, if nothing is lost. It counts the messages before the first tick, because from then on a node
// repeats offers that a neighbor has not yet confirmed.
func TestBytesOfOffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tick = time.Second
		began := time.Now()
		f := partnered(t, 12, 11, 4)
		trs := inMemory(t, f)
		var mu sync.Mutex
		sent := map[[2]string]int{}
		codec, err := wire.NewCodec(f.Dim)
		if err != nil {
			t.Fatal(err)
		}
		for i, from := range f.Members {
			if trs[i], err = lying(trs[i], f, from, nil, func(to string, m admm.Message) []admm.Message {
				mu.Lock() // a codec is not safe for concurrent use
				defer mu.Unlock()
				if frame, err := codec.Append(nil, &m); m.Kind == admm.Relay && err == nil && time.Since(began) < tick {
					sent[[2]string{from, to}] += len(frame)
				}
				return []admm.Message{m}
			}); err != nil {
				t.Fatal(err)
			}
		}
		mustRun(t, nodes(t, f, trs, func(_ int, c *sdk.Config) { c.ResendAfter = tick }))
		most := 12 * (signed.RelayedSize + 2*(12/4+24))
		for edge, n := range sent {
			if n > most {
				t.Errorf("%q: %d bytes, planned are %d at most", edge, n, most)
			}
		}
		if len(sent) != 24 {
			t.Errorf("offers cross %d edges, want 12 in both ways", len(sent))
		}
		t.Log(sent, most)
	})
}

// TestLiesOfARelay simulates a relay that alters, swaps, repeats or withholds offers. No altered offer may be accepted,
// a withheld offer must arrive by another route, and the run must be undisturbed.
func TestLiesOfARelay(t *testing.T) {
	each := func(m admm.Message, change func(o *signed.Relayed)) []admm.Message {
		var out []byte
		for b := range slices.Chunk(m.Signed.Relayed, signed.RelayedSize) {
			o, err := signed.ParseRelayed(b, signed.Offer)
			if err != nil {
				panic(err)
			}
			change(&o)
			out = o.Append(out)
		}
		m.Signed.Relayed = out
		return []admm.Message{m}
	}
	f := partnered(t, 6, 5, 1)
	noise := effective(t, f)
	for name, c := range map[string]struct {
		lie  func(m admm.Message) []admm.Message
		want string
	}{
		"altered": {func(m admm.Message) []admm.Message { return each(m, func(o *signed.Relayed) { o.Value[0] ^= 1 }) }, "none of the member's keys"},
		"of another": {func(m admm.Message) []admm.Message {
			return each(m, func(o *signed.Relayed) { o.Member = (o.Member + 1) % 6 })
		}, "none of the member's keys"},
		"of nobody": {func(m admm.Message) []admm.Message { return each(m, func(o *signed.Relayed) { o.Member = 6 }) }, "found an offer from member 6, want 0..5"},
		"of another run": {func(m admm.Message) []admm.Message {
			return each(m, func(o *signed.Relayed) {
				b := offering(f, "before", f.Members[o.Member], func(*signed.Statement) {})
				o.Statement, _ = signed.Parse(b, signed.Offer)
			})
		}, "none of the member's keys"},
		"withheld": {func(m admm.Message) []admm.Message { m.Signed.Relayed = nil; return []admm.Message{m} }, ""},
		"repeated": {func(m admm.Message) []admm.Message { return []admm.Message{m, m, m} }, ""},
		"nothing held": {func(m admm.Message) []admm.Message {
			m.Signed.Known = make([]byte, len(m.Signed.Known))
			return []admm.Message{m}
		}, ""},
		"more held": {func(m admm.Message) []admm.Message { m.Signed.Known = []byte{0, 0x10}; return []admm.Message{m} }, "2 bytes, is not a list for 6 members"},
		"too long": {func(m admm.Message) []admm.Message {
			m.Signed.Known = append(m.Signed.Known, 0)
			return []admm.Message{m}
		}, "3 bytes, is not a list for 6 members"},
	} {
		t.Run(name, func(t *testing.T) {
			book, log := newKeyBook(), new(journal)
			sdk.OnKey(book.note)
			defer sdk.OnKey(nil)
			trs := inMemory(t, f)
			var err error
			trs[1], err = lying(trs[1], f, "b", nil, func(_ string, m admm.Message) []admm.Message {
				if m.Kind == admm.Relay {
					return c.lie(m)
				}
				return []admm.Message{m}
			})
			if err != nil {
				t.Fatal(err)
			}
			all := nodes(t, f, trs, func(_ int, c *sdk.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
			mustRun(t, all)
			book.agree(t, f, noise, "")
			sameModels(t, all, book.models(t, f))
			if !strings.Contains(log.String(), c.want) {
				t.Errorf("the log does not say %q:\n%s", c.want, log)
			}
			if c.want == "" && strings.Contains(log.String(), "frame refused") {
				t.Errorf("a frame is refused:\n%s", log)
			}
		})
	}
}

// TestWithheldOffersStop checks that a member whose neighbors withhold offers waits for the offers, names the missing
// partners, and makes no release with less noise.
func TestWithheldOffersStop(t *testing.T) {
	f := partnered(t, 4, 3, 1)
	f.Edges = f.Edges[:3] // a path
	book := newKeyBook()
	sdk.OnKey(book.note)
	defer sdk.OnKey(nil)
	trs := inMemory(t, f)
	var err error
	if trs[1], err = lying(trs[1], f, "b", nil, func(to string, m admm.Message) []admm.Message {
		if m.Kind == admm.Relay && to == "a" {
			return nil
		}
		return []admm.Message{m}
	}); err != nil {
		t.Fatal(err)
	}
	all := nodes(t, f, trs, nil)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	over := make(chan []error, 1)
	go func() { over <- runAll(ctx, all) }()
	waits := func() bool {
		return slices.Equal(all[0].Status().Waiting, []string{"c", "d"}) && all[3].Status().Round > 0 && all[1].Status().Round > 0
	}
	for !waits() && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // at least ten ticks
	stop()
	for i, err := range <-over {
		if st := all[i].Status(); !errors.Is(err, context.Canceled) || i == 0 && st.Round > 0 || st.Round > 3 {
			t.Errorf("node %d: %v, %+v", i, err, st)
		}
	}
	for use := range book.last {
		if use.member == "a" {
			t.Errorf("a release of %q uses a key with %q", use.member, use.neighbor)
		}
	}
}

// TestTwoOffersOfAMember checks that a member that signs a different key for each neighbor spoils only the noise that
// it shares.
func TestTwoOffersOfAMember(t *testing.T) {
	f := partnered(t, 6, 5, 1)
	noise := effective(t, f)
	book, log := newKeyBook(), new(journal)
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
		var out []byte
		for b := range slices.Chunk(m.Signed.Relayed, signed.RelayedSize) {
			o, err := signed.ParseRelayed(b, signed.Offer)
			if err == nil && o.Member == 1 {
				o.Statement, err = signed.Parse(said[to], signed.Offer)
			}
			if err != nil {
				t.Error(err)
			}
			out = o.Append(out)
		}
		m.Signed.Relayed = out
	}}
	all := nodes(t, f, trs, func(_ int, c *sdk.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	mustRun(t, all)
	book.agree(t, f, noise, "b")
}

// TestPartnerNeverComes checks that Config.Without makes a node give up on a partner that never appears, whether or not
// the partner is a neighbor, and that Config.Patience applies only to neighbors: a node keeps waiting for a distant
// partner. (TestMissingKeysOfPartners in sdk/admm checks the noise of the releases.)
func TestPartnerNeverComes(t *testing.T) {
	for name, c := range map[string]struct {
		absent int
		change func(c *sdk.Config)
	}{
		"planned, by hand": {1, func(c *sdk.Config) { c.Without = []string{"f"} }},
		"patience":         {1, func(c *sdk.Config) { c.Patience, c.Linger = 2*time.Minute, time.Hour }},
		"not planned":      {0, func(c *sdk.Config) { c.Without = []string{"f"} }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := partnered(t, 6, 5, 1)
				f.Privacy.Absent = c.absent
				noise := effective(t, f)
				book := newKeyBook()
				sdk.OnKey(book.note)
				defer sdk.OnKey(nil)
				all := nodes(t, f, inMemory(t, f), func(i int, cfg *sdk.Config) {
					if i < 5 {
						c.change(cfg)
					}
				})[:5]
				ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute) // five times the patience
				defer stop()
				for i, err := range runAll(ctx, all) {
					switch {
					case name != "patience" && err != nil:
						t.Fatalf("node %d: %v", i, err)
					case name == "patience" && i > 0 && i < 4 && (err == nil || !slices.Contains(all[i].Status().Waiting, "f")):
						t.Errorf("node %d gives up whom it cannot hear: %v, %+v", i, err, all[i].Status())
					case name == "patience" && all[i].Status().Round > 2:
						t.Errorf("node %d goes on alone: %+v", i, all[i].Status())
					}
				}
				if name != "patience" {
					book.agree(t, f, noise, "f")
				}
				for use := range book.last {
					if use.neighbor == "f" {
						t.Errorf("%q shares noise with whom it has never heard of", use.member)
					}
				}
			})
		})
	}
}

// TestRelaysNeedPartnersAndKeys checks that only neighbors relay offers, and only in fleets with partners, and that no
// member accepts an unsigned offer.
func TestRelaysNeedPartnersAndKeys(t *testing.T) {
	f := sharedRing()
	f.Members, f.Edges, f.Privacy.Colluders = f.Members[:2], f.Edges[:1], 0
	log := new(journal)
	trs := inMemory(t, f)
	var err error
	if trs[1], err = lying(trs[1], f, "b", nil, func(_ string, m admm.Message) []admm.Message {
		if m.Kind == admm.Release && m.Round == 2 {
			return []admm.Message{{Kind: admm.Relay, Signed: admm.Signed{Known: []byte{0}}}, m}
		}
		return []admm.Message{m}
	}); err != nil {
		t.Fatal(err)
	}
	mustRun(t, nodes(t, f, trs, func(_ int, c *sdk.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) }))
	if !strings.Contains(log.String(), "only neighbors share noise in this fleet") {
		t.Errorf("a relay is taken:\n%s", log)
	}
	p := partnered(t, 4, 3, 1)
	cfg := sdk.Config{Fleet: p, Name: "a", Samples: 7, Oracle: oracle(0), Transport: inMemory(t, p)[0]}
	if _, err := sdk.New(cfg); err == nil || !strings.Contains(err.Error(), "Key is nil, want a key, because the fleet has noise partners") {
		t.Errorf("without keys: %v", err)
	}
}
