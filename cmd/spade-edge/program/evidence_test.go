package program

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// signedBy returns a member's key, and the scope of its releases.
func (tr *trial) signedBy(t *testing.T, member string) (ed25519.PrivateKey, signed.Scope) {
	t.Helper()
	key, err := fleetfile.ReadKey(tr.path(member + ".key"))
	if err != nil {
		t.Fatal(err)
	}
	return key, signed.NewScope(tr.file.Fleet.Run, tr.file.Fleet.Hash(), member)
}

// double returns a line of evidence against a member: two releases of a round, signed with the key of another one.
func (tr *trial) double(t *testing.T, member, by string, round int) string {
	t.Helper()
	key, _ := tr.signedBy(t, by)
	return doubleOf(t, tr.file.Fleet, member, key, round)
}

// doubleOf returns a line of evidence against a member of a fleet that a key has signed.
func doubleOf(t *testing.T, f *sdk.Fleet, member string, key ed25519.PrivateKey, round int) string {
	t.Helper()
	scope := signed.NewScope(f.Run, f.Hash(), member)
	e := signed.Evidence{Member: member, Round: round}
	for i, text := range []*string{&e.First, &e.Second} {
		r := signed.Statement{Kind: signed.Release, Round: round, Value: [32]byte{byte(i)}}
		r.Sign(key, scope)
		*text = hex.EncodeToString(r.Append(nil))
	}
	line, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return `{"evidence":` + string(line) + "}\n"
}

// journalOf returns the text of a member's journal with some lines.
func journalOf(f *sdk.Fleet, member, lines string) string {
	return fmt.Sprintf("{\"run\":%q,\"fleet\":\"%x\",\"member\":%q}\n%s", f.Run, f.Hash(), member, lines)
}

// give puts evidence into a member's state folder.
func (tr *trial) give(t *testing.T, member, lines string) {
	t.Helper()
	if err := os.MkdirAll(tr.path(member+".state"), 0o700); err != nil {
		t.Fatal(err)
	}
	tr.write(t, member+".state/journal.jsonl", journalOf(tr.file.Fleet, member, lines))
}

// inspects runs inspect and looks for words, and for words that must not be there, which begin with "!".
func (tr *trial) inspects(t *testing.T, code int, args []string, words ...string) {
	t.Helper()
	args[0] = tr.path(args[0])
	got, text := said(append([]string{"inspect"}, args...)...)
	if got != code {
		t.Errorf("inspect %q: exit code %d, want %d\n%s", args, got, code, text)
	}
	for _, w := range words {
		if bare, not := strings.CutPrefix(w, "!"); strings.Contains(text, bare) == not {
			t.Errorf("inspect %q: %q in\n%s", args, w, text)
		}
	}
}

const (
	doubleOfB  = `evidence       "b" has signed two different releases of round 3: it has a double, or was set back`
	unverified = "the signatures are not checked, which takes -fleet"
)

