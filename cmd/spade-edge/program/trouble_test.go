//go:build unix

package program

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

func (tr *trial) place(i int) string {
	return strings.TrimSuffix(strings.TrimPrefix(tr.file.Members[i].Addresses[0], "wss://"), "/")
}

// packagePrefix matches the names of this module's packages at the beginning of errors, which mean nothing to users.
var packagePrefix = regexp.MustCompile(`(?m)(^|: |; |["(])(sdk|admm|state|trust|signed|device|fleetfile|dpmech|zoest|transport|ws): `)

// TestTroubleshooting provokes messages that "spade-edge help troubleshooting" explains and that no transcript can provoke.
// The test of this name beside the transcripts checks the entries of the topic, and that this test has their exit codes.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	for message, c := range troubles {
		t.Run(message, func(t *testing.T) {
			t.Parallel()
			code, text := c.provoke(t)
			parts := strings.Split(message, "...") // which match any text
			for i, part := range parts {
				parts[i] = regexp.QuoteMeta(strings.TrimSpace(part))
			}
			if code != c.code || !regexp.MustCompile("(?m)"+strings.Join(parts, ".*")).MatchString(text) {
				t.Errorf("exit code %s, want %s with %s\n%s", code, c.code, message, text)
			}
			if found := packagePrefix.FindString(text); found != "" {
				t.Errorf("%q in what people read: %s", found, text)
			}
		})
	}
}

// signedBy returns a member's private key and the scope for signatures of its releases.
func (tr *trial) signedBy(t *testing.T, member string) (ed25519.PrivateKey, signed.Scope) {
	t.Helper()
	key, err := secret.ReadKey(tr.path(member + ".key"))
	if err != nil {
		t.Fatal(err)
	}
	return key, signed.NewScope(tr.file.Fleet.Run, tr.file.Fleet.Hash(), member)
}

// guardedTrial returns a private fleet of two members, a and b.
func guardedTrial(t *testing.T) *trial {
	t.Helper()
	return newTrial(t, "ab", func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5} })
}

