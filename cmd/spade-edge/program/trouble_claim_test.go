//go:build unix

package program

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// hearing starts a and sends it frames from b, whose key the test has.
func (tr *trial) hearing(t *testing.T, frames ...string) (a *process) {
	t.Helper()
	key, err := fleetfile.ReadKey(tr.path("b.key"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := ws.New(ws.ConfigOf(tr.file, "b", key, tr.place(1)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	a = start(t, "run", tr.path("a.json"))
	for _, f := range frames {
		if err := b.Send(t.Context(), "a", []byte(f)); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// releaseOf returns a release of a member, signed with the key of member by.
func (tr *trial) releaseOf(t *testing.T, member, by string, r signed.Statement) []byte {
	t.Helper()
	key, _ := tr.signedBy(t, by)
	_, scope := tr.signedBy(t, member)
	r.Sign(key, scope)
	return r.Append(nil)
}

// claim returns a hail from b which claims that b holds a release of a, with a signature as proof.
func (tr *trial) claim(t *testing.T, held int, proof []byte) string {
	t.Helper()
	return encoded(t, 6, admm.Message{Kind: admm.Probe, Held: held, Incarnation: 5, Signed: admm.Signed{Proof: proof}})
}

// guardedTrial is a private fleet of two.
func guardedTrial(t *testing.T) *trial {
	t.Helper()
	return newTrial(t, "ab", func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5} })
}

func ended(p *process) (int, string) {
	<-p.over
	return p.cmd.ProcessState.ExitCode(), p.log.String()
}

var claimTroubles = map[string]provocation{
	"the sender says that ..., but shows no signature of it": func(t *testing.T, _ *bench) (int, string) {
		tr := guardedTrial(t)
		a := tr.hearing(t, tr.claim(t, 1, nil))
		a.log.await(t, "frame refused", "shows no signature of it")
		return goesOn, a.log.String()
	},
	"the signature matches none of the member's keys (... known)": func(t *testing.T, _ *bench) (int, string) {
		tr := guardedTrial(t)
		a := tr.hearing(t, tr.claim(t, 1, tr.releaseOf(t, "a", "b", signed.Statement{Kind: signed.Release, Round: 1})))
		a.log.await(t, "frame refused", "none of the member's keys")
		return goesOn, a.log.String()
	},
	"the edge is in quarantine, and the run goes on without it ... neighbor=... release=... why=...": func(t *testing.T, _ *bench) (int, string) {
		tr := guardedTrial(t)
		key, scope := tr.signedBy(t, "b")
		_, to := tr.signedBy(t, "a")
		notice := signed.Statement{Kind: signed.Notice, Round: 1, Value: to}
		notice.Sign(key, scope)
		a := tr.hearing(t, encoded(t, 6, admm.Message{Kind: admm.Conflict, Round: 1,
			Signed: admm.Signed{Proof: notice.Append(nil), Other: []byte("x\x1b[2J")}}))
		a.log.await(t, "the edge is in quarantine", "neighbor=b", "goes on without this node")
		tr.tells(t, "a", "IN QUARANTINE from release 2 on")
		return goesOn, a.log.String()
	},
	"done, with neighbors in quarantine: ...; spade-edge fleet remove takes a member out": func(t *testing.T, _ *bench) (int, string) {
		tr := newTrial(t, "ab bc ca", nil)
		for _, wrong := range []string{"d", "a", "b,b", "b,c", "b,", "c,d"} {
			if code, _, log := call("run", tr.path("a.json"), "-without", wrong); code != cli.ExitUsage || !strings.Contains(log, "want neighbors of ") {
				t.Errorf("-without %s: exit code %d, %s", wrong, code, log)
			}
		}
		b := start(t, "run", tr.path("b.json"), "-without", "c")
		code, log := ended(start(t, "run", tr.path("a.json"), "-without", "c"))
		if other, log := ended(b); other != code {
			t.Errorf("b: exit code %d, %s", other, log)
		}
		return code, log
	},
	"every edge of this node is in quarantine; ...": func(*testing.T, *bench) (int, string) {
		var log strings.Builder
		return cli.ExitCode(fmt.Errorf("sdk: %w; \"b\": what was found", sdk.ErrQuarantine), "run", &log), log.String()
	},
	"evidence of equivocation ... neighbor=... round=...": func(t *testing.T, _ *bench) (int, string) {
		tr := guardedTrial(t)
		var frames []string
		for i := range 2 {
			own := tr.releaseOf(t, "b", "b", signed.Statement{Kind: signed.Release, Round: 1, Value: [32]byte{byte(i)}})
			frames = append(frames, encoded(t, 6, admm.Message{Kind: admm.Probe, Round: 1, Incarnation: uint64(i), Signed: admm.Signed{Own: own}}))
		}
		a := tr.hearing(t, frames...)
		a.log.await(t, "evidence of equivocation", "neighbor=b", "round=1")
		tr.tells(t, "a", `evidence       "b" has signed two different releases of round 1`)
		return goesOn, a.log.String()
	},
	"shows two releases of round ... that this node's key has signed: another device makes releases in this node's name; ...": func(t *testing.T, _ *bench) (int, string) {
		tr := guardedTrial(t)
		tr.give(t, "b", tr.double(t, "a", "a", 1)) // a does not have it
		start(t, "run", tr.path("b.json"))
		return ended(start(t, "run", tr.path("a.json")))
	},
	"holds a release that this member signed in epoch ..., ... another device has taken its place": func(t *testing.T, _ *bench) (int, string) {
		tr := guardedTrial(t)
		return ended(tr.hearing(t, tr.claim(t, 1, tr.releaseOf(t, "a", "a", signed.Statement{Kind: signed.Release, Epoch: 1, Round: 1}))))
	},
	"shows a later state of the ledger, which this node's key has signed: the state was set back: ...": func(t *testing.T, _ *bench) (int, string) {
		tr := guardedTrial(t)
		ledger, err := state.ReadLedger(tr.path("a.ledger"))
		if err != nil {
			t.Fatal(err)
		}
		id, err := hex.DecodeString(ledger.Head().ID)
		if err != nil {
			t.Fatal(err)
		}
		scope := signed.NewScope("an earlier run", [32]byte{1}, "a") // after which the ledger was reset
		key, _ := tr.signedBy(t, "a")
		r := signed.Statement{Kind: signed.Release, Round: 4, Ledger: signed.Head{ID: [16]byte(id), Seq: 4, Hash: [32]byte{4}}}
		r.Sign(key, scope)
		line, err := json.Marshal(map[string]string{
			"key": hex.EncodeToString(tr.file.Members[0].Keys[0]), "ledger": ledger.Head().ID, "signed": hex.EncodeToString(r.Append(scope[:])),
		})
		if err != nil {
			t.Fatal(err)
		}
		tr.write(t, "b.ledger.neighbors", string(line)+"\n")
		start(t, "run", tr.path("b.json"))
		code, text := ended(start(t, "run", tr.path("a.json")))
		if after, err := state.ReadLedger(tr.path("a.ledger")); err != nil || after.Head().Seq != 0 {
			t.Errorf("the ledger was written: %+v, %v", after.Head(), err)
		}
		return code, text
	},
	"...; restore it from a copy, or remove it and lose what ...": func(t *testing.T, _ *bench) (int, string) {
		tr := guardedTrial(t)
		tr.write(t, "a.ledger.neighbors", "{}\n")
		if err := os.MkdirAll(tr.path("b.state"), 0o700); err != nil {
			t.Fatal(err)
		}
		tr.write(t, "b.state/journal.jsonl", "{}\n")
		_, other := said("run", tr.path("b.json"))
		code, text := said("run", tr.path("a.json"))
		return code, text + other
	},
}
