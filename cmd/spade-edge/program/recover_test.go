package program

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
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

// TestRecoveredNodes kills one of eight processes in a random round and deletes its state folder. A replacement device
// with its own key (the member's second key in the fleet file), a new state folder and a new ledger continues the run.
// The test does this once or, if SPADE_RECOVERIES is set, as often as its value specifies. TestRecoveries in package
// sdk replaces devices in a single process, and also tests what happens when the lost device returns.
func TestRecoveredNodes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process that is killed keeps its port and its lock for a while")
	}
	want := count(t, "SPADE_RECOVERIES", 1)
	chance := rng.New(2, rng.Address{Purpose: rng.Fault})
	var rounds []int
	for tries := 0; len(rounds) < want && !t.Failed(); tries++ {
		if tries > 3*want+3 {
			t.Fatalf("the run was over %d times before the node was killed", tries-len(rounds))
		}
		if after, ok := recoverOne(t, &chance); ok {
			rounds = append(rounds, after)
		}
	}
	t.Logf("takeovers after the releases %v", rounds)
}

// recoverOne kills a node and starts a replacement device. It returns the number of the lost device's last release as
// reported by the replacement, or false if the run was complete before the node could be killed.
func recoverOne(t *testing.T, chance *rng.Stream) (after int, ok bool) {
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
	if code, text := said("privacy", "-new-ledger", tr.path("spare.ledger"), "-dataset", "patients of "+name, "-never-used"); code != cli.ExitDone {
		t.Fatal(text)
	}

	w := newSupervisor(t, tr)
	defer func() {
		for _, p := range w.nodes {
			_ = p.cmd.Process.Kill()
			<-p.over
		}
	}()
	for target := chance.IntN(w.rounds()); len(w.released(t, i)) < target; {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Duration(chance.Float64() * float64(20*time.Millisecond)))
	_ = w.nodes[i].cmd.Process.Kill()
	<-w.nodes[i].over
	made := len(w.released(t, i))
	if made == w.rounds() || w.nodes[i].cmd.ProcessState.Exited() {
		return 0, false
	}

	// From here on, the member's node file is that of the replacement device.
	tr.edit(t, name+".json", name+".key", "spare.key", name+".ledger", "spare.ledger", name+".state", "spare.state")
	w.nodes[i] = start(t, "run", tr.path(name+".json"), "-recover", "-json")
	for w.moved = time.Now(); !w.done(); w.look(t) {
		time.Sleep(10 * time.Millisecond)
	}

	// The certificate counts every release and reports after which release the replacement device took over.
	ledger, err := state.ReadLedger(tr.path("spare.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	cert, err := dpmech.ParseCertificate([]byte(readFile(t, filepath.Join(tr.path("spare.state"), "certificate.json"))))
	if err == nil {
		err = ledger.Verify(cert)
	}
	if err != nil || cert.Rounds != tr.file.Fleet.Method.Rounds {
		t.Fatalf("certificate: %v", err)
	}
	const said = "this device took the place of a lost one after release "
	from := slices.IndexFunc(cert.ConditionalOn, func(s string) bool { return strings.HasPrefix(s, said) })
	if from < 0 {
		t.Fatalf("the certificate is conditional on %q", cert.ConditionalOn)
	}
	if _, err := fmt.Sscanf(cert.ConditionalOn[from], said+"%d", &after); err != nil {
		t.Fatal(err)
	}
	// The release after which the replacement took over is at most one away from the last release in the log of the
	// lost device.
	all := tr.releasedIn(t, "spare.state")
	if after > made+1 || after < made-1 || len(all) == 0 || all[0].Round != after || all[len(all)-1].Round != w.rounds() {
		t.Errorf("it took over after release %d, %d were made, and the log has %+v", after, made, all)
	}
	return after, true
}
