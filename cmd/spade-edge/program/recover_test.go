package program

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// One of eight processes over websockets is killed in a random round and its state folder deleted. A replacement with
// its own key (the second in the fleet file), a new state folder and a new ledger continues. Every third time the lost
// one starts again later. The test runs three times, or SPADE_RECOVERIES times.
func TestRecoveredNodes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process that is killed keeps its port and its lock for a while")
	}
	want := 3
	if testing.Short() || raceDetector {
		want = 1
	}
	if s := os.Getenv("SPADE_RECOVERIES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		want = n
	}
	chance := rng.New(2, rng.Address{Purpose: rng.Fault})
	began := time.Now()
	var rounds []int
	for tries := 0; len(rounds) < want; tries++ {
		if tries > 3*want+3 {
			t.Fatalf("the run was over %d times before the node was killed", tries-len(rounds))
		}
		if after, ok := recoverOne(t, &chance, len(rounds)%3 == 2); ok {
			rounds = append(rounds, after)
		}
		if t.Failed() {
			return
		}
	}
	slices.Sort(rounds)
	t.Logf("%d takeovers in %v, after the releases %v", want, time.Since(began), rounds)
}

// recoverOne kills a node and starts a replacement device. It returns the lost device's last release as reported by
// the replacement, or false if the run was complete too soon.
func recoverOne(t *testing.T, chance *rng.Stream, comesBack bool) (after int, ok bool) {
	t.Helper()
	tr := newClinics(t, 10, 4)
	i := chance.IntN(len(tr.file.Members))
	name := tr.file.Members[i].Name
	public, err := fleetfile.CreateKey(tr.path("spare.key"))
	if err != nil {
		t.Fatal(err)
	}
	first := transport.FormatKey(tr.file.Members[i].Keys[0])
	tr.edit(t, "fleet.json", fmt.Sprintf("%q", first), fmt.Sprintf("%q, %q", first, transport.FormatKey(public)))
	ledger, err := state.CreateLedger(tr.path("spare.ledger"), "patients of "+name+", on the spare device", nil)
	if err == nil {
		err = ledger.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(tr.path(name + ".json"))
	if err != nil {
		t.Fatal(err)
	}

	w := newSupervisor(t, tr)
	target := chance.IntN(w.rounds())
	for len(w.released(t, i)) < target {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Duration(chance.Float64() * float64(20*time.Millisecond)))
	_ = w.nodes[i].cmd.Process.Kill()
	<-w.nodes[i].over
	made := w.released(t, i)
	end := func() {
		for _, p := range w.nodes {
			_ = p.cmd.Process.Kill()
			<-p.over
		}
	}
	if len(made) == w.rounds() || w.nodes[i].cmd.ProcessState.Exited() {
		end()
		return 0, false
	}
	if err := os.Rename(tr.path(name+".state"), tr.path("lost.state")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}

	// From here on the member's node file is that of the spare device.
	tr.edit(t, name+".json", name+".key", "spare.key", name+".ledger", "spare.ledger", name+".state", "spare.state")
	w.nodes[i] = start(t, "run", tr.path(name+".json"), "-recover", "-json")
	if comesBack {
		w.nodes[i].log.await(t, "this device has replaced the lost one")
		// The spare device's first release shows that its neighbors know of it; until then the lost one may continue.
		began := -1
		for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
			if kept, err := state.ReadSnapshot(tr.path("spare.state")); err == nil {
				if began < 0 {
					began = kept.Round
				}
				if kept.Round >= min(began+1, w.rounds()) {
					break
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("the spare device does not go on:\n%s", w.nodes[i].log)
			}
		}
		if !w.nodes[i].ended() {
			_ = w.nodes[i].cmd.Process.Kill()
			<-w.nodes[i].over
			if len(made) > 0 && !slices.ContainsFunc(w.nodes, func(p *process) bool { return p != w.nodes[i] && p.ended() }) {
				tr.write(t, "lost.json", strings.ReplaceAll(string(text), name+".state", "lost.state"))
				lost := start(t, "run", tr.path("lost.json"), "-json")
				lost.wait(t, cli.ExitMismatch)
				if log := lost.log.String(); !strings.Contains(log, "set back") {
					t.Errorf("the lost device came back, and ended with\n%s", log)
				}
			}
			w.nodes[i] = w.start(t, i)
		}
	}
	for w.moved = time.Now(); !w.done(); w.look(t) {
		time.Sleep(10 * time.Millisecond)
	}
	end()

	// The certificate counts every release and says where the spare device began.
	if ledger, err = state.ReadLedger(tr.path("spare.ledger")); err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	if last := ledger.Last(tr.file.Fleet.Run, tr.file.Fleet.Hash(), name); last != tr.file.Fleet.Method.Rounds {
		t.Errorf("the ledger ends with release %d", last)
	}
	if text, err = os.ReadFile(filepath.Join(tr.path("spare.state"), "certificate.json")); err != nil {
		t.Fatal(err)
	}
	cert, err := dpmech.ParseCertificate(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Verify(cert); err != nil || cert.Rounds != tr.file.Fleet.Method.Rounds {
		t.Errorf("certificate with %d rounds: %v", cert.Rounds, err)
	}
	const said = "this device took the place of a lost one after release "
	from := slices.IndexFunc(cert.ConditionalOn, func(s string) bool { return strings.HasPrefix(s, said) })
	if from < 0 {
		t.Fatalf("the certificate is conditional on %q", cert.ConditionalOn)
	}
	if _, err := fmt.Sscanf(cert.ConditionalOn[from], said+"%d", &after); err != nil {
		t.Fatal(err)
	}

	// The neighbors were at most one release apart from the lost device.
	if after > len(made)+1 || after < len(made)-1 {
		t.Errorf("it took over after release %d, and %d were made", after, len(made))
	}
	releases := tr.releasedIn(t, "spare.state")
	if len(releases) == 0 || releases[0].Round != after || releases[len(releases)-1].Round != w.rounds() {
		t.Fatalf("it took over after release %d, and the log has %+v", after, releases)
	}
	return after, true
}
