package program

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// signedBy returns a member's private key and the scope for signatures of its releases.
func (tr *trial) signedBy(t *testing.T, member string) (ed25519.PrivateKey, signed.Scope) {
	t.Helper()
	key, err := fleetfile.ReadKey(tr.path(member + ".key"))
	if err != nil {
		t.Fatal(err)
	}
	return key, signed.NewScope(tr.file.Fleet.Run, tr.file.Fleet.Hash(), member)
}

// double returns a line of evidence for equivocation by a member: two releases in the same round. The parameter by
// names the member whose key signs both releases, possibly another member.
func (tr *trial) double(t *testing.T, member, by string, round int) string {
	t.Helper()
	key, _ := tr.signedBy(t, by)
	return doubleOf(t, tr.file.Fleet, member, key, round)
}

// doubleOf returns a line of evidence for equivocation by a member of the fleet f: two releases in the same round,
// signed with key.
func doubleOf(t *testing.T, f *sdk.Fleet, member string, key ed25519.PrivateKey, round int) string {
	t.Helper()
	scope := signed.NewScope(f.Run, f.Hash(), member)
	e := signed.Evidence{Member: member, Round: round}
	for i, to := range []*signed.Statement{&e.First, &e.Second} {
		r := signed.Statement{Kind: signed.Release, Round: round, Value: [32]byte{byte(i)}}
		r.Sign(key, scope)
		*to = r
	}
	line, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return `{"evidence":` + string(line) + "}\n"
}

func journalOf(f *sdk.Fleet, member, lines string) string {
	return fmt.Sprintf("{\"run\":%q,\"fleet\":\"%x\",\"member\":%q}\n%s", f.Run, f.Hash(), member, lines)
}

func (tr *trial) give(t *testing.T, member, lines string) {
	t.Helper()
	if err := os.MkdirAll(tr.path(member+".state"), 0o700); err != nil {
		t.Fatal(err)
	}
	tr.write(t, member+".state/journal.jsonl", journalOf(tr.file.Fleet, member, lines))
}

const doubleOfB = `evidence       "b" has signed two different releases of round 3: its device was copied or rolled back`

// TestEvidenceIsShown checks that evidence against a neighbor appears in the node's metrics and in its status, both
// while the node runs and after it has stopped. It must not make the node exit. Evidence that the neighbor did not sign must have no effect.
func TestEvidenceIsShown(t *testing.T) {
	t.Parallel()
	noWindows(t)
	tr := newTrial(t, "ab", nil)
	tr.give(t, "a", tr.double(t, "b", "b", 3)+tr.double(t, "b", "a", 4))
	shown := func() {
		t.Helper()
		tr.tells(t, "a", doubleOfB)
		if _, out, _ := call("status", tr.path("a.json")); strings.Count(out, "evidence ") != 1 {
			t.Errorf("forged evidence is shown:\n%s", out)
		}
	}
	shown()
	a := start(t, "run", tr.path("a.json"), "-http", "127.0.0.1:0")
	a.log.await(t, "waiting for")
	shown()
	if _, text := get(t, a.pageAddress(t)+"metrics"); !strings.Contains(text, "spade_edge_evidence{run=\"trial\",node=\"a\"} 1\n") {
		t.Errorf("metrics:\n%s", text)
	}
}

// TestEvidenceAgainstOneself checks that evidence against the node itself makes the node exit, and that damaged
// evidence prevents the node from starting. The status command must report either problem before the node starts.
func TestEvidenceAgainstOneself(t *testing.T) {
	tr := newTrial(t, "ab", nil)
	good := tr.double(t, "b", "b", 3)
	for name, c := range map[string]struct {
		lines string
		code  int
		want  string
	}{
		"a double":      {good, cli.ExitMismatch, sdk.ErrClone.Error()},
		"no JSON":       {good + "{\"member\":", cli.ExitFailed, "line 3"},
		"another field": {good + strings.Replace(good, `"round"`, `"turn"`, 1), cli.ExitFailed, `unknown field "turn"`},
		"another round": {strings.Replace(good, `"round":3`, `"round":4`, 1), cli.ExitFailed, "want two releases of round 4"},
		"cut off":       {strings.Replace(good, `","second":"`, `00","second":"`, 1), cli.ExitFailed, fmt.Sprintf("found %d bytes, want %d", signed.Size+1, signed.Size)},
		"without end":   {good + strings.Repeat("x", 2<<20), cli.ExitFailed, "line 3: column 1: invalid character"},
	} {
		tr.give(t, "b", c.lines)
		tr.tells(t, "b", c.want)
		if code, text := said("run", tr.path("b.json")); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: exit code %d, %s", name, code, text)
		}
	}
}
