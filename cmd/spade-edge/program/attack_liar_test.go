//go:build unix

package program

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// nextRun changes the files to another run with the same data, keys and ledgers and with new state folders.
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

// forged returns a release in another member's name, signed by the insider.
func (in *insider) forged(member string, r signed.Statement) []byte {
	r.Sign(in.key, in.scope(member))
	return r.Append(nil)
}

// lies returns invalid frames about the neighbor and about the insider. past is a release that the neighbor signed in
// another run.
func (in *insider) lies(to string, past *signed.Statement) []*admm.Message {
	m := in.file.Fleet.Method
	last := m.Rounds + m.Cooldown
	theirs, other := in.last[to], in.last[map[string]string{"b": "c", "c": "b"}[to]]
	altered := theirs
	altered.Value[0]++
	far := theirs
	far.Round, far.Ledger.Seq = last, 1<<40
	epoch, incarnation := signed.UnpackDevice(in.lives[to])
	list := []*admm.Message{
		{Kind: admm.Done, Round: last},
		{Kind: admm.Done, Round: last, Signed: admm.Signed{Proof: in.forged(to, far), Countersign: far.Countersign(in.key, in.scope(to))}},
		{Kind: admm.Probe, Held: last},
		{Kind: admm.ProbeReply, Held: last, Epoch: epoch, Incarnation: incarnation},
		{Kind: admm.ProbeReply, Held: last, Epoch: epoch, Incarnation: incarnation, Signed: admm.Signed{Proof: in.forged(to, far)}},
		{Kind: admm.ProbeReply, Held: 1, Epoch: epoch, Incarnation: incarnation, Signed: admm.Signed{Proof: in.forged(in.name, signed.Statement{Kind: signed.Release, Round: 1})}},
		{Kind: admm.Probe, Round: last},
		{Kind: admm.Probe, Epoch: 65535, Incarnation: 1},
		{Kind: admm.Probe, Epoch: 65535, Incarnation: 1, Signed: admm.Signed{Own: in.forged(in.name, signed.Statement{Kind: signed.Release, Epoch: 65535})}},
		{Kind: admm.Release, Round: 1, Grid: make([]int32, in.file.Fleet.Dim)},
		{Kind: admm.Release, Round: 1, Grid: make([]int32, in.file.Fleet.Dim), Signed: admm.Signed{Own: in.forged(in.name, signed.Statement{Kind: signed.Release, Round: 2})}},
		{Kind: admm.Release, Round: 1, Grid: make([]int32, in.file.Fleet.Dim), Signed: admm.Signed{Own: in.forged(in.name, signed.Statement{Kind: signed.Release, Round: 1})}},
		{Kind: admm.Conflict, Signed: admm.Signed{Proof: in.forged(to, theirs), Other: in.forged(to, altered)}},
	}
	if other.Round > 0 {
		list = append(list, &admm.Message{Kind: admm.ProbeReply, Held: other.Round, Epoch: epoch, Incarnation: incarnation, Signed: admm.Signed{Proof: other.Append(nil)}})
	}
	if past != nil {
		list = append(list, &admm.Message{Kind: admm.ProbeReply, Held: past.Round, Epoch: epoch, Incarnation: incarnation, Signed: admm.Signed{Proof: past.Append(nil)}})
	}
	if theirs.Round > 0 {
		real, scope := theirs.Append(nil), in.scope(to)
		list = append(list,
			&admm.Message{Kind: admm.Done, Round: last, Signed: admm.Signed{Proof: real, Countersign: theirs.Countersign(in.key, scope)}},
			&admm.Message{Kind: admm.ProbeReply, Held: last, Epoch: epoch, Incarnation: incarnation, Signed: admm.Signed{Proof: real}},
			&admm.Message{Kind: admm.Conflict, Signed: admm.Signed{Proof: real, Other: in.forged(to, altered)}},
			&admm.Message{Kind: admm.Conflict, Signed: admm.Signed{Proof: real, Other: real}},
			&admm.Message{Kind: admm.ProbeReply, Held: theirs.Round, Epoch: epoch, Incarnation: incarnation, Signed: admm.Signed{Proof: real, Other: []byte("garbage")}},
			&admm.Message{Kind: admm.ProbeReply, Held: theirs.Round, Epoch: epoch, Incarnation: incarnation, Signed: admm.Signed{Proof: real, Other: append(scope[:], in.forged(to, far)...)}})
	}
	return list
}

// called has words of the node's log line for each kind of lie.
var called = []string{
	"of this node, but shows no signature of it",
	"the signature matches none of the member's keys",
	"but shows the signature of another",
	"but shows the signature of release",
	"says that it is epoch 0 and has made release 14, but shows no signature of it",
	"says that it is epoch 65535 and has made release 0, but shows no signature of it",
	"signed release 0 is of epoch 65535, want at most 2",
	"release 1 is not signed, want the signature of",
	"a frame of release 1 carries the signature of release 2",
	"release 1 is not the one that the sender has signed",
	"do not contradict each other",
	"about this node's ledger in another run has no valid signature",
}

