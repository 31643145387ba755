package e2e

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "spade-edge-e2e")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "spade-edge")
	out, err := exec.Command("go", "build", "-o", path, "github.com/spade-dfl/spade-edge/cmd/spade-edge").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

type process struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	page chan string   // receives the address of the process's page
	stay chan struct{} // closed when the process has printed that its page stays
	over chan struct{}
	mu   sync.Mutex
	log  strings.Builder
}

// start runs the program with args and kills it at the end of the test.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(path, args...), page: make(chan string, 1), stay: make(chan struct{}),
		over: make(chan struct{})}
	p.cmd.Stdout = &p.out
	said, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.read(said)
		_ = p.cmd.Wait()
		close(p.over)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails if the process has already ended
		<-p.over
		if t.Failed() {
			t.Logf("spade-edge %v:\n%s", args, p.text())
		}
	})
	return p
}

func (p *process) read(said io.Reader) {
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		p.mu.Lock()
		if p.log.Len() < 1<<20 {
			p.log.WriteString(lines.Text() + "\n")
		}
		p.mu.Unlock()
		if _, address, ok := strings.Cut(lines.Text(), "page: "); ok {
			p.page <- address
		}
		if strings.HasPrefix(lines.Text(), "the page stays until you interrupt") {
			close(p.stay)
		}
	}
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) address(t *testing.T) string {
	t.Helper()
	select {
	case a := <-p.page:
		return a
	case <-p.over:
		t.Fatalf("ended without a page:\n%s", p.text())
	}
	return ""
}

// kill ends the process abruptly, as a power failure would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.over
}

// newFleet writes the files of a private fleet of three members with built-in models. It returns the path of their
// folder.
func newFleet(t *testing.T) string {
	t.Helper()
	return newFleetOf(t, 6, 100, `{"builtin": {"fit": "own", "model": "softmax", "data": "synthetic:clinical", "share": `+
		`{"partition": "iid", "of": 3, "number": NUMBER}}}`)
}

// newFleetOf writes the files of a private fleet of three members on a ring, and returns the path of their folder. A
// run of this fleet takes longer than any test. The parameter oracle is the value of the field oracle in the node
// files; NUMBER in this value is replaced with the member's number, 0, 1 or 2.
func newFleetOf(t *testing.T, dim, tau int, oracle string) string {
	t.Helper()
	dir := t.TempDir()
	fleet := &sdk.Fleet{
		Run: "ward-study", Dim: dim, Members: []string{"ward-1", "ward-2", "ward-3"},
		Edges: [][2]string{{"ward-1", "ward-2"}, {"ward-2", "ward-3"}, {"ward-3", "ward-1"}},
		Method: sdk.Method{Rounds: 5000, Cooldown: 1000, Tau: tau, Rho: 1, Gain: 0.75, Eta: []float64{0.02},
			Mu: []float64{0.6}},
		Privacy: sdk.Privacy{Clip: 0.2, Sigma: 7, Delta: 1e-5, EpsilonLimit: 30},
	}
	file := &fleetfile.File{Fleet: fleet}
	for i, name := range fleet.Members {
		key, err := secret.CreateKey(filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		file.Members = append(file.Members, fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{key},
			Addresses: []string{"wss://" + l.Addr().String() + "/"}})
		ledger, err := state.CreateLedger(filepath.Join(dir, name+".ledger"), "patients of "+name, dpmech.Client, nil, state.NeverUsed)
		if err != nil {
			t.Fatal(err)
		}
		if err := ledger.Close(); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"version": 1, "name": %q, "fleet": "fleet.json", "key": "%s.key", "listen": %q, "state": `+
			`"%s.state", "ledger": "%s.ledger",
			"http": "127.0.0.1:0", "oracle": %s}`,
			name, name, l.Addr(), name, name, strings.ReplaceAll(oracle, "NUMBER", strconv.Itoa(i)))
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Write(filepath.Join(dir, "fleet.json")); err != nil {
		t.Fatal(err)
	}
	return dir
}
