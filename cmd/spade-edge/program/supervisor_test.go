package program

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// seededNoise is an environment variable. If it is set, a test binary that runs as a node derives the release noise
// only from the member and the round, so that runs with and without crashes can be compared. The program itself has no
// such option.
const seededNoise = "SPADE_EDGE_TEST_SEEDED_NOISE"

func init() {
	if os.Getenv(seededNoise) == "" {
		return
	}
	Websockets.Noise = func(number int, round func() int) io.Reader { return &roundNoise{number, round} }
}

// roundNoise is a source of noise that depends on the member and on the number of its releases. Each Read starts again
// from the beginning, which is sufficient because a release reads its source only once.
type roundNoise struct {
	client int
	round  func() int
}

func (n *roundNoise) Read(b []byte) (int, error) {
	s := rng.New(11, rng.Address{Purpose: rng.Noise, Client: uint32(n.client), Round: uint32(n.round())})
	return s.Read(b)
}

// newClinics returns a private trial of five members on a ring. Each member has its own mix of patients.
func newClinics(t *testing.T, change ...func(f *sdk.Fleet)) *trial {
	t.Helper()
	tr := newTrial(t, "ab bc cd de ea", func(f *sdk.Fleet) {
		f.Method.Rounds, f.Method.Cooldown, f.Method.Eta = 10, 4, []float64{1}
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 0.5, Delta: 1e-5}
		for _, c := range change {
			c(f)
		}
	})
	for _, m := range tr.file.Members {
		tr.edit(t, m.Name+".json", "dirichlet:0.3", "dirichlet:0.1", `"resend_seconds": 0.05`, `"resend_seconds": 0.1, "linger_seconds": 20`)
		if tr.file.Fleet.Task != nil {
			tr.write(t, livesFile, lives())
			tr.edit(t, m.Name+".json", `"fit": "own", "model": "softmax", "data": "synthetic:clinical"`, `"data": "csv:`+livesFile+`"`, "dirichlet:0.1", "iid")
		}
	}
	return tr
}

const livesFile = "lives.csv"

// lives returns a table of generated patients, of whom a half has the event.
func lives() string {
	text, r := "age,stage,days,died\n", rng.New(7, rng.Address{Purpose: rng.Fault})
	for i := range 250 {
		text += fmt.Sprintf("%d,%d,%d,%d\n", 40+r.IntN(50), 1+r.IntN(4), 1+r.IntN(3000), i%2)
	}
	return text
}

// surviving returns a change after which a trial learns survival and protects each patient.
func surviving(t *testing.T) func(f *sdk.Fleet) {
	dir := t.TempDir()
	recipe, err := task.Fit(task.Spec{Source: "csv:" + writeFile(t, dir, livesFile, lives()), Survival: "days,died", Whole: true},
		task.ModelSpec{Name: task.HazardsModel}, "generated patients")
	if err != nil {
		t.Fatal(err)
	}
	text, err := builtin.MarshalTask(recipe)
	if err != nil {
		t.Fatal(err)
	}
	return func(f *sdk.Fleet) {
		m, p := &f.Method, &f.Privacy
		f.Task, f.Dim, f.X0 = text, recipe.Dim(), recipe.Start(5)
		m.Estimator, m.Directions, m.Batch, m.Tau = zoest.Tracking, zoest.Walsh, 0, 16
		m.Eta, m.Mu = []float64{40}, []float64{0.2}
		p.Unit, p.Clip, p.Sigma = dpmech.Record, 0.04, 0.1
		f.Records = slices.Repeat([]int{40}, len(f.Members))
	}
}

func (tr *trial) edit(t *testing.T, name string, oldNew ...string) {
	t.Helper()
	text, err := os.ReadFile(tr.path(name))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(string(text), oldNew[i]) {
			t.Fatalf("no %q in %s", oldNew[i], name)
		}
	}
	tr.write(t, name, strings.NewReplacer(oldNew...).Replace(string(text)))
}

func sharing(f *sdk.Fleet) {
	p := &f.Privacy
	p.PairSigma, p.EffectiveSigma, p.Colluders = 4*p.Sigma, 1.1*p.Sigma, 1
	f.Method.Mixing = 1
}

