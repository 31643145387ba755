package program

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// Of three processes in a long run, one is killed and restarted. One member's operator sends an early-stop request,
// and all end with the same round, after the cool-down. Ledger, certificate, status and model agree.
func TestStopFleet(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ward")
	var made fleet.InitResult
	into(t, &made, cli.ExitDone, "init", dir, "-n", "3", "-graph", "path", "-rounds", "5000", "-cooldown", "3",
		"-hosts", strings.Join([]string{ownPort(), ownPort(), ownPort()}, ","))
	for _, n := range made.Nodes {
		text, err := os.ReadFile(n.File)
		if err == nil {
			text = []byte(strings.Replace(string(text), "{", `{"linger_seconds": 20,`, 1))
			err = os.WriteFile(n.File, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if code, _, log := call("stop", made.Nodes[0].File, "-fleet"); code == cli.ExitDone || !strings.Contains(log, "not running") {
		t.Errorf("a node that does not run: exit code %d, %s", code, log)
	}
	var all []*process
	for _, n := range made.Nodes {
		all = append(all, start(t, "run", n.File, "-json", "-anyway"))
	}
	all[1].log.await(t, "round")
	if err := all[1].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-all[1].over
	all[1] = start(t, "run", made.Nodes[1].File, "-json", "-anyway")
	all[1].log.await(t, "round")
	var asked struct {
		Asked int           `json:"asked"`
		Stop  *monitor.Stop `json:"stop"`
	}
	into(t, &asked, cli.ExitDone, "stop", made.Nodes[0].File, "-fleet")
	if asked.Stop == nil || asked.Stop.Members != 1 || asked.Stop.Asked[0].Last != asked.Asked ||
		!strings.Contains(asked.Stop.Text, `"node-0"`) {
		t.Errorf("asked %+v", asked)
	}
	for i, p := range all {
		r := p.outcome(t)
		if r.EndedAfter != asked.Asked || !r.Done || r.Rounds != asked.Asked+3 || r.Stops[0].Member != "node-0" {
			t.Errorf("node %d: %+v, want the end after round %d", i, r.Outcome, asked.Asked)
		}
		text, err := os.ReadFile(r.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		c, err := dpmech.ParseCertificate(text)
		if err != nil || c.Rounds != asked.Asked || c.EndedAfter != asked.Asked || c.Lifetime.Rho != c.Rho {
			t.Errorf("node %d: %v, %+v", i, err, c)
		}
		if code, _, log := call("privacy", "-verify", r.Certificate, "-fleet", made.Fleet); code != cli.ExitDone {
			t.Errorf("certificate: %s", log)
		}
		var st monitor.Status
		into(t, &st, cli.ExitDone, "status", made.Nodes[i].File)
		if st.Phase != monitor.Finished || st.Rounds != asked.Asked || st.Stop == nil || st.Stop.Round != asked.Asked ||
			st.Privacy.Planned != st.Privacy.Epsilon {
			t.Errorf("status %+v, %+v", st, st.Stop)
		}
		var e node.Exported
		into(t, &e, cli.ExitDone, "export", made.Nodes[i].File, "-out", filepath.Join(t.TempDir(), "model.npy"))
		if !e.Done || e.Rounds != asked.Asked+3 || e.Certificate == "" {
			t.Errorf("exported %+v", e)
		}
		_, ledger, _ := call("privacy", "-ledger", filepath.Join(filepath.Dir(made.Nodes[i].File), "ledger.json"), "-fleet", made.Fleet)
		if want := strings.TrimSpace(strings.Join([]string{"has made", strconv.Itoa(asked.Asked), "of its 5000 rounds"}, " ")); !strings.Contains(
			strings.Join(strings.Fields(ledger), " "), want) {
			t.Errorf("no %q in\n%s", want, ledger)
		}
	}
	// A restarted node is already at the end. It serves neighbors that are gone.
	file := made.Nodes[0].File
	text := strings.Replace(readFile(t, file), `"linger_seconds": 20`, `"linger_seconds": 0.3`, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	again := start(t, "run", file, "-json")
	if r := again.outcome(t); r.EndedAfter != asked.Asked || !r.Done {
		t.Errorf("again: %+v", r.Outcome)
	}
	// The last rounds may be complete before the command asks for the node's status; then the status comes from the
	// folder.
	l, err := net.Listen("unix", filepath.Join(filepath.Dir(file), "state", "control"))
	if err != nil {
		t.Fatal(err)
	}
	go monitor.Serve(t.Context(), l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, asked.Asked)
		_ = l.Close()
	}))
	before := asked
	into(t, &asked, cli.ExitDone, "stop", file, "-fleet")
	if asked.Asked != before.Asked || asked.Stop == nil || asked.Stop.Round != before.Asked {
		t.Errorf("asked %+v, %+v", asked, asked.Stop)
	}
}
