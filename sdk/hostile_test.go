package sdk_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// The fleets in this file have three members: "victim" in the middle of a path, "honest", and "villain", a member with
// a valid key that also sends invalid frames.

// path returns the fleet for these tests: either private, with releases on a grid, or not private, with edge messages.
func path(private bool) *sdk.Fleet {
	f := ring()
	if private {
		f = privateRing()
	}
	f.Members = []string{"honest", "victim", "villain"}
	f.Edges = [][2]string{{"honest", "victim"}, {"victim", "villain"}}
	return f
}

type villain struct {
	transport.Transport
	t     *testing.T
	codec *wire.Codec

	// after is called after each frame that the villain sends in the role of an honest member, but not until the
	// villain has answered the victim's initial probe. ctx is the context of Send.
	after func(ctx context.Context, v *villain, frame []byte, f *admm.Message)
	mu    sync.Mutex // held by Send, so that all frames leave in one order
	open  bool
	round int      // the highest release sent
	kept  [][]byte // the frames of all releases sent
}

func (v *villain) Send(ctx context.Context, to string, frame []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.Transport.Send(ctx, to, frame); err != nil {
		return err
	}
	if wire.IsHeartbeat(frame) {
		return nil
	}
	var f admm.Message
	if err := v.codec.Decode(frame, &f); err != nil {
		v.t.Error(err)
	}
	switch {
	case f.Kind == admm.Probe || f.Kind == admm.ProbeReply:
		v.open = v.open || f.Kind == admm.ProbeReply
	case f.Kind != admm.Done && f.Round > v.round:
		v.round = f.Round
		v.kept = append(v.kept, slices.Clone(frame))
	}
	if v.open && v.after != nil {
		v.after(ctx, v, frame, &f)
	}
	return nil
}

// junk sends a frame that no honest member would send. It gives up when ctx ends, because a victim that has stopped
// receives nothing.
func (v *villain) junk(ctx context.Context, frame []byte) {
	if err := v.Transport.Send(ctx, "victim", frame); err != nil && ctx.Err() == nil {
		v.t.Error(err)
	}
}

func newVillain(t *testing.T, tr transport.Transport, dim int,
	after func(ctx context.Context, v *villain, frame []byte, f *admm.Message)) *villain {
	t.Helper()
	codec, err := wire.NewCodec(dim)
	if err != nil {
		t.Fatal(err)
	}
	return &villain{Transport: tr, t: t, codec: codec, after: after}
}

// gate is a transport that holds back the frames of one release until the test closes the channel gate.open.
type gate struct {
	transport.Transport
	codec *wire.Codec
	round int
	held  chan struct{} // closed when the first frame is held back
	open  chan struct{}
	once  sync.Once
}

