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
	x := make([]float32, 6)
	frames := map[string]string{
		"hello.bin":   string(tr.file.Fleet.Hello("a")("b")),
		"done.bin":    encoded(t, 6, doneFrame),
		"probe.bin":   encoded(t, 6, probeFrame),
		"release.bin": encoded(t, 6, releaseFrame),
		"float.bin":   encoded(t, 6, floatFrame(x)),
		"junk.bin":    "\x00\x01\x02 nothing of ours",
		"empty.bin":   "",
		"odd.json":    `{"a": 1}`,
		"half.json":   `{"a": `,
		"plain.txt":   "hello",
	}
	for name, text := range frames {
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
		args []string
	}{
		{"a.state", cli.ExitDone, "state folder", []string{`slot-1         round 9 of "a"`, `slot-0         round 8 of "a"`, "9 lines", `"round":9`, "sound: a node goes on"}, nil},
		{"old.state", cli.ExitFailed, "state folder", []string{"refused", "is missing"}, nil},
		{"a.state/slot-1", cli.ExitDone, "slot", []string{`round 9 of "a"`, "6 numbers", "spade-edge arithmetic"}, nil},
		{"a.ledger", cli.ExitDone, "ledger", []string{"patients of a", "releases       6"}, nil},
		{"bad.ledger", cli.ExitFailed, "", []string{"bad.ledger"}, nil},
		{"a.ledger.mark", cli.ExitUsage, "", []string{"the mark of a ledger"}, nil},
		{"a.state/certificate.json", cli.ExitDone, "certificate", []string{"PRIVACY CERTIFICATE", "consistent     every figure"}, nil},
		{"bad.cert", cli.ExitFailed, "certificate", []string{"rho is stated as"}, nil},
		{"fleet.json", cli.ExitDone, "fleet file", []string{`"trial"`, "lambda_N 2", "0.75 of the limit", "after round 6 epsilon", `neighbors ["b"]`}, nil},
		{"bad.fleet", cli.ExitUsage, "", []string{"method.tau is 0"}, nil},
		{"a.json", cli.ExitDone, "node file", []string{"synthetic:clinical", "a.ledger", "listen"}, nil},
		{"a.key", cli.ExitDone, "key file", []string{"ed25519:", "not shown"}, nil},
		{"hello.bin", cli.ExitDone, "hello", []string{`from           "a" to "b"`, "7 sections"}, nil},
		{"done.bin", cli.ExitDone, "frame", []string{"done of round 9"}, nil},
		{"probe.bin", cli.ExitDone, "frame", []string{"probe of round 4", "holds release 3", "0000deadbeef"}, nil},
		{"release.bin", cli.ExitDone, "frame", []string{"release of round 2, resent: true", "6 whole numbers"}, []string{"-dim", "6"}},
		{"float.bin", cli.ExitDone, "frame", []string{"message of round 1", "6 numbers as float32"}, []string{"-dim", "6"}},
		{"release.bin", cli.ExitUsage, "", []string{"-dim says how long that is"}, nil},
		{"junk.bin", cli.ExitUsage, "", []string{"is none of"}, nil},
		{"empty.bin", cli.ExitUsage, "", []string{"is none of"}, nil},
		{"plain.txt", cli.ExitUsage, "", []string{"is none of"}, nil},
		{"odd.json", cli.ExitUsage, "", []string{"neither ledger"}, nil},
		{"half.json", cli.ExitUsage, "", []string{"looks like JSON"}, nil},
		{".", cli.ExitUsage, "", []string{"not one of a node's state"}, nil},
		{"none", cli.ExitFailed, "", []string{"no such file"}, nil},
		{"fleet.json", cli.ExitUsage, "", []string{"-dim is -1"}, []string{"-dim", "-1"}},
	} {
		code, out, log := call(append([]string{"inspect", tr.path(c.path)}, c.args...)...)
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
		}
		into(t, &r, c.code, append([]string{"inspect", tr.path(c.path)}, c.args...)...)
		if r.Kind != c.kind || len(r.Content) == 0 {
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