// A neighbor with a valid key adds every known kind of lie to each of its frames, in three runs on the same ledgers.
// The log names it, the ledger has only real releases, and no run is refused.
func TestAttackLiar(t *testing.T) {
	t.Parallel()
	tr := newLonger(t, "ab bc ca", 12)
	past := map[string]*signed.Statement{}
	for n := 1; n <= 3; n++ {
		if n > 1 {
			tr.nextRun(t, n)
		}
		told := map[string]int{}
		in := tr.newInsider(t, "a", false, func(in *insider, to string, f *admm.Message) []*admm.Message {
			list := slices.DeleteFunc(in.lies(to, past[to]), func(lie *admm.Message) bool {
				theirs := in.last[to]
				kind := fmt.Sprint(to, bytes.Equal(lie.Signed.Proof, theirs.Append(nil)), lie.Kind, lie.Round, lie.Epoch, len(lie.Signed.Own), len(lie.Signed.Proof), len(lie.Signed.Other), lie.Held == 1)
				told[kind]++
				return told[kind] > 3 // the log holds a hundred
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
			in.mu.Lock() // the insider's node still runs and lies
			r := in.last[name]
			past[name] = &r
			in.mu.Unlock()
		}
		in.end()
		if in.lied < 80 {
			t.Errorf("%d lies", in.lied)
		}
	}
}

func (tr *trial) run(n int) string {
	if n == 1 {
		return "trial"
	}
	return fmt.Sprintf("trial r%d", n)
}

// A liar that repeats one lie ten thousand times does not fill the disk with log lines.
func TestAttackChatter(t *testing.T) {
	t.Parallel()
	tr, most := newLonger(t, "ab", 40), 3_000
	if long {
		most = 10_000
	}
	in := tr.newInsider(t, "b", false, func(in *insider, to string, f *admm.Message) []*admm.Message {
		list := []*admm.Message{f}
		if r := in.last[to]; r.Round > 0 && in.lied < most {
			epoch, incarnation := signed.UnpackDevice(in.lives[to])
			for range 100 {
				in.lied++
				list = append(list,
					&admm.Message{Kind: admm.ProbeReply, Held: r.Round, Epoch: epoch, Incarnation: incarnation, Signed: admm.Signed{Proof: r.Append(nil), Other: []byte("garbage")}},
					&admm.Message{Kind: admm.Join, Incarnation: uint64(in.lied)})
			}
			list = append(list, &admm.Message{Kind: admm.Probe, Incarnation: 1}) // no device joins, and this one restarts
		}
		return list
	})
	b := start(t, "run", tr.path("a.json"), "-json")
	if r := b.outcome(t); !r.Done {
		t.Errorf("outcome %+v", r)
	}
	in.end()
	b.log.await(t, "about this node's ledger in another run has no valid signature")
	b.log.await(t, "another device asks to replace a neighbor's lost device")
	if lines := strings.Count(b.log.String(), "\n"); in.lied < 2000 || lines > 400 {
		t.Errorf("%d lies made %d lines", in.lied, lines)
	}
}

// A neighbor lies to a replacement device. The device accepts only what is signed, names the neighbor, spends nothing,
// and continues when the neighbor tells the truth.
func TestAttackRecovery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lie  func(in *insider, f *admm.Message)
		want string
	}{
		"held far ahead": {func(in *insider, f *admm.Message) { f.Held = 14 },
			"claims release 14 and epoch 0 of this member, but shows the signature of release"},
		"held without proof": {func(in *insider, f *admm.Message) { f.Held, f.Signed.Proof = 14, nil },
			"of this node, but shows no signature of it"},
		"epoch 65535": {func(in *insider, f *admm.Message) { f.Epoch = 65535 },
			"and epoch 65535 of this member, but shows the signature of release"},
		"off the grid": {func(in *insider, f *admm.Message) {
			if len(f.Grid) > 0 {
				f.Grid[0] = 1<<31 - 1
			}
		}, "coordinate 0 of the model after release"},
		"a signature of its own": {func(in *insider, f *admm.Message) {
			if len(f.Signed.Proof) > 0 {
				r, _ := signed.Parse(f.Signed.Proof, signed.Release)
				f.Signed.Proof = in.forged("b", r)
			}
		}, "the signature matches none of the member's keys"},
		"further than it is": {func(in *insider, f *admm.Message) { f.Round++ }, "says that it has made release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newLonger(t, "ab bc ca", 12)
			truth := make(chan struct{})
			in := tr.newInsider(t, "a", true, func(in *insider, _ string, f *admm.Message) []*admm.Message {
				select {
				case <-truth:
				default:
					if f.Kind == admm.Stand {
						in.lied++
						c.lie(in, f)
					}
				}
				return []*admm.Message{f}
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
