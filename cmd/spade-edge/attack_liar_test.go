//go:build unix

package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// nextRun makes the files say that another run begins, on the same data, keys and ledgers, with state folders of its own.
func (tr *trial) nextRun(t *testing.T, n int) {
	t.Helper()
	before, now := "trial", fmt.Sprintf("trial r%d", n)
	old, state := ".state", fmt.Sprintf(".state.r%d", n)
	if n > 2 {
		before, old = fmt.Sprintf("trial r%d", n-1), fmt.Sprintf(".state.r%d", n-1)
	}
	tr.edit(t, "fleet.json", fmt.Sprintf("%q", before), fmt.Sprintf("%q", now))
	for _, m := range tr.file.Members {
		tr.edit(t, m.Name+".json", m.Name+old+`"`, m.Name+state+`"`)
	}
}

// forged returns a release that the insider has signed in the name of somebody else.
func (in *insider) forged(member string, r signed.Release) []byte {
	r.Sign(in.key, in.scope(member))
	return r.Append(nil)
}

// lies returns frames that cannot be right, about the neighbor itself and about the insider. past is a release that the neighbor has signed in
// another run.
func (in *insider) lies(to string, past *signed.Release) []*wire.Frame {
	m := in.file.Fleet.Method
	last := m.Rounds + m.Cooldown
	theirs, other := in.last[to], in.last[map[string]string{"b": "c", "c": "b"}[to]]
	altered := theirs
	altered.Digest[0]++
	far := theirs
	far.Round, far.Ledger.Seq = last, 1<<40
	life := in.lives[to]
	list := []*wire.Frame{
		{Kind: wire.Done, Round: last},
		{Kind: wire.Done, Round: last, Proof: in.forged(to, far), Countersign: far.Countersign(in.key, in.scope(to))},
		{Kind: wire.Hail, Held: last},
		{Kind: wire.Hail, Held: last, Life: life, Resent: true},
		{Kind: wire.Hail, Held: last, Life: life, Resent: true, Proof: in.forged(to, far)},
		{Kind: wire.Hail, Held: 1, Life: life, Resent: true, Proof: in.forged(in.name, signed.Release{Round: 1})},
		{Kind: wire.Hail, Round: last},
		{Kind: wire.Hail, Life: 65535<<48 | 1},
		{Kind: wire.Release, Round: 1, Grid: make([]int32, in.file.Fleet.Dim)},
		{Kind: wire.Release, Round: 1, Grid: make([]int32, in.file.Fleet.Dim), Own: in.forged(in.name, signed.Release{Round: 2})},
		{Kind: wire.Release, Round: 1, Grid: make([]int32, in.file.Fleet.Dim), Own: in.forged(in.name, signed.Release{Round: 1})},
		{Kind: wire.Double, Proof: in.forged(to, theirs), Other: in.forged(to, altered)},
	}
	if other.Round > 0 {
		list = append(list, &wire.Frame{Kind: wire.Hail, Held: other.Round, Life: life, Resent: true, Proof: other.Append(nil)})
	}
	if past != nil {
		list = append(list, &wire.Frame{Kind: wire.Hail, Held: past.Round, Life: life, Resent: true, Proof: past.Append(nil)})
	}
	if theirs.Round > 0 {
		real, scope := theirs.Append(nil), in.scope(to)
		list = append(list,
			&wire.Frame{Kind: wire.Done, Round: last, Proof: real, Countersign: theirs.Countersign(in.key, scope)},
			&wire.Frame{Kind: wire.Hail, Held: last, Life: life, Resent: true, Proof: real},
			&wire.Frame{Kind: wire.Double, Proof: real, Other: in.forged(to, altered)},
			&wire.Frame{Kind: wire.Double, Proof: real, Other: real},
			&wire.Frame{Kind: wire.Hail, Held: theirs.Round, Life: life, Resent: true, Proof: real, Other: []byte("garbage")},
			&wire.Frame{Kind: wire.Hail, Held: theirs.Round, Life: life, Resent: true, Proof: real, Other: append(scope[:], in.forged(to, far)...)})
	}
	return list
}

// called are words of what a node says of each kind of lie.
var called = []string{
	"of this node, and shows no signature of it",
	"the signature is by none of the member's keys",
	"and shows the signature of another",
	"and shows the signature of release",
	"says that it is device 0 and has made release 14, and shows no signature of it",
	"says that it is device 65535 and has made release 0, and shows no signature of it",
	"release 1 is not signed, want the signature of",
	"a frame of release 1 carries the signature of release 2",
	"release 1 is not the one that the sender has signed",
	"do not contradict each other",
	"speaks of this node's ledger in another run",
}

