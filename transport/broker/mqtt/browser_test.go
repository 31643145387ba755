package mqtt

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
)

// TestBrowser checks that a member in WebAssembly, which Node.js runs with its websocket, computes the same bits over a
// broker as in memory. The four other members of the fleet run here.
func TestBrowser(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node: apt-get install nodejs")
	}
	b := newMosquitto(t)
	b.web = true
	n := brokertest.Ring("browser", 5, true, 4)
	_, want := n.Quiet(t)
	program := filepath.Join(t.TempDir(), "browser.wasm")
	build := exec.Command("go", "build", "-o", program, "./testdata/browser")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output() // runtime.GOROOT is empty with -trimpath
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(brokertest.Long(t))
	page := exec.CommandContext(ctx, node, "--experimental-websocket",
		filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec_node.js"), program, b.url(), n.Fleet.Run)
	said := new(brokertest.Buffer)
	page.Stdout, page.Stderr = said, said
	if err := page.Start(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for i, name := range n.Fleet.Members[1:] {
		other, err := n.Node(i+1, sdk.Config{Transport: brokertest.Opener(b.End).Open(t, n.Setup(name))})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { _ = other.Run(ctx) })
	}
	if err := page.Wait(); err != nil || !strings.Contains(said.String(), fmt.Sprintln(want[0])) {
		t.Errorf("the member in WebAssembly: %v, printed\n%s\nwant %v", err, said, want[0])
	}
}
