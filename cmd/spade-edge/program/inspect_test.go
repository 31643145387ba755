package program

import (
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
)

// What inspect says of everything that a fleet leaves behind.
func TestInspect(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5, EpsilonLimit: 8} })
	var wg sync.WaitGroup
	for _, name := range []string{"a.json", "b.json"} {
		wg.Go(func() { call("run", tr.path(name)) })
	}
	wg.Wait()
	others := map[string]string{
		"junk.bin":  "\x00\x01\x02 nothing of ours",
		"empty.bin": "",
		"odd.json":  `{"a": 1}`,
		"half.json": `{"a": `,
		"plain.txt": "hello",
	}
	for name, text := range others {
		tr.write(t, name, text)
	}
	tr.write(t, "bad.fleet", strings.Replace(readFile(t, tr.path("fleet.json")), `"tau": 2`, `"tau": 0`, 1))
	tr.write(t, "bad.cert", strings.Replace(readFile(t, tr.path("a.state/certificate.json")), `"rho": 0.`, `"rho": 0.0`, 1))
	tr.write(t, "bad.ledger", strings.Replace(readFile(t, tr.path("a.ledger")), `"round":2`, `"round":9`, 1))
	copyFolder(t, tr.path("a.state"), tr.path("old.state"))
	tr.remove(t, "old.state/slot-0", "old.state/slot-1")
	for _, c := range []struct {
		path string
		code int
		kind string
		want []string
	}{
		{"a.state", cli.ExitDone, "state folder", []string{`slot-1         round 9 of "a"`, `slot-0         round 8 of "a"`, "spade-edge arithmetic", "9 lines", `"round":9`, "sound: a node goes on"}},
		{"old.state", cli.ExitFailed, "state folder", []string{"refused", "is missing"}},
		{"a.ledger", cli.ExitDone, "ledger", []string{"patients of a", "releases       6"}},
		{"bad.ledger", cli.ExitFailed, "", []string{"bad.ledger"}},
		{"a.ledger.mark", cli.ExitUsage, "", []string{"the mark of a ledger"}},
		{"a.state/certificate.json", cli.ExitDone, "certificate", []string{"PRIVACY CERTIFICATE", "consistent     every figure"}},
		{"bad.cert", cli.ExitFailed, "certificate", []string{"rho is stated as"}},
		{"fleet.json", cli.ExitDone, "fleet file", []string{`"trial"`, "lambda_N 2", "0.75 of the limit", "after round 6 epsilon", `neighbors ["b"]`}},
		{"bad.fleet", cli.ExitUsage, "", []string{"method.tau is 0"}},
		{"a.json", cli.ExitDone, "node file", []string{"synthetic:clinical", "a.ledger", "listen"}},
		{"a.key", cli.ExitDone, "key file", []string{"ed25519:", "not shown"}},
		{"junk.bin", cli.ExitUsage, "", []string{"is none of"}},
		{"empty.bin", cli.ExitUsage, "", []string{"is none of"}},
		{"plain.txt", cli.ExitUsage, "", []string{"is none of"}},
		{"odd.json", cli.ExitUsage, "", []string{"neither ledger"}},
		{"half.json", cli.ExitUsage, "", []string{"looks like JSON"}},
		{".", cli.ExitUsage, "", []string{"not one of a node's state"}},
		{"none", cli.ExitFailed, "", []string{"no such file"}},
	} {
		code, out, log := call("inspect", tr.path(c.path))
		if code != c.code || c.kind == "" && out != "" || c.kind != "" && !strings.HasPrefix(out, c.kind) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", c.path, code, c.code, c.kind, out, log)
		}
		for _, want := range c.want {
			if !strings.Contains(out+log, want) {
				t.Errorf("%s: no %q in\n%s%s", c.path, want, out, log)
			}
		}
		if c.kind == "" {
			continue
		}
		var r struct {
			Path, Kind string
			Content    map[string]any
			Lines      []struct{ Name, Text string }
		}
		into(t, &r, c.code, "inspect", tr.path(c.path))
		if r.Kind != c.kind || len(r.Content)+len(r.Lines) == 0 {
			t.Errorf("%s: %+v", c.path, r)
		}
	}
	if secret := readFile(t, tr.path("a.key")); true {
		_, out, _ := call("inspect", tr.path("a.key"), "-json")
		if body := strings.Split(secret, "\n")[1]; strings.Contains(out, body[20:40]) {
			t.Error("the secret key is shown")
		}
	}
}
