package program

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// TestStopFleetOfARunThatEnds checks that an early-stop request succeeds even if a short run ends between this request
// and the query for the node's status. The command must then read the status from the state folder.
func TestStopFleetOfARunThatEnds(t *testing.T) {
	t.Parallel()
	noWindows(t)
	dir := filepath.Join(t.TempDir(), "lone")
	var made fleet.InitResult
	into(t, &made, cli.ExitDone, "init", dir, "-n", "1", "-hosts", ownPort(), "-rounds", "4", "-cooldown", "1")
	runFleet(t, made)
	l, err := net.Listen("unix", filepath.Join(dir, "node-0", "state", "control"))
	if err != nil {
		t.Fatal(err)
	}
	go monitor.Serve(t.Context(), l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, 4)
		_ = l.Close()
	}))
	var asked struct {
		Asked int           `json:"asked"`
		Stop  *monitor.Stop `json:"stop"`
	}
	into(t, &asked, cli.ExitDone, "stop", made.Nodes[0].File, "-fleet")
	if asked.Asked != 4 || asked.Stop != nil {
		t.Errorf("asked %+v", asked)
	}
}