func (g *gate) Send(ctx context.Context, to string, frame []byte) error {
	if wire.IsHeartbeat(frame) {
		return g.Transport.Send(ctx, to, frame)
	}
	var f admm.Message
	if err := g.codec.Decode(frame, &f); err != nil {
		return err
	}
	if f.Kind != admm.Probe && f.Kind != admm.ProbeReply && f.Round == g.round {
		g.once.Do(func() { close(g.held) })
		select {
		case <-g.open:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.Transport.Send(ctx, to, frame)
}

// The following functions encode frames by hand.

// item returns a CBOR item: a head with the number n, followed by body.
func item(major byte, n uint64, body ...byte) []byte {
	b := []byte{major << 5}
	switch {
	case n < 24:
		b[0] |= byte(n)
	case n < 1<<8:
		b[0] |= 24
		b = append(b, byte(n))
	case n < 1<<16:
		b[0] |= 25
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[0] |= 26
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return append(b, body...)
}

// handmade returns a frame with a kind, a round and one more field.
func handmade(kind admm.Kind, round uint64, key byte, value []byte) []byte {
	b := append([]byte{0xa4, 1, 1, 2, byte(kind), 3}, item(0, round)...)
	return append(append(b, key), value...)
}

// floats returns an uncompressed vector: four planes, each in a raw block.
func floats(x ...float32) []byte {
	var b []byte
	for plane := range 4 {
		b = append(b, 0)
		for _, v := range x {
			b = append(b, byte(math.Float32bits(v)>>(8*plane)))
		}
	}
	return item(2, uint64(len(b)), b...)
}

const (
	keyVector = 5
	keyGrid   = 6
)

// charge is a frame together with the error that the victim must log. An empty error means that the victim ignores the
// frame silently.
type charge struct {
	name  string
	frame []byte
	want  string
}

// charges returns the frames to send while the victim is in round 3, holds the villain's releases of rounds 3 and 4,
// and has answered the villain's probe.
func charges(t *testing.T, v *villain, private bool) []charge {
	t.Helper()
	enc := func(dim int, f admm.Message) []byte {
		codec, err := wire.NewCodec(dim)
		if err != nil {
			t.Fatal(err)
		}
		b, err := codec.Append(nil, &f)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	release := func(dim, round int, first float32) []byte { // returns a well-formed release
		if !private {
			return enc(dim, admm.Message{Kind: admm.Release, Round: round, Vector: append([]float32{first}, make([]float32, dim-1)...)})
		}
		return enc(dim, admm.Message{Kind: admm.Release, Round: round, Grid: append([]int32{int32(first)}, make([]int32, dim-1)...)})
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	zero := make([]float32, 6)
	good := v.kept[3]
	repeats := bytes.Repeat([]byte{1, 0}, 150)
	all := []charge{
		{"a NaN", handmade(admm.Release, 4, keyVector, floats(0, 0, nan, 0, 0, 0)), "coordinate 2"},
		{"an infinity", handmade(admm.Release, 4, keyVector, floats(0, inf, 0, 0, 0, 0)), "coordinate 1"},
		{"five numbers", handmade(admm.Release, 4, keyVector, floats(0, 0, 0, 0, 0)), "vector: "},
		{"seven numbers", release(7, 4, 1), "wire: frame: "},
		{"no vector", append([]byte{0xa3}, handmade(admm.Release, 4, 0, nil)[1:7]...), "vector: "},
		{"another of round 3", release(6, 3, 99), "message of round 3 from client 2 contradicts an earlier message"},
		{"another of round 4, as of another run", release(6, 4, 99),
			"message of round 4 from client 2 contradicts an earlier message"},
		{"two rounds early", release(6, 5, 1), "found a message of round 5 from client 2, want a round in 1..4 (the receiving client is in round 3)"},
		{"in the far future", release(6, math.MaxInt32, 1), "message of round 2147483647 from client 2"},
		{"beyond counting", handmade(admm.Release, math.MaxInt32+1, keyVector, floats(zero...)), "round: found 2147483648"},
		{"round 0", release(6, 0, 1), "message of round 0 from client 2"},
		{"a replay of round 1", v.kept[0], ""},
		{"a replay of round 2", v.kept[1], ""},
		{"a repeat of round 3", v.kept[2], ""},
		{"a repeat of round 4", v.kept[3], ""},
		{"done in the middle", enc(6, admm.Message{Kind: admm.Done, Round: 12}),
			"neighbor 2 holds release 12 of client 1, but the state of that client ends with release 3"},
		{"done after another round", enc(6, admm.Message{Kind: admm.Done, Round: 4}),
			"neighbor 2 reports completion after round 4, want round 12"},
		{"a lie about the past", enc(6, admm.Message{Kind: admm.Probe, Round: 4, Held: 4}),
			"neighbor 2 holds release 4 of client 1"},
		{"a lie beyond the last round", enc(6, admm.Message{Kind: admm.Probe, Round: 4, Held: 13}),
			"the probe from neighbor 2 reports release 4 of the neighbor and release 13 of this client"},
		{"a probe from beyond the last round", enc(6, admm.Message{Kind: admm.Probe, Round: 13, Held: 3}),
			"the probe from neighbor 2 reports release 13 of the neighbor and release 3 of this client"},
		{"an answer that nobody asked for", enc(6, admm.Message{Kind: admm.ProbeReply, Round: 4, Held: 12, Incarnation: 1}),
			""},
		{"a probe of one who has lost all", enc(6, admm.Message{Kind: admm.Probe, Incarnation: 1}), ""},

		{"nothing", []byte{}, "EOF"},
		{"a text", []byte("GET / HTTP/1.1\r\n\r\n"), "extraneous data"},
		{"half a frame", good[:len(good)/2], "unexpected EOF"},
		{"two frames", slices.Concat(good, good), "extraneous data"},
		{"version 2", append([]byte{0xa4, 1, 2}, good[3:]...), "version: found 2, wanted"},
		{"kind 12", handmade(12, 4, keyVector, floats(zero...)), "kind: found 12"},
		{"an unknown field", handmade(admm.Release, 4, 22, []byte{0}), "unknown field"},
		{"a field twice", append([]byte{0xa4, 1, 1, 2, byte(admm.Release), 3, 4}, 3, 4), "duplicate map key 3"},
		{"no definite length", append([]byte{0xbf}, append(slices.Clone(good[1:]), 0xff)...), "wire: frame: "},
		{"a vector of 1 GiB", handmade(admm.Release, 4, keyVector, item(2, 1<<30)), "unexpected EOF"},
		{"a grid of 1 GiB", handmade(admm.Release, 4, keyGrid, item(2, 1<<30)), "unexpected EOF"},
		{"a map of 1 GiB", item(5, 1<<30), "wire: frame: "},
		{"an array of 1 GiB", handmade(admm.Release, 4, keyVector, item(4, 1<<30)), "wire: frame: "},
		{"nested 300 deep", handmade(admm.Release, 4, keyVector, bytes.Repeat([]byte{0x81}, 300)), "wire: frame: "},
		{"a frame of 1 MiB", make([]byte, 1<<20), "found 1048576 bytes, wanted at most"},
		{"planes of 150 blocks", handmade(admm.Release, 4, keyVector, item(2, 300, repeats...)), "vector: "},
		{"a bomb of huff0", handmade(admm.Release, 4, keyVector, item(2, 20, append([]byte{2, 255, 255}, make([]byte, 17)...)...)),
			"vector: "},
	}
	if private {
		all = append(all,
			charge{"a grid of 150 blocks", handmade(admm.Release, 4, keyGrid, item(2, 300, append([]byte{3}, repeats[:299]...)...)),
				"grid: "},
			charge{"a grid of ones without end", handmade(admm.Release, 4, keyGrid,
				item(2, 20, append([]byte{3}, bytes.Repeat([]byte{255}, 19)...)...)), "grid: "},
			charge{"a vector for a grid", handmade(admm.Release, 4, keyVector, floats(zero...)),
				"has 6 numbers and 0 grid steps, want 0 and 6"},
			charge{"a grid of five", handmade(admm.Release, 4, keyGrid, item(2, 21, append([]byte{32}, make([]byte, 20)...)...)),
				"grid: "},
		)
	} else {
		all = append(all,
			charge{"a giant", handmade(admm.Release, 4, keyVector, floats(0, 0, 0, 3e38, 0, 0)),
				"coordinate 3 of the message of round 4 from client 2 is 3e+38"},
			charge{"a grid", handmade(admm.Release, 4, keyGrid, item(2, 20, make([]byte, 20)...)), "wire: frame: grid: "},
		)
	}
	return all
}

// TestVillain checks that the victim refuses each invalid frame with a specific error, and that the models equal, bit
// for bit, the models of a run with only honest members.
func TestVillain(t *testing.T) {
	for name, private := range map[string]bool{"messages": false, "releases on a grid": true} {
		t.Run(name, func(t *testing.T) {
			f := path(private)
			trs := inMemory(t, f)
			honest := &gate{Transport: trs[0], codec: newVillain(t, nil, f.Dim, nil).codec, round: 3, held: make(chan struct{}),
				open: make(chan struct{})}
			ready := make(chan struct{})
			evil := newVillain(t, trs[2], f.Dim, func(_ context.Context, _ *villain, _ []byte, f *admm.Message) {
				if f.Round == 4 && f.Kind != admm.Probe && f.Kind != admm.ProbeReply {
					close(ready)
				}
			})
			trs[0], trs[2] = honest, evil
			var log syncBuffer
			all := nodes(t, f, trs, func(i int, c *sdk.Config) {
				c.Key, c.Keys = nil, nil // a frame without a required signature is not checked further
				c.ResendAfter = time.Minute
				if i == 1 {
					c.Logger = slog.New(slog.NewTextHandler(&log, nil))
				}
			})
			var errs []error
			var wg sync.WaitGroup
			wg.Go(func() { errs = runAll(t.Context(), all) })
			<-honest.held
			<-ready
			victim := all[1]
			refused := int64(0)
			list := charges(t, evil, private)
			for _, c := range list {
				evil.junk(t.Context(), c.frame)
				if c.want == "" {
					continue
				}
				refused++
				within(t, func() bool { return victim.Status().Refused >= refused })
				lines := strings.Split(strings.TrimSpace(log.String()), "\n")
				last := lines[len(lines)-1]
				if int64(len(lines)) != refused || !strings.Contains(last, "from=villain") || !strings.Contains(last, c.want) {
					t.Errorf("%s: the log ends with %s, want %q", c.name, last, c.want)
				}
			}
			if st := victim.Status(); st.Round != 3 || !slices.Equal(st.Waiting, []string{"honest"}) {
				t.Errorf("status %+v", st)
			}
			close(honest.open)
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if got := victim.Status().Refused; got != refused {
				t.Errorf("%d frames refused, want %d", got, refused)
			}
			sameModels(t, all, simulated(t, f))
		})
	}
}

func within(t *testing.T, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !come(); time.Sleep(time.Millisecond / 10) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}

// pathOverTLS returns a transport for each member. The frame limit is villainMax for the villain, and the fleet's limit
// for all other members.
func pathOverTLS(t *testing.T, f *sdk.Fleet, villainMax int, log *slog.Logger) []transport.Transport {
	t.Helper()
	key := func(i int) ed25519.PrivateKey {
		return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i + 1)}, ed25519.SeedSize))
	}
	var trs [3]*ws.Transport
	for i, name := range slices.Backward(f.Members) { // the lower name dials
		cfg := ws.Config{
			Name: name, Key: key(i), Listen: "127.0.0.1:0", MaxFrame: wire.MaxFrame(f.Dim),
			Hello: f.Hello(name), CheckHello: f.CheckHello(name),
		}
		for _, peer := range neighbors(f, name) {
			j := slices.Index(f.Members, peer)
			p := ws.Peer{Name: peer, Keys: []ed25519.PublicKey{key(j).Public().(ed25519.PublicKey)}}
			if j > i {
				p.Addresses = []string{trs[j].Addr()}
			}
			cfg.Peers = append(cfg.Peers, p)
		}
		switch name {
		case "villain":
			cfg.MaxFrame = max(villainMax, cfg.MaxFrame)
		case "victim":
			cfg.Logger = log
		}
		tr, err := ws.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tr.Close() })
		trs[i] = tr
	}
	return []transport.Transport{trs[0], trs[1], trs[2]}
}

