package mqtt

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// maxResident is the maximum resident memory of an idle node, in bytes. Like .ci/footprint, it includes the mapped
// pages of the program file.
const maxResident = 12 << 20

// guest is the address at which the emulator maps the 4 GiB address space of the program.
const guest = 0x10000000000

// TestMosquittoIdleMemory checks that an idle node on linux/arm/6 uses at most maxResident bytes of memory. It runs a
// program with one node in an emulator. The node connects over TLS and has four neighbors and a model of 1,000 numbers.
// Three neighbors keep up; the fourth never finishes its first query, so the node waits. The test measures only the
// program's memory, not the emulator's.
func TestMosquittoIdleMemory(t *testing.T) {
	qemu, err := exec.LookPath("qemu-arm")
	if err != nil || testing.Short() {
		t.Skip("no qemu-arm, or -short: apt-get install qemu-user")
	}
	b := newMosquitto(t, "tls")
	f := &sdk.Fleet{
		Run: "idle", Dim: 1000, Members: []string{"a", "b", "c", "d", "e"},
		Edges:   [][2]string{{"a", "b"}, {"a", "c"}, {"a", "d"}, {"a", "e"}},
		Method:  sdk.Method{Rounds: 50, Tau: 2, Batch: 8, Rho: 1, Gain: 0.4, Eta: []float64{0.05}, Mu: []float64{0.2}},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 5, Delta: 1e-5},
	}
	file := &fleetfile.File{Fleet: f}
	for _, name := range f.Members {
		file.Members = append(file.Members, fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{brokertest.Public(name)}})
	}
	public, err := secret.CreateKey(b.path("a.key"))
	if err != nil {
		t.Fatal(err)
	}
	file.Members[0].Keys[0] = public
	if err := file.Write(b.path("fleet.json")); err != nil {
		t.Fatal(err)
	}
	l, err := state.CreateLedger(b.path("a.ledger"), "data of a", dpmech.Client, nil, state.NeverUsed)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	b.write("a.json", fmt.Sprintf(`{"version": 1, "name": "a", "fleet": "fleet.json", "key": "a.key", "state": "a.state",
"ledger": "a.ledger", "transport": {"mqtt": %q, "ca_file": "ca.pem"}, "oracle": {"stream": ["./none"]}}`, b.url()))
	for i, name := range f.Members[1:] {
		setup := brokertest.Setup{Run: f.Run, Name: name, Fleet: f.Hash(), Hello: f.Hello(name), CheckHello: f.CheckHello(name)}
		cfg := b.of(setup)
		cfg.Peers = []Peer{{Name: "a", Keys: []ed25519.PublicKey{public}}}
		var oracle zoest.Oracle = tinytest.SquaredProbability(3, i, f.Dim, 20)
		if name == "e" {
			oracle = sdk.OracleFunc(func(ctx context.Context, _ []float32, _ int) (float64, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			})
		}
		node, err := sdk.New(sdk.Config{Fleet: f, Name: name, Samples: 20, Oracle: oracle, Transport: open(t, cfg),
			Key: cfg.Key, Keys: file.SigningKeys})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = node.Run(t.Context()) }()
	}

	bin, size := compile(t, b.dir, "")
	_, without := compile(t, b.dir, "without")
	t.Logf("a program with a node has %d bytes, of which this module is %d", size, size-without)
	if size-without > 400<<10 {
		t.Errorf("the module adds %d bytes to a program, want at most 400 KiB", size-without)
	}
	said := new(brokertest.Buffer)
	c := exec.Command(qemu, "-B", strconv.Itoa(guest), bin, b.path("a.json"))
	c.Stdout, c.Stderr = said, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	brokertest.Eventually(t, "the node is at work", func() bool {
		_, err := os.Stat(filepath.Join(b.dir, "a.state", "releases.log"))
		return err == nil
	})
	time.Sleep(3 * time.Second)
	resident := residentOf(t, c.Process.Pid)
	t.Logf("%d bytes are resident while it waits", resident)
	if resident < 1<<20 || resident > maxResident {
		t.Errorf("%d bytes resident, want at most %d\n%s", resident, maxResident, said)
	}
}

// residentOf returns the resident memory of the emulated program, in bytes.
func residentOf(t *testing.T, pid int) (sum int64) {
	t.Helper()
	text, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	area := regexp.MustCompile(`^([0-9a-f]+)-[0-9a-f]+ `)
	inside := false
	for s := bufio.NewScanner(text); s.Scan(); {
		if m := area.FindStringSubmatch(s.Text()); m != nil {
			at, _ := strconv.ParseUint(m[1], 16, 64)
			inside = at >= guest && at < guest+1<<32
		}
		if fields := strings.Fields(s.Text()); inside && len(fields) > 1 && fields[0] == "Rss:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			sum += kib << 10
		}
	}
	return sum
}

// compile builds the program in testdata/idle for linux/arm/6. It returns the program's path and its size in bytes.
func compile(t *testing.T, dir, tags string) (path string, size int64) {
	t.Helper()
	path = filepath.Join(dir, "idle"+tags)
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-tags", tags, "-o", path, "./testdata/idle")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm", "GOARM=6", "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, info.Size()
}