// hearing starts the node a and sends frames to it as b.
func (tr *trial) hearing(t *testing.T, frames ...string) (a *process) {
	t.Helper()
	key, err := secret.ReadKey(tr.path("b.key"))
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

// releaseOf returns the encoded release r of a member. The parameter by names the member whose key signs it, possibly
// another member.
func (tr *trial) releaseOf(t *testing.T, member, by string, r signed.Statement) []byte {
	t.Helper()
	key, _ := tr.signedBy(t, by)
	_, scope := tr.signedBy(t, member)
	r.Sign(key, scope)
	return r.Append(nil)
}

// claim returns a probe message in which b claims to have a release of a. The parameter held is the number of this
// release; the parameter proof is the signature that supports the claim.
func (tr *trial) claim(t *testing.T, held int, proof []byte) string {
	t.Helper()
	return encoded(t, 6, admm.Message{Kind: admm.Probe, Held: held, Incarnation: 5, Signed: admm.Signed{Proof: proof}})
}

func ended(p *process) (string, string) {
	<-p.over
	return strconv.Itoa(p.cmd.ProcessState.ExitCode()), p.log.String()
}

// told waits until a line of the log contains all of the words. The node must continue to run.
func told(t *testing.T, p *process, words ...string) (string, string) {
	t.Helper()
	p.await(t, words...)
	return "-", p.log.String()
}

// troubles has messages that appear only if a neighbor lies, which the program itself never does, and the exit codes, "-" if
// the node continues. Each function returns the exit code and the log.
var troubles = map[string]struct {
	code    string
	provoke func(t *testing.T) (code, text string)
}{
	"every edge of this node is in quarantine; ...": {"4", func(*testing.T) (string, string) {
		var log strings.Builder
		code := cli.ExitCode(fmt.Errorf("sdk: %w; \"b\": what was found", trust.ErrQuarantine), "run", &log)
		return strconv.Itoa(code), log.String()
	}},
	"frame refused ... from=... err=...": {"-", func(t *testing.T) (string, string) {
		return told(t, newTrial(t, "ab", nil).hearing(t, "junk"), "frame refused")
	}},
	"the sender claims to ..., but shows no signature of that release": {"-", func(t *testing.T) (string, string) {
		tr := guardedTrial(t)
		return told(t, tr.hearing(t, tr.claim(t, 1, nil)), "frame refused", "shows no signature of that release")
	}},
	"the signature matches none of the member's keys (... known)": {"-", func(t *testing.T) (string, string) {
		tr := guardedTrial(t)
		proof := tr.releaseOf(t, "a", "b", signed.Statement{Kind: signed.Release, Round: 1})
		return told(t, tr.hearing(t, tr.claim(t, 1, proof)), "frame refused", "none of the member's keys")
	}},
	"the edge is in quarantine, and the run goes on without it ... neighbor=... release=... why=...": {"-", func(t *testing.T) (string, string) {
		tr := guardedTrial(t)
		key, scope := tr.signedBy(t, "b")
		_, to := tr.signedBy(t, "a")
		notice := signed.Statement{Kind: signed.Notice, Round: 1, Value: to}
		notice.Sign(key, scope)
		a := tr.hearing(t, encoded(t, 6, admm.Message{Kind: admm.Conflict, Round: 1,
			Signed: admm.Signed{Proof: notice.Append(nil), Other: []byte("x\x1b[2J")}}))
		a.await(t, "the edge is in quarantine", "neighbor=b", "continues without this node")
		tr.tells(t, "a", "IN QUARANTINE from release 2 on")
		return "-", a.log.String()
	}},
	"evidence of equivocation ... member=... round=...": {"-", func(t *testing.T) (string, string) {
		tr := guardedTrial(t)
		var frames []string
		for i := range 2 {
			own := tr.releaseOf(t, "b", "b", signed.Statement{Kind: signed.Release, Round: 1, Value: [32]byte{byte(i)}})
			frames = append(frames, encoded(t, 6, admm.Message{Kind: admm.Probe, Round: 1, Incarnation: uint64(i), Signed: admm.Signed{Own: own}}))
		}
		a := tr.hearing(t, frames...)
		a.await(t, "evidence of equivocation", "member=b", "round=1")
		tr.tells(t, "a", `evidence       "b" has signed two different releases of round 1`)
		return "-", a.log.String()
	}},
	"shows two different releases of round ... signed with this node's key: another device makes releases in this node's name; ...": {"4", func(t *testing.T) (string, string) {
		tr := guardedTrial(t)
		key, scope := tr.signedBy(t, "a")
		var two [2]signed.Statement // of a release that node a has not made itself
		for i := range two {
			two[i] = signed.Statement{Kind: signed.Release, Round: 1, Value: [32]byte{byte(i)}}
			two[i].Sign(key, scope)
		}
		f := tr.file.Fleet
		journal := &state.Journal{Run: f.Run, Fleet: f.Hash(), Member: "b", Evidence: []signed.Evidence{signed.NewEvidence("a", &two[0], &two[1])}}
		text, err := journal.Encode()
		if err == nil {
			err = os.Mkdir(tr.path("b.state"), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		tr.write(t, "b.state/"+state.JournalName, string(text))
		start(t, "run", tr.path("b.json"))
		return ended(start(t, "run", tr.path("a.json")))
	}},
	"shows a later state of the ledger, signed with this node's key: the state was rolled back: ...": {"4", func(t *testing.T) (string, string) {
		tr := guardedTrial(t)
		ledger, err := state.ReadLedger(tr.path("a.ledger"))
		if err != nil {
			t.Fatal(err)
		}
		id, err := hex.DecodeString(ledger.Head().ID)
		if err != nil {
			t.Fatal(err)
		}
		scope := signed.NewScope("an earlier run", [32]byte{1}, "a") // the ledger was reset after that run
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
	}},
}