// share configures the machines of a simulation with the secrets that the members of the trial share.
func (tr *trial) share(t *testing.T, cfgs []admm.Config) {
	t.Helper()
	f := tr.file.Fleet
	for i := range cfgs {
		cfgs[i].PairKey = func(peer, release int) [32]byte {
			s, err := pair.Agree(tr.secrets[f.Members[i]], f.Members[i], f.PairKeys[peer], f.Members[peer], f.Hash())
			if err != nil {
				t.Fatal(err)
			}
			return s.Key(f.Hash(), release)
		}
	}
}

// quiet simulates the trial's fleet with the noise that seededNoise selects. It returns, by member and round, the hash
// of the model after the release in this round. Rounds count from 1; the element with index 0 is "".
func (tr *trial) quiet(t *testing.T) [][]string {
	t.Helper()
	var network *sim.Sim
	clients := tr.clients(t, "dirichlet:0.1", func(i int) io.Reader {
		return &roundNoise{i, func() int { return network.Round() }}
	})
	var err error
	if network, err = sim.New(clients); err != nil {
		t.Fatal(err)
	}
	models := make([][]string, len(clients))
	for i := range models {
		models[i] = []string{""}
	}
	err = network.Run(t.Context(), func(int) error {
		for i, x := range network.Models() {
			models[i] = append(models[i], sdk.ModelHash(x))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// supervisor runs the processes of a trial and restarts processes that have ended.
type supervisor struct {
	*trial
	env    []string // environment of the nodes, in addition to the test's own
	nodes  []*process
	models []string // hash of each node's model; "" until the node has ended normally
	kills  int
	first  int // kills of a node before its first release
	last   int // kills after the last release
	moved  time.Time
}

func newSupervisor(t *testing.T, tr *trial, env ...string) *supervisor {
	t.Helper()
	w := &supervisor{trial: tr, env: env, models: make([]string, len(tr.file.Members)), moved: time.Now()}
	for i := range tr.file.Members {
		w.nodes = append(w.nodes, w.start(t, i))
	}
	return w
}

func (w *supervisor) start(t *testing.T, i int) *process {
	t.Helper()
	return starting(t, w.env, "run", w.path(w.file.Members[i].Name+".json"), "-json")
}

func (p *process) ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

func (w *supervisor) done() bool { return !slices.Contains(w.models, "") }

// strike kills a node and restarts it. If the node has already ended by itself, strike only restarts it, so that it
// serves its last state to the other nodes.
func (w *supervisor) strike(t *testing.T, i int) {
	t.Helper()
	p := w.nodes[i]
	if p.ended() {
		w.note(t, i)
	} else {
		if err := p.cmd.Process.Kill(); err != nil {
			t.Logf("killing %d: %v", i, err) // the node has just ended by itself
		}
		<-p.over
		if p.cmd.ProcessState.Exited() {
			w.note(t, i)
		} else {
			w.checkLog(t, i)
			w.kills++
			switch releases := w.released(t, i); len(releases) {
			case 0:
				w.first++
			case w.rounds():
				w.last++
			}
		}
	}
	w.nodes[i] = w.start(t, i)
}

func (w *supervisor) rounds() int { return w.file.Fleet.Method.Last() }

// lingers returns the number of a node that has made its last release but has not ended, or -1 if no node is in that
// state.
func (w *supervisor) lingers(t *testing.T) int {
	t.Helper()
	for i, p := range w.nodes {
		if !p.ended() && len(w.released(t, i)) == w.rounds() {
			return i
		}
	}
	return -1
}

// note records the final model of a node that ended by itself. It fails the test if the node failed.
func (w *supervisor) note(t *testing.T, i int) {
	t.Helper()
	if w.nodes[i].out.Len() == 0 && w.nodes[i].cmd.ProcessState.Success() {
		return
	}
	r := w.nodes[i].outcome(t)
	w.checkLog(t, i)
	if !r.Done || r.Rounds != w.rounds() || w.models[i] != "" && w.models[i] != r.Model {
		t.Fatalf("outcome %+v, and before its model was %s", r, w.models[i])
	}
	if w.models[i] == "" {
		w.moved = time.Now()
	}
	w.models[i] = r.Model
}

// checkLog checks that the node did not refuse any frame, such as a second release in the same round.
func (w *supervisor) checkLog(t *testing.T, i int) {
	t.Helper()
	if log := w.nodes[i].log.String(); strings.Contains(log, "frame refused") || strings.Contains(log, "contradicts") {
		t.Fatalf("a frame was refused:\n%s", log)
	}
}

// look records which nodes have ended. If some nodes have ended and the other nodes make no progress, it restarts the
// nodes that have ended, because a neighbor may still need frames from them.
func (w *supervisor) look(t *testing.T) {
	t.Helper()
	over := 0
	for i, p := range w.nodes {
		if p.ended() {
			w.note(t, i)
			over++
		}
	}
	switch idle := time.Since(w.moved); {
	case w.done():
	case idle > 2*time.Minute:
		for i, p := range w.nodes {
			t.Logf("%s:\n%s", w.file.Members[i].Name, p.log)
		}
		t.Fatal("the run stands still")
	case idle > 2*time.Second && over > 0:
		for i, p := range w.nodes {
			if p.ended() {
				w.nodes[i] = w.start(t, i)
			}
		}
	}
}

// run kills random nodes until it has made the given number of kills, and waits for the end of the run. Before each
// kill, it waits for a random time of at most pause. It saves the last kill for a node that lingers after its last
// release, because otherwise all nodes may end before a kill hits such a node.
func (w *supervisor) run(t *testing.T, chance *rng.Stream, kills int, pause time.Duration) {
	t.Helper()
	for !w.done() {
		if w.kills < kills-1 {
			time.Sleep(time.Duration(chance.Float64() * float64(pause)))
			w.strike(t, chance.IntN(len(w.nodes)))
			w.moved = time.Now()
		} else {
			time.Sleep(10 * time.Millisecond)
			if i := w.lingers(t); i >= 0 && w.kills < kills {
				w.strike(t, i)
				w.moved = time.Now()
			}
		}
		w.look(t)
	}
	for _, p := range w.nodes {
		_ = p.cmd.Process.Kill() // the node was restarted to serve its last state, and no neighbor needs it any more
		<-p.over
	}
}

// checkModels checks that all releases and final models are identical to those of an undisturbed run.
func (w *supervisor) checkModels(t *testing.T) {
	t.Helper()
	want := w.quiet(t)
	for i, m := range want {
		if last := m[len(m)-1]; w.models[i] != last {
			t.Errorf("model of %s is %s, the simulation's is %s", w.file.Members[i].Name, w.models[i], last)
		}
	}
	w.checkReleases(t, want)
}

type logged struct {
	Round  int    `json:"round"`
	Digest string `json:"digest"`
	Note   struct {
		Model string `json:"model_sha256"`
	} `json:"note"`
}

// released returns a member's log of releases. It omits an incomplete last line.
func (tr *trial) released(t *testing.T, i int) []logged {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tr.path(tr.file.Members[i].Name+".state"), "releases.log"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []logged
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var l logged
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, l)
	}
	return all
}

// checkReleases checks that every member made each release exactly once, and that the ledger counts each private
// release exactly once. If want is not nil, the hashes of the released models must match want.
func (tr *trial) checkReleases(t *testing.T, want [][]string) {
	t.Helper()
	method := tr.file.Fleet.Method
	for i, m := range tr.file.Members {
		all := tr.released(t, i)
		if len(all) != method.Last() {
			t.Fatalf("%s: %d releases in its log, want %d", m.Name, len(all), method.Last())
		}
		for k, l := range all {
			if l.Round != k+1 || len(l.Digest) != 64 {
				t.Fatalf("%s: release %d in its log is %+v", m.Name, k+1, l)
			}
			if want != nil && l.Note.Model != want[i][k+1] {
				t.Fatalf("%s: the model of release %d is %s, the simulation's is %s", m.Name, k+1, l.Note.Model, want[i][k+1])
			}
		}
		ledger, err := state.ReadLedger(tr.path(m.Name + ".ledger"))
		if err != nil {
			t.Fatal(err)
		}
		p := tr.file.Fleet.Privacy
		spends := []dpmech.Spend{{First: 1, Rounds: method.Rounds, Gaussian: dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma, Unit: p.Unit}}}
		if p.PairSigma > 0 {
			spends[0].Shared = dpmech.Shared{Sigma: p.PairSigma, Effective: p.EffectiveSigma, Colluders: p.Colluders}
		}
		if runs := ledger.Lifetime(1e-5).Runs; len(runs) != 1 || !slices.Equal(runs[0].Spends, spends) {
			t.Errorf("%s: its ledger has %+v, want %+v", m.Name, runs, spends)
		}
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
	}
}