type taped struct {
	transport.Transport
	codec  *wire.Codec
	frames []string
}

func (r *taped) Recv(ctx context.Context) (string, []byte, error) {
	from, frame, err := r.Transport.Recv(ctx)
	if err != nil || wire.IsHeartbeat(frame) {
		return from, frame, err
	}
	var f admm.Message
	if err := r.codec.Decode(frame, &f); err != nil {
		return "", nil, err
	}
	f.Incarnation = 0 // random in every run
	plain, err := r.codec.Append(nil, &f)
	r.frames = append(r.frames, fmt.Sprintf("%s %v %d: %d bytes, %x", from, f.Kind, f.Round, len(plain), plain))
	return from, frame, err
}

// TestFailedOracleLooksLikeAny lets one of two oracles fail in various ways. The other node must receive the same bytes
// as if the failing oracle had always returned the public constant.
func TestFailedOracleLooksLikeAny(t *testing.T) {
	const fallback = 0
	for _, change := range []func(f *sdk.Fleet){
		func(*sdk.Fleet) {},
		func(f *sdk.Fleet) { f.Method.Estimator = sdk.EstimatorTracking },
	} {
		f := privateRing()
		f.Members, f.Edges = f.Members[:2], f.Edges[:1]
		change(f)
		seen := func(loss float64, err error) (frames []string, a []float32, failed int64) {
			t.Helper()
			trs := inMemory(t, f)
			tape := &taped{Transport: trs[0], codec: newVillain(t, nil, f.Dim, nil).codec}
			trs[0] = tape
			all := nodes(t, f, trs, func(i int, c *sdk.Config) {
				// Leave out the keys: signed frames contain incarnation numbers, which differ between runs.
				c.Key, c.Keys = nil, nil
				c.ResendAfter = time.Minute
				if i == 1 {
					c.Oracle = sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) { return loss, err })
				}
			})
			mustRun(t, all)
			if st := all[0].Status(); st.Refused != 0 || st.FailedQueries != 0 {
				t.Errorf("a has noticed something: %+v", st)
			}
			return tape.frames, all[0].Model(), all[1].Status().FailedQueries
		}
		want, model, failed := seen(fallback, nil)
		if failed != 0 || len(want) != 15 { // two probes, twelve releases, one Done
			t.Fatalf("%d failed queries, frames\n%s", failed, strings.Join(want, "\n"))
		}
		for _, c := range []struct {
			loss float64
			err  error
		}{{0, errors.New("no data")}, {0.7, errors.New("no data")}, {math.NaN(), nil}, {math.Inf(-1), nil}, {1e300, nil}} {
			got, m, failed := seen(c.loss, c.err)
			if failed != asked(f) || !slices.Equal(got, want) || !slices.Equal(m, model) {
				t.Errorf("loss %v, error %v: %d failed queries, want %d; a was sent\n%s\nwant\n%s",
					c.loss, c.err, failed, asked(f), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		if healthy, _, _ := seen(0.7, nil); len(healthy) != len(want) {
			t.Errorf("%d frames of a node with another loss, %d of one without", len(healthy), len(want))
		}
	}
}

// asked returns the number of queries of client 1 in a run. The paper's estimator also fills its table in each round.
func asked(f *sdk.Fleet) int64 {
	round := f.Method.Tau * min(f.Method.Batch, samples[1])
	if f.Method.Estimator == sdk.EstimatorPaper {
		round += samples[1]
	}
	return int64(f.Method.Rounds * round)
}