// Evidence against a neighbor is shown by status, of a node at work and of one that is not, by the page, the metrics and inspect.
// Evidence whose signatures are not the member's counts nowhere, and the node that holds evidence against a neighbor is well.
func TestEvidenceIsShown(t *testing.T) {
	t.Parallel()
	noWindows(t)
	tr := newTrial(t, "ab", nil)
	tr.give(t, "a", tr.double(t, "b", "b", 3)+tr.double(t, "b", "a", 4))
	want := []monitor.Evidence{{Member: "b", Round: 3}}

	st := tr.statusJSON(t, "a")
	if st.Running || st.Phase != monitor.Fresh || st.Fault != "" || !reflect.DeepEqual(st.Evidence, want) {
		t.Errorf("not running: %+v", st)
	}
	tr.tells(t, "a", doubleOfB)
	if _, out, _ := call("status", tr.path("a.json")); strings.Contains(out, "round 4") {
		t.Errorf("forged evidence is shown:\n%s", out)
	}
	file, key := "a.state/journal.jsonl", tr.path("fleet.json")
	tr.inspects(t, cli.ExitDone, []string{file}, "evidence ", doubleOfB, "round 4", unverified)
	tr.inspects(t, cli.ExitFailed, []string{file, "-fleet", key}, doubleOfB+"; both signatures are good", "it does not count: ", "by none of the member's keys")
	tr.inspects(t, cli.ExitFailed, []string{file, "-fleet", key, "-json"}, `"verified": true`, `"verified": false`, `"meaning": "\"b\" has signed two`)
	tr.inspects(t, cli.ExitDone, []string{file, "-json"}, `"verified": null`, "!true", "!false")
	tr.inspects(t, cli.ExitDone, []string{"a.json"}, doubleOfB+"; both signatures are good", "it does not count: ")
	tr.inspects(t, cli.ExitUsage, []string{file, "-fleet", tr.path("none.json")}, "no such file")

	a := start(t, "run", tr.path("a.json"), "-http", "127.0.0.1:0")
	a.log.await(t, "waiting for")
	if st := tr.statusJSON(t, "a"); !st.Running || !reflect.DeepEqual(st.Evidence, want) {
		t.Errorf("running: %+v", st)
	}
	tr.tells(t, "a", doubleOfB)
	tr.inspects(t, cli.ExitDone, []string{"a.state"}, doubleOfB, unverified, "in use")
	page := a.pageAddress(t)
	for path, words := range map[string]string{"status": `"evidence": [`, "metrics": "spade_edge_evidence{run=\"trial\",node=\"a\"} 1\n", "healthz": "", "": `id="evidence"`} {
		if code, text := get(t, page+path); code != 200 || !strings.Contains(text, words) {
			t.Errorf("/%s: code %d, no %q in %.2000s", path, code, words, text)
		}
	}
}

// Evidence against the node itself ends it, and evidence that is damaged does not let it start; both are said beforehand.
func TestEvidenceAgainstOneself(t *testing.T) {
	tr := newTrial(t, "ab", nil)
	tr.give(t, "b", tr.double(t, "b", "a", 3))
	if st := tr.statusJSON(t, "b"); st.Phase != monitor.Fresh || len(st.Evidence) > 0 {
		t.Errorf("forged evidence counts: %+v", st)
	}
	tr.inspects(t, cli.ExitDone, []string{"b.json"}, "it does not count: ")

	tr.give(t, "b", tr.double(t, "b", "b", 3))
	if st := tr.statusJSON(t, "b"); st.Phase != monitor.Damaged || !strings.Contains(st.Fault, sdk.ErrClone.Error()) || len(st.Evidence) != 1 {
		t.Errorf("a double: %+v", st)
	}
	tr.inspects(t, cli.ExitFailed, []string{"b.json"}, doubleOfB, sdk.ErrClone.Error())
	if code, text := said("run", tr.path("b.json")); code != cli.ExitMismatch || !strings.Contains(text, sdk.ErrClone.Error()) {
		t.Errorf("run: exit code %d, %s", code, text)
	}

	good := tr.double(t, "b", "b", 3)
	for name, c := range map[string]struct {
		lines   string
		inspect int
		want    string
	}{
		"no JSON":        {good + "{\"member\":", cli.ExitFailed, "line 3"},
		"another field":  {good + strings.Replace(good, `"round"`, `"turn"`, 1), cli.ExitFailed, `unknown field "turn"`},
		"another round":  {strings.Replace(good, `"round":3`, `"round":4`, 1), cli.ExitFailed, "round is 4, and release 3 was signed"},
		"cut off":        {strings.Replace(good, `","second":"`, `00","second":"`, 1), cli.ExitFailed, "found 192 bytes, want 191"},
		"an endless one": {good + strings.Repeat("x", 2<<20), cli.ExitFailed, "line 3: column 1: invalid character"},
	} {
		tr.give(t, "a", c.lines)
		if st := tr.statusJSON(t, "a"); st.Phase != monitor.Damaged || !strings.Contains(st.Fault, c.want) {
			t.Errorf("%s: %+v", name, st)
		}
		tr.inspects(t, c.inspect, []string{"a.state/journal.jsonl"}, c.want)
		tr.inspects(t, cli.ExitFailed, []string{"a.json"}, "node file", c.want)
		if code, text := said("run", tr.path("a.json")); code != cli.ExitFailed || !strings.Contains(text, c.want) {
			t.Errorf("%s: run: exit code %d, %s", name, code, text)
		}
	}
}
