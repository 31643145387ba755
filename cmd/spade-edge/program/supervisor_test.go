package program

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
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

// newClinics returns a private trial of four members on a ring. Each member has its own mix of patients.
func newClinics(t *testing.T, change ...func(f *sdk.Fleet)) *trial {
	t.Helper()
	tr := newTrial(t, "ab bc cd da", func(f *sdk.Fleet) {
		f.Method.Rounds, f.Method.Cooldown, f.Method.Eta = 10, 4, []float64{1}
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 0.5, Delta: 1e-5}
		for _, c := range change {
			c(f)
		}
	})
	for _, m := range tr.file.Members {
		tr.edit(t, m.Name+".json", "dirichlet:0.3", "dirichlet:0.1", `"resend_seconds": 0.05`, `"resend_seconds": 0.1, "linger_seconds": 20`)
		if tr.file.Fleet.Task != nil {
			tr.edit(t, m.Name+".json", `"fit": "own", "model": "softmax", "data": "synthetic:clinical"`, `"data": "csv:`+patients+`"`, "dirichlet:0.1", "iid")
		}
	}
	return tr
}

// patients is a table of 1000 rows.
var patients, _ = filepath.Abs("../../../examples/patients.csv")

// records changes a fleet so that it protects each patient, as most private fleets do.
func records(f *sdk.Fleet) {
	recipe, err := task.Fit(task.Spec{Source: "csv:" + patients, Label: "diagnosis", Drop: []string{"id"}, OneHot: []string{"ward"}, Whole: true},
		task.ModelSpec{Name: task.SoftmaxModel}, "made-up patients")
	if err == nil {
		f.Task, err = builtin.MarshalTask(recipe)
	}
	if err != nil {
		panic(err)
	}
	m, p := &f.Method, &f.Privacy
	f.Dim, f.X0, f.Records = recipe.Dim(), make([]float32, recipe.Dim()), slices.Repeat([]int{200}, len(f.Members))
	f.X0[0] = 0.5
	m.Estimator, m.Directions, m.Batch, m.Tau = zoest.Tracking, zoest.Walsh, 0, 16
	m.Eta, m.Mu = []float64{40}, []float64{0.2}
	p.Unit, p.Clip, p.Sigma = dpmech.Record, 0.04, 0.1
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
	f.Method.Rounds, f.Method.Mixing = 5, 1
}

// quiet runs the nodes of a copy of the trial without disturbance, with the noise that seededNoise selects, and returns
// their logs of releases.
func (tr *trial) quiet(t *testing.T) (logs [][]logged) {
	t.Helper()
	other := &trial{dir: filepath.Join(t.TempDir(), "quiet"), file: tr.file}
	if text, err := exec.Command("cp", "-R", tr.dir, other.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var nodes []*process
	for _, m := range tr.file.Members {
		nodes = append(nodes, starting(t, seeded, "run", other.path(m.Name+".json"), "-json"))
	}
	for i, p := range nodes {
		p.wait(t, cli.ExitDone)
		logs = append(logs, other.released(t, i))
	}
	return logs
}

// supervisor runs the processes of a trial and restarts processes that have ended.
type supervisor struct {
	*trial
	env    []string // environment of the nodes, in addition to the test's own
	nodes  []*process
	models []string // hash of each node's model; "" until the node has ended normally
	kills  int
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

func (w *supervisor) done() bool { return !slices.Contains(w.models, "") }

// strike kills a node and restarts it. If the node has already ended by itself, strike only restarts it, so that it
// serves its last state to the other nodes.
func (w *supervisor) strike(t *testing.T, i int) {
	t.Helper()
	_ = w.nodes[i].cmd.Process.Kill() // fails if the node has ended by itself
	<-w.nodes[i].over
	if w.nodes[i].cmd.ProcessState.Exited() {
		w.note(t, i)
	} else {
		w.checkLog(t, i)
		w.kills++
	}
	w.nodes[i], w.moved = w.start(t, i), time.Now()
}

func (w *supervisor) rounds() int { return w.file.Fleet.Method.Last() }

// ahead returns the node with the most releases among those that have not ended, and their number.
func (w *supervisor) ahead() (node, made int) {
	made = -1
	for i, p := range w.nodes {
		text, _ := os.ReadFile(w.releases(i)) // there is no file before the first release
		if n := bytes.Count(text, []byte("\n")); !p.ended() && n > made {
			node, made = i, n
		}
	}
	return node, made
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
			t.Logf("%s:\n%s", w.file.Members[i].Name, &p.log)
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

// run kills random nodes until it has made the given number of kills, spread over the run, and waits for the end of the
// run. Before each kill, it waits for a random time of at most pause. It saves the last kill for a node that lingers after
// its last release, because otherwise all nodes may end before a kill hits such a node.
func (w *supervisor) run(t *testing.T, chance *rng.Stream, kills int, pause time.Duration) {
	t.Helper()
	for ; !w.done(); w.look(t) {
		switch node, made := w.ahead(); {
		case w.kills < kills-1 && made*kills >= w.kills*w.rounds():
			time.Sleep(time.Duration(chance.Float64() * float64(pause)))
			w.strike(t, chance.IntN(len(w.nodes)))
		case w.kills == kills-1 && made == w.rounds():
			w.strike(t, node)
		default:
			time.Sleep(20 * time.Millisecond)
		}
	}
	for _, p := range w.nodes {
		_ = p.cmd.Process.Kill() // the node was restarted to serve its last state, and no neighbor needs it any more
		<-p.over
	}
}

type logged struct {
	Round  int    `json:"round"`
	Digest string `json:"digest"`
	Note   struct {
		Model string `json:"model_sha256"`
	} `json:"note"`
}

// releases returns the path of a member's log of releases.
func (tr *trial) releases(i int) string {
	return filepath.Join(tr.path(tr.file.Members[i].Name+".state"), "releases.log")
}

// released returns a member's log of releases. It omits an incomplete last line.
func (tr *trial) released(t *testing.T, i int) []logged {
	t.Helper()
	text, err := os.ReadFile(tr.releases(i))
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
// release exactly once. If want is not nil, it has the logs of releases of an undisturbed run, which must be the same.
func (w *supervisor) checkReleases(t *testing.T, want [][]logged) {
	t.Helper()
	method := w.file.Fleet.Method
	for i, m := range w.file.Members {
		all := w.released(t, i)
		if len(all) != method.Last() {
			t.Fatalf("%s: %d releases in its log, want %d", m.Name, len(all), method.Last())
		}
		for k, l := range all {
			if l.Round != k+1 || len(l.Digest) != 64 {
				t.Fatalf("%s: release %d in its log is %+v", m.Name, k+1, l)
			}
		}
		same := func(a, b logged) bool { return a.Note == b.Note } // the digest includes the state of the ledger
		if last := all[len(all)-1].Note.Model; w.models[i] != last || want != nil && !slices.EqualFunc(all, want[i], same) {
			t.Fatalf("%s: model %s and releases %+v, want %+v", m.Name, w.models[i], all, want)
		}
		ledger, err := state.ReadLedger(w.path(m.Name + ".ledger"))
		if err != nil {
			t.Fatal(err)
		}
		p := w.file.Fleet.Privacy
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
