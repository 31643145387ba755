package program

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// signedBy returns a member's key and the scope of its releases.
func (tr *trial) signedBy(t *testing.T, member string) (ed25519.PrivateKey, signed.Scope) {
	t.Helper()
	key, err := fleetfile.ReadKey(tr.path(member + ".key"))
	if err != nil {
		t.Fatal(err)
	}
	return key, signed.NewScope(tr.file.Fleet.Run, tr.file.Fleet.Hash(), member)
}

// double returns a line of evidence of equivocation by member: two releases of a round, signed with the key of member
// by.
func (tr *trial) double(t *testing.T, member, by string, round int) string {
	t.Helper()
	key, _ := tr.signedBy(t, by)
	return doubleOf(t, tr.file.Fleet, member, key, round)
}

// doubleOf returns a line of evidence of equivocation by a fleet's member, signed with key.
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

// verifies runs privacy -verify on a file of evidence with the trial's fleet file, and checks the exit code and the
// output.
func (tr *trial) verifies(t *testing.T, code int, file string, words ...string) {
	t.Helper()
	got, text := said("privacy", "-verify", tr.path(file), "-fleet", tr.path("fleet.json"))
	if got != code {
		t.Errorf("%s: exit code %d, want %d\n%s", file, got, code, text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s: no %q in\n%s", file, w, text)
		}
	}
}

const doubleOfB = `evidence       "b" has signed two different releases of round 3: its device was copied or rolled back`

// Evidence against a neighbor appears in status, of a running and of a stopped node, on the page and in the metrics,
// and anyone can check it with privacy -verify. Evidence not signed by the member counts nowhere. Holding evidence is
// no problem for a node.
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
	tr.verifies(t, cli.ExitFailed, "a.state/journal.jsonl", doubleOfB+"; the signatures are good", "round 4", "it does not count: ",
		"none of the member's keys")
	var v privacy.Evidence
	into(t, &v, cli.ExitFailed, "privacy", "-verify", tr.path("a.state/journal.jsonl"), "-fleet", tr.path("fleet.json"))
	if all := v.Evidence; len(all) != 2 || !all[0].Verified || all[1].Verified || all[1].Fault == "" || all[0].Member != "b" {
		t.Errorf("%+v", all)
	}
	if code, text := said("privacy", "-verify", tr.path("a.state/journal.jsonl")); code != cli.ExitUsage || !strings.Contains(text, "-fleet is missing") {
		t.Errorf("without the keys: exit code %d, %s", code, text)
	}

	a := start(t, "run", tr.path("a.json"), "-http", "127.0.0.1:0")
	a.log.await(t, "waiting for")
	if st := tr.statusJSON(t, "a"); !st.Running || !reflect.DeepEqual(st.Evidence, want) {
		t.Errorf("running: %+v", st)
	}
	tr.tells(t, "a", doubleOfB)
	page := a.pageAddress(t)
	for path, words := range map[string]string{"status": `"evidence": [`, "metrics": "spade_edge_evidence{run=\"trial\",node=\"a\"} 1\n", "healthz": "", "": `id="evidence"`} {
		if code, text := get(t, page+path); code != 200 || !strings.Contains(text, words) {
			t.Errorf("/%s: code %d, no %q in %.2000s", path, code, words, text)
		}
	}
}

// Evidence against the node itself ends it, and damaged evidence prevents its start. check reports both before.
func TestEvidenceAgainstOneself(t *testing.T) {
	tr := newTrial(t, "ab", nil)
	tr.give(t, "b", tr.double(t, "b", "a", 3))
	if st := tr.statusJSON(t, "b"); st.Phase != monitor.Fresh || len(st.Evidence) > 0 {
		t.Errorf("forged evidence counts: %+v", st)
	}

	tr.give(t, "b", tr.double(t, "b", "b", 3))
	if st := tr.statusJSON(t, "b"); st.Phase != monitor.Damaged || !strings.Contains(st.Fault, sdk.ErrClone.Error()) || len(st.Evidence) != 1 {
		t.Errorf("a double: %+v", st)
	}
	tr.verifies(t, cli.ExitDone, "b.state/journal.jsonl", doubleOfB)
	if code, text := said("run", tr.path("b.json")); code != cli.ExitMismatch || !strings.Contains(text, sdk.ErrClone.Error()) {
		t.Errorf("run: exit code %d, %s", code, text)
	}

	good := tr.double(t, "b", "b", 3)
	for name, c := range map[string]struct{ lines, want string }{
		"no JSON":        {good + "{\"member\":", "line 3"},
		"another field":  {good + strings.Replace(good, `"round"`, `"turn"`, 1), `unknown field "turn"`},
		"another round":  {strings.Replace(good, `"round":3`, `"round":4`, 1), "want two releases of round 4"},
		"cut off":        {strings.Replace(good, `","second":"`, `00","second":"`, 1), "found 192 bytes, want 191"},
		"an endless one": {good + strings.Repeat("x", 2<<20), "line 3: column 1: invalid character"},
	} {
		tr.give(t, "a", c.lines)
		if st := tr.statusJSON(t, "a"); st.Phase != monitor.Damaged || !strings.Contains(st.Fault, c.want) {
			t.Errorf("%s: %+v", name, st)
		}
		if code, text := said("run", tr.path("a.json")); code != cli.ExitFailed || !strings.Contains(text, c.want) {
			t.Errorf("%s: run: exit code %d, %s", name, code, text)
		}
	}
}

// An impossible release in a node's journal is evidence for anyone with the fleet file, no matter who wrote the
// journal. A release that an honest member may make is not, nor is one that another member signed.
func TestImpossibleReleaseIsEvidence(t *testing.T) {
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Wire.Payload = sdk.PayloadRelease })
	codec, err := wire.NewCodec(tr.file.Fleet.Dim)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by   string
		far  float32
		code int
		want string
	}{
		"impossible":     {"b", 9e29, cli.ExitDone, "the signatures are good"},
		"possible":       {"b", 3, cli.ExitFailed, "it does not count: an honest member may make this release 3"},
		"by another one": {"a", 9e29, cli.ExitFailed, "it does not count: "},
	} {
		key, _ := tr.signedBy(t, c.by)
		m := admm.Message{Kind: admm.Release, Round: 3, Vector: make([]float32, tr.file.Fleet.Dim)}
		m.Vector[0] = c.far
		own := signed.Statement{Kind: signed.Release, Round: 3, Value: signed.Digest(m.Vector, nil)}
		own.Sign(key, signed.NewScope(tr.file.Fleet.Run, tr.file.Fleet.Hash(), "b"))
		m.Signed.Own = own.Append(nil)
		frame, err := codec.Append(nil, &m)
		if err != nil {
			t.Fatal(name, err)
		}
		j := state.Journal{Run: tr.file.Fleet.Run, Fleet: tr.file.Fleet.Hash(), Member: "a", Quarantine: []state.Quarantine{{Neighbor: "b", Release: 4,
			Why: "what was found", Frames: []state.Frame{state.NewFrame(frame)}}}}
		text, err := j.Encode()
		if err != nil {
			t.Fatal(name, err)
		}
		tr.write(t, "shown.jsonl", string(text))
		tr.verifies(t, c.code, "shown.jsonl", "what was found; "+c.want)
	}
}
