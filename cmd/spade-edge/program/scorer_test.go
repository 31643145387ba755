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

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/sim"
)

// scoreScript is a scorer program with 8 samples and six parameters. The loss of sample h is the squared distance
// between the parameters and the vector whose coordinates are all h/8.
const scoreScript = `
echo '{"hello":1,"dim":6,"samples":8}'
while read -r line; do
	x=${line#*[} h=${line#*'"sample":'} id=${line#*:}
	awk -v id="${id%%,*}" -v h="${h%%,*}" -v x="${x%]*}" 'BEGIN {
		n = split(x, v, ",")
		for (i = 1; i <= n; i++) { off = v[i] - h/8; sum = sum + off*off }
		printf "{\"id\":%s,\"loss\":%.17g}\n", id, sum
	}'
done
`

// TestRunWithScorer checks that the final models of two nodes with a scorer program are those of a simulation with the
// same program, and that the nodes report no accuracy.
func TestRunWithScorer(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", func(f *sdk.Fleet) { f.Method.Rounds, f.Method.Eta = 3, []float64{0.05} })
	tr.write(t, "score.sh", scoreScript)
	for _, name := range tr.file.Fleet.Members {
		text := readFile(t, tr.path(name+".json"))
		tr.write(t, name+".json", text[:strings.Index(text, `{"builtin"`)]+`{"stream": ["sh", "score.sh"], "workers": 2}}`)
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
				read, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64) // as awk reads the number
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

// TestHangupWhileStarting checks that a node that receives SIGHUP while it is still starting, here because its program
// is slow, handles the signal once it runs.
func TestHangupWhileStarting(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", nil)
	started := filepath.Join(t.TempDir(), "started")
	p := start(t, "run", tr.oracle(t, `{"stream": ["sh", "-c", `+strconv.Quote(": >'"+started+`'; sleep 0.3; echo '{"hello":1,"dim":6,"samples":8}'; cat >&2`)+`]}`))
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