// A neighbor with a valid key tells every lie there is, with everything that it sends, in three runs in a row on the same ledgers: it is
// named, nothing is charged but what was released, and no run is refused.
func TestAttackLiar(t *testing.T) {
	t.Parallel()
	tr := newLonger(t, "ab bc ca", 12)
	past := map[string]*signed.Release{}
	for n := 1; n <= 3; n++ {
		if n > 1 {
			tr.nextRun(t, n)
		}
		told := map[string]int{}
		in := tr.newInsider(t, "a", false, func(in *insider, to string, f *wire.Frame) []*wire.Frame {
			list := slices.DeleteFunc(in.lies(to, past[to]), func(lie *wire.Frame) bool {
				theirs := in.last[to]
				kind := fmt.Sprint(to, bytes.Equal(lie.Proof, theirs.Append(nil)), lie.Kind, lie.Round, lie.Resent, lie.Life>>48, len(lie.Own), len(lie.Proof), len(lie.Other), lie.Held == 1)
				told[kind]++
				return told[kind] > 3 // the log has room for a hundred
			})
			in.lied += len(list)
			return append(list, f)
		})
		b, c := start(t, "run", tr.path("b.json"), "-json"), start(t, "run", tr.path("c.json"), "-json")
		for i, p := range []*process{b, c} {
			name := string("bc"[i])
			if r := p.outcome(t); !r.Done || r.Rounds != 14 {
				t.Errorf("outcome %+v", r)
			}
			for _, words := range called {
				p.log.await(t, words)
			}
			for line := range strings.Lines(p.log.String()) {
				if strings.Contains(line, "frame refused") && !strings.Contains(line, "from=a") {
					t.Errorf("somebody else is named: %s", line)
				}
			}
			g := dpmech.Gaussian{Clip: 0.2, Sigma: 1}
			want := []dpmech.Spend{{First: 1, Rounds: 12, Clip: g.Clip, Sigma: g.Sigma}}
			if all := tr.spends(t, name); len(all) != n || !slices.Equal(all[tr.run(n)], want) {
				t.Errorf("%s: the ledger has %+v after %d runs", name, all, n)
			}
			if last := in.sawOnce(t, name); last != 14 {
				t.Errorf("the last release of %s is %d", name, last)
			}
			r := in.last[name]
			past[name] = &r
		}
		in.end()
		if in.lied < 80 {
			t.Errorf("%d lies", in.lied)
		}
	}
}

// run returns the id of a run that nextRun has made.
func (tr *trial) run(n int) string {
	if n == 1 {
		return "trial"
	}
	return fmt.Sprintf("trial r%d", n)
}

// A liar that says the same ten thousand times does not fill the disk of whoever writes down what a node says.
func TestAttackChatter(t *testing.T) {
	t.Parallel()
	tr := newLonger(t, "ab", 40)
	in := tr.newInsider(t, "b", false, func(in *insider, to string, f *wire.Frame) []*wire.Frame {
		list := []*wire.Frame{f}
		if r := in.last[to]; r.Round > 0 {
			for range 100 {
				in.lied++
				list = append(list,
					&wire.Frame{Kind: wire.Hail, Held: r.Round, Life: in.lives[to], Resent: true, Proof: r.Append(nil), Other: []byte("garbage")},
					&wire.Frame{Kind: wire.Ask, Part: wire.Standing, Life: uint64(in.lied)})
			}
		}
		return list
	})
	b := start(t, "run", tr.path("a.json"), "-json")
	if r := b.outcome(t); !r.Done {
		t.Errorf("outcome %+v", r)
	}
	in.end()
	b.log.await(t, "speaks of this node's ledger in another run")
	b.log.await(t, "a neighbor has lost its state and asks for what is known of it here")
	if lines := strings.Count(b.log.String(), "\n"); in.lied < 2000 || lines > 400 {
		t.Errorf("%d lies made %d lines", in.lied, lines)
	}
}

// A recovering device hears lies of a neighbor: it does not believe more than is signed, names the neighbor, charges nothing, and goes on when
// the neighbor has the truth to tell.
func TestAttackRecovery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lie  func(in *insider, f *wire.Frame)
		want string
	}{
		"held far ahead": {func(in *insider, f *wire.Frame) {
			if f.Part == wire.Standing {
				f.Held = 14
			}
		}, "the sender speaks of release 14 and device 0, and shows the signature of release"},
		"held without proof": {func(in *insider, f *wire.Frame) {
			if f.Part == wire.Standing {
				f.Held, f.Proof = 14, nil
			}
		}, "of this node, and shows no signature of it"},
		"device 65535": {func(in *insider, f *wire.Frame) { f.Life |= 65535 << 48 }, "and device 65535, and shows the signature of release"},
		"a release of its own making": {func(in *insider, f *wire.Frame) {
			if f.Part == wire.Sent && len(f.Grid) > 0 {
				f.Grid[0]++
			}
		}, "is not what was signed"},
		"a signature of its own": {func(in *insider, f *wire.Frame) {
			if len(f.Proof) > 0 {
				r, _ := signed.Parse(f.Proof)
				f.Proof = in.forged("b", r)
			}
		}, "the signature is by none of the member's keys"},
		"further than it is": {func(in *insider, f *wire.Frame) {
			if f.Part == wire.Standing {
				f.Round++
			}
		}, "the sender says that it has made release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newLonger(t, "ab bc ca", 12)
			truth := make(chan struct{})
			in := tr.newInsider(t, "a", true, func(in *insider, _ string, f *wire.Frame) []*wire.Frame {
				select {
				case <-truth:
				default:
					if f.Kind == wire.Tell {
						in.lied++
						c.lie(in, f)
					}
				}
				return []*wire.Frame{f}
			})
			cc := start(t, "run", tr.path("c.json"), "-json")
			b := start(t, "run", tr.path("b.json"), "-json")
			in.await(t, "b", 3)
			b.kill()
			spent := tr.spent(t, "b")
			tr.remove(t, "b.state")
			b = start(t, "run", tr.path("b.json"), "-json", "-recover")
			b.log.await(t, "frame refused", "from=a", c.want)
			if n := tr.spent(t, "b"); n != spent {
				t.Errorf("%d releases in the ledger, and %d before the lie", n, spent)
			}
			close(truth)
			if r := b.outcome(t); !r.Done || r.Recovered < 2 {
				t.Errorf("outcome %+v", r)
			}
			cc.outcome(t)
			if n := tr.spent(t, "b"); n != 12 || in.lied == 0 {
				t.Errorf("%d releases in the ledger, %d lies", n, in.lied)
			}
			readCertificate(t, filepath.Join(tr.path("b.state"), "certificate.json"))
		})
	}
}
