//go:build unix

package program

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/sim"
)

// scoreScript is a program with 8 samples and as many parameters as its argument. The loss is the squared distance of
// the parameters from an eighth of the sample's number.
const scoreScript = `
echo '{"hello":1,"dim":'"$1"',"samples":8}'
while read -r line; do
	x=${line#*[} h=${line#*'"sample":'} id=${line#*:}
	awk -v id="${id%%,*}" -v h="${h%%,*}" -v x="${x%]*}" 'BEGIN {
		n = split(x, v, ",")
		for (i = 1; i <= n; i++) { off = v[i] - h/8; sum = sum + off*off }
		printf "{\"id\":%s,\"loss\":%.17g}\n", id, sum
	}'
done
`

// Two nodes with a scorer program end with the models of a simulation of that program, and report no accuracy.
func TestRunWithScorer(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Method.Rounds, f.Method.Eta = 3, []float64{0.05} })
	tr.write(t, "score.sh", scoreScript)
	for _, name := range tr.file.Fleet.Members {
		text, err := os.ReadFile(tr.path(name + ".json"))
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(text), `{"builtin"`)
		tr.write(t, name+".json", string(text[:at])+`{"stream": ["sh", "score.sh", "6"], "workers": 2}}`)
		tr.write(t, name+".wrong", string(text[:at])+`{"stream": ["sh", "score.sh", "7"]}}`)
	}
	code, out, log := call("run", tr.path("a.wrong"))
	if want := "oracle.stream has 7 parameters, but dim of the fleet is 6"; code != cli.ExitUsage || !strings.Contains(log, want) || out != "" {
		t.Errorf("exit code %d, want %d with %q\n%s", code, cli.ExitUsage, want, log)
	}
	cfgs, err := tr.file.Fleet.Machines([]int{8, 8}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var clients []sim.Client
	for _, c := range cfgs {
		clients = append(clients, sim.Client{Config: c, Oracle: sdk.OracleFunc(func(_ context.Context, x []float32, h int) (float64, error) {
			sum := 0.0
			for _, v := range x {
				read, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64) // as awk does
				if err != nil {
					return 0, err
				}
				off := read - float64(h)/8
				sum += float64(off * off)
			}
			return sum, nil
		})})
	}
	network, err := sim.New(clients)
	if err != nil {
		t.Fatal(err)
	}
	if err := network.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var nodes []*process
	for _, name := range tr.file.Fleet.Members {
		nodes = append(nodes, start(t, "run", "-json", tr.path(name+".json")))
	}
	for i, x := range network.Models() {
		r := nodes[i].outcome(t)
		if r.Model != sdk.ModelHash(x) || !r.Done || r.Local != nil {
			t.Errorf("node %d: %+v, want the model %s", i, r, sdk.ModelHash(x))
		}
	}
}

// A node that is still starting, here because its program is slow, handles a hangup once it is up.
func TestHangupWhileStarting(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", nil)
	started := filepath.Join(t.TempDir(), "started")
	p := start(t, "run", tr.talker(t, ": >'"+started+"'; sleep 0.3; "+hello6+"cat >&2", ""))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the program is not started\n%s", p.log.String())
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.log.await(t, "the fleet file was reloaded")
}

// The program's own message about a missing loss comes first, line by line, then what the node did. Terminal control
// characters are escaped.
func TestScorerSpeaksFirst(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "a ", func(f *sdk.Fleet) { f.Members, f.Edges = []string{"a"}, nil })
	file := tr.talker(t, hello6+`while read -r line; do id=${line#*:}; printf '{"id":%s,%s}\n' "${id%%,*}" `+
		`'"error":"Traceback:\n  line 7\u001b[2J\nKeyError: age\n"'; done`, "")
	code, _, log := call("run", file)
	_, log, _ = strings.Cut(log, "Traceback")
	const first = ":\n  line 7\\x1b[2J\nKeyError: age\nspade-edge run: "
	if code != cli.ExitFailed || !strings.HasPrefix(log, first) || !strings.HasSuffix(strings.TrimSpace(log), `has no loss: "KeyError: age"`) ||
		strings.Contains(log, `\n`) {
		t.Errorf("exit code %d, after Traceback it says\n%s", code, log)
	}
}
